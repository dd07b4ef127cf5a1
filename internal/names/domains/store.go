package domains

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// domainRows reads domains.
var domainRows = db.Map(func(d *domain) db.Fields {
	return db.Fields{
		"id": &d.id, "account_id": &d.accountID, "sandbox": &d.sandbox, "client_ref": &d.clientRef,
		"name": &d.name, "tld": &d.tld, "handle": &d.handle, "status": &d.status, "wholesale": &d.wholesale,
		"auto_renew": &d.autoRenew, "privacy": &d.privacy, "locked": &d.locked,
		"transfer_out": &d.transferOut, "transfer_lock_until": &d.transferLockUntil,
		"nameservers": db.JSON(&d.nameservers), "registry": db.JSON(&d.registry), "seen": &d.seen, "reminded": &d.reminded,
		"registered_at": &d.registeredAt, "expires_at": &d.expiresAt, "renew_at": &d.renewAt, "created_at": &d.createdAt,
	}
})

func found(d domain, err error) (domain, error) {
	if errors.Is(err, db.ErrNoRows) {
		return d, fault.NotFound.New()
	}
	return d, err
}

// get reads a domain of any owner, for jobs.
func get(ctx context.Context, q db.Querier, id int64) (domain, error) {
	return found(domainRows.Scan(q.QueryRow(ctx, `SELECT `+domainRows.Columns()+` FROM domains WHERE id = $1`, id)))
}

func getOwn(ctx context.Context, q db.Querier, accountID, id int64) (domain, error) {
	return found(domainRows.Scan(q.QueryRow(ctx, `SELECT `+domainRows.Columns()+` FROM domains WHERE id = $1 AND account_id = $2`, id, accountID)))
}

func lock(ctx context.Context, tx *db.Tx, id int64) (domain, error) {
	return found(domainRows.Scan(tx.QueryRow(ctx, `SELECT `+domainRows.Columns()+` FROM domains WHERE id = $1`+tx.ForUpdate(), id)))
}

func lockOwn(ctx context.Context, tx *db.Tx, accountID, id int64) (domain, error) {
	return found(domainRows.Scan(tx.QueryRow(ctx, `SELECT `+domainRows.Columns()+` FROM domains WHERE id = $1 AND account_id = $2`+tx.ForUpdate(), id, accountID)))
}

// Filter selects the domains of a list; an empty member selects all.
type Filter struct {
	Status        Status
	ClientRef     *string
	ExpiresBefore *time.Time
	Query         string // a part of the name
}

var escapeLike = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// list reads one page of an account's domains, the newest first.
func list(ctx context.Context, q db.Querier, accountID int64, f Filter, p page.Params) (rows []domain, total int, err error) {
	where, args := `account_id = $1`, []any{accountID}
	add := func(condition string, value any) {
		args = append(args, value)
		where += fmt.Sprintf(` AND `+condition+` $%d`, len(args))
	}
	if f.Status != "" {
		add(`status =`, f.Status)
	}
	if f.Query != "" {
		args = append(args, "%"+escapeLike.Replace(strings.ToLower(f.Query))+"%")
		where += fmt.Sprintf(` AND name LIKE $%d ESCAPE '\'`, len(args))
	}
	if f.ClientRef != nil {
		add(`client_ref =`, *f.ClientRef)
	}
	if f.ExpiresBefore != nil {
		add(`expires_at <`, *f.ExpiresBefore)
	}
	if err := q.QueryRow(ctx, `SELECT count(*) FROM domains WHERE `+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	n := len(args)
	rows, err = db.Collect(ctx, q, domainRows.Scan, fmt.Sprintf(`SELECT %s FROM domains WHERE %s ORDER BY id DESC LIMIT $%d OFFSET $%d`, domainRows.Columns(), where, n+1, n+2),
		append(args, p.Limit(), p.Offset())...)
	return rows, total, err
}

// live counts an account's live domains.
func live(ctx context.Context, q db.Querier, accountID int64) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM domains WHERE account_id = $1 AND status NOT IN ('transferred_out', 'cancelled', 'failed')`, accountID).Scan(&n)
	return n, err
}

// fill reads the last operation and the zone of each domain, with one query for each of the two.
func fill(ctx context.Context, q db.Querier, rows []domain) error {
	if len(rows) == 0 {
		return nil
	}
	ids, names := make([]int64, len(rows)), make([]string, len(rows))
	for i, d := range rows {
		ids[i], names[i] = d.id, d.tld
	}
	in, args := db.In(q, 1, ids)
	ops, err := db.Collect(ctx, q, operationRows.Scan, `SELECT `+operationRows.Columns()+` FROM domains_operations WHERE id IN (
		SELECT max(id) FROM domains_operations WHERE domain_id `+in+` GROUP BY domain_id)`, args...)
	if err != nil {
		return err
	}
	in, args = db.In(q, 1, names)
	tlds, err := db.Collect(ctx, q, scanTLD, `SELECT tld, details FROM domains_tlds WHERE tld `+in, args...)
	if err != nil {
		return err
	}
	last, zone := map[int64]*operation{}, map[string]*tld{}
	for _, o := range ops {
		last[o.domainID] = &o
	}
	for _, t := range tlds {
		zone[t.TLD] = &t
	}
	for i, d := range rows {
		rows[i].last, rows[i].tldNow = last[d.id], zone[d.tld]
	}
	return nil
}

// isLive reports whether a live registration here has the name.
func isLive(ctx context.Context, q db.Querier, name string, sandbox bool) (live bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM domains WHERE name = $1 AND sandbox = $2
		AND status NOT IN ('transferred_out', 'cancelled', 'failed'))`, name, sandbox).Scan(&live)
	return live, err
}

