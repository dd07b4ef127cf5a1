package certificates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

const columns = `id, account_id, service_id, kind, names, challenge, automatic, auto_renew, hsts, chosen_at, revision, installed,
	installed_key, chain, secret, sans, issuer, fingerprint, issued_at, expires_at, renew_at, ask_at, phase, order_url, order_names,
	order_secret, failures, last_attempt_at, last_error_key, last_reason, last_error, due_at, warned_days, created_at`

func scan(s db.Row) (row, error) {
	var r row
	var names, sans, orderNames string
	err := s.Scan(&r.id, &r.accountID, &r.serviceID, &r.kind, &names, &r.challenge, &r.automatic, &r.autoRenew, &r.hsts, &r.chosenAt,
		&r.revision, &r.installed, &r.installedKey, &r.chain, &r.current.secret, &sans, &r.issuer, &r.fingerprint, &r.issuedAt, &r.expiresAt,
		&r.renewAt, &r.askAt, &r.phase, &r.url, &orderNames, &r.order.secret, &r.failures, &r.lastAttemptAt, &r.lastErrorKey, &r.lastReason,
		&r.lastError, &r.dueAt, &r.warnedDays, &r.createdAt)
	if err != nil {
		return row{}, err
	}
	err = errors.Join(json.Unmarshal([]byte(names), &r.names), json.Unmarshal([]byte(sans), &r.sans),
		json.Unmarshal([]byte(orderNames), &r.order.names))
	if err != nil {
		return row{}, fmt.Errorf("certificates: row %d: %w", r.id, err)
	}
	return r, nil
}

// list is a list as it is stored.
func list(names []string) string {
	if names == nil {
		names = []string{}
	}
	text, err := json.Marshal(names)
	if err != nil {
		panic("certificates: " + err.Error()) // of strings it cannot fail
	}
	return string(text)
}

// listOwn reads one page of the certificates of an account's service, the newest first.
func listOwn(ctx context.Context, q db.Querier, accountID, serviceID int64, p page.Params) (rows []row, total int, err error) {
	const where = ` FROM certificates WHERE service_id = $1 AND account_id = $2 AND installed <> 'removing'`
	if err := q.QueryRow(ctx, `SELECT count(*)`+where, serviceID, accountID).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, scan, `SELECT `+columns+where+` ORDER BY id DESC LIMIT $3 OFFSET $4`, serviceID, accountID, p.Limit(), p.Offset())
	return rows, total, err
}

func ofService(ctx context.Context, q db.Querier, serviceID int64) ([]row, error) {
	return db.Collect(ctx, q, scan, `SELECT `+columns+` FROM certificates WHERE service_id = $1 ORDER BY id`, serviceID)
}

// getOwn reads a certificate of an account's service.
func getOwn(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (row, error) {
	r, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM certificates
		WHERE id = $1 AND service_id = $2 AND account_id = $3 AND installed <> 'removing'`, id, serviceID, accountID))
	if errors.Is(err, db.ErrNoRows) {
		return r, fault.NotFound.New()
	}
	return r, err
}

// insert makes a row of what is wanted, or of an own certificate.
func insert(ctx context.Context, tx *db.Tx, r row) (int64, error) {
	var id int64
	err := tx.QueryRow(ctx, `INSERT INTO certificates (account_id, service_id, kind, names, challenge, automatic, auto_renew, hsts, chosen_at,
			chain, sans, issuer, fingerprint, issued_at, expires_at, phase, due_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $9, $9) RETURNING id`,
		r.accountID, r.serviceID, r.kind, list(r.names), r.challenge, r.automatic, r.autoRenew, r.hsts, tx.Now,
		r.chain, list(r.sans), r.issuer, r.fingerprint, r.issuedAt, r.expiresAt, r.phase).Scan(&id)
	return id, err
}

func setSecret(ctx context.Context, tx *db.Tx, id int64, sealed []byte) error {
	_, err := tx.Exec(ctx, `UPDATE certificates SET secret = $1 WHERE id = $2`, sealed, id)
	return err
}

// setWanted has a certificate ordered now, as r says.
func setWanted(ctx context.Context, tx *db.Tx, r row) error {
	_, err := tx.Exec(ctx, `UPDATE certificates SET challenge = $1, auto_renew = $2, hsts = $3, automatic = $4, chosen_at = $5,
			revision = revision + 1, installed = 'pending', phase = 'wanted', due_at = $5, failures = 0 WHERE id = $6`,
		r.challenge, r.autoRenew, r.hsts, false, tx.Now, r.id)
	return err
}

// setSwitches changes what a certificate does.
func setSwitches(ctx context.Context, tx *db.Tx, r row) error {
	_, err := tx.Exec(ctx, `UPDATE certificates SET auto_renew = $1, hsts = $2, revision = revision + 1, installed = 'pending', due_at = $3
		WHERE id = $4`, r.autoRenew, r.hsts, tx.Now, r.id)
	return err
}

// take keeps all others off a row until then; false when another is at it, or it is gone.
func take(ctx context.Context, tx *db.Tx, id int64, until time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE certificates SET busy_until = $1 WHERE id = $2 AND busy_until <= $3`, until, id, tx.Now)
	return n == 1, err
}

