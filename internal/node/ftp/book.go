package ftp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/files"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/port/panel"
)

// entry is the stored record of an account: its FTP accounts by user name.
type entry struct {
	Ref   string          `json:"ref"`
	Users map[string]user `json:"users"`
}

// user is one FTP account.
type user struct {
	Home     string `json:"home"` // as returned by files.CleanPath
	QuotaMB  int64  `json:"quota_mb,omitempty"`
	ReadOnly bool   `json:"readonly,omitempty"`

	Hash    string `json:"hash"` // bcrypt
	Version string `json:"version"`

	UsedBytes   int64      `json:"used_bytes"`
	UsedAt      time.Time  `json:"used_at,omitzero"` // when it was counted; zero: not yet
	LastLoginAt *time.Time `json:"last_login_at,omitempty"`
}

// cost of bcrypt: about 60 ms. The passwords are random; it protects against theft of the records.
const cost = 10

// book keeps the FTP accounts of the machine. It implements panel.FTP as far as no server is involved.
type book struct {
	records *record.Store[entry]
	lookup  facility.Lookup

	host string // reported to customers
	port func() int

	// changed is called when an account's rights have changed, with moved when it has another home or none; it may be
	// nil.
	changed func(username string, moved bool)
}

var _ panel.FTP = (*book)(nil)

func openBook(dir string, lookup facility.Lookup) (*book, error) {
	records, err := record.Open[entry](dir)
	if err != nil {
		return nil, fmt.Errorf("ftp: %w", err)
	}
	return &book{records: records, lookup: lookup, port: func() int { return 0 }}, nil
}

// FTPAccounts implements panel.FTP.
func (b *book) FTPAccounts(_ context.Context, ref string) ([]panel.FTPAccount, error) {
	a, err := b.lookup(ref)
	if err != nil {
		return nil, panel.Wrap("ftp.list", ref, err)
	}
	users := b.records.Get(a.Name).Users
	all := make([]panel.FTPAccount, 0, len(users))
	for _, name := range slices.Sorted(maps.Keys(users)) {
		all = append(all, b.answer(name, users[name]))
	}
	return all, nil
}

func (b *book) answer(name string, u user) panel.FTPAccount {
	return panel.FTPAccount{
		Username: name, Home: publicPath(u.Home), QuotaMB: u.QuotaMB, ReadOnly: u.ReadOnly, PasswordVersion: u.Version,
		Host: b.host, Port: b.port(), UsedMB: (u.UsedBytes + 1<<20 - 1) >> 20, LastLoginAt: u.LastLoginAt,
	}
}

func publicPath(name string) string {
	if name == "." {
		return "/"
	}
	return "/" + name
}

// own is the part of a user name after the account's.
var own = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// SetFTPAccount implements panel.FTP.
func (b *book) SetFTPAccount(_ context.Context, ref string, f panel.FTPAccount) (_ panel.FTPAccount, err error) {
	defer func() { err = panel.Wrap("ftp.set", ref, kind(err)) }()
	a, err := b.lookup(ref)
	if err != nil {
		return panel.FTPAccount{}, err
	}
	if a.Suspended {
		return panel.FTPAccount{}, panel.ErrSuspended
	}
	home, err := check(a, f)
	if err != nil {
		return panel.FTPAccount{}, err
	}
	before, there := b.records.Get(a.Name).Users[f.Username]
	hash := before.Hash
	switch {
	case !there && f.Password == "":
		return panel.FTPAccount{}, fmt.Errorf("%w: a new FTP account needs a password", panel.ErrInvalid)
	case f.Password != "" && (!there || before.Version != f.PasswordVersion):
		// bcrypt uses 72 bytes only.
		if len(f.Password) > 72 {
			return panel.FTPAccount{}, fmt.Errorf("%w: password longer than 72 bytes", panel.ErrInvalid)
		}
		made, err := bcrypt.GenerateFromPassword([]byte(f.Password), cost)
		if err != nil {
			return panel.FTPAccount{}, err
		}
		hash = string(made)
	default:
		f.PasswordVersion = before.Version
	}
	if err := makeHome(a, home); err != nil {
		return panel.FTPAccount{}, err
	}
	now, err := b.records.Update(a.Name, func(e *entry) error {
		e.Ref = a.Ref
		if e.Users == nil {
			e.Users = map[string]user{}
		}
		u := e.Users[f.Username]
		if u.Home != home {
			u.UsedBytes, u.UsedAt = 0, time.Time{}
		}
		u.Home, u.QuotaMB, u.ReadOnly, u.Hash, u.Version = home, f.QuotaMB, f.ReadOnly, hash, f.PasswordVersion
		e.Users[f.Username] = u
		return nil
	})
	if err != nil {
		return panel.FTPAccount{}, err
	}
	// Existing sessions have the old home and password.
	if after := now.Users[f.Username]; there && b.changed != nil && !sameRights(before, after) {
		b.changed(f.Username, after.Home != before.Home)
	}
	return b.answer(f.Username, now.Users[f.Username]), nil
}

