package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// gathered are the figures as Prometheus reads them: by name, and by label where there is one.
func gathered(t *testing.T, w *Watch) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(w.Collector())
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			if labels := m.GetLabel(); len(labels) > 0 {
				name += " " + labels[0].GetValue()
			}
			all[name] = m.GetGauge().GetValue()
		}
	}
	return all
}

func TestFiguresTellWhatIsStuck(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		now := clk.Now()
		var ledger error
		w := New(Config{
			DB: d, Clock: clk, Ledger: func(context.Context) error { return ledger },
			Unattempted:    func(_ context.Context, by time.Duration) (int, error) { return int(by / time.Minute), nil },
			BackupInterval: 24 * time.Hour,
			OldestJobs: func(context.Context) (map[string]time.Duration, error) {
				return map[string]time.Duration{"services.provision": 90 * time.Second}, nil
			},
		})
		if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO controlbackup_archives (archive, bytes, made_at, good_at) VALUES ('a', 1, $1, $1)`, now)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		quiet := gathered(t, w)
		want := map[string]float64{
			"stead_order_oldest_processing_seconds": 0, "stead_provisioning_oldest_seconds": 0, "stead_renewals_due_unattempted": 10,
			"stead_webhook_oldest_pending_seconds": 0, "stead_webhooks_pending": 0, "stead_backup_interval_seconds": 86400, "stead_job_oldest_available_seconds services.provision": 90,
			"stead_services_without_backup": 0, "stead_ai_spend_usd": 0, "stead_monitor_lateness_seconds": 0,
			"stead_backup_good_timestamp_seconds": float64(now.UnixMicro()) / 1e6,
		}
		if !maps.Equal(quiet, want) {
			t.Errorf("an empty installation has %v, want %v", quiet, want)
		}

		ago := func(d time.Duration) time.Time { return now.Add(-d) }
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			for _, s := range []struct {
				statement string
				args      []any
			}{
				{
					`INSERT INTO nodes_nodes (name, location, state, address, joined_at, created_at, last_seen_at, disk_mb, disk_free_mb, cpus, load_percent, placed_accounts, mail_queue)
					VALUES ('node1', '', 'active', 'a:1', $1, $1, $2, 1000, 50, 2, 150, 7, 12), ('node2', '', 'draining', 'a:2', $1, $1, $3, 10, 10, 2, 0, 0, NULL)`,
					[]any{ago(time.Hour), ago(time.Second), ago(5 * time.Minute)},
				},
				{`INSERT INTO monitors_shards (shard, owner, epoch, until) VALUES (900, '', 1, $1)`, []any{ago(3 * time.Minute)}},
			} {
				if _, err := tx.Exec(ctx, s.statement, s.args...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.checkLedger(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := gathered(t, w)
		for name, value := range map[string]float64{
			"stead_node_up node1": 1, "stead_node_up node2": 0, "stead_node_disk_bytes node1": 1000 << 20, "stead_node_disk_free_bytes node1": 50 << 20,
			"stead_node_load node1": 1.5, "stead_node_services node1": 7, "stead_node_mail_queue node1": 12, "stead_monitor_lateness_seconds": 180,
			"stead_ledger_imbalance": 0, "stead_ledger_check_timestamp_seconds": float64(clk.Now().UnixMicro()) / 1e6,
		} {
			if have, ok := got[name]; !ok || have != value {
				t.Errorf("%s is %v (there: %v), want %v", name, have, ok, value)
			}
		}
		ledger = errors.New("a cent is missing")
		if err := w.checkLedger(t.Context()); !errors.Is(err, ledger) {
			t.Errorf("a ledger that does not agree: %v", err)
		}
		if got := gathered(t, w)["stead_ledger_imbalance"]; got != 1 {
			t.Errorf("imbalance is %v", got)
		}
	})
}

// A figure that cannot be read is left out, and the others are there.
func TestAFigureThatFailsHidesNoOther(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := New(Config{
			DB: d, Clock: clk,
			Unattempted: func(context.Context, time.Duration) (int, error) { return 0, errors.New("the database is away") },
			OldestJobs:  func(context.Context) (map[string]time.Duration, error) { return nil, nil },
		})
		_, err := w.read(t.Context())
		if err == nil || !strings.Contains(err.Error(), "stead_renewals_due_unattempted") {
			t.Errorf("%v", err)
		}
		names := slices.Sorted(maps.Keys(gathered(t, w)))
		if slices.Contains(names, "stead_renewals_due_unattempted") || !slices.Contains(names, "stead_order_oldest_processing_seconds") {
			t.Errorf("%q", names)
		}
	})
}

// Services that are to have no backups are not missed: of a plan without, and on a panel without, which have no schedule.
func TestServicesAreMissedThatAreToHaveBackups(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		now := clk.Now()
		w := New(Config{DB: d, Clock: clk})
		add := func(id int64, limits, addons string, scheduled, saved bool) {
			t.Helper()
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO services (id, account_id, order_id, type, label, status, domain, search, plan_id, plan_slug, plan_name, limits,
					addon_limits, period_months, auto_renew, renew_price, panel, panel_ref, username, created_at, provisioning_at, provisioned_at, expires_at)
					VALUES ($1, 1, $1, 'hosting', '', 'active', $5, '', 1, 'basic', 'Basic', $2, $3, 1, TRUE, 500, 'node', $5, $5, $4, $4, $4, $4)`, id, limits, addons, now.Add(-72*time.Hour), fmt.Sprint(id))
				if err == nil && scheduled {
					_, err = tx.Exec(ctx, `INSERT INTO backups_schedules (service_id, account_id, due_at, check_at) VALUES ($1, 1, $2, $2)`, id, now)
				}
				if err == nil && saved {
					_, err = tx.Exec(ctx, `INSERT INTO backups (account_id, service_id, kind, status, parts, created_at, finished_at, expires_at)
						VALUES (1, $1, 'auto', 'completed', '[]', $2, $2, $2)`, id, now.Add(-time.Hour))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		missed := func() float64 {
			t.Helper()
			values, err := withoutBackup(t.Context(), w, now)
			if err != nil {
				t.Fatal(err)
			}
			return values[0].is
		}
		add(1, `{"backups": 0}`, `{}`, true, false)
		add(2, `{"backups": 7}`, `{}`, false, false)
		add(3, `{"backups": 7}`, `{}`, true, true)
		if n := missed(); n != 0 {
			t.Errorf("%v are missed, and none is to have one", n)
		}
		add(4, `{"backups": 7}`, `{}`, true, false)
		add(5, `{"disk_mb": 100}`, `{}`, true, false)
		add(6, `{"backups": 0}`, `{"backups": 3}`, true, false)
		if n := missed(); n != 3 {
			t.Errorf("%v are missed, want 3", n)
		}
	})
}
