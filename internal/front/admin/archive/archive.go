// Package archive says what is in an archive of a hosting account that lives elsewhere: its inventory. Packages below it read the
// formats of other panels; package admin brings an inventory into a service.
//
// An archive comes from a machine that may have been taken over. Nothing of it is unpacked by name, run or sourced: names are
// checked, numbers and lists are bounded, and everything else is content, which the hosting machine judges again.
package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// ErrFormat says that a file is no archive of the format, or a damaged one.
var ErrFormat = errors.New("the archive cannot be read")

// Inventory is what an archive has of an account.
type Inventory struct {
	Format string // "hestia", "cpanel"
	User   string // name of the account there
	// Addresses are the IP addresses of the machine there, from which DNS records and settings have to lead away.
	Addresses []string
	Domains   []Domain
	Trees     []Tree
	Databases []Database
	Mailboxes []Mailbox
	Stores    []Store // of mail
	Zones     []Zone
	Cron      []Cron
	// Left is what is in the archive and not brought along, and why.
	Left []Left
}

// Left is a thing that is not brought along.
type Left struct {
	Kind   string `json:"kind"` // site, files, database, mailbox, dns, cron, certificate, ftp, other
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Leave notes a thing that is not brought along.
func (i *Inventory) Leave(kind, name, format string, args ...any) {
	i.Left = append(i.Left, Left{kind, name, fmt.Sprintf(format, args...)})
}

// AddAddress notes an address of the machine there; what is none is passed over.
func (i *Inventory) AddAddress(text string) {
	if a, err := netip.ParseAddr(text); err == nil && !slices.Contains(i.Addresses, a.String()) {
		i.Addresses = append(i.Addresses, a.String())
		slices.Sort(i.Addresses)
	}
}

// LeaveRefused notes the entries of a tar of which nothing is taken.
func (i *Inventory) LeaveRefused(t *Tar) {
	for _, e := range t.Entries {
		if e.Refused != "" {
			i.Leave("files", e.Name, "%s", e.Refused)
		}
	}
}

// Domain is a site with its names.
type Domain struct {
	Name    string
	Aliases []string
	// Home is the absolute path of the site's directory there; commands name it. Here it is Below, in the site's directory.
	Home, Below string
	Root        string // the document root, in the site's directory
	Suspended   bool
}

// Tree is a directory with files.
type Tree struct {
	// Domain is the site to which the files belong; empty: they are of no site, and Name says what they are.
	Domain, Name string
	// Files walks the files once, in the order of the archive. The body of a file can be read until the next one.
	Files func() iter.Seq2[File, error]
}

// File is a file, directory or symbolic link of an archive. Others are not walked: the walk gives an error of Refused for each.
type File struct {
	Path string // clean and relative
	Type panel.EntryType
	Exec bool
	Size int64
	Link string
	Time time.Time
	Body io.Reader
}

// Refused is the error of a walk that goes on: one entry of an archive is not taken.
type Refused struct{ Path, Reason string }

func (r *Refused) Error() string { return fmt.Sprintf("%q: %s", r.Path, r.Reason) }

// Database is a database with its content as SQL.
type Database struct {
	Name    string // there
	Own     string // without what the panel there puts before it
	Engine  panel.DatabaseEngine
	Charset string // one of panel.DatabaseCharsets, or empty
	Dump    func() (io.ReadCloser, error)
}

// Mailbox is a mailbox, or an address that only forwards.
type Mailbox struct {
	Address   string
	Hash      string // in the form of panel.Mailbox, or empty when mail servers here cannot take it
	QuotaMB   int64  // 0: none
	Aliases   []string
	ForwardTo []string
	KeepCopy  bool
	CatchAll  bool
	Suspended bool
	Reply     string // text of the automatic answer
}

// Store is where mail of one or several mailboxes is.
type Store struct {
	// Mail walks the files of the mailboxes once. The path of a file is within its Maildir.
	Mail func() iter.Seq2[Mail, error]
}

// Mail is a file of a mailbox.
type Mail struct {
	Address string
	File
}

// Zone is a zone of the DNS without its SOA record.
type Zone struct {
	Name    string
	Records []Record
}

// Record is a record of a zone. Names are relative to the zone unless they end with a dot.
type Record struct {
	Name, Type, Data string
	TTL              int // 0: as usual
	Disabled         bool
}

// Text is a record as a line of a zone file.
func (r Record) Text() string {
	ttl := ""
	if r.TTL > 0 {
		ttl = strconv.Itoa(r.TTL) + " "
	}
	return fmt.Sprintf("%s %sIN %s %s", r.Name, ttl, r.Type, r.Data)
}

// Cron is a command with its schedule.
type Cron struct {
	Expression, Command string
	Disabled            bool
}

// Bounds of what is read of an archive.
const (
	maxEntries = 4 << 20 // of a tar
	maxText    = 8 << 20 // bytes of a configuration
	maxName    = 4096
)

// Tar is a tar without compression whose entries can be opened in any order.
type Tar struct {
	at      io.ReaderAt
	Entries []Entry
	byName  map[string]int
}

// Entry is an entry of a Tar. Its name is clean and relative.
type Entry struct {
	Name string
	Mode fs.FileMode
	Size int64
	Link string
	Time time.Time
	// Refused says why nothing of it is taken; empty otherwise.
	Refused string
	hard    bool
	offset  int64
}

// Find is the regular file of a name.
func (t *Tar) Find(name string) (Entry, bool) {
	i, ok := t.byName[name]
	if !ok || !t.Entries[i].Mode.IsRegular() || t.Entries[i].Refused != "" || t.Entries[i].hard {
		return Entry{}, false
	}
	return t.Entries[i], true
}

// Open opens the content of an entry.
func (t *Tar) Open(e Entry) *io.SectionReader { return io.NewSectionReader(t.at, e.offset, e.Size) }

// Text reads a small file; empty when there is none.
func (t *Tar) Text(name string) (string, error) {
	e, ok := t.Find(name)
	if !ok {
		return "", nil
	}
	return ReadText(t.Open(e), name)
}

// ReadText reads a configuration.
func ReadText(r io.Reader, name string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("%w: %s is too long", ErrFormat, name)
	}
	return string(text), err
}

