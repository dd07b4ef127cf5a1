// Package record keeps what a facility must remember about each account: a JSON file each, written
// whole or not at all, read once on start.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Store keeps one T per account name. Its methods may be called at the same time from anywhere.
type Store[T any] struct {
	dir string

	mu  sync.RWMutex
	all map[string]T
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Open reads the records in dir, which is made when missing. A record that cannot be read is an
// error: going on without it would take a customer's things for superfluous.
func Open[T any](dir string) (*Store[T], error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	s := &Store[T]{dir: dir, all: map[string]T{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		name, isRecord := strings.CutSuffix(e.Name(), ".json")
		switch {
		case filepath.Ext(e.Name()) == ".tmp": // a write that a crash cut short
			err = os.Remove(file)
		case isRecord && nameForm.MatchString(name):
			var v T
			if v, err = read[T](file); err == nil {
				s.all[name] = v
			}
		}
		if err != nil {
			return nil, fmt.Errorf("records: %s: %w", file, err)
		}
	}
	return s, nil
}

func read[T any](file string) (v T, err error) {
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	return v, err
}

// Get answers the record of an account, the zero value when there is none. What it refers to
// (slices, maps) is shared with other callers and not to be changed: see Update.
func (s *Store[T]) Get(name string) T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[name]
}

// All answers a copy of the map of all records.
func (s *Store[T]) All() map[string]T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make(map[string]T, len(s.all))
	for name, v := range s.all {
		all[name] = v
	}
	return all
}

// Update passes a deep copy of the record to change and keeps what comes out, on disk before it
// answers, unless change fails. Changes of one store follow each other; change must be quick.
func (s *Store[T]) Update(name string, change func(*T) error) (T, error) {
	var none T
	if !nameForm.MatchString(name) {
		return none, fmt.Errorf("records: %q is no name", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := json.Marshal(s.all[name])
	if err != nil {
		return none, fmt.Errorf("records: %w", err)
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return none, fmt.Errorf("records: %w", err)
	}
	if err := change(&v); err != nil {
		return none, err
	}
	after, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return none, fmt.Errorf("records: %w", err)
	}
	if err := WriteFile(s.file(name), append(after, '\n'), 0o600); err != nil {
		return none, fmt.Errorf("records: %w", err)
	}
	s.all[name] = v
	return v, nil
}

// Delete removes the record of an account, if there is one.
func (s *Store[T]) Delete(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("records: %q is no name", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Remove(s.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("records: %w", err)
	}
	delete(s.all, name)
	return SyncDir(s.dir)
}

func (s *Store[T]) file(name string) string { return filepath.Join(s.dir, name+".json") }

// WriteFile replaces a file so that a crash leaves the old one or the new one, whole.
func WriteFile(file string, data []byte, mode fs.FileMode) error {
	tmp := file + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode) // whatever the umask, and whatever was left there
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, file); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(file))
}

// SyncDir makes the names in a directory last through a loss of power.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