func sameRights(a, b user) bool {
	return a.Home == b.Home && a.QuotaMB == b.QuotaMB && a.ReadOnly == b.ReadOnly && a.Hash == b.Hash
}

// check returns the home as a name in the account's home.
func check(a accounts.Account, f panel.FTPAccount) (home string, err error) {
	name, ok := strings.CutPrefix(f.Username, a.Name+"_")
	if !ok || !own.MatchString(name) {
		return "", fmt.Errorf("%w: user name %q of account %s", panel.ErrInvalid, f.Username, a.Name)
	}
	if f.QuotaMB < 0 || f.QuotaMB > 1<<40 {
		return "", fmt.Errorf("%w: quota of %d MB", panel.ErrInvalid, f.QuotaMB)
	}
	return files.CleanPath(f.Home)
}

// makeHome creates the directory as the account's user.
func makeHome(a accounts.Account, home string) error {
	return identity.Do(a, func() error {
		root, err := os.OpenRoot(a.Home)
		if err != nil {
			return err
		}
		defer root.Close()
		if err := root.MkdirAll(home, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err := root.Stat(home)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%w: %s is not a directory", panel.ErrPathNotAllowed, publicPath(home))
		}
		return err
	})
}

// RemoveFTPAccount implements panel.FTP.
func (b *book) RemoveFTPAccount(_ context.Context, ref, username string) (err error) {
	defer func() { err = panel.Wrap("ftp.remove", ref, err) }()
	a, err := b.lookup(ref)
	if err != nil {
		return err
	}
	if a.Suspended {
		return panel.ErrSuspended
	}
	if _, there := b.records.Get(a.Name).Users[username]; !there {
		return fmt.Errorf("%w: FTP account %s", panel.ErrNotFound, username)
	}
	_, err = b.records.Update(a.Name, func(e *entry) error {
		delete(e.Users, username)
		return nil
	})
	if err == nil && b.changed != nil {
		b.changed(username, true)
	}
	return err
}

// find is the FTP account of that user name.
func (b *book) find(username string) (ref string, u user, ok bool) {
	account, _, ok := strings.Cut(username, "_")
	if !ok {
		return "", user{}, false
	}
	e := b.records.Get(account)
	u, ok = e.Users[username]
	return e.Ref, u, ok
}

// update changes the record of an FTP account, if it still exists.
func (b *book) update(username string, change func(*user)) error {
	account, _, _ := strings.Cut(username, "_")
	if _, there := b.records.Get(account).Users[username]; !there {
		return nil
	}
	_, err := b.records.Update(account, func(e *entry) error {
		if u, there := e.Users[username]; there {
			change(&u)
			e.Users[username] = u
		}
		return nil
	})
	return err
}

// kind classifies an error of the file system.
func kind(err error) error {
	var known panel.Kind
	if err == nil || errors.As(err, &known) {
		return err
	}
	if k := files.KindOf(err); k != "" {
		return fmt.Errorf("%w: %w", k, err)
	}
	return err
}

// open opens the FTP account's home in the account's. "/." refuses what is no directory: opening a pipe would wait for a writer.
func (u user) open(account *os.Root) (*os.Root, error) { return account.OpenRoot(u.Home + "/.") }

// within converts a name in an FTP account's home to a name in the account's home.
func (u user) within(name string) string { return path.Join(u.Home, name) }
