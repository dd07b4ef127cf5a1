package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"

	"stead.dev/stead/internal/port/panel"
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
	c.access = true
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
