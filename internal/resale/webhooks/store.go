package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
)

// endpointRows reads webhooks_endpoints.
var endpointRows = db.Map(func(e *endpoint) db.Fields {
	return db.Fields{
		"id": &e.id, "account_id": &e.accountID, "url": &e.url, "description": &e.description, "events": db.JSON(&e.events),
		"status": &e.status, "disabled_reason": &e.disabledReason,
		"secret": &e.secret, "previous_secret": &e.previous, "previous_expires_at": &e.previousExpiresAt,
		"consecutive_failures": &e.consecutiveFailures, "failing_since": &e.failingSince,
		"last_success_at": &e.lastSuccessAt, "last_failure_at": &e.lastFailureAt,
		"not_before": &e.notBefore, "lease": &e.lease, "lease_until": &e.leaseUntil, "created_at": &e.createdAt,
	}
})

func endpointOf(ctx context.Context, q db.Querier, accountID, id int64, lock string) (endpoint, error) {
	return endpointRows.Scan(q.QueryRow(ctx, `SELECT `+endpointRows.Columns()+` FROM webhooks_endpoints WHERE account_id = $1 AND id = $2`+lock, accountID, id))
}

// lockEndpoint returns false when the endpoint was deleted.
func lockEndpoint(ctx context.Context, tx *db.Tx, id int64) (endpoint, bool, error) {
	e, err := endpointRows.Scan(tx.QueryRow(ctx, `SELECT `+endpointRows.Columns()+` FROM webhooks_endpoints WHERE id = $1`+tx.ForUpdate(), id))
	if errors.Is(err, db.ErrNoRows) {
		return e, false, nil
	}
	return e, err == nil, err
}

func endpointsOf(ctx context.Context, q db.Querier, accountID int64, lock string) ([]endpoint, error) {
	return db.Collect(ctx, q, endpointRows.Scan, `SELECT `+endpointRows.Columns()+` FROM webhooks_endpoints WHERE account_id = $1 ORDER BY id`+lock, accountID)
}

// accounts lists those that have an endpoint to which anything is sent.
func accounts(ctx context.Context, q db.Querier) ([]int64, error) {
	return db.Collect(ctx, q, func(r db.Row) (id int64, err error) {
		err = r.Scan(&id)
		return id, err
	}, `SELECT DISTINCT account_id FROM webhooks_endpoints WHERE status <> $1 ORDER BY account_id`, Disabled)
}

func insertEndpoint(ctx context.Context, tx *db.Tx, e endpoint) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO webhooks_endpoints (account_id, url, description, events, status, secret, consecutive_failures, created_at)
		VALUES ($1, '', '', '[]', $2, $3, 0, $4) RETURNING id`, e.accountID, e.status, []byte{}, e.createdAt).Scan(&id)
	return id, err
}

// putEndpoint writes all columns that can change.
func putEndpoint(ctx context.Context, tx *db.Tx, e endpoint) error {
	events, err := json.Marshal(e.events)
	if err != nil {
		return err
	}
	return tx.Queue(ctx, nil, `UPDATE webhooks_endpoints SET url = $1, description = $2, events = $3, status = $4, disabled_reason = $5,
			secret = $6, previous_secret = $7, previous_expires_at = $8, consecutive_failures = $9, failing_since = $10,
			last_success_at = $11, last_failure_at = $12, not_before = $13, lease = $14, lease_until = $15 WHERE id = $16`,
		e.url, e.description, string(events), e.status, e.disabledReason, e.secret, e.previous, e.previousExpiresAt,
		e.consecutiveFailures, e.failingSince, e.lastSuccessAt, e.lastFailureAt, e.notBefore, e.lease, e.leaseUntil, e.id)
}

func deleteEndpoint(ctx context.Context, tx *db.Tx, accountID, id int64) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM webhooks_endpoints WHERE account_id = $1 AND id = $2`, accountID, id)
	return n > 0, err
}

