package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/module"
	"stead.dev/stead/internal/platform/nodelink"
)

// Config is what the figures are read from; all is needed.
type Config struct {
	DB    *db.DB
	Clock clock.Clock
	// Ledger adds up the money of all wallets: an error says what does not agree.
	Ledger func(ctx context.Context) error
	// Unattempted counts the services of which something has been due for longer than by without having been tried.
	Unattempted func(ctx context.Context, by time.Duration) (int, error)
	// OldestJobs tells for each kind of job how long the oldest one that nobody has begun has been due.
	OldestJobs func(ctx context.Context) (map[string]time.Duration, error)
	// BackupInterval is how often the control plane is to be backed up.
	BackupInterval time.Duration
}

// Watch reads the figures.
type Watch struct{ Config }

// New makes it.
func New(c Config) *Watch { return &Watch{Config: c} }

// ledgerEvery is how often the ledger is added up.
const ledgerEvery = time.Hour

// Module is what it adds to the program.
func (w *Watch) Module() module.Module {
	return module.Module{
		NoExport: "figures of the whole installation",
		Name:     "watch", Needs: []any{w.Config},
		Workers: func(workers *river.Workers) {
			jobs.Work(workers, func(ctx context.Context, _ ledgerArgs) error { return w.checkLedger(ctx) })
		},
		Schedule: func(every func(interval time.Duration, args river.JobArgs)) { every(ledgerEvery, ledgerArgs{}) },
	}
}

type ledgerArgs struct{}

func (ledgerArgs) Kind() string { return "watch.ledger" }

const ledgerCheck = "ledger"

