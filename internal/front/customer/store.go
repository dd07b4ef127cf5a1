package customer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/sdk/go/oauth"
)

// Store keeps the sign-ins of a user of the machine, one for each server, in one file of its directory.
type Store struct{ Dir string }

// SignIn is a sign-in at a server.
type SignIn struct {
	AccountID int64  `json:"account_id"`
	Email     string `json:"email"`
	// Token has no refresh token when it was given by hand: then nothing renews it.
	Token oauth.Token `json:"token"`
}

// signIns is the content of the file.
type signIns struct {
	Format int `json:"format"`
	// Current is the address of the server of commands that name none: the one that was signed in to last.
	Current string            `json:"current"`
	Servers map[string]SignIn `json:"servers"`
}

const storeFormat = 1

func (s Store) file() string { return filepath.Join(s.Dir, "servers.json") }

// read reads the file; one that is not there has no sign-ins.
func (s Store) read() (signIns, error) {
	none := signIns{Format: storeFormat, Servers: map[string]SignIn{}}
	f, err := os.Open(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return none, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return none, fmt.Errorf("other users of this machine can read the tokens in %s: run `chmod 600` on it, then stead logout, and sign in again", s.file())
	}
	all := none
	if err := json.NewDecoder(f).Decode(&all); err != nil {
		return none, fmt.Errorf("%s cannot be read: %w (remove it and sign in again)", s.file(), err)
	}
	if all.Format != storeFormat {
		return none, fmt.Errorf("%s is of a newer stead: its format is %d", s.file(), all.Format)
	}
	if all.Servers == nil {
		all.Servers = map[string]SignIn{}
	}
	return all, nil
}

// lockPause is how long a command waits before it tries again to get the lock.
const lockPause = 50 * time.Millisecond

// update changes the sign-ins while no other command does: of two commands that find an expired token one renews it, and the other
// takes what came of that. Nothing is written when change fails.
func (s Store) update(ctx context.Context, change func(all *signIns) error) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(s.Dir, "servers.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() // which ends the lock
	for {
		err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lock %s: %w", s.Dir, err)
		}
		if err := clock.Sleep(ctx, lockPause); err != nil {
			return err
		}
	}
	all, err := s.read()
	if err != nil {
		return err
	}
	if err := change(&all); err != nil {
		return err
	}
	content, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(s.file(), append(content, '\n'), 0o600)
}
