package admin

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// Service is a service as operators see it.
type Service struct {
	ID            int64   `json:"id"`
	AccountID     int64   `json:"account_id"`
	Email         string  `json:"email"`
	OrderID       int64   `json:"order_id"`
	Type          string  `json:"type"`
	Label         string  `json:"label"`
	Domain        *string `json:"domain"`
	Plan          string  `json:"plan"`
	Status        string  `json:"status"`
	SuspendReason *string `json:"suspend_reason"`
	Panel         string  `json:"panel"`
	// Node is the name of the hosting machine; nil on a panel that is none.
	Node      *string    `json:"node"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"`
}

var serviceRows = db.Map(func(s *Service) db.Fields {
	return db.Fields{
		"s.id": &s.ID, "s.account_id": &s.AccountID, "u.email": &s.Email, "s.order_id": &s.OrderID, "s.type": &s.Type,
		"s.label": &s.Label, "s.domain": &s.Domain, "s.plan_slug": &s.Plan, "s.status": &s.Status,
		"s.suspend_reason": &s.SuspendReason, "s.panel": &s.Panel, "n.name": &s.Node, "s.created_at": &s.CreatedAt, "s.expires_at": &s.ExpiresAt,
	}
})

var selectService = `SELECT ` + serviceRows.Columns() + ` FROM services s JOIN account_users u ON u.id = s.account_id ` + onNode

const onNode = `LEFT JOIN nodes_nodes n ON s.panel = 'node:' || n.id`

// Services chooses among services; what is empty chooses none.
type Services struct {
	AccountID int64
	Status    string
	// Node is the name of a hosting machine, or of another panel.
	Node string
}

// ListServices reads a page of all customers' services, oldest first.
func (a *Admin) ListServices(ctx context.Context, of Services, p page.Params) (*page.List[Service], error) {
	return paged(ctx, a.DB, p, serviceRows, ` FROM services s JOIN account_users u ON u.id = s.account_id `+onNode+`
		WHERE (CAST($1 AS BIGINT) = 0 OR s.account_id = $1) AND (CAST($2 AS TEXT) = '' OR s.status = $2)
		AND (CAST($3 AS TEXT) = '' OR $3 IN (n.name, s.panel))`, ` ORDER BY s.id`, of.AccountID, of.Status, of.Node)
}

// Service reads one service.
func (a *Admin) Service(ctx context.Context, id int64) (Service, error) {
	s, err := serviceRows.Scan(a.DB.QueryRow(ctx, selectService+` WHERE s.id = $1`, id))
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return s, err
}

// SuspendService takes a service offline, by a running server.
func (a *Admin) SuspendService(ctx context.Context, id int64, reason string) (Service, error) {
	return a.move(ctx, "service.suspend", reason, id, func(ctx context.Context, tx *db.Tx) error {
		return a.Services.Suspend(ctx, tx, id, services.SuspendReason(reason))
	})
}

// UnsuspendService brings it back.
func (a *Admin) UnsuspendService(ctx context.Context, id int64) (Service, error) {
	return a.move(ctx, "service.unsuspend", "", id, func(ctx context.Context, tx *db.Tx) error { return a.Services.Unsuspend(ctx, tx, id) })
}

// TerminateService ends a suspended service. A running server makes the final backup and removes the account.
func (a *Admin) TerminateService(ctx context.Context, id int64) (Service, error) {
	return a.move(ctx, "service.terminate", "", id, func(ctx context.Context, tx *db.Tx) error { return a.Services.Terminate(ctx, tx, id) })
}

// EndServiceUnkept ends a terminating service without its final backup, which could not be made.
func (a *Admin) EndServiceUnkept(ctx context.Context, id int64) (Service, error) {
	return a.move(ctx, "service.end_unkept", "", id, func(ctx context.Context, tx *db.Tx) error { return a.Services.EndUnkept(ctx, tx, id) })
}

// RestoreService restores a terminated service, as long as its final backup is kept.
func (a *Admin) RestoreService(ctx context.Context, id int64) (Service, error) {
	return a.move(ctx, "service.restore", "", id, func(ctx context.Context, tx *db.Tx) error { return a.Services.Restore(ctx, tx, id) })
}

func (a *Admin) move(ctx context.Context, action, reason string, id int64, f func(ctx context.Context, tx *db.Tx) error) (Service, error) {
	s, err := a.Service(ctx, id)
	if err != nil {
		return s, err
	}
	if err := a.DB.InTx(a.change(ctx, action, reason, serviceSubject(id).of(s.AccountID)), f); err != nil {
		return Service{}, err
	}
	return a.Service(ctx, id)
}

// Topup is a payment that an operator may have to confirm.
type Topup struct {
	ID        int64          `json:"id"`
	AccountID int64          `json:"account_id"`
	Email     string         `json:"email"`
	Gateway   string         `json:"gateway"`
	Status    string         `json:"status"`
	Amount    money.USDCents `json:"amount_usd_cents"`
	// Total is the payment of the customer: the amount and the gateway's fee.
	Total     money.USDCents `json:"total_usd_cents"`
	CreatedAt time.Time      `json:"created_at"`
	ExpiresAt time.Time      `json:"expires_at"`
}

// OpenTopups reads a page of the unpaid top-ups, oldest first.
func (a *Admin) OpenTopups(ctx context.Context, p page.Params) (*page.List[Topup], error) {
	const open = ` FROM wallet_topups t JOIN account_users u ON u.id = t.account_id WHERE t.status IN ('pending', 'processing')`
	var total int
	if err := a.DB.QueryRow(ctx, `SELECT COUNT(*)`+open).Scan(&total); err != nil {
		return nil, err
	}
	rows, err := db.Collect(ctx, a.DB, func(r db.Row) (t Topup, err error) {
		err = r.Scan(&t.ID, &t.AccountID, &t.Email, &t.Gateway, &t.Status, &t.Amount, &t.Total, &t.CreatedAt, &t.ExpiresAt)
		return t, err
	}, `SELECT t.id, t.account_id, u.email, t.gateway, t.status, t.amount, t.amount + t.fee, t.created_at, t.expires_at`+
		open+` ORDER BY t.id LIMIT $1 OFFSET $2`, p.Limit(), p.Offset())
	if err != nil {
		return nil, err
	}
	return page.Of(p, total, rows), nil
}
