package mail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/site"
)

const columns = `id, account_id, service_id, address, password_hash, quota_mb, aliases, forward_to, keep_copy, catch_all,
	reply_enabled, reply_subject, reply_body, reply_from, reply_until, imap, pop3, smtp_out, send_limit, suspended,
	status, failure_key, revision, told_suspended, used_bytes, messages, last_login_at, measured_at, is_full, created_at, activated_at`

func scan(row db.Row) (box, error) {
	var (
		b                      box
		aliases, forwards      string
		from, until, lastLogin *time.Time
		m                      = &b.what
		reply                  = &b.what.Autoresponder
	)
	err := row.Scan(&b.id, &b.accountID, &b.serviceID, &m.Address, &m.PasswordHash, &m.QuotaMB, &aliases, &forwards, &m.KeepCopy, &m.CatchAll,
		&reply.Enabled, &reply.Subject, &reply.Body, &from, &until, &m.Protocols.IMAP, &m.Protocols.POP3, &m.Protocols.SMTPOut,
		&m.SendLimitPerHour, &m.Suspended, &b.status, &b.failureKey, &b.revision, &b.toldSuspended, &m.UsedBytes, &m.Messages,
		&lastLogin, &b.measuredAt, &b.full, &b.createdAt, &b.activatedAt)
	if err != nil {
		return b, err
	}
	set(&reply.StartsAt, from)
	set(&reply.EndsAt, until)
	set(&m.LastLoginAt, lastLogin)
	if err := errors.Join(json.Unmarshal([]byte(aliases), &m.Aliases), json.Unmarshal([]byte(forwards), &m.ForwardTo)); err != nil {
		return b, fmt.Errorf("mail: mailbox %d: %w", b.id, err)
	}
	return b, nil
}

// list reads one page of the mailboxes of an account's service.
func list(ctx context.Context, q db.Querier, accountID, serviceID int64, p page.Params) (rows []box, total int, err error) {
	const where = ` FROM mail_boxes WHERE service_id = $1 AND account_id = $2`
	if err := q.QueryRow(ctx, `SELECT count(*)`+where, serviceID, accountID).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, scan, `SELECT `+columns+where+` ORDER BY address LIMIT $3 OFFSET $4`,
		serviceID, accountID, p.Limit(), p.Offset())
	return rows, total, err
}

func ofService(ctx context.Context, q db.Querier, serviceID int64) ([]box, error) {
	return db.Collect(ctx, q, scan, `SELECT `+columns+` FROM mail_boxes WHERE service_id = $1 ORDER BY address`, serviceID)
}

// getOwn reads a mailbox of the account's service.
func getOwn(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (box, error) {
	b, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM mail_boxes
		WHERE id = $1 AND service_id = $2 AND account_id = $3`, id, serviceID, accountID))
	if errors.Is(err, db.ErrNoRows) {
		return b, fault.NotFound.New()
	}
	return b, err
}

func count(ctx context.Context, q db.Querier, serviceID int64) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM mail_boxes WHERE service_id = $1 AND status <> 'removing'`, serviceID).Scan(&n)
	return n, err
}

func texts(all []string) (string, error) {
	if all == nil {
		all = []string{}
	}
	data, err := json.Marshal(all)
	return string(data), err
}

