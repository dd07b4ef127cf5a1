package accounts

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

// The process is killed in the middle of its work, many times. After each time every account is
// complete or absent, and the interrupted work can be repeated.
func TestKilledProcessLeavesAccountsCompleteOrAbsent(t *testing.T) {
	if os.Getenv("STEAD_TEST_CHURN") != "" {
		churn(t)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for round := range 12 {
		child := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), "STEAD_TEST_CHURN=1")
		child.Dir = dir
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 5 + 7*round { // another place each time
			if !lines.Scan() {
				t.Fatal("the child ended by itself")
			}
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // killed, as told

		d := opened(t, dir)
		homes, err := os.ReadDir(filepath.Join(dir, "accounts"))
		if err != nil {
			t.Fatal(err)
		}
		finish(t, d)
		all := d.List()
		if len(homes) > len(all)+4 { // one half-made home for each of the child's workers
			t.Errorf("round %d: %d homes of %d accounts", round, len(homes), len(all))
		}
		for _, rec := range all {
			for _, l := range Layout {
				if info, err := os.Stat(filepath.Join(d.Home(rec), l.Name)); err != nil || !info.IsDir() {
					t.Errorf("round %d: account %s is not complete: %v", round, rec.Ref, err)
				}
			}
		}
		for n := range 12 {
			spec := churned(n)
			if _, err := d.Create(t.Context(), spec); err != nil {
				t.Errorf("round %d: %s cannot be made again: %v", round, spec.Ref, err)
			}
		}
		shut(t, d)
	}
}

func churned(n int) panel.AccountSpec {
	return panel.AccountSpec{Ref: fmt.Sprint(n), PrimaryDomain: fmt.Sprintf("c%d.example", n), Username: fmt.Sprintf("user%d", n)}
}

// churn makes and ends accounts in the working directory until the process is killed.
func churn(t *testing.T) {
	d, err := OpenDirectories(".", now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for worker := range 4 {
		go func() {
			for i := 0; ; i++ {
				spec := churned(worker*3 + i%3)
				if err := d.Delete(context.Background(), spec.Ref, nil); err != nil && !errors.Is(err, panel.ErrNotFound) {
					panic(err)
				}
				if _, err := d.Create(context.Background(), spec); err != nil {
					panic(err)
				}
				fmt.Println(spec.Ref)
			}
		}()
	}
	select {}
}
