package admin

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/jobs"
)

// Attention is something that is stuck. The list of its kind has exactly those rows, by the parameter attention.
type Attention struct {
	Kind     string     `json:"kind" enum:"orders_processing,services_provisioning,services_failed,renewals_failing,services_ending,jobs_failing,jobs_discarded,queues_paused,topups_waiting,addons_waiting,reviews_pending,sla_proposed,domains_waiting,webhooks_failing,certificates_failing,nodes_silent,tickets_waiting"` //nolint:lll // one enum
	Count    int64      `json:"count"`
	OldestID int64      `json:"oldest_id" doc:"Of the rows in the list of its kind, the one with the smallest id."`
	Since    *time.Time `json:"since"`
}

// stuck is a kind of what needs attention: the rows of a table that meet a condition, and the column that says since when. In the
// condition $old is the time that lies as long ago as old.
type stuck struct {
	kind, table, condition, since string
	id                            string // column with the id of what the kind's list shows; empty: id
	old                           time.Duration
}

var attentions = []stuck{
	{kind: "orders_processing", table: "orders", condition: `status IN ('paid', 'processing') AND paid_at < $old`, since: "paid_at", old: 15 * time.Minute},
	{
		kind: "services_provisioning", table: "services", condition: `NOT sandbox AND status = 'provisioning' AND provisioning_at < $old`, since: "provisioning_at",
		old: 15 * time.Minute,
	},
	{kind: "services_failed", table: "services", condition: `NOT sandbox AND status = 'failed' AND created_at > $old`, since: "created_at", old: 7 * day},
	{
		kind: "renewals_failing", table: "services", since: "renewal_failed_at",
		condition: `NOT sandbox AND renewal_failure IS NOT NULL AND status IN ('active', 'past_due', 'suspended')`,
	},
	{
		kind: "services_ending", table: "services", condition: `NOT sandbox AND status = 'terminating' AND expires_at < $old`, since: "expires_at",
		old: 15 * time.Minute,
	},
	{kind: "topups_waiting", table: "wallet_topups", condition: `gateway = 'bank' AND status IN ('pending', 'processing')`, since: "created_at"},
	{kind: "addons_waiting", table: "addons", condition: `manual AND status = 'pending'`, since: "created_at"},
	{kind: "reviews_pending", table: "reviews", condition: `status = 'pending'`, since: "updated_at"},
	{kind: "sla_proposed", table: "sla_months", condition: `status = 'proposed'`, since: "created_at"},
	{
		kind: "domains_waiting", table: "domains_operations", condition: `status IN ('pending', 'attempted') AND created_at < $old`, since: "created_at",
		id: "domain_id", old: 15 * time.Minute,
	},
	{kind: "webhooks_failing", table: "webhooks_endpoints", condition: `status = 'active' AND failing_since IS NOT NULL`, since: "failing_since"},
	{kind: "certificates_failing", table: "certificates", condition: `failures > 2 AND status <> 'removing'`, since: "last_attempt_at"},
	{kind: "tickets_waiting", table: "tickets", condition: `status = 'open'`, since: "updated_at"},
	{
		kind: "nodes_silent", table: "nodes_nodes", condition: `state IN ('active', 'draining') AND NOT maintenance AND last_seen_at < $old`,
		since: "last_seen_at", old: 2 * time.Minute,
	},
}

// failingJobs picks the jobs that fail again and again, and are still tried.
var failingJobs = jobs.Filter{State: "retryable", MinAttempts: 3}

// rows is the FROM clause of the kind's rows, with the one argument of its condition as the nth.
func (s stuck) rows(n int) string {
	old := "$" + strconv.Itoa(n)
	return ` FROM ` + s.table + ` WHERE ` + strings.ReplaceAll(s.condition, "$old", old) + ` AND CAST(` + old + ` AS BIGINT) > 0`
}

func (s stuck) idColumn() string {
	if s.id != "" {
		return s.id
	}
	return "id"
}

// among is a condition that restricts a column to the ids of what needs attention, with its arguments behind others; an empty kind
// restricts nothing.
func (a *Admin) among(column, kind string, args []any) (string, []any) {
	i := slices.IndexFunc(attentions, func(s stuck) bool { return s.kind == kind })
	if i < 0 {
		return "", args
	}
	s := attentions[i]
	args = append(args, a.Clock.Now().Add(-s.old))
	return ` AND ` + column + ` IN (SELECT ` + s.idColumn() + s.rows(len(args)) + `)`, args
}

func (a *Admin) attention(ctx context.Context, now time.Time) ([]Attention, error) {
	all := []Attention{}
	note := func(at Attention) {
		if at.Count > 0 {
			all = append(all, at)
		}
	}
	for _, s := range attentions {
		at := Attention{Kind: s.kind}
		err := a.DB.QueryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(`+s.idColumn()+`), 0), MIN(`+s.since+`)`+s.rows(1), now.Add(-s.old)).
			Scan(&at.Count, &at.OldestID, &at.Since)
		if err != nil {
			return nil, err
		}
		note(at)
	}
	for _, k := range []struct {
		kind string
		jobs jobs.Filter
	}{{"jobs_failing", failingJobs}, {"jobs_discarded", jobs.Filter{State: "discarded"}}} {
		count, oldest, err := a.Jobs.Count(ctx, a.DB, k.jobs)
		if err != nil {
			return nil, err
		}
		note(Attention{Kind: k.kind, Count: int64(count), OldestID: oldest})
	}
	paused, err := a.pausedQueues(ctx)
	if err != nil {
		return nil, err
	}
	note(paused)
	return all, nil
}

func (a *Admin) pausedQueues(ctx context.Context) (Attention, error) {
	paused := Attention{Kind: "queues_paused"}
	lanes, err := a.Queues(ctx)
	for _, l := range lanes {
		if l.PausedAt == nil {
			continue
		}
		if paused.Count++; paused.Since == nil || l.PausedAt.Before(*paused.Since) {
			paused.Since = l.PausedAt
		}
	}
	return paused, err
}
