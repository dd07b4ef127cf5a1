package php

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/port/panel"
)

const (
	checkTime   = 10 * time.Second
	mostMessage = 2 << 10 // bytes of what PHP says of a program
)

// CheckPHP implements panel.PHP. PHP reads the program as the account's user, within the account's limits, and runs nothing
// of it.
func (d *Driver) CheckPHP(ctx context.Context, ref string, source []byte) (string, error) {
	message, err := d.check(ctx, ref, source)
	return message, panel.Wrap("php.check", ref, err)
}

func (d *Driver) check(ctx context.Context, ref string, source []byte) (string, error) {
	a, err := d.lookup(ref)
	if err != nil {
		return "", err
	}
	if a.Suspended {
		return "", fmt.Errorf("%w: account %s", panel.ErrSuspended, ref)
	}
	// Beside FPM, which cannot do it, Debian installs the program for commands.
	program, err := exec.LookPath(filepath.Join(d.cfg.Commands, "php"+d.version(d.records.Get(a.Name).Version).name))
	if err != nil {
		return "", fmt.Errorf("%w: %w", panel.ErrUnsupported, err)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	var said bytes.Buffer
	cmd := identity.Command(ctx, a, program, "-n", "-d", "display_errors=stdout", "-d", "log_errors=0", "-d", "html_errors=0", "-l")
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(source), &said, &said, time.Second
	if err = cmd.Start(); err == nil {
		err = cmd.Wait()
	}
	const refused = 255 // what PHP exits with for a program that it cannot read
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case !errors.As(err, &exit) || exit.ExitCode() != refused:
		return "", fmt.Errorf("php -l: %w: %s", err, bytes.TrimSpace(said.Bytes()[:min(said.Len(), mostMessage)]))
	}
	message, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
	message = strings.ReplaceAll(message, " in Standard input code", "")
	return strings.ToValidUTF8(message[:min(len(message), mostMessage)], ""), nil
}
