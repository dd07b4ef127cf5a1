package reseller

import (
	"context"
	"time"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

// Happening is something that happened to a service.
type Happening struct {
	ID             int64                   `json:"id"`
	Type           string                  `json:"type" doc:"The kind of event that was told of it" example:"service.suspended"`
	Status         services.Status         `json:"status" doc:"Of the service since then" enum:"pending,provisioning,active,past_due,suspended,terminating,terminated,failed,cancelled"`
	PreviousStatus *services.Status        `json:"previous_status" doc:"The state that it left; null when the state stayed" enum:"pending,provisioning,active,past_due,suspended,terminating,terminated,failed,cancelled"`
	SuspendReason  *services.SuspendReason `json:"suspend_reason" enum:"unpaid,abuse,manual,resource_limit"`
	ErrorKey       *string                 `json:"error_key" doc:"Why it did not go: an error key"`
	Days           *int                    `json:"days" doc:"Of a reminder: how many were left"`
	CreatedAt      time.Time               `json:"created_at"`
}

// history is one page of what happened to one of the account's services, the newest first.
func (s *Service) history(ctx context.Context, accountID, id int64, p page.Params) (*page.List[Happening], error) {
	if _, err := s.Services.Find(ctx, s.DB, accountID, id); err != nil {
		return nil, err
	}
	rows, total, err := happenings(ctx, s.DB, id, p)
	return page.Of(p, total, rows), err
}

func happenings(ctx context.Context, q db.Querier, id int64, p page.Params) (rows []Happening, total int, err error) {
	if err := q.QueryRow(ctx, `SELECT COUNT(*) FROM services_history WHERE service_id = $1`, id).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, func(row db.Row) (h Happening, err error) {
		err = row.Scan(&h.ID, &h.Type, &h.Status, &h.PreviousStatus, &h.SuspendReason, &h.ErrorKey, &h.Days, &h.CreatedAt)
		return h, err
	}, `SELECT id, type, status, previous_status, suspend_reason, error_key, days, created_at FROM services_history
		WHERE service_id = $1 ORDER BY id DESC LIMIT $2 OFFSET $3`, id, p.Limit(), p.Offset())
	return rows, total, err
}
