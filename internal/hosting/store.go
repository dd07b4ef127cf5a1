package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

const columns = `id, account_id, service_id, name, kind, document_root, redirect_to, force_https, status, failure_key, revision,
	tls, created_at, activated_at, dns_known, dns_found, dns_checked_at`

func scan(row db.Row) (domain, error) {
	var d domain
	var found string
	err := row.Scan(&d.id, &d.accountID, &d.serviceID, &d.name, &d.kind, &d.documentRoot, &d.redirectTo, &d.forceHTTPS,
		&d.status, &d.failureKey, &d.revision, &d.tls, &d.createdAt, &d.activatedAt, &d.dns.known, &found, &d.dns.checkedAt)
	if err != nil {
		return domain{}, err
	}
	if err := json.Unmarshal([]byte(found), &d.dns.found); err != nil {
		return domain{}, fmt.Errorf("hosting: addresses of domain %d: %w", d.id, err)
	}
	return d, nil
}

// primaryFirst is the order in which domains are shown.
const primaryFirst = ` ORDER BY CASE WHEN kind = 'primary' THEN 0 ELSE 1 END, id`

// list reads one page of the domains of an account's service.
func list(ctx context.Context, q db.Querier, accountID, serviceID int64, p page.Params) (rows []domain, total int, err error) {
	const where = ` FROM hosting_domains WHERE service_id = $1 AND account_id = $2`
	if err := q.QueryRow(ctx, `SELECT count(*)`+where, serviceID, accountID).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, scan, `SELECT `+columns+where+primaryFirst+` LIMIT $3 OFFSET $4`,
		serviceID, accountID, p.Limit(), p.Offset())
	return rows, total, err
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

// ofService reads all domains of a service, the primary one first.
func ofService(ctx context.Context, q db.Querier, serviceID int64) ([]domain, error) {
	return db.Collect(ctx, q, scan, `SELECT `+columns+` FROM hosting_domains WHERE service_id = $1`+primaryFirst, serviceID)
}

// getOwn reads a domain of the account's service.
func getOwn(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (domain, error) {
	d, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM hosting_domains
		WHERE id = $1 AND service_id = $2 AND account_id = $3`, id, serviceID, accountID))
	if errors.Is(err, db.ErrNoRows) {
		return d, fault.NotFound.New()
	}
	return d, err
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

// insert answers false when the name is taken.
func insert(ctx context.Context, tx *db.Tx, d domain, sandbox bool) (id int64, ok bool, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO hosting_domains
			(account_id, service_id, name, kind, document_root, status, created_at, reconcile_at, dns_due_at, sandbox)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $7, $9) ON CONFLICT (name, sandbox) DO NOTHING RETURNING id`,
		d.accountID, d.serviceID, d.name, d.kind, d.documentRoot, d.status, tx.Now, tx.Now.Add(reconcileEvery), sandbox).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, false, nil
	}
	return id, err == nil, err
}

// setWish writes what should be; the panel has to follow.
func setWish(ctx context.Context, tx *db.Tx, d domain) error {
	_, err := tx.Exec(ctx, `UPDATE hosting_domains SET kind = $1, document_root = $2, redirect_to = $3, force_https = $4,
			status = $5, failure_key = NULL, revision = revision + 1 WHERE id = $6`,
		d.kind, d.documentRoot, d.redirectTo, d.forceHTTPS, Pending, d.id)
	return err
}

func setRemoving(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE hosting_domains SET status = $1, failure_key = NULL, revision = revision + 1 WHERE id = $2`,
		Removing, id)
	return err
}

// setActive notes that the panel has the domain as d says, unless it was changed
// since d was read.
func setActive(ctx context.Context, tx *db.Tx, d domain, tls panel.TLS) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE hosting_domains SET status = $1, failure_key = NULL, tls = $2,
			activated_at = COALESCE(activated_at, CAST($3 AS BIGINT))
		WHERE id = $4 AND revision = $5`, Active, tls, tx.Now, d.id, d.revision)
	return n == 1, err
}

// setServed notes that the panel has the primary domain of a service, be it as it should or not.
func setServed(ctx context.Context, tx *db.Tx, serviceID int64) error {
	_, err := tx.Exec(ctx, `UPDATE hosting_domains SET activated_at = $1 WHERE service_id = $2 AND kind = 'primary' AND activated_at IS NULL`,
		tx.Now, serviceID)
	return err
}

// setFailed notes that the panel refuses the domain as d says.
func setFailed(ctx context.Context, tx *db.Tx, d domain, key string) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE hosting_domains SET status = $1, failure_key = $2 WHERE id = $3 AND revision = $4`,
		Failed, key, d.id, d.revision)
	return n == 1, err
}

// remove ends the row of a domain that the panel no longer has.
func remove(ctx context.Context, tx *db.Tx, d domain) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM hosting_domains WHERE id = $1 AND revision = $2 AND status = 'removing'`, d.id, d.revision)
	return n == 1, err
}

func removeAll(ctx context.Context, tx *db.Tx, serviceID int64) error {
	if _, err := tx.Exec(ctx, `DELETE FROM hosting_usage WHERE service_id = $1`, serviceID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM hosting_domains WHERE service_id = $1`, serviceID)
	return err
}

// owned names a service and whose it is.
type owned struct{ accountID, serviceID int64 }

// takeDue lists services that are due to be compared, and puts them off until next.
func takeDue(ctx context.Context, tx *db.Tx, next time.Time, limit int) ([]owned, error) {
	return db.Collect(ctx, tx, func(row db.Row) (o owned, err error) {
		err = row.Scan(&o.accountID, &o.serviceID)
		return o, err
	}, `UPDATE hosting_domains SET reconcile_at = $1 WHERE id IN (
			SELECT id FROM hosting_domains WHERE kind = 'primary' AND reconcile_at <= $2 ORDER BY reconcile_at LIMIT $3)
		RETURNING account_id, service_id`, next, tx.Now, limit)
}

// dueName is a domain that is due to be looked up.
type dueName struct {
	id        int64
	name      string
	createdAt time.Time
}

func dnsDue(ctx context.Context, q db.Querier, now time.Time, limit int) ([]dueName, error) {
	return db.Collect(ctx, q, func(row db.Row) (d dueName, err error) {
		err = row.Scan(&d.id, &d.name, &d.createdAt)
		return d, err
	}, `SELECT id, name, created_at FROM hosting_domains WHERE dns_due_at <= $1 ORDER BY dns_due_at LIMIT $2`, now, limit)
}

// setPointing writes what a look into the DNS found, and when the next is due.
func setPointing(ctx context.Context, tx *db.Tx, id int64, p pointing, next time.Time) error {
	if p.found == nil {
		p.found = []string{}
	}
	found, err := json.Marshal(p.found)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE hosting_domains SET dns_known = $1, dns_found = $2, dns_checked_at = $3, dns_due_at = $4
		WHERE id = $5`, p.known, string(found), tx.Now, next, id)
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

// limitsTold is of which mark of each limit the owner was told, by the limit's name.
func limitsTold(ctx context.Context, q db.Querier, serviceID int64) (told map[string]int64, err error) {
	var data string
	if err := q.QueryRow(ctx, `SELECT told FROM hosting_usage WHERE service_id = $1`, serviceID).Scan(&data); err != nil {
		return nil, err
	}
	err = json.Unmarshal([]byte(data), &told)
	return told, err
}

func setLimitsTold(ctx context.Context, tx *db.Tx, serviceID int64, told map[string]int64) error {
	data, err := json.Marshal(told)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE hosting_usage SET told = $1 WHERE service_id = $2`, string(data), serviceID)
	}
	return err
}