// orNull is a time as it is stored: null for zero.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func insert(ctx context.Context, tx *db.Tx, b box) (id int64, err error) {
	m, reply := b.what, b.what.Autoresponder
	aliases, err := texts(m.Aliases)
	if err != nil {
		return 0, err
	}
	forwards, err := texts(m.ForwardTo)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO mail_boxes (account_id, service_id, address, domain, password_hash, quota_mb, aliases, forward_to,
			keep_copy, catch_all, reply_enabled, reply_subject, reply_body, reply_from, reply_until, imap, pop3, smtp_out, send_limit,
			suspended, status, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22) RETURNING id`,
		b.accountID, b.serviceID, m.Address, b.domain(), m.PasswordHash, m.QuotaMB, aliases, forwards, m.KeepCopy, m.CatchAll,
		reply.Enabled, reply.Subject, reply.Body, orNull(reply.StartsAt), orNull(reply.EndsAt), m.Protocols.IMAP, m.Protocols.POP3,
		m.Protocols.SMTPOut, m.SendLimitPerHour, m.Suspended, site.Pending, tx.Now).Scan(&id)
	return id, err
}

// setWish writes what should be; the panel has to follow.
func setWish(ctx context.Context, tx *db.Tx, b box) error {
	m, reply := b.what, b.what.Autoresponder
	aliases, err := texts(m.Aliases)
	if err != nil {
		return err
	}
	forwards, err := texts(m.ForwardTo)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE mail_boxes SET password_hash = $1, quota_mb = $2, aliases = $3, forward_to = $4, keep_copy = $5,
			catch_all = $6, reply_enabled = $7, reply_subject = $8, reply_body = $9, reply_from = $10, reply_until = $11, imap = $12,
			pop3 = $13, smtp_out = $14, send_limit = $15, suspended = $16, status = $17, failure_key = NULL, revision = revision + 1
		WHERE id = $18`,
		m.PasswordHash, m.QuotaMB, aliases, forwards, m.KeepCopy, m.CatchAll, reply.Enabled, reply.Subject, reply.Body,
		orNull(reply.StartsAt), orNull(reply.EndsAt), m.Protocols.IMAP, m.Protocols.POP3, m.Protocols.SMTPOut, m.SendLimitPerHour,
		m.Suspended, site.Pending, b.id)
	return err
}

func setRemoving(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE mail_boxes SET status = $1, failure_key = NULL, revision = revision + 1 WHERE id = $2`, site.Removing, id)
	return err
}

// setActive notes that the panel has the mailbox as b says, unless it was changed since b was read.
func setActive(ctx context.Context, tx *db.Tx, b box) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE mail_boxes SET status = $1, failure_key = NULL, told_suspended = $2,
			activated_at = COALESCE(activated_at, CAST($3 AS BIGINT)) WHERE id = $4 AND revision = $5`,
		site.Active, b.what.Suspended, tx.Now, b.id, b.revision)
	return n == 1, err
}

func setFailed(ctx context.Context, tx *db.Tx, b box, key string) error {
	_, err := tx.Exec(ctx, `UPDATE mail_boxes SET status = $1, failure_key = $2 WHERE id = $3 AND revision = $4`,
		site.Failed, key, b.id, b.revision)
	return err
}

// remove ends the row of a mailbox that the panel no longer has.
func remove(ctx context.Context, tx *db.Tx, b box) error {
	_, err := tx.Exec(ctx, `DELETE FROM mail_boxes WHERE id = $1 AND revision = $2 AND status = 'removing'`, b.id, b.revision)
	return err
}

// setUse writes what the mail server counted.
func setUse(ctx context.Context, tx *db.Tx, id int64, m panel.Mailbox, isFull bool) error {
	_, err := tx.Exec(ctx, `UPDATE mail_boxes SET used_bytes = $1, messages = $2, last_login_at = COALESCE($3, last_login_at), measured_at = $4,
			is_full = $5 WHERE id = $6`,
		m.UsedBytes, m.Messages, orNull(m.LastLoginAt), tx.Now, isFull, id)
	return err
}

// end lets everything of a service go.
func end(ctx context.Context, tx *db.Tx, serviceID int64) error {
	for _, table := range []string{"mail_boxes", "mail_domains", "mail_services"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE service_id = $1`, serviceID); err != nil {
			return err
		}
	}
	return nil
}

// putServer keeps where a service's mail is reached.
func putServer(ctx context.Context, tx *db.Tx, accountID, serviceID int64, server panel.MailServer) error {
	data, err := json.Marshal(server)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO mail_services (service_id, account_id, server, due_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (service_id) DO UPDATE SET server = excluded.server`, serviceID, accountID, string(data), tx.Now.Add(measureEvery))
	return err
}

