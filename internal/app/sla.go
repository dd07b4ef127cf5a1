package app

import (
	"context"
	"time"

	"stead.dev/stead/internal/commerce/catalog"
	"stead.dev/stead/internal/commerce/invoices"
	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/services/billing"
	"stead.dev/stead/internal/commerce/wallet"
	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/monitoring/monitors"
	"stead.dev/stead/internal/monitoring/sla"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/probe"
)

// soldServices are the services as SLA sees them.
type soldServices struct {
	services *services.Service
	billing  *billing.Service
}

// Service implements sla.Services.
func (s soldServices) Service(ctx context.Context, q db.Querier, accountID, serviceID int64) (sla.Subject, error) {
	b, err := s.services.Bought(ctx, q, accountID, serviceID)
	return sla.Subject{PlanID: b.PlanID, Location: b.Location, Sandbox: b.Sandbox, Ended: b.Ended}, err
}

// Paid implements sla.Services.
func (s soldServices) Paid(ctx context.Context, q db.Querier, serviceID int64, from, to time.Time) ([]sla.Paid, error) {
	times, err := s.billing.PaidTimes(ctx, q, serviceID, from, to)
	all := make([]sla.Paid, len(times))
	for i, p := range times {
		all[i] = sla.Paid{Span: sla.Span{Start: p.Start, End: p.End}, Amount: p.Amount}
	}
	return all, err
}

// promises are those of the plans in the catalogue, in millionths.
type promises struct{ *catalog.Service }

// Promise implements sla.Plans.
func (p promises) Promise(ctx context.Context, q db.Querier, planID int64) (*sla.Promise, error) {
	found, err := p.Service.Promise(ctx, q, planID)
	if err != nil || found == nil {
		return nil, err
	}
	const millionths = 10 // of a thousandth of a percent
	made := &sla.Promise{Uptime: int64(found.Uptime) * millionths, Most: found.Most()}
	for _, t := range found.Credits {
		made.Tiers = append(made.Tiers, sla.Tier{Below: int64(t.Below) * millionths, Percent: t.Percent})
	}
	return made, nil
}

// watchers are the monitors that services have by themselves.
type watchers struct{ *monitors.Service }

// Watched implements sla.Monitors.
func (w watchers) Watched(ctx context.Context, q db.Querier, serviceID int64, from, to time.Time) (sla.Watched, error) {
	id, there, err := w.ServiceMonitor(ctx, q, serviceID)
	if err != nil || !there {
		return sla.Watched{}, err
	}
	seen := sla.Watched{There: true}
	found, err := w.Outages(ctx, q, id, from, to)
	if err != nil {
		return seen, err
	}
	for _, o := range found {
		seen.Outages = append(seen.Outages, sla.Outage{StartedAt: o.StartedAt, EndedAt: o.EndedAt, Cause: o.Cause, Ours: o.Ours, Sure: sureCause(o.Cause)})
	}
	if !to.Equal(to.Truncate(24 * time.Hour)) {
		return seen, nil // it is counted by the day
	}
	spent, err := w.Seconds(ctx, q, id, from, to)
	seen.SeenS = (spent.Up + spent.Down) / 1000
	return seen, err
}

// sureCause reports whether an outage cannot be the work of what a customer runs: there was no connection at all. A program
// that sleeps, or dies in the middle of its answer, looks like a server that does.
func sureCause(cause string) bool {
	return cause == probe.KeyConnectTimeout || cause == probe.KeyRefused
}

// plannedWork is the maintenance that the status page has announced.
type plannedWork struct{ *status.Service }

// Maintenance implements sla.Announcements.
func (a plannedWork) Maintenance(ctx context.Context, q db.Querier, location string, from, to time.Time) ([]sla.Span, error) {
	found, err := a.Announced(ctx, q, location, from, to)
	all := make([]sla.Span, len(found))
	for i, s := range found {
		all[i] = sla.Span{Start: s.Start, End: s.End}
	}
	return all, err
}

// compensations are the credits of the wallet, and the lines about them in invoices.
type compensations struct {
	*wallet.Service
	invoices *invoices.Service
	services *services.Service
}

func slaReference(id int64) sale.Reference { return sale.Reference{Type: "sla", ID: id} }

// Compensate implements sla.Wallet.
func (c compensations) Compensate(ctx context.Context, tx *db.Tx, a sla.Assessment) error {
	of, err := c.services.Bought(ctx, tx, a.AccountID, a.ServiceID)
	if err != nil {
		return err
	}
	month := a.Month.Start.Format("2006-01")
	err = c.Credit(ctx, tx, wallet.Credit{
		AccountID: a.AccountID, Amount: a.Amount, Type: wallet.TypeSLACredit, Reference: slaReference(a.ID),
		Reason: "uptime of " + month, Actor: "system",
	})
	if err != nil {
		return err
	}
	return c.invoices.Mention(ctx, tx, invoices.Mention{
		AccountID: a.AccountID, Kind: invoices.KindSLACredit, SubjectID: a.ID, Title: month, Domain: of.Domain, Amount: a.Amount,
	})
}

// Transaction implements sla.Wallet.
func (c compensations) Transaction(ctx context.Context, q db.Querier, id int64) (int64, bool, error) {
	return c.Service.Transaction(ctx, q, slaReference(id), wallet.TypeSLACredit)
}
