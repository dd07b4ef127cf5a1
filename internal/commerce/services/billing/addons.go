package billing

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

func contract(r services.Row, err error) (sale.Contract, error) {
	return sale.Contract{
		Status: string(r.Status), PlanID: r.PlanID, PeriodMonths: r.PeriodMonths, ExpiresAt: r.ExpiresAt, Domain: r.Domain, ClientRef: r.ClientRef,
	}, err
}

// Contract finds what one of the account's services was sold as.
func (s *Service) Contract(ctx context.Context, q db.Querier, accountID, id int64) (sale.Contract, error) {
	return contract(s.Services.Find(ctx, q, accountID, id))
}

// LockContract is Contract with the service locked until tx ends.
func (s *Service) LockContract(ctx context.Context, tx *db.Tx, accountID, id int64) (sale.Contract, error) {
	return contract(s.Services.LockOwn(ctx, tx, accountID, id))
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
	r, err := s.Services.Lock(ctx, tx, id)
	if err != nil {
		return false, err
	}
	if r.AddonPrice == price && r.AddonLimits == string(limits) {
		return false, nil
	}
	if err := s.Services.SetAddons(ctx, tx, id, price, string(limits)); err != nil || r.AddonLimits == string(limits) {
		return true, err
	}
	p, err := s.Services.Placement(ctx, tx, id)
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
	r, err := s.Services.Find(ctx, q, accountID, id)
	if err != nil {
		return err
	}
	used, err := s.Usages.Known(ctx, q, id)
	if err != nil {
		return err
	}
	now := map[string]int64{}
	if err := json.Unmarshal([]byte(r.Limits), &now); err != nil {
		return fmt.Errorf("billing: limits of service %d: %w", id, err)
	}
	wanted, err := services.Raise(r.PlanLimits, raises)
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
