package services

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// setStep notes when a service is to be looked at again; the zero time is never.
func setStep(ctx context.Context, tx *db.Tx, id int64, at time.Time) error {
	var due *time.Time
	if !at.IsZero() {
		due = &at
	}
	_, err := tx.Exec(ctx, `UPDATE services SET step_at = $1 WHERE id = $2`, due, id)
	return err
}

// setTold notes of which days the owner was told.
func setTold(ctx context.Context, tx *db.Tx, id int64, reminded, warned *int) error {
	_, err := tx.Exec(ctx, `UPDATE services SET reminded = $1, warned = $2 WHERE id = $3`, reminded, warned, id)
	return err
}

func setPastDue(ctx context.Context, tx *db.Tx, id int64, until time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE services SET status = $1, grace_until = $2 WHERE id = $3`, PastDue, until, id)
	return err
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
	_, err := tx.Exec(ctx, `UPDATE services SET next_renewal_attempt_at = $1, renewal_failure = $2, renewal_failed_at = $3 WHERE id = $4`,
		again, failureKey, tx.Now, id)
	return err
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

// renewedBefore tells whether the renewal of another service of the account is due that
// expires before this one. Those that are asked for at once do not wait for each other: where the money is not enough
// for all of them, they are undone, and each is asked for alone.
func renewedBefore(ctx context.Context, q db.Querier, r record, now time.Time) (first bool, err error) {
	name := fmt.Sprintf("services.before:%d", now.UnixMicro()) // sandboxes have times of their own
	return db.Many(ctx, q, name, r.id, func(ctx context.Context, q db.Querier, ids []int64) ([]bool, error) {
		in, args := db.In(q, 2, ids)
		wait, err := db.Collect(ctx, q, func(row db.Row) (id int64, err error) { return id, row.Scan(&id) }, `SELECT id FROM services due
			WHERE id `+in+` AND EXISTS (SELECT 1 FROM services s
				WHERE s.account_id = due.account_id AND s.next_renewal_attempt_at <= $1 AND s.auto_renew AND NOT s.id `+in+`
				AND (s.expires_at < due.expires_at OR (s.expires_at = due.expires_at AND s.id < due.id))
				AND (s.status IN ('active', 'past_due') OR (s.status = 'suspended' AND s.suspend_reason = 'unpaid')))`,
			append([]any{now}, args...)...)
		first := make([]bool, len(ids))
		for i, id := range ids {
			first[i] = slices.Contains(wait, id)
		}
		return first, err
	})
}

// noteStep keeps what was done with a service.
func noteStep(ctx context.Context, tx *db.Tx, id int64, did act, failureKey string, left int) error {
	var key *string
	if failureKey != "" {
		key = &failureKey
	}
	var daysLeft *int
	if left > 0 {
		daysLeft = &left
	}
	_, err := db.InsertMany(ctx, tx, "services.step", `INSERT INTO services_steps (service_id, did, failure_key, days, at)`,
		id, did, key, daysLeft, tx.Now)
	return err
}

// stepsDue lists services of which a step is due.
func stepsDue(ctx context.Context, q db.Querier, now time.Time, after int64, limit int) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT id FROM services WHERE step_at IS NOT NULL AND step_at <= $1 AND id > $2 ORDER BY id LIMIT $3`, now, after, limit)
}
