package files

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/port/panel"
)

// What deployments keep is in a directory of the home whose name customers cannot speak: contents that are to come, or
// that an earlier release had, by their hashes; and for each directory its releases.
const (
	deployDir   = staging + "deploys"
	contentsDir = deployDir + "/contents"

	maxDeployFiles = 20_000
	keptReleases   = 10
	maxState       = 64 << 20
	unusedFor      = 24 * time.Hour // a content that no release has
)

// deployed is what is kept for one directory.
type deployed struct {
	Last     int64     `json:"last"`
	Releases []release `json:"releases"` // the oldest first
	// Known are the hashes of files as they were last read, by path from the directory. A file that has another version
	// is read again.
	Known map[string]version `json:"known"`
}

type release struct {
	panel.Release
	// Came is the release whose files these were first: its own id but for one that brought files back.
	Came  int64             `json:"came"`
	Files map[string]string `json:"files"` // hash by path
}

type version struct {
	ETag   string `json:"etag"`
	SHA256 string `json:"sha256"`
}

// PlanDeploy implements panel.Deploys.
func (d *Driver) PlanDeploy(ctx context.Context, ref, dir string, files []panel.DeployFile) (_ panel.DeployPlan, err error) {
	defer explain(&err, "plan_deploy", ref)
	var plan panel.DeployPlan
	err = d.deploying(ctx, ref, dir, func(t *target) error {
		want, err := folder(files)
		if err != nil {
			return err
		}
		if err := t.look(want); err != nil {
			return err
		}
		plan = t.compare(want)
		for _, sum := range slices.Compact(slices.Sorted(maps.Values(t.changes(want)))) {
			if t.source(sum) == "" {
				plan.Missing = append(plan.Missing, sum)
			}
		}
		return t.save()
	})
	return plan, err
}

// PutContent implements panel.Deploys.
func (d *Driver) PutContent(ctx context.Context, ref, sum string, src io.Reader) (err error) {
	defer explain(&err, "put_content", ref)
	if !isSum(sum) {
		return fmt.Errorf("%w: no SHA-256 in lower-case hex", panel.ErrInvalid)
	}
	c, err := d.change(ctx, ref)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.mkdirAll(contentsDir); err != nil {
		return err
	}
	if _, err := c.root.Lstat(contentName(sum)); err == nil {
		_, err := io.Copy(io.Discard, patient{c, src})
		return err
	}
	return c.install(contentName(sum), &summed{r: src, hash: sha256.New(), want: sum}, newFileMode, panel.WriteOptions{}, false)
}

// Deploy implements panel.Deploys.
func (d *Driver) Deploy(ctx context.Context, ref, dir string, files []panel.DeployFile, remove bool) (_ panel.Release, err error) {
	defer explain(&err, "deploy", ref)
	var made panel.Release
	err = d.deploying(ctx, ref, dir, func(t *target) error {
		want, err := folder(files)
		if err != nil {
			return err
		}
		if err := t.look(want); err != nil {
			return err
		}
		plan := t.compare(want)
		r := release{Release: panel.Release{Added: plan.Added, Changed: plan.Changed, Unchanged: plan.Unchanged}, Files: maps.Clone(want)}
		var gone []string
		if last := t.state.last(); last != nil {
			for p, sum := range last.Files {
				switch _, stays := want[p]; {
				case stays || t.live[p] == "":
				case remove && t.live[p] == sum:
					gone = append(gone, p)
				default:
					r.Files[p] = t.live[p]
					r.Kept++
				}
			}
		}
		r.Removed = len(gone)
		made, err = t.become(r, want, gone)
		return err
	})
	return made, err
}

