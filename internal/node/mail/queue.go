package mail

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// mostCounted bounds the work of counting: beyond it, it does not matter how many messages wait.
const mostCounted = 100_000

// Queued counts the messages that wait to be delivered, to at most 100,000.
func (d *Driver) Queued() (n int64, err error) {
	for _, queue := range []string{"maildrop", "incoming", "active", "deferred", "hold"} {
		err := filepath.WalkDir(filepath.Join(d.cfg.queue(), queue), func(_ string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist): // delivered meanwhile, or Postfix has never run
				return nil
			case err != nil:
				return err
			case !entry.IsDir():
				n++
			}
			if n >= mostCounted {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}
