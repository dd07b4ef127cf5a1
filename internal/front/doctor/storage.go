package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/controlbackup"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/keycheck"
	"stead.dev/stead/internal/platform/schema"
	"stead.dev/stead/internal/platform/secret"
)

func (e *examination) configuration(context.Context) Check {
	c := e.Config
	local := loopbackURL(c.BaseURL)
	switch {
	case c.Demo && !local:
		return fail("set STEAD_DEMO=false: the demo account's password is known to everybody",
			"demo mode is on at the public address %s", c.BaseURL)
	case !c.Throttle && !local:
		return warn("set STEAD_THROTTLE=true", "requests are not limited at the public address %s", c.BaseURL)
	case c.AllowLoopbackTargets && !local:
		return warn("set STEAD_ALLOW_LOOPBACK_TARGETS=false", "customers may point webhooks and monitors at this machine")
	case c.Demo:
		return warn("set STEAD_DEMO=false before real customers come", "complete; demo mode is on")
	default:
		return ok("complete")
	}
}

func (e *examination) dataDir(context.Context) Check {
	dir := e.Config.DataDir
	open, mode := fs.FileMode(0o027), "700"
	if e.Config.NodeMachine == config.MachineLinux {
		open, mode = 0o026, "711" // the users of accounts traverse it to reach their homes
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return skip(dir + " does not exist yet; the first start makes it")
	case err != nil:
		return fail("let the user that runs Stead read it", "%v", err)
	case !info.IsDir():
		return fail("name a folder in STEAD_DATA_DIR", "%s is not a folder", dir)
	case info.Mode().Perm()&open != 0:
		return warn("run: chmod "+mode+" "+dir, "%s is open to other users of the machine (mode %04o)", dir, info.Mode().Perm())
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return fail("let the user that runs Stead write there (doctor runs as the present user)", "%v", err)
	}
	_ = probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return fail("remove the file by hand", "%v", err)
	}
	return ok("%s is writable and closed to others", dir)
}

// Limits of free space: below the first the database may stop soon, below the second customers' uploads may fill it.
const (
	criticalSpace = 256 << 20
	littleSpace   = 2 << 30
)

func (e *examination) disk(context.Context) Check {
	var s unix.Statfs_t
	if err := unix.Statfs(e.Config.DataDir, &s); err != nil {
		return skip("the data directory cannot be measured")
	}
	free := s.Bavail * uint64(s.Bsize) //nolint:gosec // a block has a positive size
	mib := free >> 20
	switch {
	case free < criticalSpace:
		return fail("free space or move the data directory: without space nothing can be sold or paid", "%d MiB are free", mib)
	case free < littleSpace:
		return warn("free space soon", "%d MiB are free", mib)
	case s.Files > 0 && s.Ffree < s.Files/100:
		return warn("remove files: sites of many small files use up inodes first", "less than 1%% of the inodes are free")
	default:
		return ok("%d MiB are free", mib)
	}
}

func (e *examination) key(context.Context) Check {
	if e.Config.SecretKey != "" {
		if _, err := secret.ParseKeyset([]byte(e.Config.SecretKey.Reveal())); err != nil {
			return fail("give STEAD_SECRET_KEY the content of a key file", "%v", err)
		}
		return ok("from STEAD_SECRET_KEY")
	}
	if _, err := os.Stat(e.KeyFile); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(e.DatabaseFile); err == nil {
			return fail("restore the key file from its backup: stored secrets (two-factor seeds) cannot be read without it",
				"there is a database but no key file at %s", e.KeyFile)
		}
		return skip(e.KeyFile + " does not exist yet; the first start makes it")
	}
	if _, err := secret.OpenKeyFile(e.KeyFile); err != nil {
		return fail("see the message; never replace the file by a new one", "%v", err)
	}
	return ok("%s; keep a backup of it apart from the database's", e.KeyFile)
}

