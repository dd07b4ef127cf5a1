package files

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/url"
	"os"
	"path"
	"slices"
	"time"

	"stead.dev/stead/internal/node/tree"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/htaccess"
	"stead.dev/stead/internal/port/panel"
)

// Closed is a directory whose .htaccess closes it to visitors, or opens it within one that is closed.
type Closed struct {
	Dir    Dir  `json:"dir"`
	Denied bool `json:"denied"`
}

// Dir is a directory's path from the home: public_html/private. Names are bytes, of which JSON keeps not all, so they are
// written as in addresses.
type Dir string

// MarshalText implements encoding.TextMarshaler.
func (d Dir) MarshalText() ([]byte, error) { return []byte(url.PathEscape(string(d))), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Dir) UnmarshalText(text []byte) error {
	name, err := url.PathUnescape(string(text))
	*d = Dir(name)
	return err
}

// MostClosed bounds the directories that one look finds.
const MostClosed = 200

// Other bounds of one look for closed directories.
const (
	mostLooked = 500_000          // names
	mostHeld   = 1000             // files whose rules are held back
	longest    = 1000             // bytes of a directory's path; a line of a web server's configuration has 4096
	lookTime   = 30 * time.Second // in all
	lookBatch  = 1000             // names that are read at once
)

// Looked is what one look at an account's .htaccess files has found.
type Looked struct {
	Closed []Closed
	// Complete is false when a bound ended the look early: what it does not name is unknown.
	Complete bool
	Ignored  panel.IgnoredRules
}

// Closed finds the directories below the document roots that are closed to visitors, and the rules that have no effect. It reads
// as the account's user and follows no link but those in the path of a document root, and none that leads out of the home.
func (d *Driver) Closed(ctx context.Context, ref string, roots []string) (_ Looked, err error) {
	defer explain(&err, "closed", ref)
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	c, err := d.enter(ctx, ref)
	if err != nil {
		return Looked{}, err
	}
	defer c.close()
	l := closedSearch{call: c, since: clock.Stopwatch(), above: map[string]*ruleFile{}}
	for _, root := range roots {
		root, err := CleanPath(root)
		if err != nil {
			continue // no directory has that name
		}
		// What lies in another document root is found with that one.
		if !slices.ContainsFunc(roots, func(other string) bool {
			other, err := CleanPath(other)
			return err == nil && other != root && within(other, root)
		}) && !slices.Contains(l.roots, root) {
			l.roots = append(l.roots, root)
			l.below(root)
		}
	}
	if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return Looked{}, err
	}
	return Looked{Closed: l.found, Complete: !l.short, Ignored: l.ignored}, nil
}

// closedSearch is one search for closed directories.
type closedSearch struct {
	*call
	since func() time.Duration
	roots []string
	names int
	found []Closed
	short bool // a bound was reached

	ignored panel.IgnoredRules
	held    int                  // files whose rules were held back
	above   map[string]*ruleFile // of directories above document roots, which several may have in common
}

// ruleFile is what the file of a directory says.
type ruleFile struct {
	htaccess.Access

	path  string
	rules []htaccess.Rule // that have no effect, one of each kind
	told  bool
	outer *ruleFile // the next one above that is held back
}

// pending is a directory that is still to be looked at.
type pending struct {
	dir    string
	above  htaccess.Access // of the directory above
	closed bool            // what that one is, as far as it was found
	held   *ruleFile       // the nearest file above that is held back
}

// below looks at a document root and what is in it. What the directories above it say applies to it too.
func (l *closedSearch) below(dir string) {
	at := pending{dir: dir}
	if dir != "." {
		l.step(&at, ".")
		for i, r := range dir {
			if r == '/' {
				l.step(&at, dir[:i])
			}
		}
	}
	// The nearest to the root come first: a bound leaves out what is deep.
	for todo := []pending{at}; len(todo) > 0; todo = todo[1:] {
		if l.Err() != nil || l.since() > lookTime || len(l.found) == MostClosed {
			l.short = true
			return
		}
		todo = append(todo, l.directory(todo[0])...)
	}
}

