package services

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Addons keeps what services have beside their plan, which is renewed with them.
type Addons interface {
	// Renewals lists what is renewed with each service for a number of months, by service. For a service's own period
	// the prices are those that it was sold for.
	Renewals(ctx context.Context, q db.Querier, all []sale.Renewal) (map[int64][]sale.Extra, error)
	// Renewed hears that what Renewals listed is paid until a time.
	Renewed(ctx context.Context, tx *db.Tx, serviceID int64, until time.Time) error
	// Ended and Returned hear that a service was terminated, and that it came back.
	Ended(ctx context.Context, tx *db.Tx, serviceID int64) error
	Returned(ctx context.Context, tx *db.Tx, serviceID int64) error
}

// NoAddons is the Addons of a company that sells none.
type NoAddons struct{}

// Renewals implements Addons.
func (NoAddons) Renewals(context.Context, db.Querier, []sale.Renewal) (map[int64][]sale.Extra, error) {
	return nil, nil //nolint:nilnil // no service has any
}

// Renewed implements Addons.
func (NoAddons) Renewed(context.Context, *db.Tx, int64, time.Time) error { return nil }

// Ended implements Addons.
func (NoAddons) Ended(context.Context, *db.Tx, int64) error { return nil }

// Returned implements Addons.
func (NoAddons) Returned(context.Context, *db.Tx, int64) error { return nil }

func contract(r record, err error) (sale.Contract, error) {
	return sale.Contract{
		Status: string(r.status), PlanID: r.planID, PeriodMonths: r.periodMonths, ExpiresAt: r.expiresAt, Domain: r.domain, ClientRef: r.clientRef,
	}, err
}

// Contract finds what one of the account's services was sold as.
func (s *Service) Contract(ctx context.Context, q db.Querier, accountID, id int64) (sale.Contract, error) {
	return contract(getOwn(ctx, q, accountID, id))
}

// LockContract is Contract with the service locked until tx ends.
func (s *Service) LockContract(ctx context.Context, tx *db.Tx, accountID, id int64) (sale.Contract, error) {
	return contract(lockOwn(ctx, tx, accountID, id))
}

// Cost is what a price for each period of so many months makes for the time until end: whole periods back
// from the end, and a part of the first one's real length, rounded up.
func (s *Service) Cost(price money.USDCents, months int, from, end time.Time) (money.USDCents, error) {
	return cost(price, months, from, end, time.Time{})
}

// Extend says what the add-ons of a service add to each renewal, and by how much they raise limits of its
// plan. Its room follows at once, the panel by a job. It answers false when nothing differs.
func (s *Service) Extend(ctx context.Context, tx *db.Tx, id int64, price money.USDCents, raises map[string]int64) (bool, error) {
	limits, err := json.Marshal(raises)
	if err != nil {
		return false, err
	}
	if len(raises) == 0 {
		limits = []byte("{}")
	}
	r, err := lock(ctx, tx, id)
	if err != nil {
		return false, err
	}
	if r.addonPrice == price && r.addonLimits == string(limits) {
		return false, nil
	}
	_, err = tx.Exec(ctx, `UPDATE services SET renew_price = renew_price - addon_price + $1, addon_price = $1, addon_limits = $2 WHERE id = $3`,
		price, string(limits), id)
	if err != nil || r.addonLimits == string(limits) {
		return true, err
	}
	if r, err = get(ctx, tx, id); err != nil {
		return false, err
	}
	p, err := r.placement()
	if err == nil {
		err = s.Provisioner.Resize(ctx, tx, p)
	}
	if err != nil {
		return false, err
	}
	return true, s.Provisioner.EnqueueLimits(ctx, tx, id)
}

// CheckExtend refuses when the service uses more than its plan would allow with limits raised by no more
// than that. Limits that would stay as they are, or that it does not use, are no reason.
func (s *Service) CheckExtend(ctx context.Context, q db.Querier, accountID, id int64, raises map[string]int64) error {
	r, err := getOwn(ctx, q, accountID, id)
	if err != nil {
		return err
	}
	used, err := s.Usages.Known(ctx, q, id)
	if err != nil {
		return err
	}
	now := map[string]int64{}
	if err := json.Unmarshal([]byte(r.limits), &now); err != nil {
		return fmt.Errorf("services: limits of service %d: %w", id, err)
	}
	wanted, err := raised(r.planLimits, raises)
	if err != nil {
		return err
	}
	lower := map[string]int64{}
	after := map[string]int64{}
	if err := json.Unmarshal([]byte(wanted), &after); err != nil {
		return err
	}
	for name, most := range after {
		if most < now[name] {
			lower[name] = used[name]
		}
	}
	over, err := exceeds(json.RawMessage(wanted), lower)
	if err == nil && len(over) > 0 {
		err = ErrDowngradeExceeds.With(fault.Fields{"exceeded": over})
	}
	return err
}

// raised are the limits of a plan with those raised that add-ons raise. What is unlimited stays so, and so
// does what the plan does not name.
func raised(limits string, by map[string]int64) (string, error) {
	if len(by) == 0 {
		return limits, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(limits), &all); err != nil {
		return "", fmt.Errorf("services: limits of a plan: %w", err)
	}
	for name, more := range by {
		var n int64
		text, ok := all[name]
		if !ok || json.Unmarshal(text, &n) != nil || n < 0 {
			continue
		}
		all[name] = json.RawMessage(fmt.Sprint(n + more))
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// raisedBy is raised by what the row says.
func (r record) raisedBy(limits string) (string, error) {
	var by map[string]int64
	if err := json.Unmarshal([]byte(r.addonLimits), &by); err != nil {
		return "", fmt.Errorf("services: add-ons of service %d: %w", r.id, err)
	}
	return raised(limits, by)
}
