package services

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// dueStep is a service and when it is to be looked at.
type dueStep struct {
	id, accountID int64
	sandbox       bool
	at, expiresAt time.Time
}

// setSteps notes when services are to be looked at again; the zero time is never.
func setSteps(ctx context.Context, tx *db.Tx, all []dueStep) error {
	if len(all) == 0 {
		return nil
	}
	var rows db.Values
	for _, d := range all {
		var at *time.Time
		if !d.at.IsZero() {
			at = &d.at
		}
		rows.Add(d.id, at)
	}
	table, args := rows.Table(tx)
	return tx.Queue(ctx, nil, `WITH next (id, at) AS (`+table+`) UPDATE services SET step_at = next.at FROM next WHERE services.id = next.id`, args...)
}

// setTold notes of which days the owner was told.
func setTold(ctx context.Context, tx *db.Tx, id int64, reminded, warned *int) error {
	return tx.Queue(ctx, nil, `UPDATE services SET reminded = $1, warned = $2 WHERE id = $3`, reminded, warned, id)
}

func setPastDue(ctx context.Context, tx *db.Tx, id int64, until time.Time) error {
	return tx.Queue(ctx, nil, `UPDATE services SET status = $1, grace_until = $2 WHERE id = $3`, PastDue, until, id)
}

func setSuspendedUnpaid(ctx context.Context, tx *db.Tx, id int64, terminates time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE services SET status = $1, suspend_reason = $2, suspended_at = $3, terminates_at = $4, warned = NULL
		WHERE id = $5`, Suspended, Unpaid, tx.Now, terminates, id)
	return err
}

// setRunOut notes when a service ends that stays suspended, and of how many days until then its owner is told now.
func setRunOut(ctx context.Context, tx *db.Tx, id int64, terminates time.Time, left int) error {
	_, err := tx.Exec(ctx, `UPDATE services SET terminates_at = $1, warned = $2 WHERE id = $3`, terminates, left, id)
	return err
}

// setRenewalFailed notes why a renewal did not go, and when it is tried again.
func setRenewalFailed(ctx context.Context, tx *db.Tx, id int64, failureKey string, again time.Time) error {
	return tx.Queue(ctx, nil, `UPDATE services SET next_renewal_attempt_at = $1, renewal_failure = $2, renewal_failed_at = $3 WHERE id = $4`,
		again, failureKey, tx.Now, id)
}

func setAttempt(ctx context.Context, tx *db.Tx, id int64, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE services SET next_renewal_attempt_at = $1 WHERE id = $2`, at, id)
	return err
}

// attemptNow has those of an account's services tried again at once whose renewal did
// not go. One that is due may be tried at this moment, by a step that found the money too early: it is waited for.
func attemptNow(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := tx.Exec(ctx, `UPDATE services SET next_renewal_attempt_at = $1, step_at = $1
		WHERE account_id = $2 AND auto_renew AND status IN ('active', 'past_due', 'suspended')
		AND next_renewal_attempt_at IS NOT NULL AND (next_renewal_attempt_at <= $1 OR renewal_failure IS NOT NULL)`, tx.Now, accountID)
	return err
}

// renewedBefore lists those of some services whose accounts have another service that is due for renewal and expires
// before; not one of them, and not one that has been due for so long that its renewal must be failing.
func renewedBefore(ctx context.Context, q db.Querier, ids []int64, now time.Time) ([]int64, error) {
	in, args := db.In(q, 3, ids)
	return db.Collect(ctx, q, scanID, `SELECT id FROM services due
		WHERE id `+in+` AND EXISTS (SELECT 1 FROM services s
			WHERE s.account_id = due.account_id AND s.next_renewal_attempt_at <= $1 AND s.next_renewal_attempt_at > $2
			AND s.auto_renew AND NOT s.id `+in+`
			AND (s.expires_at < due.expires_at OR (s.expires_at = due.expires_at AND s.id < due.id))
			AND (s.status IN ('active', 'past_due') OR (s.status = 'suspended' AND s.suspend_reason = 'unpaid')))`,
		append([]any{now, now.Add(-mostWait)}, args...)...)
}

func scanID(row db.Row) (id int64, err error) { return id, row.Scan(&id) }

// noteStep keeps what was done with a service; it is written when tx ends, with what was done with others.
func noteStep(tx *db.Tx, id int64, did act, failureKey string, left int) {
	var key *string
	if failureKey != "" {
		key = &failureKey
	}
	var daysLeft *int
	if left > 0 {
		daysLeft = &left
	}
	row := []any{id, did, key, daysLeft, tx.Now}
	db.Gather(tx, "services.steps", row, func(ctx context.Context, all [][]any) error {
		var rows db.Values
		for _, row := range all {
			rows.Add(row...)
		}
		table, args := rows.Table(tx)
		return tx.Queue(ctx, nil, `INSERT INTO services_steps (service_id, did, failure_key, days, at) `+table, args...)
	})
}

// shareOf is the share of an account's services.
func shareOf(accountID int64) int { return int(accountID % Shares) }

// stepsDue lists services of a share of which a step is due, the first to expire first, after one on that list.
func stepsDue(ctx context.Context, q db.Querier, now time.Time, share int, after dueStep, limit int) ([]dueStep, error) {
	var afterExpiry int64
	if !after.expiresAt.IsZero() {
		afterExpiry = after.expiresAt.UnixMicro()
	}
	return db.Collect(ctx, q, func(row db.Row) (d dueStep, err error) {
		return d, row.Scan(&d.id, &d.accountID, &d.sandbox, &d.at, &d.expiresAt)
	}, fmt.Sprintf(`SELECT id, account_id, sandbox, step_at, COALESCE(expires_at, 0) FROM services
		WHERE step_at IS NOT NULL AND step_at <= $1 AND account_id %% %d = $2 AND (COALESCE(expires_at, 0), id) > ($3, $4)
		ORDER BY COALESCE(expires_at, 0), id LIMIT $5`, Shares), now, share, afterExpiry, after.id, limit)
}

// sharesDue lists the shares with a service of which a step is due.
func sharesDue(ctx context.Context, q db.Querier, now time.Time) ([]int, error) {
	return db.Collect(ctx, q, func(row db.Row) (share int, err error) { return share, row.Scan(&share) },
		fmt.Sprintf(`SELECT DISTINCT account_id %% %d FROM services WHERE step_at IS NOT NULL AND step_at <= $1`, Shares), now)
}
