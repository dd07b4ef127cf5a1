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
	// RenewalFailure is the key of what keeps it from being renewed; nil when nothing does.
	RenewalFailure  *string    `json:"renewal_failure" doc:"Key of what keeps it from being renewed, such as insufficient_funds; null when nothing does."`
	RenewalFailedAt *time.Time `json:"renewal_failed_at"`
}

var serviceRows = db.Map(func(s *Service) db.Fields {
	return db.Fields{
		"s.id": &s.ID, "s.account_id": &s.AccountID, "u.email": &s.Email, "s.order_id": &s.OrderID, "s.type": &s.Type,
		"s.label": &s.Label, "s.domain": &s.Domain, "s.plan_slug": &s.Plan, "s.status": &s.Status,
		"s.suspend_reason": &s.SuspendReason, "s.panel": &s.Panel, "n.name": &s.Node, "s.created_at": &s.CreatedAt, "s.expires_at": &s.ExpiresAt,
		"s.renewal_failure": &s.RenewalFailure, "s.renewal_failed_at": &s.RenewalFailedAt,
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
	// Attention is a kind of the dashboard: those that need attention.
	Attention string
}

// ListServices reads a page of all customers' services, oldest first.
func (a *Admin) ListServices(ctx context.Context, of Services, p page.Params) (*page.List[Service], error) {
	stuck, args := a.among("s.id", of.Attention, []any{of.AccountID, of.Status, of.Node})
	return paged(ctx, a.DB, p, serviceRows, ` FROM services s JOIN account_users u ON u.id = s.account_id `+onNode+`
		WHERE (CAST($1 AS BIGINT) = 0 OR s.account_id = $1) AND (CAST($2 AS TEXT) = '' OR s.status = $2)
		AND (CAST($3 AS TEXT) = '' OR $3 IN (n.name, s.panel))`+stuck, ` ORDER BY s.id`, args...)
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

var topupRows = db.Map(func(t *Topup) db.Fields {
	return db.Fields{
		"t.id": &t.ID, "t.account_id": &t.AccountID, "u.email": &t.Email, "t.gateway": &t.Gateway, "t.status": &t.Status, "t.amount": &t.Amount,
		"t.amount + t.fee": &t.Total, "t.created_at": &t.CreatedAt, "t.expires_at": &t.ExpiresAt,
	}
})

// OpenTopups reads a page of the unpaid top-ups, oldest first. attention, when given, is a kind of the dashboard: those that need
// attention.
func (a *Admin) OpenTopups(ctx context.Context, attention string, p page.Params) (*page.List[Topup], error) {
	stuck, args := a.among("t.id", attention, nil)
	return paged(ctx, a.DB, p, topupRows, ` FROM wallet_topups t JOIN account_users u ON u.id = t.account_id
		WHERE t.status IN ('pending', 'processing')`+stuck, ` ORDER BY t.id`, args...)
}

// RegisteredDomain is a registered domain as staff see it, with the last thing that was asked of its registry.
type RegisteredDomain struct {
	ID           int64      `json:"id"`
	AccountID    int64      `json:"account_id"`
	Email        string     `json:"email"`
	Name         string     `json:"name"`
	Status       string     `json:"status" enum:"pending_registration,pending_transfer_in,active,expired,grace,redemption,pending_delete,transferred_out,cancelled,failed"`
	Sandbox      bool       `json:"sandbox" doc:"Of a reseller's sandbox: no registry knows it."`
	AutoRenew    bool       `json:"auto_renew"`
	CreatedAt    time.Time  `json:"created_at"`
	ExpiresAt    *time.Time `json:"expires_at"`
	Asked        *string    `json:"operation" enum:"register,transfer,renew,restore" doc:"What the registry was asked last."`
	AskedStatus  *string    `json:"operation_status" enum:"pending,attempted,done,failed" doc:"attempted: the registry may have been asked, and has not decided."`
	AskedAt      *time.Time `json:"operation_at"`
	AskedOrderID *int64     `json:"operation_order_id" doc:"The order that pays for it."`
	AskedFailure *string    `json:"operation_failure_key"`
	AskedMessage *string    `json:"operation_message" doc:"The registry's words."`
}

var registeredRows = db.Map(func(d *RegisteredDomain) db.Fields {
	return db.Fields{
		"d.id": &d.ID, "d.account_id": &d.AccountID, "u.email": &d.Email, "d.name": &d.Name, "d.status": &d.Status, "d.sandbox": &d.Sandbox,
		"d.auto_renew": &d.AutoRenew, "d.created_at": &d.CreatedAt, "d.expires_at": &d.ExpiresAt, "o.kind": &d.Asked, "o.status": &d.AskedStatus,
		"o.created_at": &d.AskedAt, "o.order_id": &d.AskedOrderID, "o.failure_key": &d.AskedFailure, "o.message": &d.AskedMessage,
	}
})

// RegisteredDomains chooses among registered domains; what is empty chooses none.
type RegisteredDomains struct {
	AccountID int64
	Status    string
	// Query is a part of the name.
	Query string
	// Attention is a kind of the dashboard: those that need attention.
	Attention string
}

// ListRegisteredDomains reads a page of all customers' registered domains, the newest first.
func (a *Admin) ListRegisteredDomains(ctx context.Context, of RegisteredDomains, p page.Params) (*page.List[RegisteredDomain], error) {
	stuck, args := a.among("d.id", of.Attention, []any{of.AccountID, of.Status, of.Query, contains(of.Query)})
	return paged(ctx, a.DB, p, registeredRows, ` FROM domains d JOIN account_users u ON u.id = d.account_id
		LEFT JOIN domains_operations o ON o.id = (SELECT MAX(l.id) FROM domains_operations l WHERE l.domain_id = d.id)
		WHERE (CAST($1 AS BIGINT) = 0 OR d.account_id = $1) AND (CAST($2 AS TEXT) = '' OR d.status = $2)
		AND (CAST($3 AS TEXT) = '' OR d.name LIKE $4 ESCAPE '\')`+stuck, ` ORDER BY d.id DESC`, args...)
}

// Certificate is a certificate of a service as staff see it, without its key.
type Certificate struct {
	ID            int64      `json:"id"`
	AccountID     int64      `json:"account_id"`
	Email         string     `json:"email"`
	ServiceID     int64      `json:"service_id"`
	Service       string     `json:"service" doc:"Label of the service."`
	Kind          string     `json:"kind" enum:"acme,custom"`
	Status        string     `json:"status" enum:"pending,active,failed,removing"`
	Names         []string   `json:"names"`
	ExpiresAt     *time.Time `json:"expires_at" doc:"Null while there is none."`
	Failures      int        `json:"failures" doc:"Orders in a row that failed; each puts the next one off."`
	LastAttemptAt *time.Time `json:"last_attempt_at"`
	LastErrorKey  *string    `json:"last_error_key"`
	LastReason    *string    `json:"last_reason" doc:"What was found wrong with a name, when that was the cause."`
	LastError     string     `json:"last_error" doc:"The authority's words."`
}

var certificateRows = db.Map(func(c *Certificate) db.Fields {
	return db.Fields{
		"c.id": &c.ID, "c.account_id": &c.AccountID, "u.email": &c.Email, "c.service_id": &c.ServiceID, "s.label": &c.Service, "c.kind": &c.Kind,
		"c.status": &c.Status, "c.names": db.JSON(&c.Names), "c.expires_at": &c.ExpiresAt, "c.failures": &c.Failures,
		"c.last_attempt_at": &c.LastAttemptAt, "c.last_error_key": &c.LastErrorKey, "c.last_reason": &c.LastReason, "c.last_error": &c.LastError,
	}
})

// Certificates chooses among certificates; what is empty chooses none.
type Certificates struct {
	ServiceID int64
	// Attention is a kind of the dashboard: those that need attention.
	Attention string
}

// ListCertificates reads a page of all services' certificates, the newest first.
func (a *Admin) ListCertificates(ctx context.Context, of Certificates, p page.Params) (*page.List[Certificate], error) {
	stuck, args := a.among("c.id", of.Attention, []any{of.ServiceID})
	return paged(ctx, a.DB, p, certificateRows, ` FROM certificates c JOIN account_users u ON u.id = c.account_id JOIN services s ON s.id = c.service_id
		WHERE (CAST($1 AS BIGINT) = 0 OR c.service_id = $1)`+stuck, ` ORDER BY c.id DESC`, args...)
}

// Endpoint is an address to which events of a reseller are sent, as staff see it.
type Endpoint struct {
	ID             int64      `json:"id"`
	AccountID      int64      `json:"account_id"`
	Email          string     `json:"email"`
	URL            string     `json:"url"`
	Status         string     `json:"status" enum:"active,paused,disabled"`
	DisabledReason *string    `json:"disabled_reason" enum:"gone,failing"`
	Failures       int        `json:"consecutive_failures" doc:"Attempts that failed since the last success."`
	FailingSince   *time.Time `json:"failing_since" doc:"Null while deliveries arrive."`
	LastSuccessAt  *time.Time `json:"last_success_at"`
	LastFailureAt  *time.Time `json:"last_failure_at"`
	CreatedAt      time.Time  `json:"created_at"`
}

var endpointRows = db.Map(func(e *Endpoint) db.Fields {
	return db.Fields{
		"e.id": &e.ID, "e.account_id": &e.AccountID, "u.email": &e.Email, "e.url": &e.URL, "e.status": &e.Status, "e.disabled_reason": &e.DisabledReason,
		"e.consecutive_failures": &e.Failures, "e.failing_since": &e.FailingSince, "e.last_success_at": &e.LastSuccessAt,
		"e.last_failure_at": &e.LastFailureAt, "e.created_at": &e.CreatedAt,
	}
})

// Endpoints chooses among addresses of webhooks; what is empty chooses none.
type Endpoints struct {
	AccountID int64
	// Attention is a kind of the dashboard: those that need attention.
	Attention string
}

// ListEndpoints reads a page of all resellers' addresses of webhooks, the newest first.
func (a *Admin) ListEndpoints(ctx context.Context, of Endpoints, p page.Params) (*page.List[Endpoint], error) {
	stuck, args := a.among("e.id", of.Attention, []any{of.AccountID})
	return paged(ctx, a.DB, p, endpointRows, ` FROM webhooks_endpoints e JOIN account_users u ON u.id = e.account_id
		WHERE (CAST($1 AS BIGINT) = 0 OR e.account_id = $1)`+stuck, ` ORDER BY e.id DESC`, args...)
}
