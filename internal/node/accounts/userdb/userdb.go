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
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// User is a user and the group of the same name and number.
type User struct {
	Name   string
	ID     int
	Home   string
	Shell  string
	Locked bool // it cannot log in by any means
}

// ErrTaken is the answer when a name or number belongs to somebody else.
var ErrTaken = errors.New("userdb: the user name or number is taken")

// DB is a user database.
type DB struct {
	dir string // /etc

	queue sync.Mutex
	next  *batch

	writing sync.Mutex

	reading sync.Mutex
	index   *index
}

// batch is what is changed in one go.
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

// Open is the database whose files are in dir, which is /etc but for tests.
func Open(dir string) *DB { return &DB{dir: dir} }

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Set has the user be in the database as u says. ErrTaken: the name belongs to another number, or
// the number to another name.
func (db *DB) Set(ctx context.Context, u User) error {
	if !nameForm.MatchString(u.Name) || u.ID < 1000 || !plain(u.Home) || !plain(u.Shell) {
		return fmt.Errorf("userdb: malformed user %+v", u)
	}
	index, err := db.known()
	if err != nil {
		return err
	}
	for _, name := range files {
		if !index.lines[name+":"+lineOf(name, u)] && name != "gshadow" {
			return db.do(ctx, &change{user: u})
		}
	}
	return nil // as it mostly is
}

func plain(file string) bool {
	return strings.HasPrefix(file, "/") && !strings.ContainsAny(file, ":\n\x00")
}

// Remove takes the user with this name and number out of the database. One that is not there is no error.
func (db *DB) Remove(ctx context.Context, name string, id int) error {
	if !nameForm.MatchString(name) || id < 1000 {
		return fmt.Errorf("userdb: malformed user %s(%d)", name, id)
	}
	return db.do(ctx, &change{user: User{Name: name, ID: id}, remove: true})
}

// do joins the next batch. A change that began is finished, whatever becomes of ctx.
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
	db.writing.Lock() // meanwhile others join
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

// lock keeps useradd, passwd, vipw and all others who write the files away.
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
		time.Sleep(pause) // held for milliseconds; somebody in vipw holds up nothing but new accounts
	}
}

// write makes the changes. A user stands in passwd last and leaves it first: whoever is found there
// is complete.
func (db *DB) write(changes []*change) error {
	lock, err := db.lock()
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	passwd, err := db.read("passwd")
	if err != nil {
		return err
	}
	groups, err := db.read("group")
	if err != nil {
		return err
	}
	var remove, set []*change
	for _, c := range changes {
		switch err := errors.Join(passwd.free(c.user), groups.free(c.user)); {
		case c.remove && err == nil:
			remove = append(remove, c)
		case c.remove: // somebody else has the name or the number: there is nothing of ours
		case err != nil:
			c.err = err
		default:
			set = append(set, c)
		}
	}
	for _, name := range []string{"passwd", "shadow", "group", "gshadow"} {
		if err := db.edit(name, remove, removeLine); err != nil {
			return err
		}
	}
	for _, name := range []string{"gshadow", "group", "shadow", "passwd"} {
		if err := db.edit(name, set, lineOf); err != nil {
			return err
		}
	}
	return nil
}

// file is one of the files: its lines, without their ends.
type file struct {
	lines []string
	mode  fs.FileMode
	gid   int
}

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
	return &file{
		lines: strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"),
		mode:  fs.FileMode(st.Mode & 0o777), gid: int(st.Gid),
	}, nil
}

// free tells whether u may have its name and number, in passwd or group.
func (f *file) free(u User) error {
	id := strconv.Itoa(u.ID)
	for _, line := range f.lines {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.SplitN(rest, ":", 3)
		if len(fields) > 1 && (name == u.Name) != (fields[1] == id) {
			return fmt.Errorf("%w: %s(%d)", ErrTaken, u.Name, u.ID)
		}
	}
	return nil
}

func removeLine(string, User) string { return "" }

