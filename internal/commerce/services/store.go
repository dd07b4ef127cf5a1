package services

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

var serviceRows = db.Map(func(r *Row) db.Fields {
	return db.Fields{
		"id": &r.ID, "account_id": &r.AccountID, "order_id": &r.orderID, "type": &r.typ, "label": &r.label,
		"status": &r.Status, "domain": &r.Domain, "client_ref": &r.ClientRef, "plan_id": &r.PlanID,
		"plan_slug": &r.PlanSlug, "plan_name": &r.PlanName, "limits": &r.PlanLimits, "period_months": &r.PeriodMonths,
		"auto_renew": &r.autoRenew, "renew_price": &r.RenewPrice, "first_price": &r.firstPrice, "sandbox": &r.Sandbox,
		"failure_key": &r.failureKey, "suspend_reason": &r.suspendReason, "pending_plan_id": &r.PendingPlanID,
		"pending_plan_at": &r.PendingPlanAt, "pending_price": &r.PendingPrice, "panel": &r.panel, "panel_ref": &r.panelRef,
		"username": &r.place.username, "origin_url": &r.place.originURL, "location": &r.place.location,
		"ipv4": &r.place.ipv4, "ipv6": &r.place.ipv6, "nameservers": db.JSON(&r.place.nameservers),
		"created_at": &r.createdAt, "provisioned_at": &r.ProvisionedAt, "expires_at": &r.ExpiresAt,
		"next_renewal_attempt_at": &r.nextRenewalAttemptAt, "grace_until": &r.graceUntil, "suspended_at": &r.suspendedAt,
		"terminates_at": &r.terminatesAt, "reminded": &r.reminded, "warned": &r.warned, "metadata": &r.metadata,
		"owner_suspended_at": &r.ownerSuspendedAt, "suspend_note": &r.suspendNote, "addon_price": &r.AddonPrice,
		"addon_limits": &r.AddonLimits, "ends_at_expiry": &r.endsAtExpiry, "restore_order_id": &r.restoreOrderID,
		"restore_price": &r.restorePrice, "cleaning_until": &r.cleaningUntil, "epoch": &r.epoch, "moving": &r.moving,
	}
})

var columns = serviceRows.Columns()

func scan(row db.Row) (Row, error) {
	r, err := serviceRows.Scan(row)
	if err == nil {
		r.Limits, err = r.RaisedBy(r.PlanLimits)
	}
	return r, err
}

// get reads a service whoever owns it, for jobs and operators.
func get(ctx context.Context, q db.Querier, id int64) (Row, error) {
	return found(scan(q.QueryRow(ctx, `SELECT `+columns+` FROM services WHERE id = $1`, id)))
}

// getAll is get for several services, in the order of the ids.
func getAll(ctx context.Context, q db.Querier, ids []int64) ([]Row, error) {
	return readAll(ctx, q, ids, "")
}

// getOwn reads a service of the account.
func getOwn(ctx context.Context, q db.Querier, accountID, id int64) (Row, error) {
	return found(scan(q.QueryRow(ctx, `SELECT `+columns+` FROM services WHERE id = $1 AND account_id = $2`, id, accountID)))
}

// lock reads a service that is about to change.
func lock(ctx context.Context, tx *db.Tx, id int64) (Row, error) {
	return found(scan(tx.QueryRow(ctx, `SELECT `+columns+` FROM services WHERE id = $1`+tx.ForUpdate(), id)))
}

// lockAll is lock for several services. They are locked in one order and returned in that of the ids.
func lockAll(ctx context.Context, tx *db.Tx, ids []int64) ([]Row, error) {
	return readAll(ctx, tx, ids, ` ORDER BY id`+tx.ForUpdate())
}

func readAll(ctx context.Context, q db.Querier, ids []int64, end string) ([]Row, error) {
	in, args := db.In(q, 1, ids)
	rows, err := db.Collect(ctx, q, scan, `SELECT `+columns+` FROM services WHERE id `+in+end, args...)
	if err != nil {
		return nil, err
	}
	if len(rows) != len(ids) {
		return nil, fault.NotFound.Wrapf("services: %d of %d are there", len(rows), len(ids))
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(slices.Index(ids, a.ID), slices.Index(ids, b.ID)) })
	return rows, nil
}

