// Package userdb keeps the users and groups of accounts in the machine's user database: passwd(5),
// shadow(5), group(5) and gshadow(5).
//
// It does what useradd(8) and userdel(8) do, under the lock that they take (lckpwdf(3)), without
// starting a process and for many users in one go: useradd reads and writes all files anew for every
// user, and waits whole seconds when another one is at it. It touches no line that is not of the
// user that it is asked about.
package userdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/platform/atomicfile"
)

// User is a user and the group of the same name and number.
type User struct {
	Name   string
	ID     int
	Home   string
	Shell  string
	Locked bool // it cannot log in by any means
}

// ErrTaken says that the name or number belongs to another user.
var ErrTaken = errors.New("userdb: the user name or number is taken")

// DB is a user database.
type DB struct {
	dir string // /etc

	queue sync.Mutex
	next  *batch

	writing sync.Mutex

	reading sync.Mutex
	stamp   string // identifies the files from which the tables were read
	tables  tables // never changed after they are read
}

// batch is the changes of one write.
type batch struct {
	changes []*change
	done    chan struct{}
}

// change sets a user or removes one.
type change struct {
	user   User
	remove bool
	err    error
}

// Open returns the database whose files are in dir, which is /etc except in tests.
func Open(dir string) *DB { return &DB{dir: dir} }

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Set creates or changes the user. ErrTaken: the name has another number, or the number another name.
func (db *DB) Set(ctx context.Context, u User) error {
	if !nameForm.MatchString(u.Name) || u.ID < 1000 || !plain(u.Home) || !plain(u.Shell) {
		return fmt.Errorf("userdb: malformed user %+v", u)
	}
	now, err := db.now()
	if err != nil {
		return err
	}
	for name, f := range now {
		if from, to := f.line(u.Name); from < 0 || string(f.text[from:to]) != lineOf(name, u) {
			return db.do(ctx, &change{user: u})
		}
	}
	return nil // the usual case
}

func plain(file string) bool {
	return strings.HasPrefix(file, "/") && !strings.ContainsAny(file, ":\n\x00")
}

// Remove removes the user with this name and number. It is no error when there is none.
func (db *DB) Remove(ctx context.Context, name string, id int) error {
	if !nameForm.MatchString(name) || id < 1000 {
		return fmt.Errorf("userdb: malformed user %s(%d)", name, id)
	}
	return db.do(ctx, &change{user: User{Name: name, ID: id}, remove: true})
}

// do joins the next batch. A change that has begun is finished, even when ctx ends.
func (db *DB) do(ctx context.Context, c *change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	db.queue.Lock()
	mine, first := db.next, db.next == nil
	if first {
		mine = &batch{done: make(chan struct{})}
		db.next = mine
	}
	mine.changes = append(mine.changes, c)
	db.queue.Unlock()
	if !first {
		<-mine.done
		return c.err
	}
	db.writing.Lock() // others join meanwhile
	defer db.writing.Unlock()
	db.queue.Lock()
	db.next = nil
	db.queue.Unlock()
	defer close(mine.done)
	if err := db.write(mine.changes); err != nil {
		for _, c := range mine.changes {
			if c.err == nil {
				c.err = fmt.Errorf("userdb: %w", err)
			}
		}
	}
	return c.err
}

// lock excludes useradd, passwd, vipw and all others who write the files.
func (db *DB) lock() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(db.dir, ".pwd.lock"), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		time.Sleep(pause) // held for milliseconds; an open vipw delays new accounts only
	}
}

// write applies the changes. A user is added to passwd last and removed from it first: a user found there is complete.
func (db *DB) write(changes []*change) error {
	lock, err := db.lock()
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	read, err := db.now()
	if err != nil {
		return err
	}
	now := make(tables, len(read)) // a copy: others read the tables meanwhile
	for name, f := range read {
		own := *f
		now[name] = &own
	}
	var remove, set []User
	for _, c := range changes {
		switch err := now.free(c.user); {
		case c.remove && err == nil:
			remove = append(remove, c.user)
		case c.remove: // somebody else has the name or the number, so nothing is ours
		case err != nil:
			c.err = err
		default:
			set = append(set, c.user)
		}
	}
	for _, name := range []string{"passwd", "shadow", "group", "gshadow"} {
		if err := db.edit(name, now[name], remove, false); err != nil {
			return err
		}
	}
	for _, name := range []string{"gshadow", "group", "shadow", "passwd"} {
		if err := db.edit(name, now[name], set, true); err != nil {
			return err
		}
	}
	return nil
}

// file is one of the files. Its text has an additional line end at its beginning, so that a line can be found by its
// beginning.
type file struct {
	text []byte
	mode fs.FileMode
	gid  int
}

// tables are the files by name; some machines have no gshadow.
type tables map[string]*file

var files = []string{"passwd", "shadow", "group", "gshadow"}