// checkLedger adds the ledger up and notes what came of it. It fails when the money does not agree, so the log says why.
func (w *Watch) checkLedger(ctx context.Context) error {
	problem := w.Ledger(ctx)
	if ctx.Err() != nil {
		return ctx.Err() // it was not added up
	}
	text := ""
	if problem != nil {
		text = problem.Error()
	}
	err := w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO watch_checks (name, made_at, problem) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET made_at = excluded.made_at, problem = excluded.problem`, ledgerCheck, tx.Now, text)
		return err
	})
	return errors.Join(problem, err)
}

// value is a figure, of one label where its figure has one.
type value struct {
	label string
	is    float64
}

// figure is a figure with what it means.
type figure struct {
	name, help, label string
	read              func(ctx context.Context, w *Watch, now time.Time) ([]value, error)
}

// present is the present time in the statements of figures.
const present = `CAST($1 AS BIGINT)`

// dueWebhooks are the deliveries to resellers that are due.
const dueWebhooks = `webhooks_deliveries d JOIN webhooks_endpoints e ON e.id = d.endpoint_id
	WHERE d.status IN ('pending', 'sending') AND e.status = 'active' AND d.next_attempt_at <= ` + present

// query reads a figure by a statement that answers a label and a number for each row.
func query(statement string) func(ctx context.Context, w *Watch, now time.Time) ([]value, error) {
	return func(ctx context.Context, w *Watch, now time.Time) ([]value, error) {
		var args []any
		if strings.Contains(statement, present) {
			args = append(args, now)
		}
		return db.Collect(ctx, w.DB, func(row db.Row) (v value, err error) { return v, row.Scan(&v.label, &v.is) }, statement, args...)
	}
}

// since is how many seconds ago the earliest time was; 0 without one.
func since(column, from string) string {
	return `SELECT '', CAST(COALESCE(MAX(` + present + ` - ` + column + `), 0) AS DOUBLE PRECISION) / 1000000 FROM ` + from
}

// last is the last time in a column of the backups of the control plane; nothing without one.
func last(column string) string {
	return `SELECT '', CAST(MAX(` + column + `) AS DOUBLE PRECISION) / 1000000 FROM controlbackup_archives HAVING MAX(` + column + `) IS NOT NULL`
}

// ago is a time before the present in the statements of figures.
func ago(d time.Duration) string { return present + ` - ` + strconv.FormatInt(d.Microseconds(), 10) }

// unsaved is how old the newest backup of a service may be.
const unsaved = 48 * time.Hour

// renewalsBy is how long something may be due before somebody should have tried it.
const renewalsBy = 10 * time.Minute

// withoutBackup counts the services that are to have backups and have no new one. Those on a panel without backups have no
// schedule, and of those whose plan has none, none is made.
func withoutBackup(ctx context.Context, w *Watch, now time.Time) ([]value, error) {
	byLimits, err := query(`SELECT s.limits || s.addon_limits, CAST(COUNT(*) AS DOUBLE PRECISION) FROM services s JOIN backups_schedules b ON b.service_id = s.id
		WHERE s.status IN ('active', 'past_due') AND NOT s.sandbox AND s.created_at < `+ago(unsaved)+`
		AND NOT EXISTS (SELECT 1 FROM backups b WHERE b.service_id = s.id AND b.status = 'completed' AND b.finished_at > `+ago(unsaved)+`)
		GROUP BY s.limits || s.addon_limits`)(ctx, w, now)
	if err != nil {
		return nil, err
	}
	n := 0.0
	for _, v := range byLimits {
		var plan, addons map[string]int64
		in := json.NewDecoder(strings.NewReader(v.label))
		if err := errors.Join(in.Decode(&plan), in.Decode(&addons)); err != nil {
			return nil, fmt.Errorf("limits of services: %w", err)
		}
		if most, limited := plan["backups"]; !limited || most != 0 || addons["backups"] > 0 {
			n += v.is
		}
	}
	return []value{{is: n}}, nil
}

// figures are all that there are.
var figures = []figure{
	{
		name: "stead_order_oldest_processing_seconds", help: "Age of the oldest paid order that is not completed; 0 without one.",
		read: query(since(`o.paid_at`, `orders o JOIN account_users u ON u.id = o.account_id
			WHERE o.status IN ('paid', 'processing') AND u.sandbox_of IS NULL AND o.paid_at <= `+present)),
	},
	{
		name: "stead_provisioning_oldest_seconds", help: "How long the service that waits longest has been provisioned; 0 without one.",
		read: query(since(`provisioning_at`, `services WHERE status = 'provisioning' AND NOT sandbox AND provisioning_at <= `+present)),
	},
	{
		name: "stead_renewals_due_unattempted", help: "Services of which something has been due for ten minutes without having been tried.",
		read: func(ctx context.Context, w *Watch, _ time.Time) ([]value, error) {
			n, err := w.Unattempted(ctx, renewalsBy)
			return []value{{is: float64(n)}}, err
		},
	},
	{
		name: "stead_ledger_imbalance", help: "1 when the last check found that the money of the wallets does not agree, else 0.",
		read: query(`SELECT '', CAST(CASE WHEN problem = '' THEN 0 ELSE 1 END AS DOUBLE PRECISION) FROM watch_checks WHERE name = 'ledger'`),
	},
	{
		name: "stead_ledger_check_timestamp_seconds", help: "When the ledger was added up last, in Unix time.",
		read: query(`SELECT '', CAST(made_at AS DOUBLE PRECISION) / 1000000 FROM watch_checks WHERE name = 'ledger'`),
	},
	{
		name: "stead_webhook_oldest_pending_seconds", help: "How long the delivery to a reseller that waits longest has been due; 0 without one.",
		read: query(since(`d.next_attempt_at`, dueWebhooks)),
	},
	{
		name: "stead_webhooks_pending", help: "Deliveries to resellers that are due.",
		read: query(`SELECT '', CAST(COUNT(*) AS DOUBLE PRECISION) FROM ` + dueWebhooks),
	},
	{
		name: "stead_job_oldest_available_seconds", help: "How long the oldest job of a kind that nobody has begun has been due.", label: "kind",
		read: func(ctx context.Context, w *Watch, _ time.Time) ([]value, error) {
			ages, err := w.OldestJobs(ctx)
			var all []value
			for kind, age := range ages {
				all = append(all, value{kind, age.Seconds()})
			}
			return all, err
		},
	},
	{
		name: "stead_node_up", help: "1 while a node reports, 0 when it has been silent for 100 seconds; absent while it is under maintenance.", label: "node",
		read: query(`SELECT name, CAST(CASE WHEN last_seen_at > ` + ago(nodelink.SilentAfter) + ` THEN 1 ELSE 0 END AS DOUBLE PRECISION) FROM nodes_nodes
			WHERE state IN ('active', 'draining') AND NOT maintenance`),
	},
	{
		name: "stead_node_disk_bytes", help: "Size of a node's disk.", label: "node",
		read: query(`SELECT name, CAST(disk_mb AS DOUBLE PRECISION) * 1048576 FROM nodes_nodes WHERE state IN ('active', 'draining')`),
	},
	{
		name: "stead_node_disk_free_bytes", help: "Free disk of a node.", label: "node",
		read: query(`SELECT name, CAST(disk_free_mb AS DOUBLE PRECISION) * 1048576 FROM nodes_nodes WHERE state IN ('active', 'draining')`),
	},
	{
		name: "stead_node_load", help: "Load of a node's processors: 1 when all of them are busy.", label: "node",
		read: query(`SELECT name, CAST(load_percent AS DOUBLE PRECISION) / 100 FROM nodes_nodes WHERE state IN ('active', 'draining')`),
	},
	{
		name: "stead_node_mail_queue", help: "Messages that wait on a node to be delivered; absent where it has no mail.", label: "node",
		read: query(`SELECT name, CAST(mail_queue AS DOUBLE PRECISION) FROM nodes_nodes WHERE state IN ('active', 'draining') AND mail_queue IS NOT NULL`),
	},
	{
		name: "stead_ai_spend_usd", help: "What the runs of the AI agent that were asked for in the last 24 hours have cost so far, at the model's price.",
		read: query(`SELECT '', COALESCE(CAST(SUM(cost) AS DOUBLE PRECISION), 0) / 1000000000000 FROM ai_runs WHERE created_at > ` + ago(24*time.Hour)),
	},
	{
		name: "stead_node_services", help: "Services on a node.", label: "node",
		read: query(`SELECT name, CAST(placed_accounts AS DOUBLE PRECISION) FROM nodes_nodes WHERE state IN ('active', 'draining')`),
	},
	{
		name: "stead_certificate_least_remaining_ratio", help: "The least part of its life that is left to a site's certificate which is renewed by itself.",
		read: query(`SELECT '', MIN(CAST(expires_at - ` + present + ` AS DOUBLE PRECISION) / (expires_at - issued_at)) FROM certificates
			WHERE status = 'active' AND auto_renew AND kind = 'acme' AND expires_at > issued_at HAVING COUNT(*) > 0`),
	},
	{
		name: "stead_services_without_backup", help: "Services older than 48 hours that are to have backups and of which none was completed in 48 hours.",
		read: withoutBackup,
	},
	{
		name: "stead_backup_good_timestamp_seconds", help: "When the last good backup of the control plane was made, in Unix time; absent without one.",
		read: query(last("good_at")),
	},
	{
		name: "stead_backup_interval_seconds", help: "How often the control plane is to be backed up.",
		read: func(_ context.Context, w *Watch, _ time.Time) ([]value, error) {
			return []value{{is: w.BackupInterval.Seconds()}}, nil
		},
	},
	{
		name: "stead_backup_proven_timestamp_seconds", help: "When a backup of the control plane was last proven, in Unix time; absent before.",
		read: query(last("proven_at")),
	},
	{
		name: "stead_monitor_lateness_seconds", help: "How long a part of the monitors has had no replica that checks it; 0 when all have one.",
		read: query(`SELECT '', CAST(COALESCE(MAX(` + present + ` - until), 0) AS DOUBLE PRECISION) / 1000000 FROM monitors_shards WHERE until <= ` + present),
	},
	{
		name: "stead_services", help: "Services by state.", label: "state",
		read: query(`SELECT status, CAST(COUNT(*) AS DOUBLE PRECISION) FROM services WHERE NOT sandbox GROUP BY status`),
	},
}

// read reads all figures; what cannot be read is left out.
func (w *Watch) read(ctx context.Context) (map[string][]value, error) {
	now, all := w.Clock.Now(), map[string][]value{}
	var failures error
	for _, f := range figures {
		values, err := f.read(ctx, w, now)
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("watch: %s: %w", f.name, err))
			continue
		}
		all[f.name] = values
	}
	return all, failures
}
