package services

import (
	"context"
	"fmt"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/module"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
)

// OrderBook is told how the order behind a service went. Complete and Fail may be called
// again with the same order.
type OrderBook interface {
	// Begin makes an order of something that a job will do, and sets its money aside, or refuses with
	// insufficient_funds. The order ends with Complete or Fail.
	Begin(ctx context.Context, tx *db.Tx, p sale.Purchase) (int64, error)
	// Complete takes the money that was held for the order.
	Complete(ctx context.Context, tx *db.Tx, orderID int64) error
	// Fail gives it back. failureKey is one of the public error keys.
	Fail(ctx context.Context, tx *db.Tx, orderID int64, failureKey string) error
}

// Config is what the section works with; every field is needed.
type Config struct {
	DB     *db.DB
	Queue  jobs.Enqueuer
	Events outbox.Events
	Clock  clock.Clock
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Billing     Billing
	Plans       Plans
	Payments    Payments
	Orders      OrderBook
	Addons      Addons
	Names       Names
	Keeper      Keeper
	Provisioner Provisioner
	Worlds      site.Worlds
	Clocks      sale.Clocks
	Monitors    Monitors
}

// Monitors knows the monitors that services have by themselves.
type Monitors interface {
	// MonitorsOf are their ids, by service.
	MonitorsOf(ctx context.Context, q db.Querier, services []int64) (map[int64]int64, error)
}

// Unwatched is the Monitors of who watches nothing.
type Unwatched struct{}

// MonitorsOf implements Monitors.
func (Unwatched) MonitorsOf(context.Context, db.Querier, []int64) (map[int64]int64, error) {
	return nil, nil
}

