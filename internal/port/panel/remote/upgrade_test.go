package remote_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/remote"
)

func TestAProgramReachesTheNode(t *testing.T) {
	in := newInstallation(t)
	var (
		got     remote.Program
		content string
		refusal error
	)
	take := func(_ context.Context, p remote.Program, src io.Reader) error {
		if refusal != nil {
			return refusal
		}
		data, err := io.ReadAll(src)
		got, content = p, string(data)
		return err
	}
	far := remote.New(remote.Config{
		Name: "node:7", TLS: in.control.Client("stead://node/7"),
		Address: in.serve(t, remote.Upgradable(remote.Handler(unable{}, "v1.2.3"), "v1.2.3", take)),
	})
	t.Cleanup(func() { _ = far.Close() })
	sent := strings.Repeat("program ", 1<<20)
	want := remote.Program{Version: "v1.3.0", Platform: "linux/amd64", Size: int64(len(sent)), SHA256: "00"}
	if err := far.Upgrade(t.Context(), want, strings.NewReader(sent)); err != nil || got != want || content != sent {
		t.Errorf("%d bytes of %+v: %v", len(content), got, err)
	}
	refusal = errors.Join(remote.ErrUpgradeOff, errors.New("not set there"))
	if err := far.Upgrade(t.Context(), want, strings.NewReader(sent)); !errors.Is(err, remote.ErrUpgradeOff) || !strings.Contains(err.Error(), "not set there") {
		t.Errorf("refused: %v", err)
	}
	if n, err := far.Node(t.Context()); err != nil || n.Version != "v1.2.3" {
		t.Errorf("everything else is answered as before: %+v, %v", n, err)
	}
	former := connect(t, unable{})
	if err := former.Upgrade(t.Context(), want, strings.NewReader(sent)); !errors.Is(err, panel.ErrUnsupported) {
		t.Errorf("a node of a release before: %v", err)
	}
}

// unable is a panel that can do nothing.
type unable struct{}

func (unable) Name() string { return "unable" }
