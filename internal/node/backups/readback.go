package backups

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/atonce"
)

// restic names its files by the SHA-256 of their content, so that a file is read back without a password.

// pack is a file of a repository that holds data.
type pack struct {
	id   string
	size int64
	read time.Time // when it was last read back; zero for never
}

// packSize is what a pack is taken to have where its size is not known: restic's own aim.
const packSize = 16 << 20

// Check implements Store.
func (s *Restic) Check(ctx context.Context, ref, handle string) error {
	in, _ := locate(ref, handle)
	return s.structure(ctx, in)
}

// structure verifies that all that the snapshots of a repository need is there, short of the content of the packs.
func (s *Restic) structure(ctx context.Context, in repository) error {
	_, err := s.run(ctx, in, nil, "check", "--no-lock")
	if err != nil && ctx.Err() == nil {
		return s.judge(ctx, in, err)
	}
	return err
}

// keysWhole reports whether the files that hold a repository's keys are what they were. In S3 they are taken to be.
func (s *Restic) keysWhole(in repository) bool {
	if s.remote() {
		return true
	}
	dir := filepath.Join(s.location(in), "keys")
	keys, err := os.ReadDir(dir)
	for _, k := range keys {
		text, unread := os.ReadFile(filepath.Join(dir, k.Name())) //nolint:gosec // the store's own
		sum := sha256.Sum256(text)
		if unread != nil || hex.EncodeToString(sum[:]) != k.Name() {
			return false
		}
	}
	return err == nil && len(keys) > 0
}

// Abandon implements Store. Nothing of the damaged repository is changed: its other backups may be whole, and an operator may
// rescue more.
func (s *Restic) Abandon(_ context.Context, ref, handle string) error {
	all, err := s.repositories(ref)
	if err != nil {
		return err
	}
	if in, _ := locate(ref, handle); handle != "" && in != all[len(all)-1] {
		return nil
	}
	return s.keepPlaces(ref, append(all, another(ref)))
}

// ReadBack implements Store.
func (s *Restic) ReadBack(ctx context.Context, ref string, how Reading) error {
	in, err := s.present(ref)
	if err != nil {
		return err
	}
	if err := s.reachable(); err != nil {
		return err
	}
	if how.Backup == "" {
		if begun, err := s.begun(ctx, in); err != nil || !begun {
			return err
		}
	}
	if err := s.structure(ctx, in); err != nil {
		return err
	}
	all, err := s.packs(ctx, in)
	if err != nil {
		return err
	}
	due := duePacks(all, how)
	failures := make([]error, len(due))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	atonce.Each(len(due), 2, func(i int) {
		if failures[i] = s.readPack(ctx, in, due[i].id); failures[i] != nil {
			stop()
		}
	})
	for _, err := range failures {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	now := map[string]time.Time{}
	for _, p := range due {
		now[p.id] = how.Now
	}
	for i := range all {
		if at, ok := now[all[i].id]; ok {
			all[i].read = at
		}
	}
	return s.keepRead(in, all)
}

// Reads implements Store.
func (s *Restic) Reads(ref, handle string) (bool, error) {
	present, err := s.present(ref)
	in, _ := locate(ref, handle)
	return in == present, err
}

// begun reports whether a repository was created: one that follows an abandoned one is not before the next backup.
func (s *Restic) begun(ctx context.Context, in repository) (bool, error) {
	if !s.remote() {
		_, err := os.Stat(s.location(in))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
	err := s.opens(ctx, in)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, s.judge(ctx, in, err)
	}
	return true, nil
}

// duePacks are the packs to be read, those that were never read first.
func duePacks(all []pack, how Reading) []pack {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b pack) int { return a.read.Compare(b.read) })
	left := how.Most
	for i, p := range sorted {
		if !p.read.IsZero() && !p.read.Before(how.Before) {
			if left -= p.size; left < 0 {
				return sorted[:i]
			}
		}
	}
	return sorted
}

// packs lists the packs of a repository, with the times at which they were read.
func (s *Restic) packs(ctx context.Context, in repository) ([]pack, error) {
	sizes := map[string]int64{}
	if s.remote() {
		out, err := s.run(ctx, in, nil, "list", "--no-lock", "packs")
		if err != nil {
			return nil, s.judge(ctx, in, err)
		}
		for id := range strings.FieldsSeq(string(out)) {
			sizes[id] = packSize
		}
	} else {
		err := filepath.WalkDir(filepath.Join(s.location(in), "data"), func(p string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || len(e.Name()) != 2*sha256.Size {
				return err
			}
			info, err := e.Info()
			if err == nil {
				sizes[e.Name()] = info.Size()
			}
			return err
		})
		if err != nil {
			return nil, damaged(err)
		}
	}
	read, err := s.lastRead(in)
	if err != nil {
		return nil, err
	}
	all := make([]pack, 0, len(sizes))
	for _, id := range slices.Sorted(maps.Keys(sizes)) {
		all = append(all, pack{id, sizes[id], read[id]})
	}
	return all, nil
}

// lastRead is when each pack was read back. What cannot be understood counts as never read.
func (s *Restic) lastRead(in repository) (map[string]time.Time, error) {
	f, err := os.Open(s.own("read", in.name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	read := map[string]time.Time{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		id, at, _ := strings.Cut(lines.Text(), " ")
		if unix, err := strconv.ParseInt(at, 10, 64); err == nil {
			read[id] = time.Unix(unix, 0)
		}
	}
	return read, lines.Err()
}

func (s *Restic) keepRead(in repository, all []pack) error {
	var text strings.Builder
	for _, p := range all {
		if !p.read.IsZero() {
			fmt.Fprintf(&text, "%s %d\n", p.id, p.read.Unix())
		}
	}
	return atomicfile.Write(s.own("read", in.name), []byte(text.String()), 0o600)
}

// readPack reads a pack and compares its content with its name.
func (s *Restic) readPack(ctx context.Context, in repository, id string) error {
	sum := sha256.New()
	if s.remote() {
		if err := s.print(ctx, in, sum, "cat", "--no-lock", "pack", id); err != nil {
			return err
		}
	} else {
		f, err := os.Open(filepath.Join(s.location(in), "data", id[:2], id))
		if err != nil {
			return damaged(err)
		}
		_, err = io.Copy(sum, canceled{ctx, f})
		if closed := f.Close(); err == nil {
			err = closed
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return damaged(err)
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != id {
		return damaged(fmt.Errorf("a pack of the repository %s has the checksum %s, its name is %s", in.name, got, id))
	}
	return nil
}

// print has restic write its output into w.
func (s *Restic) print(ctx context.Context, in repository, w hash.Hash, args ...string) error {
	cmd, done, err := s.command(ctx, in, args...)
	if err != nil {
		return err
	}
	defer done()
	var words lastWords
	cmd.Stdout, cmd.Stderr = w, &words
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return s.judge(ctx, in, words.explain(args[0], err))
	}
	return nil
}