// watched fills in the monitors of services that are shown.
func (s *Service) watched(ctx context.Context, q db.Querier, shown ...*serviceWire) error {
	ids := make([]int64, len(shown))
	for i, w := range shown {
		ids[i] = w.ID
	}
	found, err := s.Monitors.MonitorsOf(ctx, q, ids)
	for _, w := range shown {
		if id, ok := found[w.ID]; ok {
			w.MonitorID = &id
		}
	}
	return err
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section. Connect comes before its use.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Reserve makes the pending service of a new order. A domain that is taken is
// refused; one that other unpaid orders want is not: who pays first gets it.
func (s *Service) Reserve(ctx context.Context, tx *db.Tx, n sale.Reservation) (id int64, err error) {
	label := n.Domain
	if n.Label != "" {
		if label, err = cleanLabel(n.Label); err != nil {
			return 0, err
		}
	}
	if err := checkNotes(n.ClientRef, n.Metadata); err != nil {
		return 0, err
	}
	sandbox, err := s.Worlds.Sandbox(ctx, tx, n.AccountID)
	if err == nil {
		err = s.checkDomain(ctx, tx, n.AccountID, sandbox, n.Domain)
	}
	if err != nil {
		return 0, err
	}
	err = s.inTimeOf(ctx, tx, Row{Sandbox: sandbox, AccountID: n.AccountID}, err, func(Row) error {
		if id, err = insert(ctx, tx, n, label, sandbox); err != nil {
			return fmt.Errorf("services: reserve: %w", err)
		}
		r, err := get(ctx, tx, id)
		if err != nil {
			return err
		}
		p, err := r.placement()
		if err == nil {
			err = s.Provisioner.Check(ctx, tx, p)
		}
		if err != nil {
			return err
		}
		return s.emit(ctx, tx, "service.created", r, nil)
	})
	return id, err
}

// Provision begins the provisioning of a service whose order is being paid in tx.
func (s *Service) Provision(ctx context.Context, tx *db.Tx, id int64) error {
	return s.read(ctx, tx, id, func(r Row) error {
		if r.Domain != nil {
			// It may have been taken since the order was made. Of two that are paid at the
			// same moment a unique index refuses one.
			if err := s.Names.Claim(ctx, tx, r.AccountID, id, r.Sandbox, *r.Domain); err != nil {
				return err
			}
		}
		p, err := r.placement()
		if err != nil {
			return err
		}
		panelName, err := s.Provisioner.Place(ctx, tx, p)
		if err != nil {
			return err
		}
		if err := setProvisioning(ctx, tx, id, panelName); err != nil {
			return err
		}
		before := map[string]any{"status": r.Status}
		r.Status, r.panel = Provisioning, panelName
		if err := s.emit(ctx, tx, "service.updated", r, before); err != nil {
			return err
		}
		return s.Provisioner.EnqueueProvision(ctx, tx, id)
	})
}

// checkDomain refuses a domain that is taken: by another account, by a live service, or as a further name of one.
func (s *Service) checkDomain(ctx context.Context, tx *db.Tx, accountID int64, sandbox bool, domain string) error {
	if err := s.Names.Check(ctx, tx, accountID, domain); err != nil {
		return err
	}
	return checkLive(ctx, tx, accountID, sandbox, domain)
}

// checkLive refuses a domain that a live service has.
func checkLive(ctx context.Context, tx *db.Tx, accountID int64, sandbox bool, domain string) error {
	taken, err := domainTaken(ctx, tx, accountID, sandbox, domain)
	if err == nil && taken {
		err = fault.DomainUnavailable.New()
	}
	return err
}

// CancelPending ends a service whose order will not be paid. One that is not
// pending is left alone.
func (s *Service) CancelPending(ctx context.Context, tx *db.Tx, id int64) error {
	return setCancelled(ctx, tx, id)
}

// Suspend takes a service offline for a reason other than money, on an
// operator's order. The panel follows by a job.
func (s *Service) Suspend(ctx context.Context, tx *db.Tx, id int64, reason SuspendReason) error {
	return s.Change(ctx, tx, id, func(r Row) error {
		if r.Status == Suspended && !r.suspendedByOwner() {
			return ErrAlreadySuspended.New()
		}
		// What the owner suspended, an operator may take out of the owner's hands.
		if _, ok := r.Status.after(suspensionOrdered); !ok && !r.suspendedByOwner() {
			return fault.ServiceNotActive.Wrapf("services: a service that is %s cannot be suspended", r.Status)
		}
		if err := setSuspended(ctx, tx, id, reason); err != nil {
			return err
		}
		return s.followSuspension(ctx, tx, r, "service.suspended")
	})
}

// Unsuspend brings a suspended service back, on an operator's order.
func (s *Service) Unsuspend(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Change(ctx, tx, id, func(r Row) error {
		next, ok := r.Status.after(suspensionLifted)
		if !ok {
			return ErrNotSuspended.New()
		}
		if err := setUnsuspended(ctx, tx, id, next); err != nil {
			return err
		}
		return s.followSuspension(ctx, tx, r, "service.unsuspended")
	})
}

// followSuspension tells of the change from before, and lets the panel follow.
func (s *Service) followSuspension(ctx context.Context, tx *db.Tx, before Row, eventType string) error {
	now, err := get(ctx, tx, before.ID)
	if err != nil {
		return err
	}
	previous, err := changed(before, now)
	if err != nil {
		return err
	}
	if err := s.emit(ctx, tx, eventType, now, previous); err != nil {
		return err
	}
	return s.Provisioner.EnqueueSuspension(ctx, tx, before.ID)
}

// list answers one page of the account's services and what the account can spend.
func (s *Service) list(ctx context.Context, accountID int64, f Filter, p page.Params) ([]Row, int, sale.Funds, error) {
	rows, total, err := list(ctx, s.DB, accountID, f, p)
	if err != nil {
		return nil, 0, sale.Funds{}, err
	}
	has, err := s.Billing.Funds(ctx, s.DB, accountID)
	return rows, total, has, err
}

// get answers one of the account's services and what the account can spend.
func (s *Service) get(ctx context.Context, accountID, id int64) (Row, sale.Funds, error) {
	r, err := getOwn(ctx, s.DB, accountID, id)
	if err != nil {
		return r, sale.Funds{}, err
	}
	has, err := s.Billing.Funds(ctx, s.DB, accountID)
	return r, has, err
}

// changed are the members of a service's events that have changed, as they were.
func changed(before, now Row) (map[string]any, error) {
	previous, err := outbox.Changed(eventOf(before), eventOf(now))
	if err != nil {
		return nil, err
	}
	if before.Status != now.Status {
		previous["status"] = before.Status // for remember
	}
	return previous, nil
}

// emit tells of r as it now is.
func (s *Service) emit(ctx context.Context, tx *db.Tx, eventType string, r Row, previous map[string]any) error {
	return s.emitChange(ctx, tx, eventType, r, previous, nil)
}

// emitChange tells of r as it now is, with the members that changed as they were and more members than those of the
// service, and keeps that it happened.
func (s *Service) emitChange(ctx context.Context, tx *db.Tx, eventType string, r Row, previous, more map[string]any) error {
	if err := sale.CheckTime(tx, r.AccountID); err != nil {
		return err
	}
	remember(tx, eventType, r, previous, more)
	e := outbox.Event{Type: eventType, AccountID: r.AccountID, Subject: "service", SubjectID: r.ID, Data: eventOf(r)}
	if more != nil {
		e.Data = eventWith{eventOf(r), more}
	}
	if previous != nil {
		e.Previous = previous
	}
	return s.Events.Emit(ctx, tx, e)
}

// Closed refuses that an account is closed that has a service which is paid and not over. Those of a sandbox end.
func (s *Service) Closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	sandbox, err := s.Worlds.Sandbox(ctx, tx, accountID)
	if err != nil {
		return err
	}
	if sandbox {
		return s.endAll(ctx, tx, accountID)
	}
	found, err := s.obstacles(ctx, tx, accountID)
	if err == nil && len(found) > 0 {
		err = fault.InUse.Wrapf("%d of its services are not over", found[0].Count)
	}
	return err
}

// endAll ends the services of an account that have an account on a panel. One that is still to get it, or to be paid, stays as
// it is: it ends when its time is over.
func (s *Service) endAll(ctx context.Context, tx *db.Tx, accountID int64) error {
	all, err := running(ctx, tx, accountID)
	for _, id := range all {
		if err == nil {
			err = s.Change(ctx, tx, id, func(r Row) error { return s.beginTermination(ctx, tx, r) })
		}
	}
	return err
}

// obstacles are the services of an account that are not over.
func (s *Service) obstacles(ctx context.Context, q db.Querier, accountID int64) ([]module.Obstacle, error) {
	_, total, err := list(ctx, q, accountID, Filter{there: true}, page.Params{Page: 1, PerPage: 1})
	if err != nil || total == 0 {
		return nil, err
	}
	return []module.Obstacle{{Kind: "services", Count: total}}, nil
}