// Rollback implements panel.Deploys.
func (d *Driver) Rollback(ctx context.Context, ref, dir string, to int64) (_ panel.Release, err error) {
	defer explain(&err, "rollback", ref)
	var made panel.Release
	err = d.deploying(ctx, ref, dir, func(t *target) error {
		last, before := t.state.last(), t.state.before(to)
		if last == nil || before == nil {
			return fmt.Errorf("%w: no release to go back to", panel.ErrNotFound)
		}
		if err := t.look(before.Files); err != nil {
			return err
		}
		// What no release has changed since then may have been changed by somebody else, and stays.
		want := map[string]string{}
		r := release{Release: panel.Release{Restores: new(before.ID)}, Came: before.Came, Files: map[string]string{}}
		for p, sum := range before.Files {
			switch {
			case last.Files[p] != sum && (t.live[p] == sum || t.source(sum) != ""):
				want[p], r.Files[p] = sum, sum
			case t.live[p] != "":
				r.Files[p] = t.live[p]
			}
		}
		var gone []string
		for p, sum := range last.Files {
			if _, had := before.Files[p]; had || t.live[p] == "" {
				continue
			}
			if t.live[p] == sum {
				gone = append(gone, p)
			} else {
				r.Files[p] = t.live[p]
				r.Kept++
			}
		}
		plan := t.compare(want)
		r.Added, r.Changed, r.Removed = plan.Added, plan.Changed, len(gone)
		r.Unchanged = len(r.Files) - r.Added - r.Changed - r.Kept
		var err error
		made, err = t.become(r, want, gone)
		return err
	})
	return made, err
}

// Releases implements panel.Deploys.
func (d *Driver) Releases(ctx context.Context, ref, dir string) (_ []panel.Release, err error) {
	defer explain(&err, "releases", ref)
	c, err := d.open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer c.close()
	name, err := CleanPath(dir)
	if err != nil {
		return nil, err
	}
	t := &target{call: c, dir: name}
	if err := t.load(); err != nil {
		return nil, err
	}
	found := []panel.Release{}
	for _, r := range slices.Backward(t.state.Releases) {
		if r.ID > 0 {
			found = append(found, r.Release)
		}
	}
	return found, nil
}

// folder checks the files of a folder and returns their hashes by path.
func folder(files []panel.DeployFile) (map[string]string, error) {
	if len(files) > maxDeployFiles {
		return nil, fmt.Errorf("%w: more than %d files", panel.ErrLimit, maxDeployFiles)
	}
	want := make(map[string]string, len(files))
	for _, f := range files {
		clean, err := CleanPath(f.Path)
		switch {
		case err != nil:
			return nil, err
		case clean != f.Path, !isSum(f.SHA256):
			return nil, fmt.Errorf("%w: %q", panel.ErrInvalid, f.Path)
		case want[clean] != "":
			return nil, fmt.Errorf("%w: %q twice", panel.ErrInvalid, f.Path)
		}
		want[clean] = f.SHA256
	}
	return want, nil
}

func isSum(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && strings.ToLower(s) == s
}

func contentName(sum string) string { return contentsDir + "/" + sum }

// summed reads a content, and fails at its end when it has another hash.
type summed struct {
	r    io.Reader
	hash hash.Hash
	want string
}

