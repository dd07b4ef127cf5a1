package backups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// openingConfig is in restic's message when it cannot find the configuration of a repository. The store's answer follows.
const openingConfig = "unable to open config file: "

// absent reports whether restic failed because the store has no configuration at the repository's place. restic asks "Is
// there a repository at the following location?" after any answer of the store, also when keys are refused or the network
// is down.
func absent(err error) bool {
	if err == nil {
		return false
	}
	for line := range strings.Lines(err.Error()) {
		if _, answer, ok := strings.Cut(strings.TrimSpace(line), openingConfig); ok {
			return strings.HasSuffix(answer, ": no such file or directory") || strings.HasSuffix(answer, "The specified key does not exist.")
		}
	}
	return false
}

// ensure creates a repository if it does not exist.
func (s *Restic) ensure(ctx context.Context, in repository) error {
	s.mu.Lock()
	made := s.made[in]
	s.mu.Unlock()
	if made {
		return nil
	}
	if err := s.begin(ctx, in); err != nil {
		return err
	}
	s.mu.Lock()
	s.made[in] = true
	s.mu.Unlock()
	return nil
}

// opens reads the configuration of a repository, which restic writes last when it creates one.
func (s *Restic) opens(ctx context.Context, in repository) error {
	_, err := s.run(ctx, in, nil, "cat", "--no-lock", "config")
	return err
}

// clear prepares the place of a new repository. restic cannot complete an interrupted creation: the repository has a key of an
// unknown password. A folder is then created again; in S3, where restic cannot remove a repository, another place is taken.
func (s *Restic) clear(ctx context.Context, ref string) (repository, error) {
	all, err := s.repositories(ref)
	if err != nil {
		return repository{}, err
	}
	in := all[len(all)-1]
	if _, err := os.Stat(s.own("beginning", ref)); errors.Is(err, fs.ErrNotExist) {
		return in, nil
	} else if err != nil {
		return in, err
	}
	err = s.opens(ctx, in)
	if err == nil {
		return in, s.unmark(ref)
	}
	if !absent(err) {
		return in, s.judge(ctx, in, err)
	}
	if s.remote() {
		// The old place stays named, so that it is dropped with the account.
		all = append(all, another(ref))
		if err := s.keepPlaces(ref, all); err != nil {
			return in, err
		}
		return all[len(all)-1], s.unmark(ref)
	}
	lock, failed := s.lock(ctx, ref)
	if failed != nil {
		return in, failed
	}
	if err = s.vacant(in, err, "snapshots"); err == nil {
		err = os.RemoveAll(s.location(in))
	}
	return in, errors.Join(err, lock.Close())
}

// begin creates a repository, unless it exists.
func (s *Restic) begin(ctx context.Context, in repository) error {
	err := s.opens(ctx, in)
	if err == nil || !absent(err) {
		return err
	}
	// A repository that has lost its configuration is not replaced: an operator may still rescue it.
	if err := s.vacant(in, err, "keys", "snapshots"); err != nil {
		return err
	}
	if err := atomicfile.Write(s.own("beginning", in.ref), nil, 0o600); err != nil {
		return err
	}
	_, err = s.run(ctx, in, nil, "init")
	if err == nil || strings.Contains(err.Error(), "create repository at") { // which restic does before it makes a key
		err = errors.Join(err, s.unmark(in.ref))
	}
	return err
}

// unmark takes back the mark of a creation that was begun.
func (s *Restic) unmark(ref string) error {
	beginning := s.own("beginning", ref)
	if err := os.Remove(beginning); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(beginning))
}

// vacant returns nil when a place without a configuration never held backups: the directories in it are empty, and nothing
// was read back from there. The absence of the configuration is cause.
func (s *Restic) vacant(in repository, cause error, dirs ...string) error {
	if err := s.reachable(); err != nil {
		return err
	}
	if _, err := os.Stat(s.own("read", in.name)); err == nil {
		return damaged(cause)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.remote() {
		return nil
	}
	for _, dir := range dirs {
		left, err := os.ReadDir(filepath.Join(s.location(in), dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %w", panel.ErrUnreachable, err)
		}
		if len(left) > 0 {
			return damaged(cause)
		}
	}
	return nil
}