// lineOf is the line of u in the file.
func lineOf(name string, u User) string {
	switch name {
	case "passwd":
		return fmt.Sprintf("%s:x:%d:%d::%s:%s", u.Name, u.ID, u.ID, u.Home, u.Shell)
	case "group":
		return fmt.Sprintf("%s:x:%d:", u.Name, u.ID)
	case "gshadow":
		return u.Name + ":!::"
	case "shadow":
		// No password matches "*"; "!" and a date of expiry long past keep keys away too.
		if u.Locked {
			return u.Name + ":!*::::::1:"
		}
		return u.Name + ":*:::::::"
	}
	return ""
}

// edit gives the users of the changes their lines in a file.
func (db *DB) edit(name string, changes []*change, line func(name string, u User) string) error {
	if len(changes) == 0 {
		return nil
	}
	f, err := db.read(name)
	if errors.Is(err, fs.ErrNotExist) && name == "gshadow" {
		return nil // there are machines without
	}
	if err != nil {
		return err
	}
	wanted := make(map[string]string, len(changes)) // the line of a user, once it is not there yet
	for _, c := range changes {
		wanted[c.user.Name] = line(name, c.user)
	}
	changed := false
	lines := f.lines[:0:0]
	for _, have := range f.lines {
		user, _, _ := strings.Cut(have, ":")
		want, concerned := wanted[user]
		switch {
		case !concerned:
			lines = append(lines, have)
			continue
		case want != "":
			lines = append(lines, want)
			wanted[user] = "" // and any further line of the name goes
		}
		changed = changed || want != have
	}
	for _, c := range changes {
		if want := wanted[c.user.Name]; want != "" {
			lines = append(lines, want)
			wanted[c.user.Name] = ""
			changed = true
		}
	}
	if !changed {
		return nil
	}
	return db.replace(name, f, lines)
}

// replace writes a file anew with its mode and group, as nobody else's reader may find half of it.
func (db *DB) replace(name string, f *file, lines []string) (err error) {
	tmp := filepath.Join(db.dir, name+".stead")
	out, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, line := range lines {
		text.WriteString(line)
		text.WriteByte('\n')
	}
	_, err = out.Write(text.Bytes())
	if err == nil {
		err = out.Chown(0, f.gid)
	}
	if err == nil {
		err = out.Chmod(f.mode)
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, filepath.Join(db.dir, name)); err != nil {
		return err
	}
	dir, err := os.Open(db.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Users are the users whose numbers are from least to most.
func (db *DB) Users(least, most int) ([]User, error) {
	f, err := db.read("passwd")
	if err != nil {
		return nil, fmt.Errorf("userdb: %w", err)
	}
	var all []User
	for _, line := range f.lines {
		fields := strings.Split(line, ":")
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

// Has tells whether a user or group has the name.
func (db *DB) Has(name string) (bool, error) {
	index, err := db.known()
	return err == nil && index.names[name], err
}

// Free tells whether no user and no group has the number.
func (db *DB) Free(id int) (bool, error) {
	index, err := db.known()
	return err == nil && !index.ids[strconv.Itoa(id)], err
}

// index is what stands in the files, to be asked again and again without reading them.
type index struct {
	stamp string
	names map[string]bool
	ids   map[string]bool
	lines map[string]bool // "passwd:" and a line of it, and so on
}

var files = []string{"passwd", "shadow", "group", "gshadow"}

// known answers the index of the files as they are now.
func (db *DB) known() (*index, error) {
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
	if db.index != nil && db.index.stamp == stamp.String() {
		return db.index, nil
	}
	x := &index{stamp: stamp.String(), names: map[string]bool{}, ids: map[string]bool{}, lines: map[string]bool{}}
	for _, name := range files {
		f, err := db.read(name)
		if errors.Is(err, fs.ErrNotExist) && name == "gshadow" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("userdb: %w", err)
		}
		for _, line := range f.lines {
			x.lines[name+":"+line] = true
			if fields := strings.SplitN(line, ":", 4); (name == "passwd" || name == "group") && len(fields) == 4 {
				x.names[fields[0]], x.ids[fields[2]] = true, true
			}
		}
	}
	db.index = x
	return x, nil
}
