package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"stead.dev/stead/internal/platform/config"
)

// A command that cannot open the simulated registry has no registrar.
func TestARegistrarThatCannotBeOpenedIsNone(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "registry", "registry.json"), 0o700); err != nil { // a directory is not read
		t.Fatal(err)
	}
	c := &core{cfg: config.Config{Registrar: config.RegistrarSandbox, DataDir: dir}, log: slog.New(slog.DiscardHandler)}
	all, err := c.openRegistrars(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := all.Registrar(false); ok || r != nil {
		t.Errorf("a registrar: %v", r)
	}
}
