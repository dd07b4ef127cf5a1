package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mattn/go-isatty"

	"stead.dev/stead/internal/front/customer"
	"stead.dev/stead/sdk/go/deploy"
)

type deployCmd struct {
	Folder   string `arg:"" optional:"" help:"Folder whose files the site gets. Its .steadignore says what is left out, in the form of .gitignore." type:"existingdir"`
	Site     string `help:"A domain of the site, its label, or its id." required:"" placeholder:"SITE"`
	Delete   bool   `help:"Remove what earlier releases brought and the folder has no more."`
	DryRun   bool   `help:"Only say what would change."`
	Rollback bool   `help:"Bring back the files of the release before the last, or of --release."`
	Release  int64  `help:"With --rollback: this release, as stead sites releases shows it." placeholder:"N"`
	atServer
}

// deployed is what --json prints.
type deployed struct {
	Site      string `json:"site"`
	ServiceID int64  `json:"service_id"`
	URL       string `json:"url"`
	DryRun    bool   `json:"dry_run"`
	Release   *int64 `json:"release"`
	Restores  *int64 `json:"restores"`
	Files     int64  `json:"files"`
	Bytes     int64  `json:"bytes"`
	SentBytes int64  `json:"sent_bytes"`
	Added     int64  `json:"added"`
	Changed   int64  `json:"changed"`
	Unchanged int64  `json:"unchanged"`
	Removed   int64  `json:"removed"`
	Kept      int64  `json:"kept"`
}

// Run deploys a folder, or takes a deployment back.
func (c *deployCmd) Run(e *environment) error {
	switch {
	case c.Rollback && (c.Folder != "" || c.Delete || c.DryRun):
		return usageError{errors.New("--rollback takes no folder, no --delete and no --dry-run")}
	case !c.Rollback && c.Folder == "":
		return usageError{errors.New("which folder? stead deploy FOLDER --site SITE")}
	case !c.Rollback && c.Release != 0:
		return usageError{errors.New("--release is for --rollback")}
	}
	return siteArg{c.Site, c.atServer}.with(e, func(s *customer.Session, site *customer.Site) error {
		if c.Rollback {
			return c.rollback(e, s, site)
		}
		return c.deploy(e, s, site)
	})
}

func (c *deployCmd) rollback(e *environment, s *customer.Session, site *customer.Site) error {
	r, err := s.Rollback(e.ctx, site, c.Release)
	if err != nil {
		return err
	}
	out := deployed{
		Site: site.Name, ServiceID: site.ID, URL: site.URL(), Release: &r.ID, Restores: r.Restores, Files: r.Files,
		Added: r.Added, Changed: r.Changed, Unchanged: r.Unchanged, Removed: r.Removed, Kept: r.Kept,
	}
	return e.show(out, func(w io.Writer) {
		row(w, fmt.Sprintf("Live: %s  (release %d brings back release %s: %d changed, %d new, %d removed)", site.URL(), r.ID, text(r.Restores), r.Changed, r.Added, r.Removed))
	})
}

func (c *deployCmd) deploy(e *environment, s *customer.Session, site *customer.Site) error {
	d := customer.Deployment{Folder: c.Folder, Delete: c.Delete, DryRun: c.DryRun}
	if !e.json {
		d.Planned = func(r deploy.Result) { _, _ = fmt.Fprintln(e.stdout, customer.Summary(r, c.Delete)) }
	}
	bar := customer.NewBar(e.stderr)
	// Elsewhere, such as in a log of CI, a moving line is noise.
	if f, ok := e.stderr.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		d.Progress = bar.Progress
	}
	r, err := s.Deploy(e.ctx, site, d)
	bar.End()
	if err != nil {
		return err
	}
	out := deployed{
		Site: site.Name, ServiceID: site.ID, URL: site.URL(), DryRun: c.DryRun, Files: int64(r.Files), Bytes: r.Bytes, SentBytes: r.Sent,
		Added: r.Plan.Added, Changed: r.Plan.Changed, Unchanged: r.Plan.Unchanged,
	}
	if r.Release != nil {
		out.Release, out.Added, out.Changed, out.Unchanged = &r.Release.ID, r.Release.Added, r.Release.Changed, r.Release.Unchanged
		out.Removed, out.Kept = r.Release.Removed, r.Release.Kept
	} else if c.Delete {
		out.Removed = r.Plan.Gone
	} else {
		out.Kept = r.Plan.Gone
	}
	return e.show(out, func(w io.Writer) {
		if r.Release == nil {
			row(w, "Nothing was changed: this was a dry run")
			return
		}
		row(w, fmt.Sprintf("Sent %s", customer.Bytes(r.Sent)))
		row(w, fmt.Sprintf("Live: %s  (release %d; undo: stead deploy --rollback --site %s)", site.URL(), r.Release.ID, site.Name))
	})
}