// idsOf are the ids of services.
func idsOf(all []Row) []int64 {
	ids := make([]int64, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	return ids
}

// lockOwn is lock for a service of the account.
func lockOwn(ctx context.Context, tx *db.Tx, accountID, id int64) (Row, error) {
	return found(scan(tx.QueryRow(ctx,
		`SELECT `+columns+` FROM services WHERE id = $1 AND account_id = $2`+tx.ForUpdate(), id, accountID)))
}

func found(r Row, err error) (Row, error) {
	if errors.Is(err, db.ErrNoRows) {
		return r, fault.NotFound.New()
	}
	return r, err
}

// Filter says which services a list shows; empty members show all.
type Filter struct {
	Status, Query string
	RenewsBefore  *time.Time // of those that have not ended
	ClientRef     *string
	PlanID        int64
	Below         int64 // ids: those that come after one on a list
	typ           string
	expiresBefore *time.Time
	id            int64
	there         bool // paid, and not over
}

// list reads one page of an account's services, the newest first, and counts those on all pages. A page that is not full is
// the last one, and tells the number itself.
func list(ctx context.Context, q db.Querier, accountID int64, f Filter, p page.Params) ([]Row, int, error) {
	rows, err := paged(ctx, q, accountID, f, p)
	if err != nil {
		return nil, 0, err
	}
	if n := len(rows); n < p.Limit() && (n > 0 || p.Offset() == 0) {
		return rows, p.Offset() + n, nil
	}
	total, err := counted(ctx, q, accountID, f)
	return rows, total, err
}

// running lists the services of an account that its owner can end.
func running(ctx context.Context, q db.Querier, accountID int64) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT id FROM services WHERE account_id = $1 AND status IN ('active', 'past_due', 'suspended') ORDER BY id`, accountID)
}

func counted(ctx context.Context, q db.Querier, accountID int64, f Filter) (total int, err error) {
	where, args := f.where(accountID)
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM services WHERE `+where, args...).Scan(&total)
	return total, err
}

// paged is list without the count. An index finds a page that is not the first; only its rows are read.
func paged(ctx context.Context, q db.Querier, accountID int64, f Filter, p page.Params) ([]Row, error) {
	where, args := f.where(accountID)
	n := len(args)
	if p.Offset() == 0 {
		query := fmt.Sprintf(`SELECT %s FROM services WHERE %s ORDER BY id DESC LIMIT $%d`, columns, where, n+1)
		return db.Collect(ctx, q, scan, query, append(args, p.Limit())...)
	}
	query := fmt.Sprintf(`SELECT %s FROM services WHERE id IN (SELECT id FROM services WHERE %s ORDER BY id DESC LIMIT $%d OFFSET $%d) ORDER BY id DESC`,
		columns, where, n+1, n+2)
	return db.Collect(ctx, q, scan, query, append(args, p.Limit(), p.Offset())...)
}

// escapeLike makes % and _ of a search stand for themselves.
var escapeLike = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func (f Filter) where(accountID int64) (string, []any) {
	where, args := `account_id = $1`, []any{accountID}
	and := func(condition string, arg any) {
		args = append(args, arg)
		where += fmt.Sprintf(" AND "+condition, len(args))
	}
	if f.Status != "" {
		and(`status = $%d`, f.Status)
	}
	if f.typ != "" {
		and(`type = $%d`, f.typ)
	}
	if f.ClientRef != nil {
		and(`client_ref = $%d`, *f.ClientRef)
	}
	if f.PlanID != 0 {
		and(`plan_id = $%d`, f.PlanID)
	}
	if f.Below != 0 {
		and(`id < $%d`, f.Below)
	}
	if f.id != 0 {
		and(`id = $%d`, f.id)
	}
	if f.there {
		where += ` AND status NOT IN ('pending', 'terminated', 'failed', 'cancelled')`
	}
	if f.Query != "" {
		text := strings.ToLower(f.Query)
		pattern := escapeLike.Replace(text)
		like := `search LIKE $%d`
		if pattern != text { // else ESCAPE costs PostgreSQL a third of the search
			like += ` ESCAPE '\'`
		}
		and(like, "%"+pattern+"%")
	}
	if f.expiresBefore != nil {
		and(`expires_at < $%d`, *f.expiresBefore)
	}
	if f.RenewsBefore != nil {
		and(`status NOT IN ('terminating', 'terminated', 'failed', 'cancelled') AND expires_at < $%d`, *f.RenewsBefore)
	}
	return where, args
}

