package admin

import (
	"context"
	"time"

	"stead.dev/stead/internal/monitoring/sla"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// SLAMonth is a closed month of a service as operators see it. Uptimes are in millionths.
type SLAMonth struct {
	ID           int64          `json:"id"`
	AccountID    int64          `json:"account_id"`
	ServiceID    int64          `json:"service_id"`
	Month        string         `json:"month"`
	Status       string         `json:"status"`
	Held         bool           `json:"held"`
	Note         string         `json:"note"`
	Uptime       int64          `json:"uptime_millionths"`
	Promised     *int64         `json:"promised_millionths"`
	DownS        int64          `json:"down_s"`
	MaintenanceS int64          `json:"excluded_maintenance_s"`
	UnknownS     int64          `json:"unknown_s"`
	Paid         money.USDCents `json:"paid_usd_cents"`
	Percent      int64          `json:"percent"`
	Amount       money.USDCents `json:"amount_usd_cents"`
	CreditAt     *time.Time     `json:"credit_at"`
	DecidedAt    *time.Time     `json:"decided_at"`
}

func slaMonthOf(a sla.Assessment) SLAMonth {
	return SLAMonth{
		ID: a.ID, AccountID: a.AccountID, ServiceID: a.ServiceID, Month: a.Month.Start.Format("2006-01"), Status: string(a.Status), Held: a.Held,
		Note: a.Note, Uptime: a.Uptime, Promised: a.Promised, DownS: a.DownS, MaintenanceS: a.MaintenanceS, UnknownS: a.UnknownS, Paid: a.Base,
		Percent: a.Percent, Amount: a.Amount, CreditAt: a.CreditAt, DecidedAt: a.DecidedAt,
	}
}

// ListSLA lists closed months in a state, the newest first.
func (a *Admin) ListSLA(ctx context.Context, status string, p page.Params) (*page.List[SLAMonth], error) {
	found, total, err := a.SLA.List(ctx, sla.Status(status), p)
	if err != nil {
		return nil, err
	}
	return page.Map(p, total, found, slaMonthOf), nil
}

// HoldSLA keeps a proposed credit until somebody decides.
func (a *Admin) HoldSLA(ctx context.Context, id int64, reason string) (SLAMonth, error) {
	m, err := a.SLA.Hold(a.change(ctx, "sla.hold", reason, slaSubject(id)), id, reason)
	return slaMonthOf(m), err
}

// ApproveSLA pays a proposed credit at once.
func (a *Admin) ApproveSLA(ctx context.Context, id int64) (SLAMonth, error) {
	m, err := a.SLA.Approve(a.change(ctx, "sla.approve", "", slaSubject(id)), id)
	return slaMonthOf(m), err
}

// RejectSLA decides against a proposed credit; the customer reads the reason.
func (a *Admin) RejectSLA(ctx context.Context, id int64, reason string) (SLAMonth, error) {
	m, err := a.SLA.Reject(a.change(ctx, "sla.reject", reason, slaSubject(id)), id, reason)
	return slaMonthOf(m), err
}

func slaSubject(id int64) subject {
	return rowOf("sla_month", "sla_months", "account_id, service_id, status, held, note, amount, decided_at", "id", id)
}
