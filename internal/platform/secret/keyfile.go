package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tink-crypto/tink-go/v2/keyset"
)

// OpenKeyFile returns the Box of the key file at path and makes the file, with a fresh key, when there is none. The
// file appears whole and on the disk, or not at all; of several processes that start at once one makes it and all
// use it. A file that anyone but its owner may read is refused.
func OpenKeyFile(path string) (*Box, error) {
	content, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createKeyFile(path); err != nil {
			return nil, err
		}
		content, err = readKeyFile(path)
	}
	if err != nil {
		return nil, err
	}
	box, err := ParseKeyset(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return box, nil
}

// Rotate adds a fresh key to the key file and returns the Box that seals with it. The older keys stay, to open what
// they sealed. Running processes must be started again to seal with the new key; until then they cannot open what
// is sealed with it.
func Rotate(path string) (*Box, error) {
	content, err := readKeyFile(path)
	if err != nil {
		return nil, err
	}
	handle, err := parseHandle(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if handle, err = addPrimary(keyset.NewManagerFromHandle(handle)); err != nil {
		return nil, err
	}
	if content, err = encodeHandle(handle); err != nil {
		return nil, err
	}
	if err := placeFile(path, content, os.Rename); err != nil {
		return nil, err
	}
	return newBox(handle)
}

func readKeyFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("secret: key file: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("secret: key file %s is open to others (mode %04o): run chmod 600 on it, "+
			"and rotate the key if a stranger may have read it", path, mode)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("secret: key file: %w", err)
	}
	return content, nil
}

func createKeyFile(path string) error {
	handle, err := addPrimary(keyset.NewManager())
	if err != nil {
		return err
	}
	content, err := encodeHandle(handle)
	if err != nil {
		return err
	}
	// A link fails when the name is taken, where a rename would replace the key that another process just made.
	err = placeFile(path, content, os.Link)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// placeFile writes content beside path, forces it to the disk and then gives it its name with place (os.Link or
// os.Rename), so that path never names half a file.
func placeFile(path string, content []byte, place func(from, to string) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("secret: key file: %w", err)
	}
	file, err := os.CreateTemp(dir, ".key-*") // mode 0600
	if err != nil {
		return fmt.Errorf("secret: key file: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // after a rename there is nothing left to remove

	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("secret: key file: %w", err)
	}
	if err := place(file.Name(), path); err != nil {
		return fmt.Errorf("secret: key file: %w", err)
	}
	return syncDir(dir)
}

// syncDir forces a directory's entries to the disk: without it a crash could take the new name back.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("secret: key file: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("secret: key file: %w", err)
	}
	return nil
}