// insert writes a pending service.
func insert(ctx context.Context, tx *db.Tx, n sale.Reservation, label string, sandbox bool) (id int64, err error) {
	metadata, err := metadataText(n.Metadata)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO services (account_id, order_id, type, label, status, domain, search, plan_id, plan_slug,
			plan_name, limits, period_months, auto_renew, renew_price, first_price, created_at, sandbox,
			client_ref, metadata)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) RETURNING id`,
		n.AccountID, n.OrderID, n.Type, label, Pending, n.Domain, searchText(label, &n.Domain), n.PlanID, n.PlanSlug,
		n.PlanName, string(n.Limits), n.PeriodMonths, n.AutoRenew == nil || *n.AutoRenew, n.RenewPrice, n.FirstPrice, tx.Now, sandbox,
		n.ClientRef, metadata).Scan(&id)
	return id, err
}

// domainTaken tells whether a live service has the domain, or one of another account
// has a name above it: whoever has shop.test has blog.shop.test.
func domainTaken(ctx context.Context, q db.Querier, accountID int64, sandbox bool, domain string) (taken bool, err error) {
	names, args := `$2`, []any{accountID, domain, sandbox}
	for _, above := range domainname.Parents(domain) {
		args = append(args, above)
		names += fmt.Sprintf(`, $%d`, len(args))
	}
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM services
		WHERE domain IN (`+names+`) AND sandbox = $3 AND (domain = $2 OR account_id <> $1)
		AND status IN ('provisioning', 'active', 'past_due', 'suspended', 'terminating'))`, args...).Scan(&taken)
	return taken, err
}

// setDomain writes the domain that the service is known by.
func setDomain(ctx context.Context, tx *db.Tx, r Row) error {
	_, err := tx.Exec(ctx, `UPDATE services SET domain = $1, search = $2 WHERE id = $3`, r.Domain, searchText(r.label, r.Domain), r.ID)
	return err
}

// setProvisioning is refused with fault.DomainUnavailable when a live service has the domain.
func setProvisioning(ctx context.Context, tx *db.Tx, id int64, panelName string) error {
	check := func(n int64, err error) error {
		switch {
		case db.IsUnique(err):
			return fault.DomainUnavailable.Wrap(err)
		case err == nil && n == 0:
			return fmt.Errorf("services: service %d is not pending", id)
		default:
			return err
		}
	}
	return tx.Queue(ctx, check, `UPDATE services SET status = $1, provisioning_at = $2, panel = $3 WHERE id = $4 AND status = $5`,
		Provisioning, tx.Now, panelName, id, Pending)
}

// setActive answers false when the service is no longer in provisioning on the panel.
func setActive(ctx context.Context, tx *db.Tx, id int64, panelName, ref string, p placement, expiresAt time.Time) (bool, error) {
	if p.nameservers == nil {
		p.nameservers = []string{}
	}
	nameservers, err := json.Marshal(p.nameservers)
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, `UPDATE services SET status = $1, panel_ref = $2, username = $3, origin_url = $4, location = $5,
			ipv4 = $6, ipv6 = $7, nameservers = $8, provisioned_at = $9, expires_at = $10, step_at = $9
		WHERE id = $11 AND status = $12 AND panel = $13`,
		Active, ref, p.username, p.originURL, p.location, p.ipv4, p.ipv6, string(nameservers), tx.Now, expiresAt, id, Provisioning, panelName)
	return n == 1, err
}

// setPlace answers false when the service has no account any more.
func setPlace(ctx context.Context, tx *db.Tx, id int64, p placement) (bool, error) {
	if p.nameservers == nil {
		p.nameservers = []string{}
	}
	nameservers, err := json.Marshal(p.nameservers)
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, `UPDATE services SET username = $1, origin_url = $2, location = $3, ipv4 = $4, ipv6 = $5, nameservers = $6
		WHERE id = $7 AND status IN ('active', 'past_due', 'suspended')`,
		p.username, p.originURL, p.location, p.ipv4, p.ipv6, string(nameservers), id)
	return n == 1, err
}

// setFailed answers false when the service is no longer in provisioning.
func setFailed(ctx context.Context, tx *db.Tx, id int64, failureKey string) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE services SET status = $1, failure_key = $2 WHERE id = $3 AND status = $4`,
		Failed, failureKey, id, Provisioning)
	return n == 1, err
}

// setPanel answers false when the service is no longer in provisioning on the panel that it comes from.
func setPanel(ctx context.Context, tx *db.Tx, id int64, from, to string) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE services SET panel = $1 WHERE id = $2 AND status = $3 AND panel = $4`, to, id, Provisioning, from)
	return n == 1, err
}

const leftColumns = `service_id, panel, since`

func scanLeft(row db.Row) (l provisioning.Left, err error) {
	err = row.Scan(&l.ServiceID, &l.Panel, &l.Since)
	return l, err
}

func insertLeft(ctx context.Context, tx *db.Tx, id int64, panelName string) error {
	_, err := tx.Exec(ctx, `INSERT INTO services_left (`+leftColumns+`) VALUES ($1, $2, $3)`, id, panelName, tx.Now)
	return err
}

// leftOf reads what is left of a service.
func leftOf(ctx context.Context, q db.Querier, id int64) ([]provisioning.Left, error) {
	return db.Collect(ctx, q, scanLeft, `SELECT `+leftColumns+` FROM services_left WHERE service_id = $1 ORDER BY since, panel`, id)
}

