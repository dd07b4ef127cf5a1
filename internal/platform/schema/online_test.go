package schema_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/schema"
	"stead.dev/stead/internal/platform/testkit"
)

// upgrade is a change of services as a release brings it: a column, and an index over all rows.
var upgrade = map[string]string{
	"9001_services_note.sql": `-- +goose Up
ALTER TABLE services ADD COLUMN upgrade_note BIGINT NOT NULL DEFAULT 0;
`,
	"9002_services_noteindex.sql": `-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX {{online}} IF EXISTS services_upgrade_note;
CREATE INDEX {{online}} services_upgrade_note ON services (upgrade_note, label, id);
`,
}

// upgradedRows is how many services there are, and longestWait how long one who writes them may wait.
const (
	upgradedRows = 1_000_000
	longestWait  = time.Second
)

// TestAnUpgradeHoldsNoWriter measures how long writers wait while a large table changes, and while a reader is in the way of
// the change: who waits behind the reader for a lock on the whole table has all writers wait behind him.
func TestAnUpgradeHoldsNoWriter(t *testing.T) {
	t.Parallel()
	d := testkit.Open(t, testkit.PostgresURL(t), clock.System(0))
	exec := func(query string, args ...any) {
		t.Helper()
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, query, args...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// The indexes of services would make the rows slow to write, and are no part of this.
	exec(`DO $$ DECLARE n TEXT; BEGIN
		FOR n IN SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'services'::regclass AND NOT indisprimary LOOP
			EXECUTE 'DROP INDEX ' || n;
		END LOOP; END $$`)
	exec(`INSERT INTO services (account_id, order_id, type, label, status, domain, search, plan_id, plan_slug, plan_name, limits, period_months,
			auto_renew, renew_price, panel, panel_ref, username, created_at, provisioning_at, provisioned_at, expires_at, next_renewal_attempt_at, step_at)
		SELECT n, 0, 'hosting', 'a service ' || n, 'active', n || '.example.com', '', 1, 's', 'S', '{}', 1, TRUE, 1, 'sandbox', '1', 'u', 1, 1, 1, 2, 2, 2
		FROM generate_series(1, $1) n`, upgradedRows)

	writing, stop := context.WithCancel(t.Context())
	defer stop()
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		waits   []time.Duration
	)
	for writer := range 2 {
		running.Go(func() {
			for id := writer + 1; writing.Err() == nil; id = id%upgradedRows + 7919 {
				since := clock.Stopwatch()
				err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
					_, err := tx.Exec(ctx, `UPDATE services SET label = 'another label' WHERE id = $1`, id)
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				waits = append(waits, since())
				mu.Unlock()
			}
		})
	}
	reading := make(chan struct{})
	running.Go(func() { // a report, say
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT COUNT(*) FROM services`); err != nil {
				return err
			}
			close(reading)
			return clock.Sleep(ctx, 3*longestWait)
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-reading
	// Two replicas of the new version start at the same time.
	for range 2 {
		running.Go(func() {
			if _, err := schema.MigrateWith(t.Context(), d, upgrade); err != nil {
				t.Error(err)
			}
			stop()
		})
	}
	running.Wait()
	if len(waits) == 0 {
		t.Fatal("nobody wrote")
	}
	if longest := slices.Max(waits); longest > longestWait {
		t.Errorf("a writer waited %v of %d", longest, len(waits))
	} else {
		t.Logf("%d writes, the longest took %v", len(waits), longest)
	}
	var valid bool
	err := d.QueryRow(t.Context(), `SELECT indisvalid FROM pg_index WHERE indexrelid = 'services_upgrade_note'::regclass`).Scan(&valid)
	if err != nil || !valid {
		t.Errorf("the index is valid: %v, %v", valid, err)
	}
}

// TestAnUpgradeOfTheQueueHoldsNoWriter: a reader is in the way of a change of River's tables, which all replicas write.
func TestAnUpgradeOfTheQueueHoldsNoWriter(t *testing.T) {
	t.Parallel()
	d := testkit.Open(t, testkit.PostgresURL(t), clock.System(0))
	m, err := rivermigrate.New(riverpgxv5.New(d.Pool()), nil)
	if err != nil {
		t.Fatal(err)
	}
	// As with an older River, one change behind. Each changes the table of jobs.
	if _, err := m.Migrate(t.Context(), rivermigrate.DirectionDown, nil); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	reading := make(chan struct{})
	running.Go(func() {
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT COUNT(*) FROM river_job`); err != nil {
				return err
			}
			close(reading)
			return clock.Sleep(ctx, 3*longestWait)
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-reading
	migrated := make(chan error, 1)
	go func() {
		_, err := schema.Migrate(t.Context(), d)
		migrated <- err
	}()
	write := func() time.Duration {
		since := clock.Stopwatch()
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE river_job SET priority = priority WHERE FALSE`)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return since()
	}
	var longest time.Duration
	for began := clock.Stopwatch(); began() < 3*longestWait; {
		longest = max(longest, write())
	}
	running.Wait()
	if err := <-migrated; err != nil {
		t.Error(err)
	}
	if longest > longestWait {
		t.Errorf("a writer waited %v", longest)
	}
	if versions, err := m.ExistingVersions(t.Context()); err != nil || len(versions) != len(m.AllVersions()) {
		t.Errorf("%d of %d versions: %v", len(versions), len(m.AllVersions()), err)
	}
}
