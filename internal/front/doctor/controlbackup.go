package doctor

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/controlbackup"
	"stead.dev/stead/internal/platform/hold"
)

// provenFor is how old a proof may be.
const provenFor = 48 * time.Hour

// controlBackup says when the control plane was last backed up, and when a backup was last proven.
func (e *examination) controlBackup(ctx context.Context) Check {
	if e.db == nil {
		return skip("no database to look at")
	}
	good, proven, err := controlbackup.Last(ctx, e.db)
	if err != nil {
		return skip("it cannot be read: see migrations")
	}
	now := e.Clock.Now()
	ago := func(at time.Time) string { return now.Sub(at).Round(time.Minute).String() + " ago" }
	const remedy = "run: stead backup --every 1h, as a service of its own; docs/backup.md tells how"
	switch {
	case good.IsZero() && loopbackURL(e.Config.BaseURL):
		return skip("none was made")
	case good.IsZero():
		return warn(remedy, "none was ever made")
	case now.Sub(good) > 3*e.Config.ControlBackupInterval:
		return fail("look into the log of stead backup, and run it by hand", "the last good one was made %s", ago(good))
	case proven.IsZero():
		return warn("run: stead restore --check", "the last good one was made %s; none was ever proven", ago(good))
	case now.Sub(proven) > provenFor:
		return warn("run: stead restore --check", "the last good one was made %s; one was last proven %s", ago(good), ago(proven))
	default:
		return ok("the last good one was made %s; one was proven %s", ago(good), ago(proven))
	}
}

// hold says that the installation was restored and waits for an operator.
func (e *examination) hold(ctx context.Context) Check {
	if e.db == nil {
		return skip("no database to look at")
	}
	h, held, err := hold.Look(ctx, e.db)
	switch {
	case err != nil:
		return skip("it cannot be read: see migrations")
	case !held:
		return ok("the servers work")
	default:
		return warn("compare with the world as docs/backup.md says, then run: stead admin release-hold",
			"restored from %s: nothing is worked, sent or charged; what happened after %s UTC is unknown here", h.Archive, h.MadeAt.UTC().Format(time.DateTime))
	}
}
