package ftp

import (
	"context"
	"io/fs"
	"net"
	"os"
	"time"

	ftpserver "github.com/fclairamb/ftpserverlib"

	"stead.dev/stead/internal/node/identity"
)

// step is how much room a transfer reserves at a time.
const step = 1 << 20

// transfer is an open file of a transfer.
type transfer struct {
	file   *os.File
	name   string // of a file that is written
	s      *session
	writes bool
	most   int64 // bytes that the FTP account's home may hold; zero: any number

	at, size int64 // where it writes, and how large the file is
	spare    int64 // reserved room that is not filled yet
}

var _ ftpserver.FileTransfer = (*transfer)(nil)

// Read implements io.Reader.
func (t *transfer) Read(b []byte) (int, error) {
	if t.s.gone.Load() {
		return 0, net.ErrClosed
	}
	return t.file.Read(b)
}

// Write implements io.Writer: what makes the file larger is counted before it is there.
func (t *transfer) Write(b []byte) (int, error) {
	switch {
	case t.s.gone.Load():
		return 0, net.ErrClosed
	case !t.writes:
		return 0, errForbidden
	}
	if more := t.at + int64(len(b)) - t.size - t.spare; more > 0 {
		if err := t.take(more); err != nil {
			return 0, tell(err)
		}
	}
	n, err := t.file.Write(b)
	t.at += int64(n)
	if t.at > t.size {
		t.spare -= t.at - t.size
		t.size = t.at
	}
	if err != nil {
		err = tell(err)
	}
	return n, err
}

// take reserves room in steps, and when a step is too much, only what is needed.
func (t *transfer) take(more int64) error {
	bytes := max(more, step)
	err := t.s.took(bytes, 0, t.most)
	if err != nil && bytes > more {
		bytes = more
		err = t.s.took(bytes, 0, t.most)
	}
	if err == nil {
		t.spare += bytes
	}
	return err
}

// Seek implements io.Seeker. Nobody writes beyond the end: a file with a hole would be larger than what it
// was counted for.
func (t *transfer) Seek(offset int64, whence int) (int64, error) {
	if whence != 0 || offset < 0 || (t.writes && offset > t.size) {
		return 0, errForbidden
	}
	at, err := t.file.Seek(offset, whence)
	t.at = at
	return at, err
}

// Close implements io.Closer.
func (t *transfer) Close() error {
	err := t.file.Close()
	if !t.writes {
		return err
	}
	if t.spare > 0 {
		t.s.gave(t.spare, 0)
		t.spare = 0
	}
	t.s.changed(t.name, false)
	if err := t.s.note(); err != nil {
		t.s.d.cfg.Log.Error("ftp usage cannot be kept", "user", t.s.username, "error", err)
	}
	return err
}

// took counts bytes before they are written: against the account's limits and the FTP account's own.
func (s *session) took(bytes, inodes, most int64) error {
	s.d.mu.Lock()
	m := s.d.meterOf(s.username)
	if most > 0 && bytes > 0 && m.bytes+bytes > most {
		s.d.mu.Unlock()
		return ftpserver.ErrStorageExceeded
	}
	m.bytes += bytes
	s.d.mu.Unlock()
	err := s.d.cfg.Disk.Take(s.ctx, s.account.Ref, bytes, inodes)
	if err != nil {
		s.d.mu.Lock()
		m.bytes -= bytes
		s.d.mu.Unlock()
	}
	return err
}

// gave returns freed room.
func (s *session) gave(bytes, inodes int64) {
	s.d.mu.Lock()
	m := s.d.meterOf(s.username)
	m.bytes = max(m.bytes-bytes, 0)
	s.d.mu.Unlock()
	s.d.cfg.Disk.Give(s.account.Ref, bytes, inodes)
}

// changed tells the account's files of a change.
func (s *session) changed(name string, dir bool) { s.d.cfg.Disk.Changed(s.account.Ref, name, dir) }

// meter counts the files in the home of an FTP account.
type meter struct {
	bytes int64
	at    time.Time // when they were counted by walking
}

// meterOf is the meter of an FTP account; d.mu is held.
func (d *Driver) meterOf(username string) *meter {
	m := d.meters[username]
	if m == nil {
		m = &meter{}
		d.meters[username] = m
	}
	return m
}

const (
	// remeasure is how long a count is trusted: others write into the home too.
	remeasure = 10 * time.Minute
	// walkTime bounds a count, so that a tree of millions does not delay a sign-in.
	walkTime = 10 * time.Second
)

// measure counts the home of who signs in, unless that was done lately.
func (s *session) measure() {
	now := s.d.cfg.Now()
	s.d.mu.Lock()
	m := s.d.meterOf(s.username)
	fresh := !m.at.IsZero() && !m.at.After(now) && now.Sub(m.at) < remeasure
	before := m.bytes
	s.d.mu.Unlock()
	if fresh {
		return
	}
	u, err := s.user()
	if err != nil {
		return
	}
	bytes, err := s.walk(u)
	if err != nil {
		s.d.cfg.Log.Warn("ftp home cannot be counted", "user", s.username, "error", err)
		bytes, now = u.UsedBytes, u.UsedAt // the last count that there is
	}
	s.d.mu.Lock()
	m.bytes = bytes + max(m.bytes-before, 0) // what came meanwhile was seen or not; this errs towards the limit
	m.at = now
	s.d.mu.Unlock()
	if err := s.note(); err != nil {
		s.d.cfg.Log.Error("ftp usage cannot be kept", "user", s.username, "error", err)
	}
}

// walk adds up the files in the home, as the account's user.
func (s *session) walk(u user) (bytes int64, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, walkTime)
	defer cancel()
	err = identity.Do(s.account, func() error {
		root, err := os.OpenRoot(s.account.Home)
		if err != nil {
			return err
		}
		defer root.Close()
		home, err := u.open(root)
		if err != nil {
			return err
		}
		defer home.Close()
		return fs.WalkDir(home.FS(), ".", func(name string, e fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil && name != ".":
				return nil // gone meanwhile, or not for this user
			case err != nil:
				return err
			}
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				bytes += info.Size()
			}
			return nil
		})
	})
	return bytes, err
}

// note keeps what is known of the usage.
func (s *session) note() error {
	s.d.mu.Lock()
	m := *s.d.meterOf(s.username)
	s.d.mu.Unlock()
	return s.d.update(s.username, func(u *user) { u.UsedBytes, u.UsedAt = m.bytes, m.at })
}
