package accounts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func opened(t *testing.T, dir string) *Store {
	t.Helper()
	d, err := OpenDirectories(dir, now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func shut(t *testing.T, d *Store) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// finish does what the machine does on start.
func finish(t *testing.T, d *Store) {
	t.Helper()
	for _, ref := range d.Deleting() {
		if err := d.Delete(t.Context(), ref, nil); err != nil {
			t.Error(err)
		}
	}
}

func create(t *testing.T, d *Store, ref, domain string) Record {
	t.Helper()
	rec, err := d.Create(context.Background(), panel.AccountSpec{Ref: ref, PrimaryDomain: domain})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestAccountsOutliveARestart(t *testing.T) {
	dir := t.TempDir()
	d := opened(t, dir)
	first := create(t, d, "1", "alice.example")
	if _, err := d.Update(t.Context(), "1", func(r *Record) error {
		r.Suspended = true
		r.Domains = append(r.Domains, Domain{Name: "second.example", DocumentRoot: "second"})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	shut(t, d)

	d = opened(t, dir)
	defer shut(t, d)
	rec, err := d.Get("1")
	if err != nil || !rec.Suspended || len(rec.Domains) != 2 || !rec.CreatedAt.Equal(first.CreatedAt) || rec.Name != "alice" {
		t.Errorf("read back %+v, %v", rec, err)
	}
	_, err = d.Create(t.Context(), panel.AccountSpec{Ref: "2", PrimaryDomain: "second.example"})
	if !errors.Is(err, panel.ErrExists) {
		t.Errorf("a domain was given twice: %v", err)
	}
	for _, l := range Layout {
		info, err := os.Stat(filepath.Join(d.Home(rec), l.Name))
		if err != nil || uint32(info.Mode().Perm()) != l.Mode {
			t.Errorf("%s: %v, %v", l.Name, info, err)
		}
	}
}

func TestHalfMadeAccountIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	d := opened(t, dir)
	// What a crash between the home and the record leaves, with what must not show up again.
	half := filepath.Join(dir, "accounts", "alice", PublicHTML)
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(half, "left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "state", "alice.tmp"), []byte(`{"ref"`), 0o600); err != nil {
		t.Fatal(err)
	}
	shut(t, d)
	d = opened(t, dir)
	defer shut(t, d)
	if all := d.List(); len(all) != 0 {
		t.Fatalf("half an account is listed: %+v", all)
	}
	rec := create(t, d, "1", "alice.example")
	if _, err := os.Stat(filepath.Join(d.Home(rec), PublicHTML, "left")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the new account has old files: %v", err)
	}
}

func TestInterruptedDeletionIsFinishedOnStart(t *testing.T) {
	dir := t.TempDir()
	d := opened(t, dir)
	rec := create(t, d, "1", "alice.example")
	rec.Deleting = true
	if err := d.write(rec); err != nil { // and then the power was gone
		t.Fatal(err)
	}
	shut(t, d)
	d = opened(t, dir)
	if _, err := d.Get("1"); !errors.Is(err, panel.ErrNotFound) || len(d.List()) != 0 {
		t.Errorf("the account is still there: %v", err)
	}
	finish(t, d)
	shut(t, d)
	for _, sub := range []string{"accounts", "trash"} {
		if left, err := os.ReadDir(filepath.Join(dir, sub)); err != nil || len(left) != 0 {
			t.Errorf("left in %s: %v, %v", sub, left, err)
		}
	}
}

func TestTheTrashIsEmptiedHoweverDeepItIs(t *testing.T) {
	dir := t.TempDir()
	d := opened(t, dir)
	rec := create(t, d, "1", "alice.example")
	testkit.DeepTree(t, filepath.Join(d.Home(rec), PublicHTML), 3000)
	testkit.FewDescriptors(t, 40)
	if err := d.Delete(t.Context(), "1", nil); err != nil {
		t.Fatal(err)
	}
	shut(t, d)
	if left, err := os.ReadDir(filepath.Join(dir, "trash")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestCreationThatFailsLeavesNothingTaken(t *testing.T) {
	dir := t.TempDir()
	d := opened(t, dir)
	defer shut(t, d)
	state := filepath.Join(dir, "state")
	if err := os.Rename(state, state+"-away"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Create(t.Context(), panel.AccountSpec{Ref: "1", PrimaryDomain: "alice.example"}); err == nil {
		t.Fatal("created without a place for the record")
	}
	if err := os.Rename(state+"-away", state); err != nil {
		t.Fatal(err)
	}
	create(t, d, "2", "alice.example")
}

func TestUpdateThatFailsChangesNothing(t *testing.T) {
	d := opened(t, t.TempDir())
	defer shut(t, d)
	create(t, d, "1", "alice.example")
	create(t, d, "2", "bob.example")
	add := func(name, root string) error {
		_, err := d.Update(t.Context(), "1", func(r *Record) error {
			r.Domains = append(r.Domains, Domain{Name: "free.example", DocumentRoot: "free"}, Domain{Name: name, DocumentRoot: root})
			return nil
		})
		return err
	}
	for name, want := range map[string]panel.Kind{"bob.example": panel.ErrExists, "Bad": panel.ErrInvalid, "alice.example": panel.ErrInvalid} {
		if err := add(name, "x"); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	for _, root := range []string{"", "../x", "/etc", "a//b", ".", "a/.."} {
		if err := add("ok.example", root); !errors.Is(err, panel.ErrInvalid) {
			t.Errorf("root %q: %v", root, err)
		}
	}
	if rec, _ := d.Get("1"); len(rec.Domains) != 1 {
		t.Errorf("record changed: %+v", rec)
	}
	create(t, d, "3", "free.example")
}

func TestOneProcessHoldsTheDirectory(t *testing.T) {
	dir := t.TempDir()
	d := opened(t, dir)
	if _, err := OpenDirectories(dir, now, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("opened twice")
	}
	shut(t, d)
	shut(t, opened(t, dir))
}

func TestUnreadableRecordStopsTheStart(t *testing.T) {
	for name, content := range map[string]string{
		"not JSON":       `{`,
		"another's name": `{"ref":"1","name":"bob","domains":[{"name":"a.example","document_root":"x"}]}`,
		"a way out":      `{"ref":"1","name":"alice","domains":[{"name":"a.example","document_root":"../x"}]}`,
		"a bad redirect": `{"ref":"1","name":"alice","domains":[{"name":"a.example","document_root":"x","redirect_to":"javascript:1"}]}`,
		"no domain":      `{"ref":"1","name":"alice","domains":[]}`,
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "state"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "state", "alice.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := OpenDirectories(dir, now, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "alice.json") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDerivedNamesAreDistinct(t *testing.T) {
	d := opened(t, t.TempDir())
	defer shut(t, d)
	for i, want := range map[string]string{"shop.example": "shop", "123.example": "site", "xn--bcher-kva.example": "bcherkva"} {
		if got := nameStem(i); got != want {
			t.Errorf("nameStem(%s) = %s, want %s", i, got, want)
		}
	}
	seen := map[string]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			rec, err := d.Create(context.Background(), panel.AccountSpec{Ref: fmt.Sprint(i), PrimaryDomain: fmt.Sprintf("shop.example%d.com", i)})
			mu.Lock()
			defer mu.Unlock()
			if err != nil || seen[rec.Name] {
				t.Errorf("name %q, %v", rec.Name, err)
			}
			seen[rec.Name] = true
		})
	}
	wg.Wait()
}
