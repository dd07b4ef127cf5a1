package secret

import (
	"fmt"
	"os"
)

// ReadFile reads a file that holds a secret. It refuses one that is open to the group or to others, and says what to do.
func ReadFile(path string) ([]byte, error) {
	if err := CheckFile(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// CheckFile refuses a file that is open to the group or to others.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%s is open to others (mode %04o): run chmod 600 on it, and replace what it holds if a stranger may have read it", path, mode)
	}
	return nil
}
