package daemon

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
)

// Files is the configuration of a daemon: a directory of files that are changed together with
// others' changes, checked by the daemon's own checker before it reads them, and put back when the
// checker or the daemon refuses them. A refused change is found among those it was batched with,
// and the others are made without it.
//
// A crash at any moment leaves the files of before a batch or of after it: see Open.
type Files struct {
	cfg    FilesConfig
	reload *Reloader

	mu      sync.Mutex
	waiting []*change
}

// FilesConfig describes the files of a daemon.
type FilesConfig struct {
	// Dir holds the files and nothing else; it is created when missing. Its sub-directory .undo belongs to Files.
	Dir  string
	Mode fs.FileMode // of the files; zero is 0644
	// Check runs the daemon's checker on the present files; the named ones, in order, were changed. nil: there is none.
	Check func(ctx context.Context, changed []string) error
	// Reload makes the daemon read the files, and returns when it has accepted or refused them.
	Reload func(ctx context.Context) error
	// Pause is the least time between the starts of two batches.
	Pause time.Duration
	Log   *slog.Logger
}

// change is the request of one caller.
type change struct {
	files map[string][]byte // nil: remove the file
	force bool              // reload also when nothing differs
	err   error
}

const undoDir = ".undo"

// OpenFiles opens the configuration in cfg.Dir and undoes what a crash left unchecked. The first change afterwards
// reloads the daemon even when the files are right: it may have read the others.
func OpenFiles(cfg FilesConfig) (*Files, error) {
	if cfg.Mode == 0 {
		cfg.Mode = 0o644
	}
	if cfg.Reload == nil || cfg.Log == nil || cfg.Dir == "" {
		return nil, errors.New("daemon: Dir, Reload and Log are needed")
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("daemon: %w", err)
	}
	f := &Files{cfg: cfg}
	f.reload = NewReloader(cfg.Pause, func(ctx context.Context) error {
		f.batch(ctx)
		return nil
	})
	if err := f.undo(); err != nil {
		return nil, err
	}
	return f, nil
}

// Apply sets the contents of the named files, or removes those whose content is nil, and makes the daemon follow. Names
// are relative, with slashes. When nothing differs, nothing happens. When it fails, the daemon keeps running with the
// former files.
func (f *Files) Apply(ctx context.Context, files map[string][]byte) error {
	for name := range files {
		if !filepath.IsLocal(name) || filepath.Clean(name) != name || strings.HasPrefix(name, ".") {
			return fmt.Errorf("daemon: %q is no name of a configuration file", name)
		}
	}
	same, err := f.same(files)
	if err != nil {
		return err
	}
	if same && !f.unread() {
		return nil
	}
	return f.join(ctx, &change{files: files})
}

// Reload makes the daemon read unchanged files again, because something that they name changed.
func (f *Files) Reload(ctx context.Context) error { return f.join(ctx, &change{force: true}) }

func (f *Files) join(ctx context.Context, c *change) error {
	f.mu.Lock()
	f.waiting = append(f.waiting, c)
	f.mu.Unlock()
	if err := f.reload.Do(ctx); err != nil {
		return err
	}
	return c.err
}

