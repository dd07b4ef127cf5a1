package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tink-crypto/tink-go/v2/keyset"

	"stead.dev/stead/internal/platform/atomicfile"
)

// OpenKeyFile returns the Box of the key file at path, and creates the file with a fresh key when it does not exist.
// The write is atomic and durable; of several processes that start at once, one creates the file and all use it. It
// refuses a file that anyone but the owner may read.
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

// Rotate adds a fresh key to the key file and returns the Box that seals with it. The older keys stay, to open secrets
// that they sealed. Running processes must restart to seal with the new key; until then they cannot open secrets sealed
// with it.
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
	if err := atomicfile.Write(path, content, 0o600); err != nil {
		return nil, fmt.Errorf("secret: key file: %w", err)
	}
	return newBox(handle)
}

func readKeyFile(path string) ([]byte, error) {
	content, err := ReadFile(path)
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
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("secret: key file: %w", err)
	}
	// Another process may have created one just now.
	if err := atomicfile.Create(path, content, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("secret: key file: %w", err)
	}
	return nil
}
