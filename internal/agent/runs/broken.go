package runs

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
)

// siteState is what is known of the home page of a run's service.
type siteState string

const (
	siteNotSeen siteState = ""        // nothing was changed yet
	siteUnknown siteState = "unknown" // it did not work before the first change, or could not be seen
	siteWorks   siteState = "works"
	siteChanged siteState = "changed" // it worked before the last changes, which are not looked at yet
	siteBroken  siteState = "broken"  // since the last changes; they are being undone
)

// freshAfter is when the server's programs notice changed files: PHP looks every two seconds.
const freshAfter = 2500 * time.Millisecond

// fatal is what PHP shows of a program that cannot go on, where it shows errors.
var fatal = regexp.MustCompile(`(?i)\b(?:fatal|parse) error(?:</b>)?:\s`)

// works looks at the home page of the service. seen is false when it cannot be seen.
func (p project) works(ctx context.Context) (works, seen bool, err error) {
	place, err := p.Places.Place(ctx, p.accountID, p.serviceID)
	if err != nil || len(place.Names) == 0 {
		return false, false, err
	}
	got, err := place.fetch(ctx, place.Names[0], "/")
	if err != nil {
		return false, false, ctx.Err() // no answer at all is not what a change of files makes
	}
	return got.status < 500 && !fatal.Match(got.body), true, nil
}

// beforeChanges notes how the site is before changes of the run are made: whether it works, and then that it is to be looked
// at again. A process that is killed behind it leaves a run that looks.
func (w *worker) beforeChanges(ctx context.Context, project project, s situation) error {
	state := s.site
	switch {
	case s.kind != Agent || s.terms.KeepBroken || state == siteUnknown || state == siteChanged || state == siteBroken:
		return nil
	case state == siteNotSeen:
		works, seen, err := project.works(ctx)
		if err != nil {
			return err
		}
		if state = siteUnknown; works && seen {
			state = siteChanged
		}
	case state == siteWorks:
		state = siteChanged
	}
	return w.change(ctx, func(_ context.Context, _ *db.Tx, r *run) error { r.site = state; return nil })
}

// inspect looks at the site after changes. One that worked before and is broken now gets back what it had: the changes of the
// run are undone within it, as far as nothing newer stands in the way.
func (w *worker) inspect(ctx context.Context, s situation) error {
	project, err := w.project(ctx, s.accountID, s.serviceID)
	if err != nil {
		return w.impossible(ctx, err)
	}
	if slices.ContainsFunc(s.changes, change.runs) {
		if err := clock.Sleep(ctx, freshAfter); err != nil {
			return err
		}
	}
	works, seen, err := project.works(ctx)
	if err == nil && seen && !works { // a single failure may be of the moment
		if err = clock.Sleep(ctx, time.Second); err == nil {
			works, seen, err = project.works(ctx)
		}
	}
	if err != nil {
		return err
	}
	if works || !seen {
		return w.change(ctx, func(_ context.Context, _ *db.Tx, r *run) error { r.site = siteWorks; return nil })
	}
	made := slices.DeleteFunc(slices.Clone(s.changes), func(c change) bool { return c.status != applied })
	found, err := project.lookAt(ctx, pathsOf(made))
	if err != nil {
		return err
	}
	inverses, _ := planUndo(made, found, nil)
	var contents []string
	for _, i := range inverses {
		if i.kind.writes() {
			contents = append(contents, i.before, i.after)
		}
	}
	return w.change(ctx, func(ctx context.Context, tx *db.Tx, r *run) error {
		r.site = siteBroken
		if err := keepBlobs(ctx, tx, r.serviceID, contents); err != nil {
			return err
		}
		return w.journal(ctx, tx, r, inverses)
	})
}

// runs tells that a change can change what programs do.
func (c change) runs() bool {
	return c.kind == php || c.kind == unpack || slices.ContainsFunc([]string{c.path, c.toPath}, func(p string) bool {
		return slices.Contains(executables, strings.ToLower(path.Ext(p)))
	})
}
