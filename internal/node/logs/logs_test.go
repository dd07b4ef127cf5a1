package logs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

var start = time.Date(2026, 11, 21, 18, 24, 0, 0, time.UTC)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newDriver is a driver with the account alice.
func newDriver(t testing.TB, policy Policy, now func() time.Time) *Driver {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(Config{Dir: filepath.Join(dir, "logs"), Now: now, Log: slog.New(slog.DiscardHandler), Policy: policy})
	must(t, err)
	d, err := New(s, filepath.Join(dir, "state"), func(ref string) (accounts.Account, error) {
		if ref != "1" {
			return accounts.Account{}, panel.ErrNotFound
		}
		return accounts.Account{Record: accounts.Record{Ref: "1", Name: "alice"}}, nil
	})
	must(t, err)
	must(t, d.Apply(t.Context(), accounts.Account{Record: accounts.Record{Ref: "1", Name: "alice"}}))
	return d
}

func fixed() time.Time { return start.Add(time.Hour) }

func accessLine(at time.Time, n int, sent int64) string {
	return fmt.Sprintf("192.0.2.7 - - [%s] \"GET /page?n=%d HTTP/1.1\" 200 %d \"-\" \"agent\" \"a.example\" %d 0.001\n", at.Format(accessTime), n, sent, sent)
}

func write(t testing.TB, s *Store, of panel.LogType, text string) {
	t.Helper()
	must(t, s.Prepare("alice", os.Geteuid(), os.Getegid(), of))
	f, err := os.OpenFile(s.File("alice", of), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, errors.Join(err, f.Close()))
}

func TestLinesAreTakenApart(t *testing.T) {
	for text, want := range map[string]struct {
		of   panel.LogType
		line panel.LogLine
	}{
		`192.0.2.7 - a [x] [21/Nov/2026:18:24:00 +0500] "GET /a%20b?c HTTP/2.0" 404 12 "http://x/\x22" "ag [1] \x22x\x22" "a.example" 345 0.002`: {
			panel.LogAccess, panel.LogLine{At: start.Add(-5 * time.Hour), Level: "warning", Message: "GET /a%20b?c HTTP/2.0", IP: "192.0.2.7", Status: 404, Path: "/a%20b"},
		},
		`2001:db8::1 - - [21/Nov/2026:18:24:00 +0000] "\x16\x03\x01" 400 0 "-" "-" "_" 150 0.000`: {
			panel.LogAccess, panel.LogLine{At: start, Level: "warning", Message: "\x16\x03\x01", IP: "2001:db8::1", Status: 400},
		},
		`2026/11/21 18:24:00 [crit] 12#12: *7 open() "/x" failed (2: No such file), client: 192.0.2.7, server: a.example, request: "GET /x?y HTTP/1.1", host: "a.example"`: {
			panel.LogError, panel.LogLine{At: start, Level: "critical", Message: `open() "/x" failed (2: No such file)`, IP: "192.0.2.7", Path: "/x"},
		},
		`[21-Nov-2026 23:24:00 Asia/Tashkent] PHP Warning:  Undefined variable $x in /a.php on line 3`: {
			panel.LogPHP, panel.LogLine{At: start, Level: "warning", Message: "PHP Warning:  Undefined variable $x in /a.php on line 3"},
		},
		`{"at":"2026-11-21T18:24:00Z","source":"shadow","cursor":"x","level":"info","message":"m","status":250}`: {
			panel.LogMail, panel.LogLine{At: start, Level: "info", Message: "m", Status: 250},
		},
	} {
		want.line.Source = want.of
		if got, ok := parse(want.of, text); !ok || got != want.line {
			t.Errorf("%s:\n%+v, want\n%+v", text, got, want.line)
		}
	}
	for of, text := range map[panel.LogType]string{
		panel.LogAccess: `x`, panel.LogError: `2026/11/21 18:24:00 error`, panel.LogPHP: `#0 {main}`, panel.LogCron: `{"at":`,
	} {
		if got, ok := parse(of, text); ok {
			t.Errorf("%s: %q is %+v", of, text, got)
		}
	}
	if _, sent, ok := ParseAccess(strings.TrimSuffix(accessLine(start, 1, 12345), "\n")); !ok || sent != 12345 {
		t.Errorf("sent: %d %v", sent, ok)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{accessLine(start, 1, 2), `[21-Nov-2026 18:24:00 UTC] x`, `2026/11/21 18:24:00 [error] 1#1: *1 x`, `{"at":"2026-11-21T18:24:00Z"}`, `" `, `] "`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, of := range panel.LogTypes() {
			if l, ok := parse(of, line); ok {
				if _, err := json.Marshal(l); err != nil {
					t.Errorf("%s %q: %v", of, line, err)
				}
			}
		}
	})
}