// liveExpiry is until when a name is registered here; ErrNoRows when it is not.
func liveExpiry(ctx context.Context, q db.Querier, name string) (at *time.Time, err error) {
	err = q.QueryRow(ctx, `SELECT expires_at FROM domains WHERE name = $1 AND NOT sandbox
		AND status NOT IN ('transferred_out', 'cancelled', 'failed')`, name).Scan(&at)
	return at, err
}

// maxOthers bounds the other domains that are read to prove that the registry shows ours.
const maxOthers = 50

// listOthers lists other active domains of d's world, of a zone or, when that is empty, of any: first those that the registry
// has shown last.
func listOthers(ctx context.Context, q db.Querier, d domain, zone string) ([]domain, error) {
	return db.Collect(ctx, q, domainRows.Scan, `SELECT `+domainRows.Columns()+` FROM domains
		WHERE step_at IS NOT NULL AND (tld = $1 OR $1 = '') AND sandbox = $2 AND id <> $3 AND status = 'active'
		ORDER BY step_at DESC LIMIT $4`, zone, d.sandbox, d.id, maxOthers)
}

// doubt notes since when the registry does not show a domain, and has it asked again the next day.
func doubt(ctx context.Context, tx *db.Tx, id int64) error {
	d, err := lock(ctx, tx, id)
	if err != nil || !d.status.kept() {
		return err
	}
	if d.registry.Missing == nil {
		d.registry.Missing = &tx.Now
	}
	registry, err := json.Marshal(d.registry)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE domains SET registry = $1, step_at = $2 WHERE id = $3`, string(registry), tx.Now.Add(lookEvery), id)
	return err
}

func insert(ctx context.Context, tx *db.Tx, d domain) (id int64, err error) {
	nameservers, err := json.Marshal(d.nameservers)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO domains (account_id, sandbox, name, tld, status, wholesale, auto_renew, privacy, locked,
			transfer_out, nameservers, registry, client_ref, created_at, handle)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) RETURNING id`,
		d.accountID, d.sandbox, d.name, d.tld, d.status, d.wholesale, d.autoRenew, d.privacy, false, false, string(nameservers), "{}",
		d.clientRef, tx.Now, d.handle).Scan(&id)
	if db.IsUnique(err) {
		return 0, fault.DomainUnavailable.Wrap(err)
	}
	return id, err
}

// readLive finds the registration of a name in the live world.
func readLive(ctx context.Context, q db.Querier, name string) (id, accountID int64, err error) {
	err = q.QueryRow(ctx, `SELECT id, account_id FROM domains WHERE name = $1 AND sandbox = $2
		AND status NOT IN ('transferred_out', 'cancelled', 'failed')`, name, false).Scan(&id, &accountID)
	return id, accountID, err
}