// allLeft reads what is left of up to so many services after one, in the order of their ids.
func allLeft(ctx context.Context, q db.Querier, after int64, limit int) ([]provisioning.Left, error) {
	return db.Collect(ctx, q, scanLeft, `SELECT `+leftColumns+` FROM services_left WHERE service_id IN (
			SELECT DISTINCT service_id FROM services_left WHERE service_id > $1 ORDER BY service_id LIMIT $2)
		ORDER BY service_id, panel`, after, limit)
}

func deleteLeft(ctx context.Context, tx *db.Tx, id int64, panelName string) error {
	_, err := tx.Exec(ctx, `DELETE FROM services_left WHERE service_id = $1 AND panel = $2`, id, panelName)
	return err
}

func setCleaning(ctx context.Context, tx *db.Tx, id int64, until *time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE services SET cleaning_until = $1 WHERE id = $2`, until, id)
	return err
}

// setCancelled leaves a service alone that is not pending.
func setCancelled(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE services SET status = $1 WHERE id = $2 AND status = $3`, Cancelled, id, Pending)
	return err
}

func setSuspended(ctx context.Context, tx *db.Tx, id int64, reason SuspendReason) error {
	_, err := tx.Exec(ctx, `UPDATE services SET status = $1, suspend_reason = $2, suspended_at = $3, step_at = $3,
			owner_suspended_at = NULL, suspend_note = '', terminates_at = CASE WHEN ends_at_expiry THEN terminates_at END WHERE id = $4`,
		Suspended, reason, tx.Now, id)
	return err
}

func setUnsuspended(ctx context.Context, tx *db.Tx, id int64, to Status) error {
	_, err := tx.Exec(ctx, `UPDATE services SET status = $1, suspend_reason = NULL, suspended_at = NULL, grace_until = NULL,
		terminates_at = CASE WHEN ends_at_expiry THEN expires_at END, warned = NULL, step_at = $3 WHERE id = $2`, to, id, tx.Now)
	return err
}

func setPreferences(ctx context.Context, tx *db.Tx, r Row) error {
	_, err := tx.Exec(ctx, `UPDATE services SET label = $1, search = $2, auto_renew = $3,
		next_renewal_attempt_at = CASE WHEN auto_renew = $3 THEN next_renewal_attempt_at END, step_at = CAST($4 AS BIGINT),
		client_ref = $6, metadata = $7, ends_at_expiry = ends_at_expiry AND NOT $3,
		terminates_at = CASE WHEN ends_at_expiry AND $3 THEN NULL ELSE terminates_at END WHERE id = $5`,
		r.label, searchText(r.label, r.Domain), r.autoRenew, tx.Now, r.ID, r.ClientRef, r.metadata)
	return err
}

// stuck lists services that have been in provisioning since before the given
// time, in the order of their ids.
func stuck(ctx context.Context, q db.Querier, before time.Time, afterID int64, limit int) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT id FROM services WHERE status = 'provisioning' AND id > $1 AND (provisioning_at < $2 OR sandbox) ORDER BY id LIMIT $3`,
		afterID, before, limit)
}

// onlineLimits reads the different limits of an account's services that are online, and how many services have them: an
// account may have thousands of services of a few plans.
func onlineLimits(ctx context.Context, q db.Querier, accountID int64) ([]site.Limited, error) {
	return db.Collect(ctx, q, func(row db.Row) (l site.Limited, err error) {
		var one int64
		var limits string
		if err := row.Scan(&one, &limits, &l.Services); err != nil {
			return l, err
		}
		l.Limits, err = site.ParseLimits(one, json.RawMessage(limits))
		return l, err
	}, `SELECT MIN(id), limits, COUNT(*) FROM services WHERE account_id = $1 AND status IN ('active', 'past_due') GROUP BY limits ORDER BY 1`, accountID)
}

// setRenewed writes what Prolong made of services.
func setRenewed(ctx context.Context, tx *db.Tx, all []Row) error {
	var rows db.Values
	for _, r := range all {
		rows.Add(r.ID, r.ExpiresAt, r.Status, r.nextRenewalAttemptAt, tx.Now)
	}
	table, args := rows.Table(tx)
	return tx.Queue(ctx, nil, `WITH now (id, expires_at, status, attempt_at, at) AS (`+table+`)
		UPDATE services SET expires_at = now.expires_at, status = now.status, next_renewal_attempt_at = now.attempt_at, step_at = now.at,
			suspend_reason = NULL, suspended_at = NULL, grace_until = NULL, terminates_at = NULL, ends_at_expiry = FALSE,
			reminded = NULL, warned = NULL, renewal_failure = NULL, renewal_failed_at = NULL
		FROM now WHERE services.id = now.id`, args...)
}
