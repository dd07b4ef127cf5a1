// Package record stores what a facility must remember about each account: one JSON file each, written atomically, read
// once at the start.
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

	"stead.dev/stead/internal/platform/atomicfile"
)

// Store keeps one T per account name. It is safe for concurrent use.
type Store[T any] struct {
	dir string

	mu  sync.RWMutex
	all map[string]T
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Open reads the records in dir, which it creates when missing. An unreadable record is an error: without it a
// customer's things would count as superfluous.
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
		case filepath.Ext(e.Name()) == ".tmp": // a write that a crash interrupted
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

// Get returns the record of an account, the zero value when there is none. Its slices and maps are shared with other
// callers and must not be changed: see Update.
func (s *Store[T]) Get(name string) T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[name]
}

// All returns a copy of the map of all records.
func (s *Store[T]) All() map[string]T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make(map[string]T, len(s.all))
	for name, v := range s.all {
		all[name] = v
	}
	return all
}

// Update passes a deep copy of the record to change and stores the result durably, unless change fails. Changes of one
// store are serialized; change must be quick.
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
	if err := atomicfile.Write(s.file(name), append(after, '\n'), 0o600); err != nil {
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
	return atomicfile.SyncDir(s.dir)
}

func (s *Store[T]) file(name string) string { return filepath.Join(s.dir, name+".json") }
