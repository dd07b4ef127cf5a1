package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

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