func (db *DB) read(name string) (*file, error) {
	path := filepath.Join(db.dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return nil, err
	}
	text := append([]byte{'\n'}, data...)
	if text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return &file{text: text, mode: fs.FileMode(st.Mode & 0o777), gid: int(st.Gid)}, nil
}

// now returns the present files, and reads them again when they changed.
func (db *DB) now() (tables, error) {
	db.reading.Lock()
	defer db.reading.Unlock()
	var stamp strings.Builder
	for _, name := range files {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(db.dir, name), &st); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("userdb: %s: %w", name, err)
		}
		fmt.Fprintf(&stamp, "%d %d %d %d ", st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano())
	}
	if db.stamp == stamp.String() {
		return db.tables, nil
	}
	all := tables{}
	for _, name := range files {
		f, err := db.read(name)
		if errors.Is(err, fs.ErrNotExist) && name == "gshadow" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("userdb: %w", err)
		}
		all[name] = f
	}
	db.stamp, db.tables = stamp.String(), all
	return all, nil
}

// line returns the position of a user's line, from its beginning to after its end; -1 when there is none.
func (f *file) line(user string) (from, to int) {
	from = bytes.Index(f.text, []byte("\n"+user+":"))
	if from < 0 {
		return -1, -1
	}
	from++
	return from, from + bytes.IndexByte(f.text[from:], '\n') + 1
}

// owner is the name in the line of passwd or group with the number id; empty when there is none.
func (f *file) owner(id int) string {
	mark := []byte(":" + strconv.Itoa(id) + ":")
	for at := 0; ; {
		i := bytes.Index(f.text[at:], mark)
		if i < 0 {
			return ""
		}
		at += i
		line := f.text[bytes.LastIndexByte(f.text[:at], '\n')+1 : at]
		if name, _, _ := bytes.Cut(line, []byte(":")); bytes.Count(line, []byte(":")) == 1 {
			return string(name) // the third field
		}
		at++
	}
}

// free reports whether u may have its name and number.
func (t tables) free(u User) error {
	for _, name := range []string{"passwd", "group"} {
		f := t[name]
		owner := f.owner(u.ID)
		from, _ := f.line(u.Name)
		if owner != "" && owner != u.Name || owner == "" && from >= 0 {
			return fmt.Errorf("%w: %s(%d)", ErrTaken, u.Name, u.ID)
		}
	}
	return nil
}

// lineOf is the line of u in a file.
func lineOf(name string, u User) string {
	switch name {
	case "passwd":
		return fmt.Sprintf("%s:x:%d:%d::%s:%s\n", u.Name, u.ID, u.ID, u.Home, u.Shell)
	case "group":
		return fmt.Sprintf("%s:x:%d:\n", u.Name, u.ID)
	case "gshadow":
		return u.Name + ":!::\n"
	case "shadow":
		// No password matches "*"; "!" and a past date of expiry also refuse keys.
		if u.Locked {
			return u.Name + ":!*::::::1:\n"
		}
		return u.Name + ":*:::::::\n"
	}
	return ""
}

// edit sets or removes the lines of users in a file.
func (db *DB) edit(name string, f *file, users []User, set bool) error {
	if f == nil || len(users) == 0 {
		return nil
	}
	changed := *f
	for _, u := range users {
		line := ""
		if set {
			line = lineOf(name, u)
		}
		from, to := changed.line(u.Name)
		if from < 0 {
			from, to = len(changed.text), len(changed.text)
		}
		if line == string(changed.text[from:to]) {
			continue
		}
		changed.text = slices.Concat(changed.text[:from], []byte(line), changed.text[to:])
	}
	if bytes.Equal(changed.text, f.text) {
		return nil
	}
	// The file has its mode and group from the beginning, so nobody else can read it meanwhile.
	if err := atomicfile.WriteOwned(filepath.Join(db.dir, name), changed.text[1:], changed.mode, 0, changed.gid); err != nil {
		return err
	}
	*f = changed
	return nil
}

// Users are the users with numbers from least to most.
func (db *DB) Users(least, most int) ([]User, error) {
	now, err := db.now()
	if err != nil {
		return nil, err
	}
	var all []User
	for line := range strings.Lines(string(now["passwd"].text[1:])) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(fields) != 7 {
			continue
		}
		id, err := strconv.Atoi(fields[2])
		if err == nil && least <= id && id <= most {
			all = append(all, User{Name: fields[0], ID: id, Home: fields[5], Shell: fields[6]})
		}
	}
	return all, nil
}

// Has reports whether a user or group has the name.
func (db *DB) Has(name string) (bool, error) {
	now, err := db.now()
	if err != nil {
		return false, err
	}
	user, _ := now["passwd"].line(name)
	group, _ := now["group"].line(name)
	return user >= 0 || group >= 0, nil
}

// Free reports whether no user and no group has the number.
func (db *DB) Free(id int) (bool, error) {
	now, err := db.now()
	if err != nil {
		return false, err
	}
	return now["passwd"].owner(id) == "" && now["group"].owner(id) == "", nil
}