// all reads a whole log page by page, newest first.
func all(t *testing.T, d *Driver, q panel.LogQuery) []panel.LogLine {
	t.Helper()
	var lines []panel.LogLine
	seen := map[string]bool{}
	for range 10000 {
		page, err := d.ReadLog(t.Context(), "1", q)
		must(t, err)
		for _, l := range page.Lines {
			if seen[l.Cursor] {
				t.Fatalf("%s comes twice", l.Cursor)
			}
			seen[l.Cursor] = true
		}
		lines = append(lines, page.Lines...)
		if q.Before = page.Before; q.Before == "" {
			return lines
		}
	}
	t.Fatal("the pages do not end")
	return nil
}

func TestPagesGoThroughRotationAndCompression(t *testing.T) {
	d := newDriver(t, Policy{MaxBytes: 1, Keep: 100}, fixed)
	n := 0
	for range 6 {
		for range 700 { // more than a block
			write(t, d.store, panel.LogAccess, accessLine(start.Add(time.Duration(n)*time.Second), n, 10))
			n++
		}
		must(t, d.store.Rotate(t.Context()))
	}
	write(t, d.store, panel.LogAccess, accessLine(start.Add(time.Duration(n)*time.Second), n, 10)+"half a line")
	n++
	for _, limit := range []int{1, 7, 500} {
		if limit == 1 && n > 1000 {
			continue // a page a line takes its time
		}
		lines := all(t, d, panel.LogQuery{Type: panel.LogAccess, Limit: limit})
		if len(lines) != n {
			t.Fatalf("limit %d: %d lines of %d", limit, len(lines), n)
		}
		for i, l := range lines {
			if want := fmt.Sprintf("GET /page?n=%d HTTP/1.1", n-1-i); l.Message != want {
				t.Fatalf("limit %d: line %d is %q, want %q", limit, i, l.Message, want)
			}
		}
	}
	entries, err := os.ReadDir(d.store.Dir("alice"))
	must(t, err)
	packed := 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".gz") {
			packed++
		}
	}
	if packed != 5 { // the newest is packed by the next rotation
		t.Errorf("%d of %d files are packed", packed, len(entries))
	}
	if found := all(t, d, panel.LogQuery{Type: panel.LogAccess, Limit: 3, Text: "N=1234"}); len(found) != 1 {
		t.Errorf("found: %+v", found)
	}
	since := start.Add(1000 * time.Second)
	if found := all(t, d, panel.LogQuery{Type: panel.LogAccess, Limit: 500, Since: since, Until: since.Add(100 * time.Second)}); len(found) != 100 {
		t.Errorf("between: %d", len(found))
	}
}

func TestEntriesOfSeveralLinesStayTogether(t *testing.T) {
	d := newDriver(t, Policy{MaxBytes: 1, Keep: 10}, fixed)
	entry := func(n int) string {
		return fmt.Sprintf("[21-Nov-2026 18:24:%02d UTC] PHP Fatal error:  %d\nStack trace:\n#0 {main}\n", n, n)
	}
	for n := range 3 {
		write(t, d.store, panel.LogPHP, entry(n))
		must(t, d.store.Rotate(t.Context()))
	}
	write(t, d.store, panel.LogPHP, "goes on with nothing\n"+entry(3)+entry(4))
	lines := all(t, d, panel.LogQuery{Type: panel.LogPHP, Limit: 2})
	if len(lines) != 5 {
		t.Fatalf("%+v", lines)
	}
	for i, l := range lines {
		if want := fmt.Sprintf("PHP Fatal error:  %d\nStack trace:\n#0 {main}", 4-i); l.Message != want || l.Level != "critical" {
			t.Errorf("%d: %q", i, l.Message)
		}
	}
}

func TestALineAsLongAsItLikesDoesNoHarm(t *testing.T) {
	d := newDriver(t, Policy{}, fixed)
	write(t, d.store, panel.LogPHP, "[21-Nov-2026 18:24:00 UTC] first\n[21-Nov-2026 18:24:01 UTC] "+strings.Repeat("x", 3*block+17)+"\n[21-Nov-2026 18:24:02 UTC] last\n")
	lines := all(t, d, panel.LogQuery{Type: panel.LogPHP, Limit: 1})
	if len(lines) != 3 || lines[0].Message != "last" || lines[2].Message != "first" || len(lines[1].Message) > longestLine || !strings.HasPrefix(lines[1].Message, "xxx") {
		t.Errorf("%d lines", len(lines))
	}
}