// serverOf is where a service's mail is reached; ok is false while that is not known.
func serverOf(ctx context.Context, q db.Querier, serviceID int64) (server panel.MailServer, ok bool, err error) {
	var data string
	err = q.QueryRow(ctx, `SELECT server FROM mail_services WHERE service_id = $1`, serviceID).Scan(&data)
	if errors.Is(err, db.ErrNoRows) {
		return server, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(data), &server)
	}
	return server, err == nil, err
}

// whose names a service and whose it is.
type whose struct{ accountID, serviceID int64 }

// takeDue lists services whose mailboxes are due to be measured, and puts them off until next.
func takeDue(ctx context.Context, tx *db.Tx, next time.Time, limit int) ([]whose, error) {
	return db.Collect(ctx, tx, func(row db.Row) (w whose, err error) {
		err = row.Scan(&w.accountID, &w.serviceID)
		return w, err
	}, `UPDATE mail_services SET due_at = $1 WHERE service_id IN (
			SELECT service_id FROM mail_services WHERE due_at <= $2 ORDER BY due_at LIMIT $3)
		RETURNING account_id, service_id`, next, tx.Now, limit)
}

// mailDomain is a row of the table mail_domains.
type mailDomain struct {
	id, serviceID       int64
	name                string
	selector, publicKey string
	found               found
	checkedAt           *time.Time
	createdAt           time.Time
}

const domainColumns = `id, service_id, name, selector, public_key, found, checked_at, created_at`

func scanDomain(row db.Row) (mailDomain, error) {
	var d mailDomain
	var data string
	err := row.Scan(&d.id, &d.serviceID, &d.name, &d.selector, &d.publicKey, &data, &d.checkedAt, &d.createdAt)
	if err == nil {
		err = json.Unmarshal([]byte(data), &d.found)
	}
	return d, err
}

func domainsOf(ctx context.Context, q db.Querier, serviceID int64) ([]mailDomain, error) {
	return db.Collect(ctx, q, scanDomain, `SELECT `+domainColumns+` FROM mail_domains WHERE service_id = $1 ORDER BY name`, serviceID)
}

// putDomains makes the domains of a service those that the panel has; one whose key is another is looked
// at anew.
func putDomains(ctx context.Context, tx *db.Tx, accountID, serviceID int64, all []panel.MailDomain) error {
	before, err := domainsOf(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	known := make(map[string]mailDomain, len(before))
	for _, d := range before {
		known[d.name] = d
	}
	for _, d := range all {
		old, ok := known[d.Name]
		delete(known, d.Name)
		if ok && old.selector == d.DKIMSelector && old.publicKey == d.DKIMPublicKey {
			continue
		}
		_, err := tx.Exec(ctx, `INSERT INTO mail_domains (account_id, service_id, name, selector, public_key, due_at, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $6)
			ON CONFLICT (service_id, name) DO UPDATE SET selector = excluded.selector, public_key = excluded.public_key, due_at = excluded.due_at`,
			accountID, serviceID, d.Name, d.DKIMSelector, d.DKIMPublicKey, tx.Now)
		if err != nil {
			return err
		}
	}
	for _, gone := range known {
		if _, err := tx.Exec(ctx, `DELETE FROM mail_domains WHERE id = $1`, gone.id); err != nil {
			return err
		}
	}
	return nil
}

func healthDue(ctx context.Context, q db.Querier, now time.Time, limit int) ([]mailDomain, error) {
	return db.Collect(ctx, q, scanDomain, `SELECT `+domainColumns+` FROM mail_domains WHERE due_at <= $1 ORDER BY due_at LIMIT $2`, now, limit)
}

func setFound(ctx context.Context, tx *db.Tx, id int64, f found, next time.Time) error {
	data, err := json.Marshal(f)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE mail_domains SET found = $1, checked_at = $2, due_at = $3 WHERE id = $4`, string(data), tx.Now, next, id)
	}
	return err
}
