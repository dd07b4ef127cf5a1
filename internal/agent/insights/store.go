package insights

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

var insightRows = db.Map(func(i *insight) db.Fields {
	return db.Fields{
		"id": &i.id, "account_id": &i.accountID, "service_id": &i.serviceID, "check_key": &i.Check, "subject": &i.Subject,
		"kind": &i.Kind, "severity": &i.Severity, "title_key": &i.Texts.Title, "detail_key": &i.Texts.Detail,
		"fix_key": &i.Texts.Fix, "evidence": db.JSON(&i.Evidence), "fixable": &i.Fixable, "status": &i.status,
		"dismissed_at": &i.dismissedAt, "dismiss_reason": &i.dismissReason, "first_seen_at": &i.firstSeenAt,
		"last_seen_at": &i.lastSeenAt, "advice": &i.advice, "advice_lang": &i.adviceLang,
	}
})

// mostRows bounds what is read of a service: those kept, and those that are resolved and not yet removed.
const mostRows = 10 * mostInsights

// lockOfService reads the insights of a service and locks them until tx ends.
func lockOfService(ctx context.Context, tx *db.Tx, accountID, serviceID int64) ([]insight, error) {
	return db.Collect(ctx, tx, insightRows.Scan, `SELECT `+insightRows.Columns()+` FROM insights WHERE service_id = $1 AND account_id = $2
		ORDER BY CASE WHEN status IN ('open', 'dismissed') THEN 0 ELSE 1 END, id LIMIT $3`+tx.ForUpdate(),
		serviceID, accountID, mostRows)
}

// insert writes a new insight. One that is there already, because it was resolved long ago or another report was faster, is
// opened again.
func insert(ctx context.Context, tx *db.Tx, i insight) (id int64, err error) {
	evidence, err := encode(i.Evidence)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO insights (account_id, service_id, check_key, subject, kind, severity, severity_rank, title_key, detail_key, fix_key,
			evidence, fixable, status, first_seen_at, last_seen_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'open', $13, $13)
		ON CONFLICT (service_id, check_key, subject) DO UPDATE SET status = 'open', evidence = excluded.evidence, last_seen_at = excluded.last_seen_at
		RETURNING id`,
		i.accountID, i.serviceID, i.Check, i.Subject, i.Kind, i.Severity, rank(i.Severity), i.Texts.Title, i.Texts.Detail, i.Texts.Fix, evidence, i.Fixable,
		tx.Now).Scan(&id)
	return id, err
}

// put writes what is known of an insight now.
func put(ctx context.Context, tx *db.Tx, i insight) error {
	evidence, err := encode(i.Evidence)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE insights SET kind = $1, severity = $2, severity_rank = $3, title_key = $4, detail_key = $5, fix_key = $6, evidence = $7,
			fixable = $8, status = $9, dismissed_at = $10, dismiss_reason = $11, last_seen_at = $12, advice = $13, advice_lang = $14
		WHERE id = $15`, i.Kind, i.Severity, rank(i.Severity), i.Texts.Title, i.Texts.Detail, i.Texts.Fix, evidence, i.Fixable, i.status, i.dismissedAt,
		i.dismissReason, i.lastSeenAt, i.advice, i.adviceLang, i.id)
	return err
}

// putAdvice writes what a model says about an insight, and its place among those that weigh the same.
func putAdvice(ctx context.Context, tx *db.Tx, serviceID int64, a advice, lang string, rank int) error {
	_, err := tx.Exec(ctx, `UPDATE insights SET advice = $1, advice_lang = $2, advice_rank = $3 WHERE id = $4 AND service_id = $5`,
		a.Advice, lang, rank, a.ID, serviceID)
	return err
}

func encode(evidence map[string]any) (string, error) {
	if evidence == nil {
		evidence = map[string]any{}
	}
	b, err := json.Marshal(evidence)
	return string(b), err
}

// lock reads one of the insights of an account's service and locks it until tx ends.
func lock(ctx context.Context, tx *db.Tx, accountID, serviceID, id int64) (insight, error) {
	return insightRows.Scan(tx.QueryRow(ctx, `SELECT `+insightRows.Columns()+` FROM insights WHERE id = $1 AND service_id = $2 AND account_id = $3`+tx.ForUpdate(), id, serviceID, accountID))
}