func TestRotationByAgeAndHowMuchIsKept(t *testing.T) {
	now := start
	d := newDriver(t, Policy{MaxAge: time.Hour, Keep: 3}, func() time.Time { return now })
	for n := range 8 {
		must(t, d.store.Append("alice", os.Getegid(), panel.LogCron, panel.LogLine{At: now, Level: "info", Message: fmt.Sprint(n)}))
		must(t, d.store.Rotate(t.Context())) // not yet
		now = now.Add(2 * time.Hour)
		must(t, d.store.Rotate(t.Context()))
		must(t, d.store.Rotate(t.Context())) // an empty log is left alone
	}
	var got []string
	for _, l := range all(t, d, panel.LogQuery{Type: panel.LogCron, Limit: 10}) {
		got = append(got, l.Message)
	}
	if strings.Join(got, " ") != "7 6 5" {
		t.Errorf("kept: %v", got)
	}
	// A crash between the exchange and the renaming.
	file := d.store.File("alice", panel.LogCron)
	must(t, os.WriteFile(file+".new", []byte(`{"at":"2026-11-21T18:24:00Z","message":"left"}`+"\n"), 0o640))
	must(t, d.store.Append("alice", os.Getegid(), panel.LogCron, panel.LogLine{At: now, Level: "info", Message: "8"}))
	now = now.Add(2 * time.Hour)
	must(t, d.store.Rotate(t.Context()))
	if lines := all(t, d, panel.LogQuery{Type: panel.LogCron, Limit: 10}); len(lines) < 2 || lines[0].Message != "8" || lines[1].Message != "left" {
		t.Errorf("after a crash: %+v", lines)
	}
}

// TestALogThatIsLargeHoldsNobodyUp packs a log that takes hours, and one that its customer makes longer for as
// long as somebody reads it.
func TestALogThatIsLargeHoldsNobodyUp(t *testing.T) {
	const hours, seconds = 1 << 38, 1 << 27 // bytes, none of which occupies anything
	d := newDriver(t, Policy{MaxBytes: 1}, fixed)
	rotated := make(chan error, 1)
	begin := func(volume string, size int64) string {
		write(t, d.store, panel.LogPHP, "x")
		must(t, d.store.Rotate(t.Context()))
		former := d.store.File("alice", panel.LogPHP) + volume
		must(t, os.Truncate(former, size))
		t.Cleanup(func() { _ = os.Truncate(former, 0) }) // ends what is still read
		write(t, d.store, panel.LogPHP, "x")
		go func() { rotated <- d.store.Rotate(t.Context()) }()
		testkit.Eventually(t, time.Minute, func() bool {
			found, err := filepath.Glob(former + ".gz*")
			must(t, err)
			return len(found) > 0
		}, "the log is being packed")
		return former
	}
	ends := func(what string, done <-chan error) {
		t.Helper()
		select {
		case err := <-done:
			must(t, err)
		case <-time.After(time.Minute):
			t.Fatalf("%s waits", what)
		}
	}

	former := begin(".1", hours)
	appended := make(chan error, 1)
	go func() {
		appended <- d.store.Append("bob", os.Getegid(), panel.LogCron, panel.LogLine{At: start, Level: "info", Message: "ran"})
	}()
	ends("another account's log", appended)
	must(t, os.Truncate(former, 0))
	ends("the first rotation", rotated)

	former = begin(".3", seconds)
	if err := os.Truncate(former, hours); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	ends("the second rotation", rotated)
}

// The account owns the log of its programs: one of terabytes occupies nothing.
func TestALogThatIsAllHolesHoldsNobodyUp(t *testing.T) {
	const huge = 1 << 42
	d := newDriver(t, Policy{}, fixed)
	write(t, d.store, panel.LogPHP, "[21-Nov-2026 18:24:00 UTC] PHP Warning:  first\n")
	must(t, os.Truncate(d.store.File("alice", panel.LogPHP), huge))
	lines := func() {
		t.Helper()
		if got := all(t, d, panel.LogQuery{Type: panel.LogPHP, Limit: 10}); len(got) != 1 || got[0].Message != "PHP Warning:  first" {
			t.Errorf("lines %+v", got)
		}
	}
	lines()
	must(t, d.store.Rotate(t.Context())) // the next one packs it
	write(t, d.store, panel.LogPHP, strings.Repeat("x", 17<<20)+"\n")
	must(t, d.store.Rotate(t.Context()))
	if _, err := os.Lstat(d.store.File("alice", panel.LogPHP) + ".1.gz"); err != nil {
		t.Errorf("not packed: %v", err)
	}
	lines()
}