func deleteEndpoints(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM webhooks_endpoints WHERE account_id = $1`, accountID)
	return err
}

// eventRows reads webhooks_events.
var eventRows = db.Map(func(e *event) db.Fields {
	return db.Fields{
		"id": &e.id, "account_id": &e.accountID, "uid": &e.uid, "type": &e.typ, "subject": &e.subject, "subject_id": &e.subjectID,
		"sequence": &e.sequence, "client_ref": &e.clientRef, "body": &e.body, "delivered": &e.delivered, "created_at": &e.createdAt,
	}
})

// insertEvent returns 0 for an event that exists already.
func insertEvent(ctx context.Context, tx *db.Tx, e event) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO webhooks_events (uid, account_id, type, subject, subject_id, sequence, client_ref, body, delivered, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (uid) DO NOTHING RETURNING id`,
		e.uid, e.accountID, e.typ, e.subject, e.subjectID, e.sequence, e.clientRef, e.body, e.delivered, e.createdAt).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

func eventOf(ctx context.Context, q db.Querier, accountID int64, uid string) (event, error) {
	return eventRows.Scan(q.QueryRow(ctx, `SELECT `+eventRows.Columns()+` FROM webhooks_events WHERE uid = $1 AND account_id = $2`, uid, accountID))
}

// filter selects events; an empty member selects all.
type filter struct {
	typ, clientRef string
	since          *time.Time
	delivered      *bool
}