// put stores the registry's answer, and when it is asked again.
func put(ctx context.Context, tx *db.Tx, d domain, next time.Time) error {
	nameservers, err := json.Marshal(d.nameservers)
	if err != nil {
		return err
	}
	registry, err := json.Marshal(d.registry)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE domains SET status = $1, privacy = $2, locked = $3, transfer_out = $4, transfer_lock_until = $5,
			registered_at = $6, expires_at = $7, nameservers = $8, registry = $9, reminded = $10, renew_at = $11, step_at = $12, seen = seen + 1 WHERE id = $13`,
		d.status, d.privacy, d.locked, d.transferOut, d.transferLockUntil, d.registeredAt, d.expiresAt, string(nameservers),
		string(registry), d.reminded, d.renewAt, next, d.id)
	return err
}

// setStatus stores a state, unless a reading of the registry was stored meanwhile.
func setStatus(ctx context.Context, tx *db.Tx, d domain, status Status) error {
	_, err := tx.Exec(ctx, `UPDATE domains SET status = $1 WHERE id = $2 AND seen = $3`, status, d.id, d.seen)
	return err
}

// end stores a final state.
func end(ctx context.Context, tx *db.Tx, id int64, status Status) error {
	_, err := tx.Exec(ctx, `UPDATE domains SET status = $1, step_at = NULL, renew_at = NULL WHERE id = $2`, status, id)
	return err
}

// renewAgain stores when a refused renewal is retried, unless the domain has ended.
func renewAgain(ctx context.Context, tx *db.Tx, id int64, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE domains SET renew_at = $1 WHERE id = $2 AND step_at IS NOT NULL`, at, id)
	return err
}

// note stores the owner's choices.
func note(ctx context.Context, tx *db.Tx, d domain) error {
	_, err := tx.Exec(ctx, `UPDATE domains SET auto_renew = $1, client_ref = $2 WHERE id = $3`, d.autoRenew, d.clientRef, d.id)
	return err
}

// stepBy has the registry asked about a domain of ours by a time at the latest.
func stepBy(ctx context.Context, tx *db.Tx, id int64, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE domains SET step_at = $1 WHERE id = $2 AND step_at > $1`, at, id)
	return err
}

// stepNow has the registry asked about a live domain. A reading in progress is older, and is repeated.
func stepNow(ctx context.Context, tx *db.Tx, name string, sandbox bool) error {
	_, err := tx.Exec(ctx, `UPDATE domains SET step_at = $1, seen = seen + 1 WHERE name = $2 AND sandbox = $3
		AND status NOT IN ('transferred_out', 'cancelled', 'failed') AND step_at IS NOT NULL`, tx.Now, name, sandbox)
	return err
}

func due(ctx context.Context, q db.Querier, now time.Time, limit int) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) { err = row.Scan(&id); return id, err },
		`SELECT id FROM domains WHERE step_at <= $1 AND status NOT IN ('transferred_out', 'cancelled', 'failed') ORDER BY step_at LIMIT $2`, now, limit)
}

// postpone stores the next reading of a domain that is about to be read; one that has ended meanwhile is read no more.
func postpone(ctx context.Context, tx *db.Tx, id int64, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE domains SET step_at = $1 WHERE id = $2 AND step_at IS NOT NULL`, at, id)
	return err
}

// operationRows reads domains_operations.
var operationRows = db.Map(func(o *operation) db.Fields {
	return db.Fields{
		"id": &o.id, "domain_id": &o.domainID, "order_id": &o.orderID, "kind": &o.kind, "status": &o.status, "years": &o.years,
		"expires_from": &o.expiresFrom, "sealed": &o.sealed, "failure_key": &o.failureKey, "message": &o.message,
		"taken_up": &o.takenUp, "created_at": &o.createdAt,
	}
})

func getOperation(ctx context.Context, q db.Querier, id int64) (operation, error) {
	return operationRows.Scan(q.QueryRow(ctx, `SELECT `+operationRows.Columns()+` FROM domains_operations WHERE id = $1`, id))
}

// openOperation reports whether the domain has an open operation.
func openOperation(ctx context.Context, q db.Querier, domainID int64) (open bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM domains_operations WHERE domain_id = $1 AND status IN ('pending', 'attempted'))`,
		domainID).Scan(&open)
	return open, err
}

func insertOperation(ctx context.Context, tx *db.Tx, o operation) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO domains_operations (domain_id, order_id, kind, status, years, expires_from, sealed, created_at)
		VALUES ($1, $2, $3, 'pending', $4, $5, $6, $7) RETURNING id`,
		o.domainID, o.orderID, o.kind, o.years, o.expiresFrom, o.sealed, tx.Now).Scan(&id)
	if db.IsUnique(err) {
		return 0, fault.JobRunning.Wrap(err)
	}
	return id, err
}