// Who could write what is packed could make it one that unpacks without end.
func TestAPackedLogIsNotItsAccounts(t *testing.T) {
	d := newDriver(t, Policy{MaxBytes: 1}, fixed)
	write(t, d.store, panel.LogPHP, "x")
	must(t, d.store.Rotate(t.Context()))
	former := d.store.File("alice", panel.LogPHP) + ".1"
	must(t, os.Chown(former, 12345, -1)) // PHP writes as its account
	write(t, d.store, panel.LogPHP, "x")
	ended, end := context.WithCancel(t.Context())
	end()
	if err := d.store.Rotate(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("an agent that ends goes on packing: %v", err)
	}
	write(t, d.store, panel.LogPHP, "x")
	must(t, d.store.Rotate(t.Context()))
	info, err := os.Stat(d.store.File("alice", panel.LogPHP) + ".2.gz")
	must(t, err)
	if uid, _ := owner(info); uid != os.Geteuid() {
		t.Errorf("it is %d's", uid)
	}
}

func TestALogIsOnlyAFile(t *testing.T) {
	d := newDriver(t, Policy{}, fixed)
	victim := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, []byte("x\n"), 0o600))
	must(t, os.Symlink(victim, d.store.File("alice", panel.LogPHP)))
	if err := d.store.Prepare("alice", os.Geteuid(), os.Getegid(), panel.LogPHP); err == nil {
		t.Error("a link was taken for a log")
	}
	if err := d.store.Append("alice", os.Getegid(), panel.LogPHP, panel.LogLine{At: start}); err == nil {
		t.Error("a link was written through")
	}
	if data, err := os.ReadFile(victim); err != nil || string(data) != "x\n" {
		t.Errorf("%q %v", data, err)
	}
	for _, name := range []string{"", "..", "../x", "a/b", "A", ".x"} {
		if err := d.store.Prepare(name, 0, 0); err == nil {
			t.Errorf("%q is an account", name)
		}
		if err := d.store.Remove(name); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
}

func TestAFollowerMissesNothing(t *testing.T) {
	d := newDriver(t, Policy{MaxBytes: 1, Keep: 1000}, fixed)
	write(t, d.store, panel.LogAccess, accessLine(start, -1, 1))
	stream, err := d.FollowLog(t.Context(), "1", panel.LogQuery{Type: panel.LogAccess})
	must(t, err)
	const lines = 200
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range lines {
			write(t, d.store, panel.LogAccess, accessLine(start, n, 1))
			if n%10 == 0 {
				must(t, d.store.Rotate(t.Context()))
			}
		}
	})
	in := bufio.NewScanner(stream)
	var cursors []string
	for n := 0; n < lines && in.Scan(); {
		if in.Text() == "" {
			continue
		}
		var l panel.LogLine
		must(t, json.Unmarshal(in.Bytes(), &l))
		if want := fmt.Sprintf("GET /page?n=%d HTTP/1.1", n); l.Message != want {
			t.Fatalf("%q, want %q", l.Message, want)
		}
		cursors = append(cursors, l.Cursor)
		n++
	}
	wg.Wait()
	must(t, stream.Close())
	// From a cursor, whatever became of the file since.
	must(t, d.store.Rotate(t.Context()))
	stream, err = d.FollowLog(t.Context(), "1", panel.LogQuery{Type: panel.LogAccess, After: cursors[50]})
	must(t, err)
	in = bufio.NewScanner(stream)
	for n := 51; n < lines && in.Scan(); n++ {
		var l panel.LogLine
		must(t, json.Unmarshal(in.Bytes(), &l))
		if l.Cursor != cursors[n] {
			t.Fatalf("%d: %s, want %s", n, l.Cursor, cursors[n])
		}
	}
	must(t, stream.Close())
}