func listEvents(ctx context.Context, q db.Querier, accountID int64, f filter, p page.Params) (rows []event, total int, err error) {
	where, args := ` FROM webhooks_events WHERE account_id = $1`, []any{accountID}
	add := func(condition string, v any) {
		args = append(args, v)
		where += fmt.Sprintf(` AND `+condition, len(args))
	}
	switch group, ok := strings.CutSuffix(f.typ, "*"); {
	case f.typ == "" || f.typ == all:
	case ok && strings.HasSuffix(group, "."): // covers
		add(fmt.Sprintf(`substr(type, 1, %d) = $%%d`, len(group)), group)
	default:
		add(`type = $%d`, f.typ)
	}
	if f.clientRef != "" {
		add(`client_ref = $%d`, f.clientRef)
	}
	if f.since != nil {
		add(`created_at >= $%d`, *f.since)
	}
	if f.delivered != nil {
		add(`delivered = $%d`, *f.delivered)
	}
	if err := q.QueryRow(ctx, `SELECT count(*)`+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	n := len(args)
	rows, err = db.Collect(ctx, q, eventRows.Scan, `SELECT `+eventRows.Columns()+where+fmt.Sprintf(` ORDER BY id DESC LIMIT $%d OFFSET $%d`, n+1, n+2),
		append(args, p.Limit(), p.Offset())...)
	return rows, total, err
}

// deliveryRows reads deliveryFrom.
var deliveryRows = db.Map(func(d *delivery) db.Fields {
	return db.Fields{
		"d.id": &d.id, "d.event_id": &d.eventID, "v.uid": &d.eventUID, "d.endpoint_id": &d.endpointID,
		"d.subject": &d.subject, "d.subject_id": &d.subjectID, "d.sequence": &d.sequence,
		"d.attempt": &d.attempt, "d.origin": &d.origin, "d.status": &d.state, "d.http_status": &d.httpStatus,
		"d.duration_ms": &d.durationMS, "d.response_excerpt": &d.excerpt, "d.error_key": &d.errorKey,
		"d.next_attempt_at": &d.nextAttemptAt, "d.created_at": &d.createdAt,
	}
})

const deliveryFrom = ` FROM webhooks_deliveries d JOIN webhooks_events v ON v.id = d.event_id`

func deliveriesOf(ctx context.Context, q db.Querier, eventID int64) ([]delivery, error) {
	return db.Collect(ctx, q, deliveryRows.Scan, `SELECT `+deliveryRows.Columns()+deliveryFrom+` WHERE d.event_id = $1 ORDER BY d.id`, eventID)
}

func deliveryByID(ctx context.Context, q db.Querier, id int64) (delivery, error) {
	return deliveryRows.Scan(q.QueryRow(ctx, `SELECT `+deliveryRows.Columns()+deliveryFrom+` WHERE d.id = $1`, id))
}

// insertDelivery returns 0 when the endpoint has an open delivery of the event.
func insertDelivery(ctx context.Context, tx *db.Tx, d delivery) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO webhooks_deliveries (event_id, endpoint_id, subject, subject_id, sequence, attempt, origin, status,
			http_status, duration_ms, response_excerpt, error_key, next_attempt_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (endpoint_id, event_id) WHERE status IN ('pending', 'sending') DO NOTHING RETURNING id`,
		d.eventID, d.endpointID, d.subject, d.subjectID, d.sequence, d.attempt, d.origin, d.state,
		d.httpStatus, d.durationMS, d.excerpt, d.errorKey, d.nextAttemptAt, d.createdAt).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

func putDelivery(ctx context.Context, tx *db.Tx, d delivery) error {
	return tx.Queue(ctx, nil, `UPDATE webhooks_deliveries SET status = $1, http_status = $2, duration_ms = $3, response_excerpt = $4,
		error_key = $5, next_attempt_at = $6 WHERE id = $7`, d.state, d.httpStatus, d.durationMS, d.excerpt, d.errorKey, d.nextAttemptAt, d.id)
}

// hasten makes an event's delivery due at once, with the open ones of its subject before it: a subject's events arrive
// in order.
func hasten(ctx context.Context, tx *db.Tx, v event, endpointID int64) error {
	_, err := tx.Exec(ctx, `UPDATE webhooks_deliveries SET next_attempt_at = $1, origin = $2
		WHERE endpoint_id = $3 AND subject = $4 AND subject_id = $5 AND sequence <= $6 AND status IN ('pending', 'sending') AND status = 'pending'`,
		tx.Now, originManual, endpointID, v.subject, v.subjectID, v.sequence)
	return err
}

// hastenAll makes all deliveries that wait for a retry due at once.
func hastenAll(ctx context.Context, tx *db.Tx, endpointID int64) error {
	_, err := tx.Exec(ctx, `UPDATE webhooks_deliveries SET next_attempt_at = $1, origin = $2
		WHERE endpoint_id = $3 AND status IN ('pending', 'sending') AND status = 'pending' AND next_attempt_at > $1`, tx.Now, originManual, endpointID)
	return err
}

// The queries below name both open states even where one is meant: the indexes of open deliveries are partial, and the
// planner uses them only when the condition is stated.

// isNext is the condition of an endpoint's due deliveries without an open predecessor of the same subject.
const isNext = `d.endpoint_id = $1 AND d.status IN ('pending', 'sending') AND d.status = 'pending' AND d.next_attempt_at <= $2 AND NOT EXISTS (
	SELECT 1 FROM webhooks_deliveries o WHERE o.endpoint_id = d.endpoint_id AND o.subject = d.subject
	AND o.subject_id = d.subject_id AND o.sequence < d.sequence AND o.status IN ('pending', 'sending'))`

// nextDue returns the delivery that is due longest among those that may be sent now; false when there is none.
func nextDue(ctx context.Context, q db.Querier, endpointID int64, now time.Time) (delivery, bool, error) {
	d, err := deliveryRows.Scan(q.QueryRow(ctx, `SELECT `+deliveryRows.Columns()+deliveryFrom+` WHERE `+isNext+`
		AND `+outbox.Settled("d.subject", "d.subject_id", "d.sequence")+` ORDER BY d.next_attempt_at, d.id LIMIT 1`, endpointID, now))
	if errors.Is(err, db.ErrNoRows) {
		return d, false, nil
	}
	return d, err == nil, err
}

// unsettled reports whether deliveries wait for an earlier event of their subject that the outbox still has to deliver.
func unsettled(ctx context.Context, q db.Querier, endpointID int64, now time.Time) (some bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1`+deliveryFrom+` WHERE `+isNext+`)`, endpointID, now).Scan(&some)
	return some, err
}

