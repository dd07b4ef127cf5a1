package ssh

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"stead.dev/stead/internal/node/ssh/session"
)

// Installed reports whether the machine has the SSH server.
func Installed() bool {
	_, err := os.Stat(sshd)
	return err == nil
}

// Program puts the running program where customers' sessions can execute it, below the machine's
// directory, and answers the words that begin a session. The original may be
// where customers cannot reach it, and an upgrade of it must not come between.
func Program(dir string) ([]string, error) {
	words := []string{filepath.Join(dir, "ssh", "session"), session.Word}
	if err := install("/proc/self/exe", words[0]); err != nil {
		return nil, fmt.Errorf("ssh: %w", err)
	}
	return words, nil
}

func install(source, target string) error {
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(target)
	if err == nil && there.Size() == info.Size() && there.ModTime().Equal(info.ModTime()) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o711); err != nil {
		return err
	}
	if err := os.Remove(target + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// A hard link to the file, when that is enough.
	if path, err := os.Executable(); err == nil && info.Mode().Perm()&0o022 == 0 && info.Mode().Perm()&0o005 == 0o005 && os.Link(path, target+".new") == nil {
		return os.Rename(target+".new", target)
	}
	to, err := os.OpenFile(target+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err == nil {
		err = to.Chmod(0o755) // everybody's sessions run it
	}
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return err
	}
	if err := os.Chtimes(target+".new", info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	return os.Rename(target+".new", target)
}
