package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/node/tree"
	"stead.dev/stead/internal/platform/clock"
)

func groupID(name string) (int, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(g.Gid)
}

// directory creates the account's directory in the store, which only Dovecot can reach.
func (d *Driver) directory(account string, s state) error {
	dir := filepath.Join(d.cfg.Store, account)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	// An agent may have been killed after creating the directory and before giving it away.
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == s.UID && int(st.Gid) == s.GID {
		return nil
	}
	return os.Lchown(dir, s.UID, s.GID)
}

// remove erases mail. The path consists of validated names, in a tree that no customer's program can reach; os.Root
// confines it whatever the tree contains.
func (d *Driver) remove(account string, path ...string) error {
	root, err := os.OpenRoot(d.cfg.Store)
	if err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	defer func() { _ = root.Close() }() // was read only
	name := filepath.Join(append([]string{account}, path...)...)
	if err := tree.Remove(root, name, nil); err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	if len(path) > 1 { // the domain's directory, after its last mailbox
		_ = root.Remove(filepath.Dir(name)) // fails when it is not empty
	}
	return nil
}

// Remove implements facility.Facility.
func (d *Driver) Remove(ctx context.Context, a accounts.Account) error {
	if err := d.book.Remove(ctx, a); err != nil {
		return err
	}
	return d.leave(ctx, a.User.UID)
}

const (
	dovecotPrograms = "/usr/lib/dovecot/"
	leavePause      = 50 * time.Millisecond
	leaveTries      = 100 // before it is killed, and once more
)

// leave ends Dovecot's processes that have last worked as the account's user and keep its id until they work for
// another. They can become root again, so the user's kill(2) cannot end them. Dovecot starts others, and Postfix uses
// those.
func (d *Driver) leave(ctx context.Context, uid int) error {
	if uid == 0 {
		return nil
	}
	signal := syscall.SIGTERM
	for tries := 0; ; tries++ {
		all, err := accounts.Processes(uid)
		if err != nil {
			return fmt.Errorf("mail: %w", err)
		}
		left := 0
		for _, pid := range all {
			program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
			if err != nil || !strings.HasPrefix(program, dovecotPrograms) {
				continue // it has ended, or belongs to the account itself
			}
			left++
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("mail: %w", err)
			}
		}
		if left == 0 {
			return nil
		}
		switch tries {
		case leaveTries:
			signal = syscall.SIGKILL
		case 2 * leaveTries:
			return fmt.Errorf("mail: %d processes do not leave user %d", left, uid)
		}
		if err := clock.Sleep(ctx, leavePause); err != nil {
			return err
		}
	}
}

// kick ends sessions. It is no error when there are none.
func (d *Driver) kick(ctx context.Context, addresses ...string) error {
	if !d.up() || len(addresses) == 0 {
		return nil
	}
	for _, a := range addresses {
		err := run(ctx, nil, "/usr/bin/doveadm", "-c", d.conf("dovecot.conf"), "kick", a)
		if err != nil && !strings.Contains(err.Error(), "exit status 68") { // EX_NOHOST: no such session
			return fmt.Errorf("mail: %w", err)
		}
	}
	return nil
}

// use implements book.measure by Dovecot's quota, which counts in its index.
func (d *Driver) use(ctx context.Context, account string, s state) (map[string]use, error) {
	uses := map[string]use{}
	served := s.served()
	if len(served) == 0 || !d.up() {
		return uses, nil
	}
	var users bytes.Buffer
	for _, m := range served {
		users.WriteString(m.Address + "\n")
	}
	list, err := os.CreateTemp(filepath.Join(d.cfg.Dir, "state"), "users-")
	if err != nil {
		return nil, fmt.Errorf("mail: %w", err)
	}
	defer func() { _ = os.Remove(list.Name()) }()
	_, err = list.Write(users.Bytes())
	if err = errors.Join(err, list.Close()); err != nil {
		return nil, fmt.Errorf("mail: %w", err)
	}
	out, err := output(ctx, nil, "/usr/bin/doveadm", "-c", d.conf("dovecot.conf"), "-f", "tab", "quota", "get", "-F", list.Name())
	if err != nil {
		return nil, fmt.Errorf("mail: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		// Username, quota name, type, value, limit, percent
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) < 4 {
			continue
		}
		n, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			continue // the title, or a mailbox that was never opened
		}
		u := uses[f[0]]
		switch f[2] {
		case "STORAGE":
			u.bytes = n << 10
		case "MESSAGE":
			u.messages = n
		}
		uses[f[0]] = u
	}
	err = d.lastLogins(account, s, uses)
	return uses, err
}

func (d *Driver) up() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running
}

// lastLogins reads the times of the last sign-ins from Dovecot's files in each mailbox.
func (d *Driver) lastLogins(account string, s state, uses map[string]use) error {
	root, err := os.OpenRoot(filepath.Join(d.cfg.Store, account))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	defer func() { _ = root.Close() }() // was read only
	as := accounts.Account{Record: accounts.Record{User: accounts.User{UID: s.UID, GID: s.GID}}}
	return identity.Do(as, func() error {
		for _, m := range s.served() {
			local, domain, _ := strings.Cut(m.Address, "@")
			f, err := root.Open(filepath.Join(domain, local, "last-login"))
			if err != nil {
				continue // never signed in
			}
			data, err := io.ReadAll(io.LimitReader(f, 1<<12))
			if err = errors.Join(err, f.Close()); err != nil {
				return fmt.Errorf("mail: %w", err)
			}
			// The key, and in the next line the value: seconds since 1970.
			lines := strings.Split(string(data), "\n")
			for i := 1; i < len(lines); i++ {
				if at, err := strconv.ParseInt(lines[i], 10, 64); err == nil && strings.Contains(lines[i-1], "last-login") {
					u := uses[m.Address]
					u.lastLogin = time.Unix(at, 0).UTC()
					uses[m.Address] = u
				}
			}
		}
		return nil
	})
}
