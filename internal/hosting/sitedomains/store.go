package sitedomains

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

var domainRows = db.Map(func(d *domain) db.Fields {
	return d.Fields(db.Fields{
		"name": &d.name, "kind": &d.kind, "document_root": &d.documentRoot, "redirect_to": &d.redirectTo, "force_https": &d.forceHTTPS,
		"tls": &d.tls, "created_at": &d.createdAt, "activated_at": &d.activatedAt, "dns_known": &d.dns.known,
		"dns_found": db.JSON(&d.dns.found), "dns_checked_at": &d.dns.checkedAt, "displaced_name": &d.displacedName,
		`COALESCE((SELECT p.document_root FROM hosting_domains p WHERE p.service_id = hosting_domains.service_id AND p.kind = 'primary'), '')`: &d.primaryRoot,
	})
})

// collection describes the domains of services. Plans limit them by kind: see counts.
func (s *Service) collection() site.Collection[domain, panel.Sites, panel.Domain] {
	return site.Collection[domain, panel.Sites, panel.Domain]{
		Base:       s.Base,
		Capability: panel.CapSites, Event: "hosted_domain",
		Job: func(t site.Target) river.JobArgs { return applyArgs{t} },
		Table: site.Table[domain]{
			Name: "hosting_domains", Rows: domainRows, Unique: "name, sandbox", Others: []string{"hosting_usage"},
			Order: `CASE WHEN kind = 'primary' THEN 0 ELSE 1 END, id`, // the primary one first
		},
		On:        s.kind,
		Keys:      map[panel.Kind]*fault.Def{panel.ErrExists: fault.DomainUnavailable, panel.ErrInvalid: fault.DomainInvalid},
		Activated: func(ctx context.Context, tx *db.Tx, d domain) error { return s.emit(ctx, tx, "site_domain.added", d) },
		Removed:   func(ctx context.Context, tx *db.Tx, d domain) error { return s.emit(ctx, tx, "site_domain.removed", d) },
		Observed: func(ctx context.Context, tx *db.Tx, d domain, now panel.Domain) error {
			if d.tls == now.TLS {
				return nil
			}
			return setTLS(ctx, tx, d, now.TLS)
		},
	}
}

// values are what should be of a domain that is there.
func (d domain) values() site.Values {
	return site.Values{"kind": d.kind, "document_root": d.documentRoot, "redirect_to": d.redirectTo, "force_https": d.forceHTTPS}
}

// hostedBy reads which services of an account have names.
func hostedBy(ctx context.Context, q db.Querier, accountID int64, names []string) (map[string]int64, error) {
	in, args := db.In(q, 2, names)
	by := map[string]int64{}
	_, err := db.Collect(ctx, q, func(row db.Row) (none struct{}, err error) {
		var name string
		var id int64
		err = row.Scan(&name, &id)
		by[name] = id
		return none, err
	}, `SELECT name, service_id FROM hosting_domains WHERE account_id = $1 AND name `+in, append([]any{accountID}, args...)...)
	return by, err
}

// available tells whether nobody has the name and no other account one above it.
func available(ctx context.Context, q db.Querier, accountID int64, sandbox bool, name string, above []string) (ok bool, err error) {
	query, args := `SELECT NOT EXISTS (SELECT 1 FROM hosting_domains WHERE sandbox = $2 AND (name = $1`, []any{name, sandbox}
	if len(above) > 0 {
		args = append(args, accountID)
		places := make([]string, len(above))
		for i, parent := range above {
			args = append(args, parent)
			places[i] = fmt.Sprintf("$%d", len(args))
		}
		query += ` OR (account_id <> $3 AND name IN (` + strings.Join(places, ", ") + `))`
	}
	err = q.QueryRow(ctx, query+`))`, args...).Scan(&ok)
	return ok, err
}

// setTLS writes what the panel reports of HTTPS, unless d was changed since it was read.
func setTLS(ctx context.Context, tx *db.Tx, d domain, tls panel.TLS) error {
	_, err := tx.Exec(ctx, `UPDATE hosting_domains SET tls = $1 WHERE id = $2 AND revision = $3`, tls, d.ID, d.Revision)
	return err
}

// setServed notes that the panel has the primary domain of a service, be it as it should or not.
func setServed(ctx context.Context, tx *db.Tx, serviceID int64) error {
	_, err := tx.Exec(ctx, `UPDATE hosting_domains SET activated_at = $1 WHERE service_id = $2 AND kind = 'primary' AND activated_at IS NULL`,
		tx.Now, serviceID)
	return err
}

// takeDue lists services that are due to be compared, and puts them off.
func takeDue(ctx context.Context, tx *db.Tx, limit int) ([]site.Target, error) {
	return db.Collect(ctx, tx, site.ScanTarget, `UPDATE hosting_domains SET reconcile_at = $1 WHERE id IN (
			SELECT id FROM hosting_domains WHERE kind = 'primary' AND reconcile_at <= $2 ORDER BY reconcile_at LIMIT $3)
		RETURNING account_id, service_id`, tx.Now.Add(reconcileEvery), tx.Now, limit)
}