// sealed opens a sealed value of the database with the key. It makes no key.
func (e *examination) sealed(ctx context.Context) Check {
	const do = "restore secret.key (or STEAD_SECRET_KEY) from its backup; never replace it by a new one"
	if e.db == nil {
		return skip("no database to look at")
	}
	box, err := e.box()
	if errors.Is(err, fs.ErrNotExist) {
		if sealed, err := keycheck.Sealed(ctx, e.db); err == nil && sealed {
			return fail(do, "%v", keycheck.ErrNoKey)
		}
		return skip("there is no key yet; the first start makes it")
	}
	if err != nil {
		return skip("the key cannot be read: see above")
	}
	switch found, err := keycheck.Look(ctx, e.db, box); {
	case err != nil:
		return fail(do, "%v", err)
	case !found:
		return skip("nothing is sealed yet")
	}
	return ok("the key opens them")
}

// box reads the key without making one.
func (e *examination) box() (*secret.Box, error) {
	if e.Config.SecretKey != "" {
		return secret.ParseKeyset([]byte(e.Config.SecretKey.Reveal()))
	}
	if _, err := os.Stat(e.KeyFile); err != nil {
		return nil, err
	}
	return secret.OpenKeyFile(e.KeyFile)
}

func (e *examination) database(ctx context.Context) Check {
	if e.Config.SQLite() {
		if _, err := os.Stat(e.DatabaseFile); errors.Is(err, fs.ErrNotExist) {
			return skip(e.DatabaseFile + " does not exist yet; the first start makes it")
		}
	}
	d, err := db.Open(ctx, db.Config{URL: e.Config.DatabaseURL.Reveal(), Path: e.DatabaseFile, Clock: e.Clock, MaxConns: 2})
	if err != nil {
		return fail("check that the database runs and that STEAD_DATABASE_URL names it", "%v", err)
	}
	e.db = d
	if !d.Shared() {
		var verdict string
		if err := d.QueryRow(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil && ctx.Err() == nil {
			return fail("restore the database from its backup", "the file cannot be read: %v", err)
		}
		if verdict != "" && verdict != "ok" {
			return fail("stop the server, keep a copy of the file, restore the database from its backup", "the file is damaged: %s", verdict)
		}
		return ok("SQLite at %s", e.DatabaseFile)
	}
	if err := controlbackup.CheckFinished(ctx, d); err != nil {
		return fail("see the message", "%v", err)
	}
	now, err := d.ServerTime(ctx)
	if err != nil {
		return fail("see the message", "the database answers no queries: %v", err)
	}
	if off := e.Clock.Now().Add(-e.Config.ClockOffset).Sub(now).Abs(); off > 2*time.Second {
		return warn("synchronize the clocks of all machines (chrony, systemd-timesyncd)",
			"PostgreSQL; its clock and this machine's differ by %v", off.Round(time.Millisecond))
	}
	return ok("PostgreSQL answers")
}

// connections compares what all replicas may open with what the server allows.
func (e *examination) connections(ctx context.Context) Check {
	if e.db == nil || !e.db.Shared() {
		return skip("no PostgreSQL")
	}
	var most, reserved, replicas int
	err := e.db.QueryRow(ctx, `SELECT current_setting('max_connections')::int, current_setting('superuser_reserved_connections')::int`).Scan(&most, &reserved)
	if err != nil {
		return skip("the server does not say how many connections it allows")
	}
	if err := e.db.QueryRow(ctx, `SELECT COUNT(*) FROM replicas`).Scan(&replicas); err != nil {
		replicas = 0 // the table comes with the first start
	}
	replicas = max(replicas, 1)
	each := e.Config.DatabaseConnections + e.Config.DatabaseReaders
	if sum := replicas * each; sum > most-reserved {
		return warn("raise max_connections of PostgreSQL, or lower STEAD_DATABASE_CONNECTIONS and STEAD_DATABASE_READERS",
			"%d replicas with %d connections each may open %d; the server allows %d", replicas, each, sum, most-reserved)
	}
	return ok("%d replicas with %d each at most; the server allows %d", replicas, each, most-reserved)
}

func (e *examination) migrations(ctx context.Context) Check {
	if e.db == nil {
		return skip("no database to look at")
	}
	all, err := schema.Status(ctx, e.db)
	if errors.Is(err, schema.ErrUnreleased) {
		return fail("move the database away and begin with an empty one", "%v", err)
	}
	if errors.Is(err, schema.ErrNewer) {
		return fail("start the release that fits, or restore the backup that was made before the upgrade", "%v", err)
	}
	if err != nil {
		return fail("run: stead migrate", "%v", err)
	}
	pending := 0
	for _, m := range all {
		if !m.Applied {
			pending++
		}
	}
	if pending > 0 {
		return fail("run: stead migrate (or restart the server, which does the same)", "%d of %d are not applied", pending, len(all))
	}
	return ok("all %d applied", len(all))
}

func (e *examination) ledger(ctx context.Context) Check {
	return e.sums(ctx, e.Ledger, "every transaction sums to zero and every balance is that of its postings")
}

func (e *examination) invoices(ctx context.Context) Check {
	return e.sums(ctx, e.Invoices, "the numbers of invoices have no gap")
}

// sums checks what is added up from all rows of the books. When the time is up, nothing is known of them.
func (e *examination) sums(ctx context.Context, addUp Ledger, good string) Check {
	if e.db == nil {
		return skip("no database to look at")
	}
	switch err := addUp(ctx, e.db); {
	case err != nil && ctx.Err() != nil:
		return warn("run stead doctor again when the database has less to do", "not added up in time")
	case err != nil:
		return fail("stop selling (stead admin sections off orders wallet), keep a copy of the database, and report it with the message",
			"%v", err)
	}
	return ok("%s", good)
}

func (e *examination) jobs(ctx context.Context) Check {
	if e.db == nil {
		return skip("no database to look at")
	}
	var given, waiting, events int
	err := e.db.QueryRow(ctx, `SELECT COUNT(CASE WHEN state = 'discarded' THEN 1 END), COUNT(CASE WHEN state = 'retryable' THEN 1 END)
		FROM river_job WHERE state IN ('discarded', 'retryable')`).Scan(&given, &waiting)
	if err == nil {
		err = e.db.QueryRow(ctx, `SELECT COUNT(*) FROM outbox_events WHERE fan_out AND fanned_at IS NULL AND failures > 0`).Scan(&events)
	}
	switch {
	case err != nil:
		return skip("the queue cannot be read")
	case given > 0:
		return warn("look for level ERROR and msg \"job\" in the log; each says its kind and cause", "%d jobs failed for good", given)
	case events > 0:
		return warn("look for level ERROR and msg \"events are not delivered\" in the log", "%d events could not be delivered and will be tried again", events)
	case waiting > 0:
		return warn("look for level WARN and msg \"job\" in the log", "%d jobs failed and will be tried again", waiting)
	default:
		return ok("none")
	}
}

// backups looks for backups that were found damaged and are still kept.
func (e *examination) backups(ctx context.Context) Check {
	if e.db == nil {
		return skip("no database to look at")
	}
	var damaged, services, lost int
	err := e.db.QueryRow(ctx, `SELECT COUNT(*), COUNT(DISTINCT service_id), COUNT(DISTINCT CASE WHEN NOT EXISTS (
			SELECT 1 FROM backups whole WHERE whole.service_id = b.service_id AND whole.status IN ('completed', 'restoring')) THEN service_id END)
		FROM backups b WHERE status = 'failed' AND error_key = 'backup_not_restorable'`).Scan(&damaged, &services, &lost)
	const remedy = "examine the disk, or the bucket, where the machine keeps backups: level ERROR of the machine's log names the repositories " +
		"(docs/backups.md, \"Damage\")"
	switch {
	case err != nil:
		return skip("the backups cannot be read")
	case lost > 0:
		return warn(remedy, "%d backups of %d services are damaged, and %d of these services have no whole one", damaged, services, lost)
	case damaged > 0:
		return warn(remedy, "%d backups of %d services are damaged; newer ones are whole", damaged, services)
	default:
		return ok("none was found damaged")
	}
}