func (s *summed) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	s.hash.Write(b[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(s.hash.Sum(nil)) != s.want {
		return n, fmt.Errorf("%w: the content has another hash", panel.ErrInvalid)
	}
	return n, err
}

func (s *deployed) last() *release {
	if len(s.Releases) == 0 {
		return nil
	}
	return &s.Releases[len(s.Releases)-1]
}

// before finds the release with the id, or for 0 the one that came before the last one's files.
func (s *deployed) before(id int64) *release {
	last := s.last()
	for n := len(s.Releases) - 2; n >= 0; n-- {
		if r := &s.Releases[n]; id != 0 && r.ID == id || id == 0 && r.ID < last.Came && r.Came == r.ID {
			return r
		}
	}
	return nil
}

// target is a directory during one call.
type target struct {
	*call
	dir      string
	state    deployed
	live     map[string]string   // hashes of the files that are there, of the paths that were looked at
	having   map[string][]string // the names of these files by their hash
	contents map[string]bool
}

// deploying runs f for a directory, one at a time for each account.
func (d *Driver) deploying(ctx context.Context, ref, dir string, f func(*target) error) error {
	end, ok := d.deploys.Acquire(ref)
	if !ok {
		return fmt.Errorf("%w: another deployment is in progress", panel.ErrBusy)
	}
	defer end()
	c, err := d.change(ctx, ref)
	if err != nil {
		return err
	}
	defer c.close()
	name, err := CleanPath(dir)
	if err != nil {
		return err
	}
	if name == "." || within(tmpDir, name) || within("logs", name) {
		return fmt.Errorf("%w: %q", panel.ErrPathNotAllowed, dir)
	}
	if err := errors.Join(c.mkdirAll(contentsDir), c.mkdirAll(name)); err != nil {
		return err
	}
	t := &target{call: c, dir: name, contents: map[string]bool{}}
	if err := t.load(); err != nil {
		return err
	}
	entries, err := readAll(c.root, contentsDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		t.contents[e.Name()] = true
	}
	return f(t)
}

// stateName is the file of what is kept for the directory.
func (t *target) stateName() string {
	sum := sha256.Sum256([]byte(t.dir))
	return deployDir + "/" + hex.EncodeToString(sum[:8]) + ".json"
}

// load reads what is kept. The file is the customer's: one that cannot be read is as none.
func (t *target) load() error { return t.loadFrom(t.stateName()) }

func (t *target) loadFrom(name string) error {
	t.state = deployed{Known: map[string]version{}}
	f, info, err := t.openFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() > maxState {
		return nil
	}
	var read deployed
	if json.NewDecoder(io.LimitReader(f, maxState)).Decode(&read) != nil {
		return nil
	}
	if read.Known == nil {
		read.Known = map[string]version{}
	}
	for _, r := range read.Releases {
		for p := range r.Files {
			if clean, err := CleanPath(p); err != nil || clean != p {
				return nil
			}
		}
	}
	t.state = read
	return nil
}

func (t *target) save() error {
	data, err := json.Marshal(t.state)
	if err != nil {
		return err
	}
	return t.install(t.stateName(), bytes.NewReader(data), 0o600, panel.WriteOptions{}, false)
}

// look finds the hashes of the files at the paths of want and of the last release.
func (t *target) look(want map[string]string) error {
	t.live = map[string]string{}
	paths := maps.Clone(want)
	if last := t.state.last(); last != nil {
		maps.Copy(paths, last.Files)
	}
	known := make(map[string]version, len(paths))
	for p := range paths {
		if err := t.Err(); err != nil {
			return err
		}
		info, err := t.root.Lstat(path.Join(t.dir, p))
		switch {
		case changed(err) == nil && err != nil:
			continue
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			if _, wanted := want[p]; wanted {
				return fmt.Errorf("%w: %s is not a file", panel.ErrExists, publicPath(path.Join(t.dir, p)))
			}
			continue
		}
		v, ok := t.state.Known[p]
		if tag := etag(info); !ok || v.ETag != tag {
			if v, err = t.read(path.Join(t.dir, p)); err != nil {
				return err
			}
		}
		t.live[p], known[p] = v.SHA256, v
	}
	t.state.Known = known
	t.having = map[string][]string{}
	for p, sum := range t.live {
		t.having[sum] = append(t.having[sum], path.Join(t.dir, p))
	}
	return nil
}

// read hashes a file.
func (t *target) read(name string) (version, error) {
	f, info, err := t.openFile(name)
	if err != nil {
		return version{}, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, patient{t, f}); err != nil {
		return version{}, err
	}
	return version{etag(info), hex.EncodeToString(h.Sum(nil))}, nil
}

// compare counts the differences between what is wanted and what is there.
func (t *target) compare(want map[string]string) panel.DeployPlan {
	var plan panel.DeployPlan
	for p, sum := range want {
		switch t.live[p] {
		case "":
			plan.Added++
		case sum:
			plan.Unchanged++
		default:
			plan.Changed++
		}
	}
	if last := t.state.last(); last != nil {
		plan.Release = t.state.Last
		for p := range last.Files {
			if _, stays := want[p]; !stays && t.live[p] != "" {
				plan.Gone++
			}
		}
	}
	return plan
}

// changes are the wanted files that are not there, or have another content.
func (t *target) changes(want map[string]string) map[string]string {
	found := map[string]string{}
	for p, sum := range want {
		if t.live[p] != sum {
			found[p] = sum
		}
	}
	return found
}

// source is the name of a file with the content; "" when there is none.
func (t *target) source(sum string) string {
	if t.contents[sum] {
		return contentName(sum)
	}
	if files := t.having[sum]; len(files) > 0 {
		return files[0]
	}
	return ""
}

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
	f, err := t.root.Open(deployDir)
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