// release lets others at the row, which is due then.
func release(ctx context.Context, tx *db.Tx, id int64, due time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE certificates SET busy_until = 0, queued_until = 0, due_at = $1 WHERE id = $2`, due, id)
	return err
}

func get(ctx context.Context, q db.Querier, id int64) (row, error) {
	return scan(q.QueryRow(ctx, `SELECT `+columns+` FROM certificates WHERE id = $1`, id))
}

// setOrder writes how far an order is.
func setOrder(ctx context.Context, tx *db.Tx, r row) error {
	_, err := tx.Exec(ctx, `UPDATE certificates SET phase = $1, order_url = $2, order_names = $3, order_secret = $4, last_attempt_at = $5
		WHERE id = $6`, r.phase, r.url, list(r.order.names), r.order.secret, tx.Now, r.id)
	return err
}

// setFailure notes how an order failed and when it is tried again, or goes on: what is left of it stands in r.
func setFailure(ctx context.Context, tx *db.Tx, r row, due time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE certificates SET phase = $1, order_url = $2, order_names = $3, order_secret = $4, failures = $5,
			last_attempt_at = $6, last_error_key = $7, last_reason = $8, last_error = $9, due_at = $10 WHERE id = $11`,
		r.phase, r.url, list(r.order.names), r.order.secret, r.failures, tx.Now, r.lastErrorKey, r.lastReason, r.lastError, due, r.id)
	return err
}

// setCurrent puts a certificate into use.
func setCurrent(ctx context.Context, tx *db.Tx, r row) error {
	_, err := tx.Exec(ctx, `UPDATE certificates SET chain = $1, secret = $2, sans = $3, issuer = $4, fingerprint = $5, issued_at = $6,
			expires_at = $7, renew_at = $8, ask_at = $9, phase = 'idle', order_url = '', order_names = '[]', order_secret = NULL, failures = 0,
			last_attempt_at = $9, last_error_key = NULL, last_reason = NULL, last_error = '', warned_days = NULL,
			revision = revision + 1, installed = 'pending' WHERE id = $10`,
		r.chain, r.current.secret, list(r.sans), r.issuer, r.fingerprint, r.issuedAt, r.expiresAt, r.renewAt, tx.Now, r.id)
	return err
}

// setRenewal writes when a certificate is to be renewed, and when to ask again.
func setRenewal(ctx context.Context, tx *db.Tx, id int64, renew, ask time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE certificates SET renew_at = $1, ask_at = $2 WHERE id = $3`, renew, ask, id)
	return err
}

func setPhase(ctx context.Context, tx *db.Tx, id int64, p phase) error {
	_, err := tx.Exec(ctx, `UPDATE certificates SET phase = $1 WHERE id = $2`, p, id)
	return err
}

func setWarned(ctx context.Context, tx *db.Tx, id int64, days int) error {
	_, err := tx.Exec(ctx, `UPDATE certificates SET warned_days = $1 WHERE id = $2`, days, id)
	return err
}

// setInstalled notes what became of a row on the panel, unless it was changed since it was read.
func setInstalled(ctx context.Context, tx *db.Tx, h site.Head, status site.Status, key *string) error {
	_, err := tx.Exec(ctx, `UPDATE certificates SET installed = $1, installed_key = $2 WHERE id = $3 AND revision = $4`,
		status, key, h.ID, h.Revision)
	return err
}

func removeAll(ctx context.Context, tx *db.Tx, serviceID int64) error {
	if _, err := tx.Exec(ctx, `DELETE FROM certificates WHERE service_id = $1`, serviceID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM certificates_attempts WHERE service_id = $1`, serviceID)
	return err
}

