package logs

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// messages reads all lines of a log, the newest first, a page at a time.
func messages(t *testing.T, s *Store, of panel.LogType, before string) (all []string, cursors []string) {
	t.Helper()
	for {
		page, err := s.Read(t.Context(), "alice", panel.LogQuery{Type: of, Limit: 3, Before: before})
		must(t, err)
		for _, l := range page.Lines {
			all, cursors = append(all, l.Message), append(cursors, l.Cursor)
		}
		if before = page.Before; before == "" {
			return all, cursors
		}
	}
}

// TestLogsGoAlongWithAnAccount: another machine has the lines of all files, compressed ones and the present ones, before
// its own, under the same cursors. It counts none of them as visits. A second copy takes the place of the first.
func TestLogsGoAlongWithAnAccount(t *testing.T) {
	now := start
	clock := func() time.Time { return now }
	former, other := newDriver(t, Policy{MaxBytes: 1, Keep: 9}, clock), newDriver(t, Policy{}, clock)
	a, err := former.lookup("1")
	must(t, err)
	arriving := a
	arriving.Arriving = true
	for n := range 4 {
		write(t, former.store, panel.LogAccess, accessLine(start, n, 100))
		must(t, former.store.Append("alice", 0, panel.LogCron, panel.LogLine{At: start, Level: "info", Message: "run"}))
		must(t, former.store.Rotate(t.Context()))
	}
	long := start.Add(-time.Hour) // nobody writes to a file that was rotated so long ago
	must(t, os.Chtimes(former.store.File("alice", panel.LogAccess)+".4", long, long))
	write(t, former.store, panel.LogAccess, accessLine(start, 4, 100))
	write(t, former.store, panel.LogError, "2026/11/21 18:24:00 [error] 12#12: *7 a failure, client: 192.0.2.7\n")
	write(t, other.store, panel.LogAccess, accessLine(start, 9, 100)) // a visit before it was open

	move := func() (items int64) {
		t.Helper()
		dir := t.TempDir()
		items, err := former.DumpBackup(t.Context(), a, dir)
		must(t, err)
		if err := other.LoadBackup(t.Context(), a, dir, nil); !errors.Is(err, panel.ErrBusy) {
			t.Errorf("loaded into an account that is open: %v", err)
		}
		for range 2 { // a process that died does it again
			must(t, other.LoadBackup(t.Context(), arriving, dir, nil))
		}
		return items
	}
	if items := move(); items != 10 {
		t.Errorf("%d files, want 5 of visits, 4 of cron, 1 of errors", items)
	}
	write(t, former.store, panel.LogAccess, accessLine(start, 5, 100))
	counts, err := former.Carry(t.Context(), a)
	must(t, err)
	move()
	must(t, other.TakeOver(t.Context(), a, counts))
	write(t, other.store, panel.LogAccess, accessLine(start, 6, 100))

	equal(t, "visits", first(messages(t, other.store, panel.LogAccess, "")), []string{
		"GET /page?n=6 HTTP/1.1", "GET /page?n=9 HTTP/1.1", "GET /page?n=5 HTTP/1.1", "GET /page?n=4 HTTP/1.1", "GET /page?n=3 HTTP/1.1",
		"GET /page?n=2 HTTP/1.1", "GET /page?n=1 HTTP/1.1", "GET /page?n=0 HTTP/1.1",
	})
	equal(t, "runs", first(messages(t, other.store, panel.LogCron, "")), []string{"run", "run", "run", "run"})
	equal(t, "errors", first(messages(t, other.store, panel.LogError, "")), []string{"a failure"})
	_, cursors := messages(t, former.store, panel.LogAccess, "")
	there, _ := messages(t, other.store, panel.LogAccess, cursors[2])
	here, _ := messages(t, former.store, panel.LogAccess, cursors[2])
	equal(t, "visits before a cursor of the other machine", there, here)
	if sent, err := other.count(t.Context(), a.Name); err != nil || sent != 700 {
		t.Errorf("%d bytes this month, want 600 of the former machine and 100, %v", sent, err)
	}
	// Its rotation goes on with them.
	now = now.AddDate(0, 0, 2)
	must(t, other.store.Rotate(t.Context()))
	if all, _ := messages(t, other.store, panel.LogAccess, ""); len(all) != 8 {
		t.Errorf("after a rotation: %d lines", len(all))
	}
}

func first(all, _ []string) []string { return all }

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestTheNewestLinesOfALargeLogGoAlong: those of the part that fits, and no half of a line.
func TestTheNewestLinesOfALargeLogGoAlong(t *testing.T) {
	former, other := newDriver(t, Policy{MaxBytes: 1, Keep: 9}, fixed), newDriver(t, Policy{}, fixed)
	a, err := former.lookup("1")
	must(t, err)
	write(t, former.store, panel.LogAccess, accessLine(start, 0, 100))
	must(t, former.store.Rotate(t.Context()))
	write(t, former.store, panel.LogAccess, accessLine(start, 1, 100))
	must(t, os.Truncate(former.store.File("alice", panel.LogAccess), mostMoved+1000)) // in the middle of a line of zeros
	write(t, former.store, panel.LogAccess, "the rest of a line\n"+accessLine(start, 2, 100)+accessLine(start, 3, 100))
	dir := t.TempDir()
	if items, err := former.DumpBackup(t.Context(), a, dir); err != nil || items != 1 {
		t.Fatalf("%d files, %v", items, err)
	}
	a.Arriving = true
	must(t, other.LoadBackup(t.Context(), a, dir, nil))
	equal(t, "visits", first(messages(t, other.store, panel.LogAccess, "")), []string{"GET /page?n=3 HTTP/1.1", "GET /page?n=2 HTTP/1.1"})
}

// TestALogThatUnpacksWithoutEndIsReadInPart: it comes from another machine.
func TestALogThatUnpacksWithoutEndIsReadInPart(t *testing.T) {
	d := newDriver(t, Policy{}, fixed)
	a, err := d.lookup("1")
	must(t, err)
	packed := func(text []byte) []byte {
		t.Helper()
		var b bytes.Buffer
		gz := gzip.NewWriter(&b)
		_, err := gz.Write(text)
		must(t, errors.Join(err, gz.Close()))
		return b.Bytes()
	}
	line := []byte(accessLine(start, 1, 100))
	all := packed(line) // a file may be several after each other
	zeros := bytes.Repeat(packed(make([]byte, 1<<24)), mostUnpacked>>24)
	all = append(all, zeros...)
	all = append(all, packed(append([]byte("\n"), line...))...)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "access.log.1.gz"), all, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "access.log.2.gz"), zeros, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "access.log.3.gz"), packed(line), 0o600))
	a.Arriving = true
	must(t, d.LoadBackup(t.Context(), a, dir, nil))
	var lines, pages int
	for q := (panel.LogQuery{Type: panel.LogAccess, Limit: 10}); pages == 0 || q.Before != "" && pages < 10; pages++ {
		page, err := d.store.Read(t.Context(), "alice", q)
		must(t, err)
		lines, q.Before = lines+len(page.Lines), page.Before
	}
	if lines != 2 || pages == 10 {
		t.Errorf("%d lines in %d pages", lines, pages)
	}
	counted := traffic{Volume: 1, Month: start.Format(monthForm)}
	must(t, d.store.countVolume(t.Context(), volume{number: 1, path: d.store.File("alice", panel.LogAccess) + ".1", packed: true, most: mostOf(panel.LogAccess)}, &counted))
	if counted.Bytes != 100 {
		t.Errorf("%d bytes are counted", counted.Bytes)
	}
}
