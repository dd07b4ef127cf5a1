package databases

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/port/panel"
)

// endless has a database whose dump does not end by itself.
type endless struct{ simulated }

func (endless) dump(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(zeros{}), nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestADumpLeavesRoomOnTheDisk: a compressed table can be of any size as SQL.
func TestADumpLeavesRoomOnTheDisk(t *testing.T) {
	a := accounts.Account{Record: accounts.Record{Ref: "1", Name: "alice"}}
	cfg := Config{
		Dir: t.TempDir(), Lookup: func(string) (accounts.Account, error) { return a, nil }, Now: time.Now,
		Log: slog.New(slog.DiscardHandler), Simulated: true, Spare: math.MaxInt64,
	}
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.SetDatabase(t.Context(), "1", panel.Database{Name: "alice_bomb", Engine: panel.MariaDB, Password: password}); err != nil {
		t.Fatal(err)
	}
	// A dump that is small for the disk is never refused.
	if n, err := d.DumpBackup(t.Context(), a, t.TempDir()); err != nil || n != 1 {
		t.Errorf("%d databases, %v", n, err)
	}
	d.servers[panel.MariaDB] = endless{}
	dir := t.TempDir()
	if _, err := d.DumpBackup(t.Context(), a, dir); !errors.Is(err, panel.ErrDiskFull) {
		t.Errorf("the dump: %v", err)
	}
	if info, err := os.Stat(dir + "/alice_bomb.sql"); err != nil || info.Size() > look {
		t.Errorf("%+v, %v", info, err)
	}
}