func remove(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM certificates WHERE id = $1`, id)
	return err
}

// dueRow names a row that is due.
type dueRow struct{ id, accountID, serviceID int64 }

// takeDue lists rows that are due; they are not listed again until next.
func takeDue(ctx context.Context, tx *db.Tx, next time.Time, limit int) ([]dueRow, error) {
	return db.Collect(ctx, tx, func(s db.Row) (d dueRow, err error) {
		err = s.Scan(&d.id, &d.accountID, &d.serviceID)
		return d, err
	}, `UPDATE certificates SET queued_until = $1 WHERE id IN
			(SELECT id FROM certificates WHERE due_at <= $2 AND queued_until <= $2 ORDER BY due_at LIMIT $3)
		RETURNING id, account_id, service_id`, next, tx.Now, limit)
}

// authority is a row of certificates_authorities.
type authority struct {
	id          int64
	secret      []byte
	location    string
	pausedUntil *time.Time
}

func getAuthority(ctx context.Context, q db.Querier, directory string) (authority, error) {
	var a authority
	err := q.QueryRow(ctx, `SELECT id, secret, location, paused_until FROM certificates_authorities WHERE directory = $1`, directory).
		Scan(&a.id, &a.secret, &a.location, &a.pausedUntil)
	if errors.Is(err, db.ErrNoRows) {
		return authority{}, nil
	}
	return a, err
}

// insertAuthority keeps a new key, unless another process was faster.
func insertAuthority(ctx context.Context, tx *db.Tx, directory string, sealed []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO certificates_authorities (directory, secret, created_at) VALUES ($1, $2, $3)
		ON CONFLICT (directory) DO NOTHING`, directory, sealed, tx.Now)
	return err
}

func setLocation(ctx context.Context, tx *db.Tx, directory, location string) error {
	_, err := tx.Exec(ctx, `UPDATE certificates_authorities SET location = $1 WHERE directory = $2`, location, directory)
	return err
}

func setPaused(ctx context.Context, tx *db.Tx, directory string, until time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE certificates_authorities SET paused_until = $1 WHERE directory = $2`, until, directory)
	return err
}

func insertAttempts(ctx context.Context, tx *db.Tx, serviceID int64, names []string, issued bool) error {
	for _, name := range names {
		_, err := tx.Exec(ctx, `INSERT INTO certificates_attempts (service_id, name, issued, at) VALUES ($1, $2, $3, $4)`,
			serviceID, name, issued, tx.Now)
		if err != nil {
			return err
		}
	}
	return nil
}

func forgetAttempts(ctx context.Context, tx *db.Tx, before time.Time) error {
	_, err := tx.Exec(ctx, `DELETE FROM certificates_attempts WHERE at < $1`, before)
	return err
}

// attempts are when orders for one of the names ended so since then, the oldest first.
func attempts(ctx context.Context, q db.Querier, names []string, issued bool, since time.Time) (map[string][]time.Time, error) {
	in, args := db.In(q, 3, names)
	type attempt struct {
		name string
		at   time.Time
	}
	all, err := db.Collect(ctx, q, func(s db.Row) (a attempt, err error) {
		err = s.Scan(&a.name, &a.at)
		return a, err
	}, `SELECT name, at FROM certificates_attempts WHERE issued = $1 AND at > $2 AND name `+in+` ORDER BY at`, append([]any{issued, since}, args...)...)
	found := map[string][]time.Time{}
	for _, a := range all {
		found[a.name] = append(found[a.name], a.at)
	}
	return found, err
}
