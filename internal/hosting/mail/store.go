package mail

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

var boxRows = db.Map(func(b *box) db.Fields {
	m, reply := &b.what, &b.what.Autoresponder
	return b.Fields(db.Fields{
		"address": &m.Address, "password_hash": &m.PasswordHash, "quota_mb": &m.QuotaMB, "aliases": db.JSON(&m.Aliases),
		"forward_to": db.JSON(&m.ForwardTo), "keep_copy": &m.KeepCopy, "catch_all": &m.CatchAll, "reply_enabled": &reply.Enabled,
		"reply_subject": &reply.Subject, "reply_body": &reply.Body, "reply_from": db.OrZero(&reply.StartsAt),
		"reply_until": db.OrZero(&reply.EndsAt), "imap": &m.Protocols.IMAP, "pop3": &m.Protocols.POP3, "smtp_out": &m.Protocols.SMTPOut,
		"send_limit": &m.SendLimitPerHour, "spam_threshold": &m.SpamThreshold, "suspended": &m.Suspended, "told_suspended": &b.toldSuspended,
		"used_bytes": &m.UsedBytes, "messages": &m.Messages, "last_login_at": db.OrZero(&m.LastLoginAt), "measured_at": &b.measuredAt,
		"is_full": &b.full, "created_at": &b.createdAt, "activated_at": &b.activatedAt,
	})
})

// collection describes the mailboxes of services.
func (s *Service) collection() site.Collection[box, panel.Mail, panel.Mailbox] {
	return site.Collection[box, panel.Mail, panel.Mailbox]{
		Base:       s.Base,
		Capability: panel.CapMail, Limit: "mailboxes", Event: "mailbox",
		Job:       func(t site.Target) river.JobArgs { return applyArgs{t} },
		Table:     site.Table[box]{Name: "mail_boxes", Rows: boxRows, Order: "address", Others: []string{"mail_domains", "mail_services"}},
		On:        s.kind,
		Keys:      map[panel.Kind]*fault.Def{panel.ErrInvalid: errAddress},
		Activated: func(ctx context.Context, tx *db.Tx, b box) error { return s.emit(ctx, tx, "mailbox.created", b) },
		Observed:  s.observed,
	}
}

func texts(all []string) (string, error) {
	if all == nil {
		all = []string{}
	}
	data, err := json.Marshal(all)
	return string(data), err
}

// values are what should be of a mailbox.
func (b box) values() (site.Values, error) {
	m, reply := b.what, b.what.Autoresponder
	aliases, err := texts(m.Aliases)
	if err != nil {
		return nil, err
	}
	forwards, err := texts(m.ForwardTo)
	return site.Values{
		"address": m.Address, "domain": b.domain(), "password_hash": m.PasswordHash, "quota_mb": m.QuotaMB, "aliases": aliases,
		"forward_to": forwards, "keep_copy": m.KeepCopy, "catch_all": m.CatchAll, "reply_enabled": reply.Enabled,
		"reply_subject": reply.Subject, "reply_body": reply.Body, "reply_from": db.OrNull(reply.StartsAt), "reply_until": db.OrNull(reply.EndsAt),
		"imap": m.Protocols.IMAP, "pop3": m.Protocols.POP3, "smtp_out": m.Protocols.SMTPOut, "send_limit": m.SendLimitPerHour,
		"spam_threshold": m.SpamThreshold,
		"suspended":      m.Suspended,
	}, err
}

// insert adds a mailbox of a locked service, where the plan has room for one.
func (s *Service) insert(ctx context.Context, tx *db.Tx, on site.Site, b box) (id int64, err error) {
	if err := s.collection().Room(ctx, tx, on, 1); err != nil {
		return 0, err
	}
	values, err := b.values()
	if err != nil {
		return 0, err
	}
	return s.collection().Insert(ctx, tx, on.AccountID, on.ServiceID, values)
}

