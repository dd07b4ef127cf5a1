package customer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"stead.dev/stead/internal/platform/clock"
	stead "stead.dev/stead/sdk/go"
	"stead.dev/stead/sdk/go/deploy"
)

// Deployment is a folder that is to be deployed to a site.
type Deployment struct {
	Folder  string
	Delete  bool
	DryRun  bool
	Planned func(deploy.Result)
	// Progress is told how many of the bytes that are missing have been sent. It may be nil.
	Progress func(sent, all int64)
}

// Deploy makes the site what the folder is.
func (s *Session) Deploy(ctx context.Context, site *Site, d Deployment) (*deploy.Result, error) {
	patterns, err := readIgnored(d.Folder)
	if err != nil {
		return nil, err
	}
	options := deploy.Options{
		Directory: site.Directory, Delete: d.Delete, DryRun: d.DryRun, Skip: patterns.skip, Planned: d.Planned, Progress: d.Progress,
	}
	var known *hashes
	if dir, err := s.settings.directory("XDG_CACHE_HOME", ".cache"); err == nil {
		if known, err = openHashes(dir, d.Folder, s.settings.Clock.Now()); err != nil {
			return nil, err
		}
		options.Hashes = known
	}
	result, err := deploy.Folder(ctx, s.Client, site.ID, d.Folder, options)
	if stead.HasKey(err, stead.KeyAlreadyExists) {
		err = &stead.Error{
			Status: http.StatusUnprocessableEntity, Key: stead.KeyAlreadyExists,
			Message: "the site has a link or a directory where the folder has a file, or the other way round: remove it there, or leave the file out by " + IgnoreFile,
		}
	}
	if known == nil {
		return result, err
	}
	var refused *stead.Error
	if errors.As(err, &refused) && refused.Status == http.StatusUnprocessableEntity {
		known.forget() // a file may have another content than was remembered
	} else {
		_ = known.save() // the next deployment takes longer then, and nothing else
	}
	return result, err
}

// Rollback brings back the files of a release; of the one before the last when it is 0. The request names that one, too: were it
// repeated without a name, each time would go back one release further.
func (s *Session) Rollback(ctx context.Context, site *Site, release int64) (*stead.FilesRelease, error) {
	if release == 0 {
		all, err := s.Releases(ctx, site)
		if err != nil {
			return nil, err
		}
		release = before(all)
	}
	body := stead.FilesRollbackBody{}
	if site.Directory != "" {
		body.Directory = &site.Directory
	}
	if release != 0 {
		body.Release = &release
	}
	return s.Deploys.Rollback(ctx, site.ID, body)
}

// before returns the deployment whose files came before the present ones; 0 when none is listed, because the server then has at
// most what was there before the first.
func before(releases []stead.FilesRelease) int64 {
	if len(releases) == 0 {
		return 0
	}
	came := releases[0].ID // the deployment that brought the present files first
	for _, r := range releases {
		if r.ID == came && r.Restores != nil {
			came = *r.Restores
		}
	}
	for _, r := range releases[1:] {
		if r.ID < came && r.Restores == nil {
			return r.ID
		}
	}
	return 0
}

// Releases returns the releases of a site, the last first.
func (s *Session) Releases(ctx context.Context, site *Site) ([]stead.FilesRelease, error) {
	return collect(s.Deploys.All(ctx, site.ID, stead.DeploysQuery{Directory: site.Directory, PerPage: 50}))
}

// Summary describes a plan in a line.
func Summary(r deploy.Result, remove bool) string {
	text := fmt.Sprintf("%s, %s: %d changed, %d new", count(r.Files, "file"), Bytes(r.Bytes), r.Plan.Changed, r.Plan.Added)
	switch {
	case r.Plan.Gone > 0 && remove:
		text += fmt.Sprintf(", %d gone", r.Plan.Gone)
	case r.Plan.Gone > 0:
		text += fmt.Sprintf(", %d gone (kept; --delete removes)", r.Plan.Gone)
	}
	if r.Special > 0 {
		text += fmt.Sprintf("; %s left out", count(r.Special, "link or special file"))
	}
	return text
}

// count writes a number of things, whose plural has an s.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Bytes writes a number of bytes for people.
func Bytes(n int64) string {
	value, unit := float64(n), "B"
	for _, next := range []string{"kB", "MB", "GB", "TB"} {
		if value < 999.5 {
			break
		}
		value, unit = value/1000, next
	}
	if unit == "B" || value >= 99.95 {
		return fmt.Sprintf("%.0f %s", value, unit)
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}

// Bar draws how far an upload is on one line of a terminal.
type Bar struct {
	W     io.Writer
	began func() (seconds float64)
	shown int // tenths of a percent
	open  bool
}

// NewBar makes a bar that has not begun.
func NewBar(w io.Writer) *Bar {
	watch := clock.Stopwatch()
	return &Bar{W: w, began: func() float64 { return watch().Seconds() }, shown: -1}
}

const barWidth = 20

// Progress draws the bar, a thousand times at most.
func (b *Bar) Progress(sent, all int64) {
	part := 1000
	if all > 0 {
		part = int(sent * 1000 / all)
	}
	if part == b.shown {
		return
	}
	b.shown, b.open = part, true
	full := part * barWidth / 1000
	_, _ = fmt.Fprintf(b.W, "\r%s%s %s of %s  %.1f s\x1b[K", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), Bytes(sent), Bytes(all), b.began())
}

// End leaves the line.
func (b *Bar) End() {
	if b.open {
		_, _ = fmt.Fprintln(b.W)
		b.open = false
	}
}
