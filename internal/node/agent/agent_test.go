package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWhatTheKernelSaysIsUnderstood(t *testing.T) {
	c, err := Measure(t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if c.DiskMB <= 0 || c.DiskFreeMB < 0 || c.DiskFreeMB > c.DiskMB || c.MemoryMB <= 0 || c.MemoryFreeMB > c.MemoryMB || c.CPUs < 1 || c.Load < 0 || c.Accounts != 3 {
		t.Errorf("capacity: %+v", c)
	}
	if _, err := Measure(filepath.Join(t.TempDir(), "none"), 0); err == nil {
		t.Error("a directory that is not there has a disk")
	}
}

func TestAKeyThatOthersMayReadIsRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := Joined(dir); !errors.Is(err, ErrNotJoined) {
		t.Errorf("before joining: %v", err)
	}
	if err := (membership{ID: 7, Name: "n", Key: "secret key"}).save(dir); err != nil {
		t.Fatal(err)
	}
	if m, err := Joined(dir); err != nil || m.ID != 7 {
		t.Errorf("member: %+v, %v", m, err)
	}
	file := filepath.Join(dir, membershipFile)
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("open to others: %v", err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"key": "secret key`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Joined(dir); err == nil || strings.Contains(err.Error(), "secret key") {
		t.Errorf("damaged: %v", err)
	}
}

func TestPausesAreSpread(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := jitter(30 * time.Second)
		if d < 22*time.Second || d > 38*time.Second {
			t.Fatalf("a pause of %v", d)
		}
		seen[d] = true
	}
	if len(seen) < 900 {
		t.Errorf("%d different pauses of 1000", len(seen))
	}
}