// step takes a directory above a document root into account. Nobody visits it, so its rules hold in the document root only.
func (l *closedSearch) step(at *pending, dir string) {
	f := l.on(dir)
	at.above, at.held = f.Below(at.above), l.tell(f, at.held, true)
}

// tell reports the rules of a directory's file that have no effect. Where a directory is closed they would do nothing: they are held
// back for the first one below that is open, where they would hold as well.
func (l *closedSearch) tell(f, held *ruleFile, closed bool) *ruleFile {
	if len(f.rules) > 0 && (!closed || l.held < mostHeld) {
		f.outer, held = held, f
		if closed {
			l.held++
		}
	}
	if closed {
		return held
	}
	for ; held != nil && !held.told; held = held.outer {
		l.ignored.Add(held.path, held.rules)
		held.told = true
	}
	return nil
}

// directory looks at a directory, and lists those in it.
func (l *closedSearch) directory(p pending) (inside []pending) {
	own := l.own(p.dir)
	access := own.Below(p.above)
	closed := access.Closed()
	held := l.tell(own, p.held, closed)
	if closed != p.closed {
		l.found = append(l.found, Closed{Dir: Dir(p.dir), Denied: closed})
	}
	f, err := l.open(p.dir)
	if err != nil {
		return nil // not there, or closed to the account itself and so to the web server
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(lookBatch)
		for _, e := range entries {
			if l.names++; l.names > mostLooked {
				l.short = true
				return inside
			}
			switch dir := path.Join(p.dir, e.Name()); {
			case !e.IsDir():
			case len(dir) > longest:
				l.short = true
			default:
				inside = append(inside, pending{dir, access, closed, held})
			}
		}
		if err != nil {
			return inside
		}
	}
}

// open opens a directory for reading its names.
func (l *closedSearch) open(dir string) (*os.File, error) {
	return openDir(l.root, dir)
}

// on is what a directory above a document root says. Its file is read once for all document roots.
func (l *closedSearch) on(dir string) *ruleFile {
	f, ok := l.above[dir]
	if !ok {
		f = l.own(dir)
		l.above[dir] = f
	}
	return f
}

// own is what a directory's file says; nothing when there is none that can be read.
func (l *closedSearch) own(dir string) *ruleFile {
	name := path.Join(dir, htaccess.Name)
	f, _, err := l.openFile(name)
	if err != nil {
		return &ruleFile{}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, htaccess.MaxBytes))
	if err != nil {
		return &ruleFile{}
	}
	read := htaccess.Parse(string(text))
	return &ruleFile{Access: read.Access, path: "/" + name, rules: kinds(read.Ignored)}
}

// kinds is one rule of each directive that protects and one of each that does not: a file may repeat one ten thousand times.
func kinds(rules []htaccess.Rule) (distinct []htaccess.Rule) {
	for _, r := range rules {
		if !slices.ContainsFunc(distinct, func(d htaccess.Rule) bool { return d.Directive == r.Directive && d.Protects == r.Protects }) {
			distinct = append(distinct, r)
		}
	}
	return distinct
}

// OnAccess registers changed, which is called when files by which directories are closed have changed, or may have. It is called
// before the driver is used.
func (d *Driver) OnAccess(changed func(ref string)) { d.accessChanged = changed }

// Changed is told of a file, or a directory with what is in it, that something else than this driver has changed: directories may
// be closed by it.
func (d *Driver) Changed(ref, name string, dir bool) {
	if dir || path.Base(name) == htaccess.Name {
		d.accessChanged(ref)
	}
}

// mark is a number for the state of a file by which directories are closed.
func mark(e *tree.Entry) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, e.Name, "\x00", e.Stat.Size, e.Stat.Mtim, e.Stat.Ino, e.Stat.Mode) // a hash takes all
	return h.Sum64()
}
