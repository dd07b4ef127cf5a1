package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"stead.dev/stead/internal/app"
	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/controlbackup"
)

type backupCmd struct {
	To      string        `help:"Where the archive is kept: a folder, or s3:https://host/bucket/prefix; by default STEAD_CONTROL_BACKUP_TO."`
	Every   time.Duration `help:"Go on, and make one as often as this, such as 1h."`
	Staging string        `help:"Folder for copies that are not encrypted yet, by default the data directory; as protected as that." type:"existingdir"`
}

// Run makes a backup, or goes on making them.
func (c *backupCmd) Run(e *environment) error {
	cfg, err := e.loadBackup(c.To)
	if err != nil {
		return err
	}
	if c.Every == 0 {
		return e.backup(cfg, c.Staging)
	}
	if c.Every < time.Minute {
		return usageError{errors.New("--every: a minute at least")}
	}
	if err := e.untilNext(cfg, c.Every); err != nil {
		return nothingAtStop(e.ctx, err)
	}
	for {
		if err := e.backup(cfg, c.Staging); err != nil && e.ctx.Err() == nil {
			// The next one may succeed; until then doctor and the alert tell of it.
			e.report(problem{Error: failed, Message: err.Error()})
		}
		if err := clock.Sleep(e.ctx, c.Every); err != nil {
			return nothingAtStop(e.ctx, err)
		}
	}
}

// untilNext waits where a backup was made not long ago, so that restarts make no more of them.
func (e *environment) untilNext(cfg config.Config, every time.Duration) error {
	all, err := controlbackup.List(e.ctx, app.BackupPlace(cfg))
	if err != nil {
		// The backup that follows fails as well, and the loop goes on.
		e.report(problem{Error: failed, Message: err.Error()})
	}
	if len(all) == 0 {
		return e.ctx.Err()
	}
	return clock.Sleep(e.ctx, every-clock.System(cfg.ClockOffset).Now().Sub(all[0].MadeAt))
}

// nothingAtStop is no error where the process was told to stop.
func nothingAtStop(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = nil
	}
	return err
}

// loadBackup loads the configuration, with a place on the command line.
func (e *environment) loadBackup(place string) (config.Config, error) {
	flags := map[string]string{}
	if place != "" {
		flags["control_backup_to"] = place
	}
	return e.load(flags)
}

func (e *environment) backup(cfg config.Config, staging string) error {
	r, err := app.Backup(e.ctx, cfg, e.version, staging)
	if err != nil {
		return err
	}
	err = e.show(r, func(w io.Writer) {
		row(w, "archive", r.Archive)
		row(w, "size", fmt.Sprintf("%.1f MB", float64(r.Size)/1e6))
		row(w, "read back", "yes, all of it")
		switch {
		case r.Proven:
			row(w, "proven", "yes, by a restore into a scratch database")
		case r.Unproven != "":
			row(w, "proven", "NO: "+r.Unproven)
		default:
			row(w, "proven", "not due: one of the last 24 hours is")
		}
		if len(r.Removed) > 0 {
			row(w, "older ones removed", len(r.Removed))
		}
	})
	if err == nil && r.Unproven != "" {
		return exitError(exitFailed)
	}
	return err
}

type restoreCmd struct {
	Archive         string `arg:"" optional:"" help:"Name of the backup; by default the newest."`
	From            string `help:"Where the backups are: a folder, or s3:https://host/bucket/prefix; by default STEAD_CONTROL_BACKUP_TO."`
	List            bool   `help:"Only list the backups that are there."`
	Check           bool   `help:"Only restore it into a scratch database and check that; nothing is changed."`
	Replace         bool   `help:"Move aside what is there. It is kept, and its new name is printed."`
	Identity        string `help:"File with the private key of age (AGE-SECRET-KEY-1…) of one of the recipients." type:"existingfile"`
	PassphraseStdin bool   `help:"Read the passphrase from standard input; by default it is STEAD_CONTROL_BACKUP_PASSPHRASE."`
	Staging         string `help:"Folder where the archive is unpacked, by default the data directory; as protected as that." type:"existingdir"`
}

// Run restores, checks or lists backups.
func (c *restoreCmd) Run(e *environment) error {
	cfg, err := e.loadBackup(c.From)
	if err != nil {
		return err
	}
	if c.List {
		return e.listBackups(cfg)
	}
	keys := app.BackupKeys(cfg)
	if c.PassphraseStdin {
		if keys.Passphrase, err = e.readPassword(); err != nil {
			return err
		}
	}
	keys.IdentityFile = c.Identity
	if c.Check {
		r, err := app.CheckBackup(e.ctx, cfg, keys, c.Archive, c.Staging)
		if err != nil {
			return err
		}
		return e.show(r, func(w io.Writer) {
			row(w, "archive", r.Archive)
			row(w, "made", r.MadeAt.Format(time.RFC3339)+" by "+r.Version)
			row(w, "proven", "yes: rows, ledger and key are as its manifest says")
		})
	}
	r, err := app.Restore(e.ctx, cfg, keys, c.Archive, c.Staging, c.Replace)
	for _, kept := range r.Kept { // also after an error: they say where everything is
		_, _ = fmt.Fprintln(e.stderr, "kept:", kept)
	}
	if err != nil {
		return err
	}
	return e.show(r, func(w io.Writer) {
		row(w, "archive", r.Archive)
		row(w, "made", r.MadeAt.Format(time.RFC3339)+" by "+r.Version)
		row(w, "its settings", r.Settings)
		row(w, "state", "on hold: servers answer what is read, and do nothing by themselves")
		row(w, "next", "stead serve; stead doctor; then stead admin release-hold")
	})
}

func (e *environment) listBackups(cfg config.Config) error {
	all, err := controlbackup.List(e.ctx, app.BackupPlace(cfg))
	if err != nil {
		return err
	}
	return e.show(map[string]any{"data": all}, func(w io.Writer) {
		row(w, "ARCHIVE", "MADE", "MB", "DATABASE", "VERSION", "PROVEN")
		for _, b := range all {
			row(w, b.Archive, b.MadeAt.Format(time.RFC3339), fmt.Sprintf("%.1f", float64(b.Size)/1e6), b.Engine, b.Version, yesNo(b.Proven))
		}
	})
}

type putHold struct {
	At   time.Time `help:"The moment of what is in the database, such as 2026-11-26T10:00:00Z." required:"" format:"2006-01-02T15:04:05Z07:00"`
	From string    `help:"What it was restored from, in your words." default:"a restore by other means"`
}

// Run puts a restored database on hold.
func (c *putHold) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		h, err := a.Hold(e.ctx, c.From, c.At)
		if err != nil {
			return err
		}
		return e.show(h, func(w io.Writer) {
			row(w, "state", "on hold: servers answer what is read, and do nothing by themselves")
			row(w, "unknown since", h.MadeAt.Format(time.RFC3339))
			row(w, "next", "stead serve; stead doctor; then stead admin release-hold")
		})
	})
}

type releaseHold struct{}

// Run releases a restored installation.
func (releaseHold) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		h, err := a.ReleaseHold(e.ctx)
		if err != nil {
			return err
		}
		return e.show(h, func(w io.Writer) {
			row(w, "released", "servers work again within a second")
			row(w, "restored from", h.Archive)
			row(w, "unknown since", h.MadeAt.Format(time.RFC3339))
		})
	})
}
