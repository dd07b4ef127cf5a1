package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/remote"
)

// agents adapts the nodes to the upgrade of their programs.
type agents struct {
	panels  site.Panels
	version string // of this process
}

var _ admin.Agents = agents{}

// upgradable is what is asked of a node besides its panel.
type upgradable interface {
	Node(ctx context.Context) (remote.Node, error)
	Upgrade(ctx context.Context, p remote.Program, content io.Reader) error
}

func (g agents) find(id int64) (upgradable, error) {
	name := nodes.PanelName(id)
	found, _ := g.panels.Panel(name)
	if a, ok := found.(upgradable); ok {
		return a, nil
	}
	return nil, fault.PanelUnreachable.Wrapf("%s is not found", name)
}

// Own implements admin.Agents.
func (g agents) Own() string { return g.version }

// Version implements admin.Agents.
func (g agents) Version(ctx context.Context, id int64) (string, error) {
	a, err := g.find(id)
	if err != nil {
		return "", err
	}
	n, err := a.Node(ctx)
	return n.Version, err
}

// Upgrade implements admin.Agents.
func (g agents) Upgrade(ctx context.Context, id int64) error {
	a, err := g.find(id)
	if err != nil {
		return err
	}
	f, err := openOwnProgram()
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("this program: %w", err)
	}
	return upgradeRefusal(a.Upgrade(ctx, remote.Program{
		Version: g.version, Platform: runtime.GOOS + "/" + runtime.GOARCH, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil)),
	}, f))
}

// openOwnProgram opens the program that this process runs, also when another one has its name by now.
func openOwnProgram() (*os.File, error) {
	f, err := os.Open("/proc/self/exe")
	if err == nil {
		return f, nil
	}
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// upgradeRefusals gives each kind of a node's refusal its key.
var upgradeRefusals = map[panel.Kind]*fault.Def{
	panel.ErrUnsupported:      admin.ErrUpgradeUnsupported,
	panel.ErrUnreachable:      fault.PanelUnreachable,
	panel.ErrBusy:             fault.PanelBusy,
	remote.ErrUpgradeOff:      admin.ErrUpgradeOff,
	remote.ErrUpgradePackaged: admin.ErrUpgradePackaged,
	remote.ErrUpgradePlatform: admin.ErrUpgradePlatform,
	remote.ErrUpgradeNotNewer: admin.ErrUpgradeNotNewer,
	remote.ErrUpgradeBroken:   admin.ErrUpgradeBroken,
}

func upgradeRefusal(err error) error {
	if def, ok := upgradeRefusals[panel.KindOf(err)]; ok && !errors.Is(err, context.Canceled) {
		return def.Wrap(err)
	}
	return err
}