// reopen returns the deliveries of a dead worker to the queue.
func reopen(ctx context.Context, tx *db.Tx, endpointID int64) error {
	return tx.Queue(ctx, nil, `UPDATE webhooks_deliveries SET status = 'pending' WHERE endpoint_id = $1 AND status IN ('pending', 'sending') AND status = 'sending'`,
		endpointID)
}

// discard drops the open deliveries of a disabled endpoint.
func discard(ctx context.Context, tx *db.Tx, endpointID int64) error {
	_, err := tx.Exec(ctx, `UPDATE webhooks_deliveries SET status = 'discarded', next_attempt_at = NULL
		WHERE endpoint_id = $1 AND status IN ('pending', 'sending')`, endpointID)
	return err
}

// settle records whether the event has arrived at each endpoint.
func settle(ctx context.Context, tx *db.Tx, eventID int64) error {
	return tx.Queue(ctx, nil, `UPDATE webhooks_events SET delivered =
			EXISTS (SELECT 1 FROM webhooks_deliveries d WHERE d.event_id = webhooks_events.id)
			AND NOT EXISTS (SELECT 1 FROM webhooks_deliveries d WHERE d.event_id = webhooks_events.id AND NOT EXISTS (
				SELECT 1 FROM webhooks_deliveries o WHERE o.event_id = d.event_id AND o.endpoint_id = d.endpoint_id AND o.status = 'success'))
		WHERE id = $1`, eventID)
}

// recoverSince creates deliveries of the events since then that have not reached the endpoint and have no open
// delivery.
func recoverSince(ctx context.Context, tx *db.Tx, e endpoint, since time.Time) error {
	args := []any{e.id, tx.Now, e.accountID, since, testType}
	chosen := ""
	if !e.wants(all) {
		var marks []string
		for _, wanted := range e.events {
			for _, typ := range typesOf(wanted) {
				args = append(args, typ)
				marks = append(marks, fmt.Sprintf("$%d", len(args)))
			}
		}
		chosen = ` AND v.type IN (` + strings.Join(marks, ", ") + `)`
	}
	_, err := tx.Exec(ctx, `INSERT INTO webhooks_deliveries (event_id, endpoint_id, subject, subject_id, sequence, attempt, origin, status, next_attempt_at, created_at)
		SELECT v.id, CAST($1 AS BIGINT), v.subject, v.subject_id, v.sequence, 1, 'manual', 'pending', CAST($2 AS BIGINT), CAST($2 AS BIGINT)
		FROM webhooks_events v WHERE v.account_id = $3 AND v.created_at >= $4 AND v.type <> $5`+chosen+` AND NOT EXISTS (
			SELECT 1 FROM webhooks_deliveries o WHERE o.event_id = v.id AND o.endpoint_id = $1 AND o.status IN ('pending', 'sending', 'success'))
		ORDER BY v.id`, args...)
	return err
}

// waiting are the endpoints with due deliveries and without a worker.
func waiting(ctx context.Context, q db.Querier, now time.Time) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT e.id FROM webhooks_endpoints e WHERE e.status = 'active' AND (e.not_before IS NULL OR e.not_before <= $1)
		AND (e.lease IS NULL OR e.lease_until <= $1) AND EXISTS (SELECT 1 FROM webhooks_deliveries d
			WHERE d.endpoint_id = e.id AND d.status IN ('pending', 'sending') AND d.next_attempt_at <= $1)`, now)
}

// clean removes the events from before a time. Those of sandboxes may lie ahead of the real time: they are as old as the others
// among which they were stored.
func clean(ctx context.Context, tx *db.Tx, before time.Time) error {
	_, err := tx.Exec(ctx, `DELETE FROM webhooks_events WHERE created_at < $1
		OR id < (SELECT id FROM webhooks_events WHERE created_at < $1 ORDER BY created_at DESC LIMIT 1)`, before)
	return err
}