// dueName is a domain that is due to be looked up.
type dueName struct {
	id, accountID, serviceID int64
	name                     string
	found                    []string // when the DNS last answered
	createdAt                time.Time
}

func dnsDue(ctx context.Context, q db.Querier, now time.Time, limit int) ([]dueName, error) {
	return db.Collect(ctx, q, func(row db.Row) (d dueName, err error) {
		err = row.Scan(&d.id, &d.accountID, &d.serviceID, &d.name, db.JSON(&d.found), &d.createdAt)
		return d, err
	}, `SELECT id, account_id, service_id, name, dns_found, created_at FROM hosting_domains WHERE dns_due_at <= $1 ORDER BY dns_due_at LIMIT $2`, now, limit)
}

// setPointing writes what a look into the DNS found, and when the next is due; false when the domain has another name by now.
func setPointing(ctx context.Context, tx *db.Tx, d dueName, p pointing, next time.Time) (bool, error) {
	if p.found == nil {
		p.found = []string{}
	}
	found, err := json.Marshal(p.found)
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, `UPDATE hosting_domains SET dns_known = $1, dns_found = $2, dns_checked_at = $3, dns_due_at = $4
		WHERE id = $5 AND name = $6`, p.known, string(found), tx.Now, next, d.id, d.name)
	return n == 1, err
}

// setDNSDue has the names of a service looked up next.
func setDNSDue(ctx context.Context, tx *db.Tx, serviceID int64) error {
	_, err := tx.Exec(ctx, `UPDATE hosting_domains SET dns_due_at = $1 WHERE service_id = $2`, tx.Now, serviceID)
	return err
}

// putUsage keeps what the panel counted of a service.
func putUsage(ctx context.Context, tx *db.Tx, serviceID int64, counted map[string]int64) error {
	data, err := json.Marshal(counted)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO hosting_usage (service_id, counted, measured_at) VALUES ($1, $2, $3)
		ON CONFLICT (service_id) DO UPDATE SET counted = excluded.counted, measured_at = excluded.measured_at`,
		serviceID, string(data), tx.Now)
	return err
}

// lastUsage is what the panel counted when it was last asked; nothing when it never was.
func lastUsage(ctx context.Context, q db.Querier, serviceID int64) (counted map[string]int64, err error) {
	var data string
	err = q.QueryRow(ctx, `SELECT counted FROM hosting_usage WHERE service_id = $1`, serviceID).Scan(&data)
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(data), &counted)
	}
	return counted, err
}

// notifiedMarks are the marks of which the owner was notified last, by the limit's name.
func notifiedMarks(ctx context.Context, q db.Querier, serviceID int64) (told map[string]int64, err error) {
	var data string
	if err := q.QueryRow(ctx, `SELECT told FROM hosting_usage WHERE service_id = $1`, serviceID).Scan(&data); err != nil {
		return nil, err
	}
	err = json.Unmarshal([]byte(data), &told)
	return told, err
}

func setNotifiedMarks(ctx context.Context, tx *db.Tx, serviceID int64, told map[string]int64) error {
	data, err := json.Marshal(told)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE hosting_usage SET told = $1 WHERE service_id = $2`, string(data), serviceID)
	}
	return err
}

// notifiedRules is of which directives without effect the owner was notified.
func notifiedRules(ctx context.Context, q db.Querier, serviceID int64) (told toldRules, err error) {
	var data *string
	err = q.QueryRow(ctx, `SELECT rules_told FROM hosting_usage WHERE service_id = $1`, serviceID).Scan(&data)
	if err == nil && data != nil {
		err = json.Unmarshal([]byte(*data), &told)
	}
	return told, err
}

func setNotifiedRules(ctx context.Context, tx *db.Tx, serviceID int64, told toldRules) error {
	data, err := json.Marshal(told)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE hosting_usage SET rules_told = $1 WHERE service_id = $2`, string(data), serviceID)
	}
	return err
}

// setName writes the name of a domain; the panel has to follow.
func setName(ctx context.Context, tx *db.Tx, d domain) error {
	_, err := tx.Exec(ctx, `UPDATE hosting_domains SET name = $1, displaced_name = $2, status = CASE WHEN status = 'removing' THEN status ELSE 'pending' END,
			failure_key = NULL, revision = revision + 1, force_https = FALSE, dns_due_at = $3, dns_known = FALSE, dns_found = '[]'
		WHERE id = $4`, d.name, d.displacedName, tx.Now, d.ID)
	return err
}

// isTaken tells whether a service of the live world answers to a name.
func isTaken(ctx context.Context, tx *db.Tx, name string) (taken bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM hosting_domains WHERE name = $1 AND NOT sandbox)`, name).Scan(&taken)
	return taken, err
}

// leaving tells whether a panel may still have the former name of a displaced domain for which a condition holds.
func leaving(ctx context.Context, q db.Querier, condition string, arg any) (found bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM hosting_domains WHERE `+condition+` AND displaced_name IS NOT NULL
		AND status IN ('pending', 'removing') AND NOT sandbox)`, arg).Scan(&found)
	return found, err
}