// setWish writes what should be; the panel has to follow.
func (s *Service) setWish(ctx context.Context, tx *db.Tx, b box) error {
	values, err := b.values()
	if err != nil {
		return err
	}
	return s.collection().Update(ctx, tx, b.ID, values)
}

// setToldSuspended notes that the panel has a mailbox suspended, or not; false when that was noted before, or b has changed.
func setToldSuspended(ctx context.Context, tx *db.Tx, b box) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE mail_boxes SET told_suspended = $1 WHERE id = $2 AND revision = $3 AND told_suspended <> $1`,
		b.what.Suspended, b.ID, b.Revision)
	return n == 1, err
}

// setUse writes what the mail server counted.
func setUse(ctx context.Context, tx *db.Tx, id int64, m panel.Mailbox, isFull bool) error {
	_, err := tx.Exec(ctx, `UPDATE mail_boxes SET used_bytes = $1, messages = $2, last_login_at = COALESCE($3, last_login_at), measured_at = $4,
			is_full = $5 WHERE id = $6`,
		m.UsedBytes, m.Messages, db.OrNull(m.LastLoginAt), tx.Now, isFull, id)
	return err
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

// takeDue lists services whose mailboxes are due to be measured, and puts them off.
func takeDue(ctx context.Context, tx *db.Tx, limit int) ([]site.Target, error) {
	return db.Collect(ctx, tx, site.ScanTarget, `UPDATE mail_services SET due_at = $1 WHERE service_id IN (
			SELECT service_id FROM mail_services WHERE due_at <= $2 ORDER BY due_at LIMIT $3)
		RETURNING account_id, service_id`, tx.Now.Add(measureEvery), tx.Now, limit)
}

// mailDomain is a row of the table mail_domains.
type mailDomain struct {
	id, serviceID       int64
	name                string
	selector, publicKey string
	former              formerKey
	found               dnsAnswers
	checkedAt           *time.Time
	createdAt           time.Time
}

// formerKey is the DKIM key that signed what a domain sent before: another machine had it.
type formerKey struct {
	selector, publicKey string
	until               *time.Time
}

// formerKeyKept is how long that key is published: mail of a mailbox is tried for three days, and verified when it arrives.
const formerKeyKept = 4 * 24 * time.Hour

const domainColumns = `id, service_id, name, selector, public_key, former_selector, former_key, former_until, found, checked_at, created_at`

func scanDomain(row db.Row) (mailDomain, error) {
	var d mailDomain
	var data string
	err := row.Scan(&d.id, &d.serviceID, &d.name, &d.selector, &d.publicKey, &d.former.selector, &d.former.publicKey, &d.former.until, &data, &d.checkedAt, &d.createdAt)
	if err == nil {
		err = json.Unmarshal([]byte(data), &d.found)
	}
	return d, err
}

func domainsOf(ctx context.Context, q db.Querier, serviceID int64) ([]mailDomain, error) {
	return db.Collect(ctx, q, scanDomain, `SELECT `+domainColumns+` FROM mail_domains WHERE service_id = $1 ORDER BY name`, serviceID)
}

// putDomains makes the domains of a service those that the panel has; one whose key is another is looked
// at anew, and its former key is kept for a while.
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
			ON CONFLICT (service_id, name) DO UPDATE SET selector = excluded.selector, public_key = excluded.public_key, due_at = excluded.due_at,
				former_selector = mail_domains.selector, former_key = mail_domains.public_key, former_until = $7`,
			accountID, serviceID, d.Name, d.DKIMSelector, d.DKIMPublicKey, tx.Now, tx.Now.Add(formerKeyKept))
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

func setFound(ctx context.Context, tx *db.Tx, id int64, f dnsAnswers, next time.Time) error {
	data, err := json.Marshal(f)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE mail_domains SET found = $1, checked_at = $2, due_at = $3 WHERE id = $4`, string(data), tx.Now, next, id)
	}
	return err
}