// Names lists the present files, in order.
func (f *Files) Names() ([]string, error) {
	var names []string
	err := filepath.WalkDir(f.cfg.Dir, func(file string, e fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(f.cfg.Dir, file)
		switch {
		case err != nil || relErr != nil:
			return errors.Join(err, relErr)
		case e.IsDir() && name == undoDir:
			return fs.SkipDir
		case e.Type().IsRegular() && filepath.Ext(name) != ".tmp":
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// same reports whether the files are as wanted.
func (f *Files) same(files map[string][]byte) (bool, error) {
	for name, want := range files {
		have, err := os.ReadFile(filepath.Join(f.cfg.Dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if want != nil {
				return false, nil
			}
		case err != nil:
			return false, fmt.Errorf("daemon: %w", err)
		case want == nil || !bytes.Equal(have, want):
			return false, nil
		}
	}
	return true, nil
}

// The mark exists while the daemon may have read other files than the present ones.
func (f *Files) mark() string { return filepath.Join(f.cfg.Dir, undoDir, "unread") }

func (f *Files) unread() bool {
	_, err := os.Lstat(f.mark())
	return err == nil
}

func (f *Files) unmark() error {
	if err := os.Remove(f.mark()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("daemon: %w", err)
	}
	return nil
}

// batch applies the changes of all waiting callers.
func (f *Files) batch(ctx context.Context) {
	f.mu.Lock()
	all := f.waiting
	f.waiting = nil
	f.mu.Unlock()
	f.make(ctx, all)
}

// make applies the changes together, and when they are refused each half on its own, until those at fault are found.
func (f *Files) make(ctx context.Context, all []*change) {
	if len(all) == 0 {
		return
	}
	err := f.try(ctx, all)
	var refused *refusal
	if len(all) > 1 && errors.As(err, &refused) {
		half := len(all) / 2
		f.make(ctx, all[:half])
		f.make(ctx, all[half:])
		return
	}
	for _, c := range all {
		c.err = err
	}
}

// refusal is the daemon's refusal of the files.
type refusal struct{ err error }

func (r *refusal) Error() string { return "daemon: the configuration is refused: " + r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// try applies the changes, all or none.
func (f *Files) try(ctx context.Context, all []*change) error {
	files, force := map[string][]byte{}, f.unread()
	for _, c := range all { // of two changes of a file, the later one wins
		maps.Copy(files, c.files)
		force = force || c.force
	}
	for name, content := range files {
		same, err := f.same(map[string][]byte{name: content})
		if err != nil {
			return err
		}
		if same {
			delete(files, name)
		}
	}
	if len(files) == 0 && !force {
		return nil
	}
	err := f.swap(ctx, files)
	if err == nil {
		return f.unmark()
	}
	var refused *refusal
	if back := f.undo(); back != nil {
		return errors.Join(err, back)
	}
	if errors.As(err, &refused) && refused.reload() {
		// The daemon may have read what it refused: have it read the former files.
		if again := f.cfg.Reload(ctx); again != nil {
			f.cfg.Log.Error("daemon does not take its former configuration either", "dir", f.cfg.Dir, "error", again)
			return err // the mark stays, and the next change retries
		}
	} else if force {
		return err
	}
	return errors.Join(err, f.unmark())
}

// reloadError says that the daemon refused what the checker accepted.
type reloadError struct{ error }

func (r reloadError) Unwrap() error { return r.error }

func (r *refusal) reload() bool {
	var e reloadError
	return errors.As(r.err, &e)
}

// swap replaces the files and has them checked and read.
func (f *Files) swap(ctx context.Context, files map[string][]byte) error {
	changed := slices.Sorted(maps.Keys(files))
	if err := f.remember(changed); err != nil {
		return err
	}
	for _, name := range changed {
		if err := f.put(name, files[name]); err != nil {
			return fmt.Errorf("daemon: %w", err)
		}
	}
	if f.cfg.Check != nil {
		if err := f.cfg.Check(ctx, changed); err != nil {
			return &refusal{err}
		}
	}
	if err := f.cfg.Reload(ctx); err != nil {
		return &refusal{reloadError{err}}
	}
	return f.forget()
}

func (f *Files) put(name string, content []byte) error {
	file := filepath.Join(f.cfg.Dir, name)
	if content == nil {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(file, content, f.cfg.Mode)
}

// The undo of a batch is a directory, complete once it has its name: the former files below old, with the same names,
// and the names of all files of the batch in names.
func (f *Files) undoPath(parts ...string) string {
	return filepath.Join(append([]string{f.cfg.Dir, undoDir}, parts...)...)
}

// remember writes the undo of a change of the named files.
func (f *Files) remember(names []string) error {
	err := os.MkdirAll(f.undoPath(), 0o700)
	if err == nil {
		err = atomicfile.Write(f.mark(), nil, 0o600)
	}
	if err != nil || len(names) == 0 {
		return err
	}
	prepared := f.undoPath("new-" + rand.Text())
	for _, name := range names {
		old := filepath.Join(prepared, "old", name)
		if err := os.MkdirAll(filepath.Dir(old), 0o700); err != nil {
			return err
		}
		// Files are replaced, never written into: a hard link preserves the former one.
		if err := os.Link(filepath.Join(f.cfg.Dir, name), old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := atomicfile.Write(filepath.Join(prepared, "names"), []byte(strings.Join(names, "\n")), 0o600); err != nil {
		return err
	}
	if err := os.Rename(prepared, f.undoPath("batch")); err != nil {
		return err
	}
	return atomicfile.SyncDir(f.undoPath())
}

// forget removes the undo: the batch is final.
func (f *Files) forget() error {
	if err := os.Rename(f.undoPath("batch"), f.undoPath("done-"+rand.Text())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("daemon: %w", err)
	}
	return f.clean()
}

// clean removes everything except the mark and an unfinished batch.
func (f *Files) clean() error {
	entries, err := os.ReadDir(f.undoPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	for _, e := range entries {
		if e.Name() != "batch" && e.Name() != "unread" {
			err = errors.Join(err, os.RemoveAll(f.undoPath(e.Name())))
		}
	}
	return err
}

// undo restores the files of an unfinished batch, if there is one.
func (f *Files) undo() error {
	data, err := os.ReadFile(f.undoPath("batch", "names"))
	if errors.Is(err, fs.ErrNotExist) {
		return f.clean()
	}
	if err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	for name := range strings.SplitSeq(string(data), "\n") {
		if err := f.putBack(name); err != nil {
			return fmt.Errorf("daemon: %w", err)
		}
	}
	return f.forget()
}

// putBack restores the former content of a file of the batch. It writes no data: the disk may be full.
func (f *Files) putBack(name string) error {
	file := filepath.Join(f.cfg.Dir, name)
	tmp := file + ".tmp"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Link(f.undoPath("batch", "old", name), tmp)
	if errors.Is(err, fs.ErrNotExist) {
		return f.put(name, nil)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, file); err != nil {
		return err
	}
	// Two names of one file are not renamed onto each other: rename(2).
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(file))
}