// Below lists the names directly below a directory, sorted.
func (t *Tar) Below(dir string) []string {
	seen := map[string]bool{}
	var names []string
	for _, e := range t.Entries {
		rest, ok := strings.CutPrefix(e.Name, dir+"/")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, "/")
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Walk walks what is below a directory, in the order of the archive; without one, everything.
func (t *Tar) Walk(dir string) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		for _, e := range t.Entries {
			name, ok := e.Name, true
			if dir != "" {
				name, ok = strings.CutPrefix(e.Name, dir+"/")
			}
			if !ok {
				continue
			}
			if !yieldEntry(e, name, t.Open(e), yield) {
				return
			}
		}
	}
}

func yieldEntry(e Entry, name string, body io.Reader, yield func(File, error) bool) bool {
	f := File{Path: name, Size: e.Size, Link: e.Link, Time: e.Time, Exec: e.Mode&0o100 != 0, Body: body}
	switch {
	case e.Refused != "":
		return yield(f, &Refused{name, e.Refused})
	case e.hard:
		return yield(f, &Refused{name, "a hard link"})
	case e.Mode.IsRegular():
		f.Type = panel.TypeFile
	case e.Mode.IsDir():
		f.Type, f.Size = panel.TypeDirectory, 0
	case e.Mode.Type() == fs.ModeSymlink:
		f.Type, f.Size = panel.TypeSymlink, 0
		if reason := badLink(name, e.Link); reason != "" {
			return yield(f, &Refused{name, reason})
		}
	default:
		return yield(f, &Refused{name, "neither file, directory nor link"})
	}
	return yield(f, nil)
}

// badLink says why a symbolic link is not taken: it may lead nowhere but below the directory that is walked.
func badLink(name, link string) string {
	if link == "" || strings.HasPrefix(link, "/") || len(link) > maxName {
		return "a link to " + strconv.Quote(link)
	}
	if to := path.Join(path.Dir(name), link); to == ".." || strings.HasPrefix(to, "../") {
		return "a link to " + strconv.Quote(link)
	}
	return ""
}

// cleanName is the relative name of an entry; false when it leads out of the archive.
func cleanName(name string) (string, bool) {
	if len(name) > maxName || strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) {
		return "", false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", false
		}
	}
	return path.Clean(name), true
}