// takeLease leases an open operation to a worker; false when another holds the lease.
func takeLease(ctx context.Context, tx *db.Tx, id int64, lease string, until time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE domains_operations SET lease = $1, lease_until = $2
		WHERE id = $3 AND status IN ('pending', 'attempted') AND (lease_until IS NULL OR lease_until <= $4)`, lease, until, id, tx.Now)
	return n == 1, err
}

func returnLease(ctx context.Context, tx *db.Tx, id int64, lease string) error {
	_, err := tx.Exec(ctx, `UPDATE domains_operations SET lease = NULL, lease_until = NULL WHERE id = $1 AND lease = $2`, id, lease)
	return err
}

func returnLeases(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `UPDATE domains_operations SET lease = NULL, lease_until = NULL WHERE status IN ('pending', 'attempted')`)
	return err
}

// setAttempted records that the registrar is about to be asked; errEnded when another holds the lease.
func setAttempted(ctx context.Context, tx *db.Tx, id int64, lease string) error {
	n, err := tx.Exec(ctx, `UPDATE domains_operations SET status = 'attempted'
		WHERE id = $1 AND lease = $2 AND lease_until > $3 AND status IN ('pending', 'attempted')`, id, lease, tx.Now)
	if err == nil && n == 0 {
		err = errEnded
	}
	return err
}

// setTakenUp records that the registry has accepted an operation and decides later.
func setTakenUp(ctx context.Context, tx *db.Tx, id int64, lease string) error {
	_, err := tx.Exec(ctx, `UPDATE domains_operations SET taken_up = $1 WHERE id = $2 AND lease = $3`, true, id, lease)
	return err
}

// setSealed replaces the sealed data of an open operation; errEnded when another holds the lease.
func setSealed(ctx context.Context, tx *db.Tx, id int64, lease string, sealed []byte) error {
	n, err := tx.Exec(ctx, `UPDATE domains_operations SET sealed = $1
		WHERE id = $2 AND lease = $3 AND status IN ('pending', 'attempted')`, sealed, id, lease)
	if err == nil && n == 0 {
		err = errEnded
	}
	return err
}

// setFinished ends an open operation and erases its sealed data; false when it has ended already, or another holds the
// lease.
func setFinished(ctx context.Context, tx *db.Tx, id int64, lease string, failureKey *string, message string) (bool, error) {
	status := "done"
	if failureKey != nil {
		status = "failed"
	}
	n, err := tx.Exec(ctx, `UPDATE domains_operations SET status = $1, failure_key = $2, message = $3, finished_at = $4, sealed = NULL
		WHERE id = $5 AND lease = $6 AND status IN ('pending', 'attempted')`, status, failureKey, message, tx.Now, id, lease)
	return n == 1, err
}

// Waiting is a paid operation that the registry has neither completed nor refused.
type Waiting struct {
	ID        int64     `json:"id"`
	DomainID  int64     `json:"domain_id"`
	AccountID int64     `json:"account_id"`
	OrderID   int64     `json:"order_id"`
	Domain    string    `json:"domain"`
	Kind      string    `json:"kind"`
	Asked     bool      `json:"asked"` // the registrar may have received it
	Sandbox   bool      `json:"sandbox"`
	Since     time.Time `json:"since"`
}

const maxWaiting = 500

// ListWaiting lists the operations that wait for the registry, the oldest first.
func (s *Service) ListWaiting(ctx context.Context) ([]Waiting, error) { return listWaiting(ctx, s.DB) }

func listWaiting(ctx context.Context, q db.Querier) ([]Waiting, error) {
	all, err := db.Collect(ctx, q, func(row db.Row) (w Waiting, err error) {
		err = row.Scan(&w.ID, &w.DomainID, &w.AccountID, &w.OrderID, &w.Domain, &w.Kind, &w.Asked, &w.Sandbox, &w.Since)
		return w, err
	}, `SELECT o.id, d.id, d.account_id, o.order_id, d.name, o.kind, o.status = 'attempted', d.sandbox, o.created_at
		FROM domains_operations o JOIN domains d ON d.id = o.domain_id
		WHERE o.status IN ('pending', 'attempted') ORDER BY o.id LIMIT $1`, maxWaiting)
	if all == nil {
		all = []Waiting{}
	}
	return all, err
}
