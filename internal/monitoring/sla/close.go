package sla

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
)

const (
	batch     = 100
	mostTurns = 20 // batches of one job; the rest is for the next one
)

// Close closes the months that have settled, each in a commit of its own. One that fails holds up no other.
func (s *Service) Close(ctx context.Context) error {
	return s.each(ctx, dueServices, s.closeMonth)
}

// Pay credits what has been proposed long enough, each month in a commit of its own.
func (s *Service) Pay(ctx context.Context) error {
	return s.each(ctx, dueCredits, s.payMonth)
}

// each works through a list of what is due.
func (s *Service) each(
	ctx context.Context, find func(context.Context, db.Querier, time.Time, due, int) ([]due, error), do func(context.Context, int64) error,
) error {
	var (
		failures []error
		last     due
	)
	for range mostTurns {
		found, err := find(ctx, s.DB, s.Clock.Now(), last, batch)
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		for _, d := range found {
			if ctx.Err() != nil {
				return errors.Join(append(failures, ctx.Err())...)
			}
			if err := do(ctx, d.id); err != nil {
				failures = append(failures, err)
			}
			last = d
		}
		if len(found) < batch {
			break
		}
	}
	return errors.Join(failures...)
}

// closeMonth closes the next month of a service, if it is time.
func (s *Service) closeMonth(ctx context.Context, serviceID int64) error {
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		f, err := lockService(ctx, tx, serviceID)
		if errors.Is(err, db.ErrNoRows) || err == nil && f.closeAt.After(tx.Now) {
			return nil // another one was faster
		}
		if err != nil {
			return err
		}
		of, err := s.Services.Service(ctx, tx, f.accountID, serviceID)
		if errors.Is(err, fault.NotFound) {
			return leave(ctx, tx, serviceID)
		}
		if err != nil {
			return err
		}
		k, err := s.learn(ctx, tx, of, serviceID, f.month, f.month.End)
		if err != nil {
			return err
		}
		a, err := k.judge()
		if err != nil {
			return err
		}
		if a.ServedS == 0 && a.MaintenanceS == 0 {
			if of.Ended {
				return leave(ctx, tx, serviceID)
			}
		} else if err := s.keep(ctx, tx, a, f); err != nil {
			return err
		}
		next := monthOf(f.month.End)
		if err := dropPlans(ctx, tx, serviceID, next.Start); err != nil {
			return err
		}
		return advance(ctx, tx, serviceID, next)
	})
	if err != nil {
		return fmt.Errorf("sla: close a month of service %d: %w", serviceID, err)
	}
	return nil
}

// keep writes a month that is closed, and tells of a breach.
func (s *Service) keep(ctx context.Context, tx *db.Tx, a Assessment, f followed) error {
	a.AccountID, a.ServiceID = f.accountID, f.serviceID
	if a.eligible() {
		at := a.Month.End.Add(pays)
		a.CreditAt = &at
	}
	made, err := insert(ctx, tx, a)
	if err != nil || !made || !a.Breached {
		return err
	}
	return s.tell(ctx, tx, "sla.breached", a)
}

// payMonth credits a month, if that is still to be done.
func (s *Service) payMonth(ctx context.Context, id int64) error {
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		a, err := lockMonth(ctx, tx, id)
		if err != nil {
			return err
		}
		if a.Status != Proposed || a.Held || a.CreditAt.After(tx.Now) {
			return nil // decided meanwhile
		}
		if err := s.pay(ctx, tx, &a); err != nil {
			return err
		}
		return put(ctx, tx, a)
	})
	if err != nil {
		return fmt.Errorf("sla: credit month %d: %w", id, err)
	}
	return nil
}

// pay credits a locked month.
func (s *Service) pay(ctx context.Context, tx *db.Tx, a *Assessment) error {
	if err := s.Wallet.Compensate(ctx, tx, *a); err != nil {
		return err
	}
	a.Status, a.Held, a.Note, a.DecidedAt = Credited, false, "", &tx.Now
	return s.tell(ctx, tx, "sla.compensated", *a)
}

// object is a month in the data of its events.
type object struct {
	ServiceID     int64     `json:"service_id"`
	PeriodStart   time.Time `json:"period_start"`
	PeriodEnd     time.Time `json:"period_end"`
	UptimePercent string    `json:"uptime_percent"`
	SLAPercent    string    `json:"sla_percent"`
}

func (s *Service) tell(ctx context.Context, tx *db.Tx, kind string, a Assessment) error {
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: kind, AccountID: a.AccountID, Subject: "service", SubjectID: a.ServiceID,
		Data: object{a.ServiceID, a.Month.Start, a.Month.End, Percent(a.Uptime), Percent(*a.Promised)},
	})
}
