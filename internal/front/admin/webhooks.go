package admin

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

// Delivery is an attempt to deliver an event to an address of a reseller, as staff see it: without its content.
type Delivery struct {
	ID         int64      `json:"id"`
	EndpointID int64      `json:"endpoint_id"`
	AccountID  int64      `json:"account_id"`
	URL        string     `json:"url"`
	Type       string     `json:"type"`
	Status     string     `json:"status"`
	Attempt    int        `json:"attempt"`
	HTTPStatus *int       `json:"http_status"`
	ErrorKey   *string    `json:"error_key"`
	DurationMS *int64     `json:"duration_ms"`
	NextAt     *time.Time `json:"next_at"`
	CreatedAt  time.Time  `json:"created_at"`
}

var deliveryRows = db.Map(func(d *Delivery) db.Fields {
	return db.Fields{
		"d.id": &d.ID, "d.endpoint_id": &d.EndpointID, "e.account_id": &d.AccountID, "e.url": &d.URL, "v.type": &d.Type, "d.status": &d.Status,
		"d.attempt": &d.Attempt, "d.http_status": &d.HTTPStatus, "d.error_key": &d.ErrorKey, "d.duration_ms": &d.DurationMS,
		"d.next_attempt_at": &d.NextAt, "d.created_at": &d.CreatedAt,
	}
})

// Deliveries reads a page of deliveries, the newest first; status and account, when given, select some.
func (a *Admin) Deliveries(ctx context.Context, status string, account int64, p page.Params) (*page.List[Delivery], error) {
	return paged(ctx, a.DB, p, deliveryRows, ` FROM webhooks_deliveries d JOIN webhooks_endpoints e ON e.id = d.endpoint_id JOIN webhooks_events v ON v.id = d.event_id
		WHERE (CAST($1 AS TEXT) = '' OR d.status = $1) AND (CAST($2 AS BIGINT) = 0 OR e.account_id = $2)`, ` ORDER BY d.id DESC`, status, account)
}