func TestStreamsAreBoundedAndEnd(t *testing.T) {
	d := newDriver(t, Policy{}, fixed)
	ctx, cancel := context.WithCancel(t.Context())
	var open []io.ReadCloser
	for range streamsMost {
		s, err := d.FollowLog(ctx, "1", panel.LogQuery{Type: panel.LogAccess})
		must(t, err)
		open = append(open, s)
	}
	if _, err := d.FollowLog(ctx, "1", panel.LogQuery{Type: panel.LogAccess}); !errors.Is(err, panel.ErrBusy) {
		t.Errorf("one more: %v", err)
	}
	cancel()
	for _, s := range open {
		if _, err := io.ReadAll(s); err != nil {
			t.Errorf("the end of a stream: %v", err)
		}
	}
	// The account ends: so do its streams.
	s, err := d.FollowLog(t.Context(), "1", panel.LogQuery{Type: panel.LogAccess})
	must(t, err)
	must(t, d.Remove(t.Context(), accounts.Account{Record: accounts.Record{Ref: "1", Name: "alice"}}))
	if _, err := io.ReadAll(s); err != nil {
		t.Errorf("the end of an account: %v", err)
	}
	if _, err := os.Stat(d.store.Dir("alice")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is left: %v", err)
	}
}

func TestTrafficOfAnAccountThatHasEndedIsNotKept(t *testing.T) {
	d := newDriver(t, Policy{}, func() time.Time { return start })
	a := accounts.Account{Record: accounts.Record{Name: "alice"}}
	must(t, d.Remove(t.Context(), a))
	// The background had listed it before.
	if got, err := d.count(t.Context(), a.Name); got != 0 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	if left := d.sent.All(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestTrafficIsCountedOncePerMonth(t *testing.T) {
	now := start
	d := newDriver(t, Policy{MaxBytes: 1, Keep: 100}, func() time.Time { return now })
	sent := func() int64 {
		t.Helper()
		var u panel.Usage
		must(t, d.Count(t.Context(), accounts.Account{Record: accounts.Record{Name: "alice"}}, &u))
		return *u.TrafficBytes
	}
	if got := sent(); got != 0 {
		t.Errorf("nothing was sent: %d", got)
	}
	write(t, d.store, panel.LogAccess, accessLine(now, 1, 1000)+"garbage\n"+accessLine(now, 2, 500))
	if got := sent(); got != 1500 {
		t.Errorf("%d", got)
	}
	if got := sent(); got != 1500 {
		t.Errorf("counted twice: %d", got)
	}
	write(t, d.store, panel.LogAccess, accessLine(now, 3, 7))
	now = now.Add(time.Hour)
	must(t, d.store.Rotate(t.Context()))
	write(t, d.store, panel.LogAccess, accessLine(now, 4, 20))
	must(t, os.Chtimes(d.store.File("alice", panel.LogAccess)+".1", start, start))
	if got := sent(); got != 1527 {
		t.Errorf("over a rotation: %d", got)
	}
	// Another process goes on from the record.
	again, err := New(d.store, filepath.Join(filepath.Dir(d.store.cfg.Dir), "state"), d.lookup)
	must(t, err)
	d = again
	now = time.Date(2026, 12, 1, 0, 0, 1, 0, time.UTC)
	if got := sent(); got != 0 {
		t.Errorf("a new month: %d", got)
	}
	write(t, d.store, panel.LogAccess, accessLine(now, 5, 3)+accessLine(now.Add(-time.Minute), 6, 1<<40))
	if got := sent(); got != 3 {
		t.Errorf("in the new month: %d", got)
	}
	// The clock was ahead for a moment.
	write(t, d.store, panel.LogAccess, accessLine(now.AddDate(10, 0, 0), 7, 5))
	if got := sent(); got != 0 {
		t.Errorf("in another year: %d", got)
	}
	write(t, d.store, panel.LogAccess, accessLine(now, 8, 11))
	if got := sent(); got != 11 {
		t.Errorf("after the clock was put back: %d", got)
	}
}

func BenchmarkReadTheNewestPage(b *testing.B) {
	d := newDriver(b, Policy{}, fixed)
	var text strings.Builder
	for n := range 100_000 {
		text.WriteString(accessLine(start, n, 10))
	}
	write(b, d.store, panel.LogAccess, text.String())
	for b.Loop() {
		page, err := d.ReadLog(b.Context(), "1", panel.LogQuery{Type: panel.LogAccess, Limit: 100})
		if err != nil || len(page.Lines) != 100 {
			b.Fatal(len(page.Lines), err)
		}
	}
}
