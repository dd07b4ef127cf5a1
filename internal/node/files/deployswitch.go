package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/port/panel"
)

// become makes the directory what want says, without the files that are gone, and records the release. Everything that
// can fail for want of room or content is done before the first file changes; then all of them are renamed.
func (t *target) become(r release, want map[string]string, gone []string) (panel.Release, error) {
	staged, err := t.stage(t.changes(want))
	defer func() {
		for _, name := range staged {
			_ = t.root.Remove(name) // those that were not renamed
		}
	}()
	if err != nil {
		return panel.Release{}, err
	}
	if err := t.record(r, want); err != nil {
		return panel.Release{}, err
	}
	if err := t.sync(); err != nil {
		return panel.Release{}, err
	}
	if err := t.replace(staged, gone); err != nil {
		return panel.Release{}, err
	}
	if err := errors.Join(t.look(want), t.prune(), t.save(), t.sync()); err != nil {
		return panel.Release{}, err
	}
	return t.state.last().Release, nil
}

// sync makes what was written survive a power loss.
func (t *target) sync() error {
	f, err := openDir(t.root, deployDir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}

// stage prepares the new contents of files under temporary names.
func (t *target) stage(changes map[string]string) (staged map[string]string, err error) {
	staged = map[string]string{}
	used := map[string]bool{}
	for p, sum := range changes {
		if err := t.mkdirAll(path.Dir(path.Join(t.dir, p))); err != nil {
			return staged, err
		}
		source := t.source(sum)
		if source == "" {
			return staged, fmt.Errorf("%w: the content of %s was not sent", panel.ErrNotFound, p)
		}
		name := t.stagingName()
		staged[p] = name
		// A content that came for this release becomes the file; a second file with it gets a copy.
		if t.contents[sum] && !used[sum] {
			used[sum] = true
			if err := t.root.Link(source, name); err != nil {
				return staged, err
			}
			continue
		}
		if err := t.duplicate(source, name); err != nil {
			return staged, err
		}
	}
	return staged, nil
}

func (t *target) duplicate(source, name string) error {
	f, _, err := t.openFile(source)
	if err != nil {
		return err
	}
	defer f.Close()
	h, err := t.hold()
	if err != nil {
		return err
	}
	defer h.release()
	if err := h.grow(0, 1); err != nil {
		return err
	}
	if err := t.fill(name, f, h, newFileMode, false); err != nil {
		return err
	}
	h.keep()
	return nil
}

// record adds the release before the files change: should the machine fail in between, the way back is known. What is
// overwritten although no release brought it, or was changed since, becomes part of the release before, which the way back
// restores.
func (t *target) record(r release, want map[string]string) error {
	s := &t.state
	if len(s.Releases) == 0 {
		s.Releases = []release{{Files: map[string]string{}}} // what was there before the first one
	}
	last := s.last()
	for p := range want {
		if sum := t.live[p]; sum != "" {
			last.Files[p] = sum
		}
	}
	s.Last++
	r.ID = s.Last
	if r.Restores == nil {
		r.Came = r.ID
	}
	r.Release.Files = len(r.Files)
	s.Releases = append(s.Releases, r)
	if n := len(s.Releases) - keptReleases; n > 0 {
		s.Releases = slices.Delete(s.Releases, 0, n)
	}
	// The file system's clock is the machine's.
	if err := t.save(); err != nil {
		return err
	}
	info, err := t.root.Stat(t.stateName())
	if err != nil {
		return err
	}
	s.last().CreatedAt = info.ModTime().UTC()
	return nil
}

// order puts pages behind what they load, so that no reader gets a page before its parts.
func order(paths []string) {
	isPage := func(p string) int {
		switch path.Ext(p) {
		case ".html", ".htm", ".php":
			return 1
		}
		return 0
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(isPage(a)-isPage(b), strings.Compare(a, b)) })
}

// replace renames the staged files into place and removes those that are gone. Contents that a release has are kept.
func (t *target) replace(staged map[string]string, gone []string) error {
	wanted := t.referenced()
	m := t.d.meter(t.ref)
	defer t.swap()()
	paths := slices.Collect(maps.Keys(staged))
	order(paths)
	retire := func(p string) error {
		name := path.Join(t.dir, p)
		info, err := t.root.Lstat(name)
		switch sum := t.live[p]; {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case wanted[sum] && !t.contents[sum]:
			t.contents[sum] = true
			return t.root.Link(name, contentName(sum))
		case wanted[sum] && t.isSame(name, contentName(sum)):
			return nil
		default:
			m.give(info.Size(), 1)
			return nil
		}
	}
	for _, p := range paths {
		name := path.Join(t.dir, p)
		if old, err := t.root.Lstat(name); err == nil {
			if err := t.root.Chmod(staged[p], old.Mode().Perm()); err != nil {
				return err
			}
		}
		if err := errors.Join(retire(p), t.root.Rename(staged[p], name)); err != nil {
			return err
		}
		delete(staged, p)
	}
	for _, p := range gone {
		name := path.Join(t.dir, p)
		if err := errors.Join(retire(p), changed(t.root.Remove(name))); err != nil {
			return err
		}
		for dir := path.Dir(name); dir != t.dir && within(t.dir, dir); dir = path.Dir(dir) {
			if t.root.Remove(dir) != nil {
				break // not empty
			}
			m.give(0, 1)
		}
	}
	return nil
}

// isSame reports whether two names are the same file.
func (t *target) isSame(a, b string) bool {
	x, errX := t.root.Lstat(a)
	y, errY := t.root.Lstat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// referenced are the contents that releases have.
func (t *target) referenced() map[string]bool {
	found := map[string]bool{}
	for _, r := range t.state.Releases {
		for _, sum := range r.Files {
			found[sum] = true
		}
	}
	return found
}

// prune removes contents that are in their place by now, and those that no release has and nobody has used for a day.
// Other directories of the home have releases too: what they refer to stays.
func (t *target) prune() error {
	wanted := t.referenced()
	others, err := readAll(t.root, deployDir)
	if err != nil {
		return err
	}
	for _, e := range others {
		if name := deployDir + "/" + e.Name(); strings.HasSuffix(name, ".json") && name != t.stateName() {
			other := &target{call: t.call, dir: t.dir}
			if err := other.loadFrom(name); err != nil {
				return err
			}
			maps.Copy(wanted, other.referenced())
		}
	}
	now := t.state.last().CreatedAt
	m := t.d.meter(t.ref)
	for sum := range t.contents {
		name := contentName(sum)
		info, err := t.root.Lstat(name)
		if err != nil {
			continue
		}
		linked := slices.ContainsFunc(t.having[sum], func(file string) bool { return t.isSame(name, file) })
		if !linked && (wanted[sum] || now.Sub(info.ModTime()) < unusedFor) {
			continue
		}
		if err := t.root.Remove(name); err != nil {
			return err
		}
		delete(t.contents, sum)
		if !linked {
			m.give(info.Size(), 1)
		}
	}
	return nil
}
