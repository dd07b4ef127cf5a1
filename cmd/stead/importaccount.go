package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/front/admin/archive"
	"stead.dev/stead/internal/front/admin/archive/cpanel"
	"stead.dev/stead/internal/front/admin/archive/hestia"
)

// importArchive are the arguments of commands that bring an archive into a service.
type importArchive struct {
	Archive string `arg:"" help:"The archive, on this machine." type:"existingfile"`
	Service int64  `help:"Number of the service into which it is brought." required:"" placeholder:"ID"`
	DryRun  bool   `help:"Change nothing; only say what would be brought along."`
	Replace bool   `help:"Put files and databases of the archive into the place of those that are there."`
	Reason  string `help:"Why, for the audit log."`
}

type importHestia struct{ importArchive }

// Run brings a backup of HestiaCP into a service.
func (c *importHestia) Run(e *environment) error {
	return c.run(e, func(ctx context.Context, f *os.File) (*archive.Inventory, error) { return hestia.Read(ctx, f) })
}

type importCPanel struct{ importArchive }

// Run brings a full backup of cPanel into a service.
func (c *importCPanel) Run(e *environment) error {
	return c.run(e, func(ctx context.Context, f *os.File) (*archive.Inventory, error) {
		plain, err := archive.Plain(ctx, f)
		if err != nil {
			return nil, err
		}
		// It is read as long as the command runs.
		return cpanel.Read(ctx, plain)
	})
}

var errIncomplete = errors.New("some of it could not be brought along; what was is kept: run the same command again, it goes on")

func (c *importArchive) run(e *environment, read func(context.Context, *os.File) (*archive.Inventory, error)) error {
	f, err := os.Open(c.Archive)
	if err != nil {
		return err
	}
	defer f.Close()
	inventory, err := read(e.ctx, f)
	if err != nil {
		return err
	}
	return e.administer(func(a *admin.Admin) error {
		o := admin.AccountImport{ServiceID: c.Service, DryRun: c.DryRun, Replace: c.Replace}
		if !e.json {
			o.Told = func(what string) { fmt.Fprintln(e.stderr, printable(what)) }
		}
		r, err := a.ImportAccount(admin.Because(e.ctx, c.Reason), inventory, o)
		if r != nil && len(r.Items) > 0 {
			if shown := e.show(r, func(w io.Writer) { printAccountReport(w, r) }); err == nil {
				err = shown
			}
		}
		if err == nil && !r.Complete {
			err = errIncomplete
		}
		return err
	})
}

func printAccountReport(w io.Writer, r *admin.AccountReport) {
	states := map[string]string{"left": "LEFT OUT", "failed": "FAILED"}
	counts := map[string]int{}
	for _, t := range r.Items {
		counts[t.State]++
		state, known := states[t.State]
		if !known {
			state = t.State
		}
		what := t.Name
		if t.As != "" && t.As != t.Name {
			what += " -> " + t.As
		}
		row(w, t.Kind, state, what, amounts(t), t.Reason)
	}
	row(w)
	row(w, "account", r.User, fmt.Sprintf("%d new, %d there already, %d left out, %d failed", counts["new"], counts["there"], counts["left"], counts["failed"]))
	if !r.Applied {
		row(w, "", "Nothing was changed: leave --dry-run out to do it")
	}
}

func amounts(t admin.AccountThing) string {
	var parts []string
	switch {
	case t.There > 0:
		parts = append(parts, fmt.Sprintf("%d and %d there", t.Count, t.There))
	case t.Count > 0:
		parts = append(parts, strconv.FormatInt(t.Count, 10))
	}
	if t.Bytes > 0 {
		parts = append(parts, fmt.Sprintf("%.1f MB", float64(t.Bytes)/1e6))
	}
	return strings.Join(parts, ", ")
}