// filter chooses insights of a service.
type filter struct {
	status Status // empty: all
	kind   Kind   // empty: all
}

func (f filter) where(accountID, serviceID int64) (string, []any) {
	where, args := ` WHERE service_id = $1 AND account_id = $2`, []any{serviceID, accountID}
	if f.status != "" {
		args = append(args, f.status)
		where += fmt.Sprintf(` AND status = $%d`, len(args))
	}
	if f.kind != "" {
		args = append(args, f.kind)
		where += fmt.Sprintf(` AND kind = $%d`, len(args))
	}
	return where, args
}

// list reads a page of a service's insights, the worst first.
func list(ctx context.Context, q db.Querier, accountID, serviceID int64, f filter, p page.Params) ([]insight, error) {
	where, args := f.where(accountID, serviceID)
	args = append(args, p.Limit(), p.Offset())
	return db.Collect(ctx, q, insightRows.Scan, fmt.Sprintf(`SELECT `+insightRows.Columns()+` FROM insights%s ORDER BY severity_rank, advice_rank, id LIMIT $%d OFFSET $%d`, where, len(args)-1, len(args)), args...)
}

func count(ctx context.Context, q db.Querier, accountID, serviceID int64, f filter) (n int, err error) {
	where, args := f.where(accountID, serviceID)
	err = q.QueryRow(ctx, `SELECT count(*) FROM insights`+where, args...).Scan(&n)
	return n, err
}

// countOpen counts the open insights of a service by severity.
func countOpen(ctx context.Context, q db.Querier, accountID, serviceID int64) (map[Severity]int, error) {
	type row struct {
		severity Severity
		n        int
	}
	rows, err := db.Collect(ctx, q, func(from db.Row) (r row, err error) { return r, from.Scan(&r.severity, &r.n) },
		`SELECT severity, count(*) FROM insights WHERE service_id = $1 AND account_id = $2 AND status = 'open' GROUP BY severity`, serviceID, accountID)
	counts := map[Severity]int{}
	for _, r := range rows {
		counts[r.severity] = r.n
	}
	return counts, err
}

// begin takes the lease of a service's audit; false while another one has it.
func begin(ctx context.Context, tx *db.Tx, accountID, serviceID int64, until time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `INSERT INTO insights_audits (service_id, account_id, started_at, lease_until) VALUES ($1, $2, $3, $4)
		ON CONFLICT (service_id) DO UPDATE SET account_id = excluded.account_id, started_at = excluded.started_at, lease_until = excluded.lease_until,
			finished_at = NULL
		WHERE insights_audits.finished_at IS NOT NULL OR insights_audits.lease_until < $3`, serviceID, accountID, tx.Now, until)
	return n == 1, err
}

// end gives the lease back; false when it has run out and another audit has begun.
func end(ctx context.Context, tx *db.Tx, serviceID int64, started time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE insights_audits SET finished_at = $1 WHERE service_id = $2 AND started_at = $3 AND finished_at IS NULL`,
		tx.Now, serviceID, started)
	return n == 1, err
}

// expireOf ends the insights of a service that has ended.
func expireOf(ctx context.Context, tx *db.Tx, serviceID int64) error {
	_, err := tx.Exec(ctx, `UPDATE insights SET status = 'expired' WHERE service_id = $1 AND status IN ('open', 'dismissed')`, serviceID)
	return err
}

// expireUnseen ends insights that were not seen since a time.
func expireUnseen(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	return tx.Exec(ctx, `UPDATE insights SET status = 'expired' WHERE id IN (
		SELECT id FROM insights WHERE last_seen_at < $1 AND status IN ('open', 'dismissed') ORDER BY last_seen_at LIMIT $2)`, before, limit)
}

// removeOld removes insights that are over since a time.
func removeOld(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM insights WHERE id IN (
		SELECT id FROM insights WHERE last_seen_at < $1 AND status IN ('resolved', 'expired') ORDER BY last_seen_at LIMIT $2)`, before, limit)
}

func removeOf(ctx context.Context, tx *db.Tx, accountID int64) error {
	if err := weekly.RemoveOf(ctx, tx, accountID); err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM insights_audits WHERE account_id = $1`, `DELETE FROM insights WHERE account_id = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, accountID); err != nil {
			return err
		}
	}
	return nil
}
