package services

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/port/panel"
)

// TakenOver is a service that came from another system.
type TakenOver struct {
	ServiceID, AccountID int64
	Status               Status
	Failure              string // why it could not be provisioned; empty otherwise
}

// Over reports whether nothing came of it, so that it can be taken over again.
func (t TakenOver) Over() bool { return t.Status == Failed || t.Status == Cancelled }

// TakeOver makes a service of one that another system has sold, and begins its provisioning. It is opened with the time that is
// paid there (Made). A service of the same source and id is refused with fault.AlreadyExists, unless nothing came of it.
func (s *Service) TakeOver(ctx context.Context, tx *db.Tx, n sale.Reservation, from sale.Takeover) (int64, error) {
	if err := deleteTakeover(ctx, tx, from.Source, from.ID); err != nil {
		return 0, err
	}
	id, err := s.Reserve(ctx, tx, n)
	if err != nil {
		return 0, err
	}
	if err := insertTakeover(ctx, tx, id, from); err != nil {
		if db.IsUnique(err) {
			err = fault.AlreadyExists.Wrap(err)
		}
		return 0, err
	}
	return id, s.Provision(ctx, tx, id)
}

// TakenOver returns the services that came from a source, by their ids there.
func (s *Service) TakenOver(ctx context.Context, q db.Querier, source string) (map[string]TakenOver, error) {
	all := map[string]TakenOver{}
	_, err := db.Collect(ctx, q, func(row db.Row) (t TakenOver, err error) {
		var id string
		if err := row.Scan(&id, &t.ServiceID, &t.AccountID, &t.Status, &t.Failure); err != nil {
			return t, err
		}
		all[id] = t
		return t, nil
	}, `SELECT i.source_id, s.id, s.account_id, s.status, COALESCE(s.failure_key, '')
		FROM services_imported i JOIN services s ON s.id = i.service_id WHERE i.source = $1`, source)
	return all, err
}

// openTakenOver makes a service active that another system has sold, until the time that is paid there. One that is suspended
// there is suspended at once.
func (s *Service) openTakenOver(ctx context.Context, tx *db.Tx, r Row, from sale.Takeover, account panel.Account) error {
	if err := s.open(ctx, tx, r, account, from.PaidUntil); err != nil {
		return err
	}
	if err := s.Billing.NotePaid(ctx, tx, r.ID, paidPeriods(from.PaidUntil, r.PeriodMonths, from.Paid, tx.Now)...); err != nil {
		return err
	}
	if err := s.emitMove(ctx, tx, "service.provisioned", r); err != nil || from.Suspended == "" {
		return err
	}
	active, err := get(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	if SuspendReason(from.Suspended) == Unpaid {
		var terms map[int64]sale.Terms
		if terms, err = s.terms(ctx, tx, active); err == nil {
			err = setSuspendedUnpaid(ctx, tx, r.ID, tx.Now.Add(days(terms[r.PlanID].Suspended)))
		}
	} else {
		err = setSuspended(ctx, tx, r.ID, Manual)
	}
	if err != nil {
		return err
	}
	return s.followSuspension(ctx, tx, active, "service.suspended")
}

// paidPeriods are the periods that end at a time of which something is left now, at least the last one. They count as paid when the
// service changes its plan.
func paidPeriods(until time.Time, months int, paid money.USDCents, now time.Time) (all []sale.PaidTime) {
	for n := 1; ; n++ {
		p := sale.PaidTime{Start: sale.AddMonths(until, -months*n), End: sale.AddMonths(until, -months*(n-1)), Amount: paid}
		all = append(all, p)
		if !p.Start.After(now) {
			slices.Reverse(all)
			return all
		}
	}
}

// takeoverOf reads where a service comes from; nil for one that was ordered here.
func takeoverOf(ctx context.Context, q db.Querier, id int64) (*sale.Takeover, error) {
	var (
		from      sale.Takeover
		suspended *string
	)
	err := q.QueryRow(ctx, `SELECT source, source_id, paid_until, paid, suspended FROM services_imported WHERE service_id = $1`, id).
		Scan(&from.Source, &from.ID, &from.PaidUntil, &from.Paid, &suspended)
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil //nolint:nilnil // most services are ordered here
	}
	if err != nil {
		return nil, fmt.Errorf("services: origin of service %d: %w", id, err)
	}
	if suspended != nil {
		from.Suspended = *suspended
	}
	return &from, nil
}

func insertTakeover(ctx context.Context, tx *db.Tx, id int64, from sale.Takeover) error {
	_, err := tx.Exec(ctx, `INSERT INTO services_imported (service_id, source, source_id, paid_until, paid, suspended, imported_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, id, from.Source, from.ID, from.PaidUntil, from.Paid, db.OrNull(from.Suspended), tx.Now)
	return err
}

// deleteTakeover forgets where services come from of which nothing came.
func deleteTakeover(ctx context.Context, tx *db.Tx, source, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM services_imported WHERE source = $1 AND source_id = $2
		AND service_id IN (SELECT id FROM services WHERE status IN ('failed', 'cancelled'))`, source, id)
	return err
}
