package certificates

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// table has the certificates of services.
var table = site.Table[row]{
	Name: "certificates", HidesRemoving: true, ListOrder: "id DESC", Others: []string{"certificates_attempts"},
	Rows: db.Map(func(r *row) db.Fields {
		return r.Fields(db.Fields{
			"kind": &r.kind, "names": db.JSON(&r.names), "challenge": &r.challenge, "automatic": &r.automatic, "auto_renew": &r.autoRenew,
			"hsts": &r.hsts, "chosen_at": &r.chosenAt,

			"chain": &r.chain, "secret": &r.current.secret, "sans": db.JSON(&r.sans), "issuer": &r.issuer, "fingerprint": &r.fingerprint,
			"issued_at": &r.issuedAt, "expires_at": &r.expiresAt, "renew_at": &r.renewAt, "ask_at": &r.askAt,

			"phase": &r.phase, "order_url": &r.url, "order_names": db.JSON(&r.order.names), "order_secret": &r.order.secret,
			"failures": &r.failures, "last_attempt_at": &r.lastAttemptAt, "last_error_key": &r.lastErrorKey, "last_reason": &r.lastReason,
			"last_error": &r.lastError, "due_at": &r.dueAt, "warned_days": &r.warnedDays, "created_at": &r.createdAt,
		})
	}),
}

// collection describes how panels follow the certificates of services, but for On.
func (s *Service) collection() site.Collection[row, panel.Certificates, installed] {
	return site.Collection[row, panel.Certificates, installed]{
		Base: s.Base, Table: table, Capability: panel.CapCertificates,
		Job: func(t site.Target) river.JobArgs { return applyArgs{t} },
	}
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

// values are the columns of a certificate that is wanted, or of an own one, when it is added.
func (r row) values(now time.Time) site.Values {
	return site.Values{
		"kind": r.kind, "names": list(r.names), "challenge": r.challenge, "automatic": r.automatic, "auto_renew": r.autoRenew, "hsts": r.hsts,
		"chosen_at": now, "chain": r.chain, "sans": list(r.sans), "issuer": r.issuer, "fingerprint": r.fingerprint, "issued_at": r.issuedAt,
		"expires_at": r.expiresAt, "phase": r.phase, "due_at": now,
	}
}

// progress are the columns that say how far the order of a certificate is.
func (r row) progress(now time.Time) site.Values {
	return site.Values{
		"phase": r.phase, "order_url": r.url, "order_names": list(r.order.names), "order_secret": r.order.secret, "last_attempt_at": now,
	}
}

// setWanted has a certificate ordered now, as r says.
func (s *Service) setWanted(ctx context.Context, tx *db.Tx, r row) error {
	return s.collection().Update(ctx, tx, r.ID, site.Values{
		"challenge": r.challenge, "auto_renew": r.autoRenew, "hsts": r.hsts, "automatic": false, "chosen_at": tx.Now, "phase": wanted,
		"due_at": tx.Now, "failures": 0,
	})
}

// take reserves a row for one job until a time; false when another job has it, or it is gone.
func take(ctx context.Context, tx *db.Tx, id int64, until time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE certificates SET busy_until = $1 WHERE id = $2 AND busy_until <= $3`, until, id, tx.Now)
	return n == 1, err
}

// release ends the reservation of a row, which is due again at a time.
func release(ctx context.Context, tx *db.Tx, id int64, due time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE certificates SET busy_until = 0, queued_until = 0, due_at = $1 WHERE id = $2`, due, id)
	return err
}

// setFailure notes how an order failed and when it is tried again, or goes on: what is left of it stands in r.
func setFailure(ctx context.Context, tx *db.Tx, r row, due time.Time) error {
	values := r.progress(tx.Now)
	maps.Copy(values, site.Values{
		"failures": r.failures, "last_error_key": r.lastErrorKey, "last_reason": r.lastReason, "last_error": r.lastError, "due_at": due,
	})
	return table.Set(ctx, tx, r.ID, values)
}

// setCurrent puts a certificate into use; the panel has to follow.
func (s *Service) setCurrent(ctx context.Context, tx *db.Tx, r row) error {
	r.phase, r.order = idle, order{}
	values := r.progress(tx.Now)
	maps.Copy(values, site.Values{
		"chain": r.chain, "secret": r.current.secret, "sans": list(r.sans), "issuer": r.issuer, "fingerprint": r.fingerprint,
		"issued_at": r.issuedAt, "expires_at": r.expiresAt, "renew_at": r.renewAt, "ask_at": tx.Now, "failures": 0, "last_error_key": nil,
		"last_reason": nil, "last_error": "", "warned_days": nil,
	})
	return s.collection().Update(ctx, tx, r.ID, values)
}

// takeDue lists certificates that are due; they are not listed again for a while.
func takeDue(ctx context.Context, tx *db.Tx, limit int) ([]site.Owned, error) {
	return db.Collect(ctx, tx, func(s db.Row) (d site.Owned, err error) {
		err = s.Scan(&d.ID, &d.AccountID, &d.ServiceID)
		return d, err
	}, `UPDATE certificates SET queued_until = $1 WHERE id IN
			(SELECT id FROM certificates WHERE due_at <= $2 AND queued_until <= $2 ORDER BY due_at LIMIT $3)
		RETURNING id, account_id, service_id`, tx.Now.Add(dueAgain), tx.Now, limit)
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
