package services

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

// Happening is something that happened to a service.
type Happening struct {
	ID             int64          `json:"id"`
	Type           string         `json:"type" doc:"The kind of event that was told of it" example:"service.suspended"`
	Status         Status         `json:"status" doc:"Of the service since then" enum:"pending,provisioning,active,past_due,suspended,terminating,terminated,failed,cancelled"`
	PreviousStatus *Status        `json:"previous_status" doc:"The state that it left; null when the state stayed" enum:"pending,provisioning,active,past_due,suspended,terminating,terminated,failed,cancelled"`
	SuspendReason  *SuspendReason `json:"suspend_reason" enum:"unpaid,abuse,manual,resource_limit"`
	ErrorKey       *string        `json:"error_key" doc:"Why it did not go: an error key"`
	Days           *int           `json:"days" doc:"Of a reminder: how many were left"`
	CreatedAt      time.Time      `json:"created_at"`
}

// remember keeps what is told of a service, when tx ends. more are the members beside those of the service.
func remember(tx *db.Tx, eventType string, r record, previous, more map[string]any) {
	h := Happening{Type: eventType, Status: r.status, SuspendReason: r.suspendReason, ErrorKey: r.failureKey, CreatedAt: tx.Now}
	if before, ok := previous["status"].(Status); ok && before != r.status {
		h.PreviousStatus = &before
	}
	if key, ok := more["error_key"].(string); ok {
		h.ErrorKey = &key
	}
	if days, ok := more["days"].(int); ok {
		h.Days = &days
	}
	db.Gather(tx, "services.history", remembered{r.id, h}, func(ctx context.Context, all []remembered) error {
		var rows db.Values
		for _, r := range all {
			rows.Add(r.serviceID, r.Type, r.Status, r.PreviousStatus, r.SuspendReason, r.ErrorKey, r.Days, r.CreatedAt)
		}
		table, args := rows.Table(tx)
		_, err := tx.Exec(ctx, `INSERT INTO services_history
			(service_id, type, status, previous_status, suspend_reason, error_key, days, created_at) `+table, args...)
		if err != nil {
			return fmt.Errorf("services: history: %w", err)
		}
		return nil
	})
}

// remembered is what happened to a service.
type remembered struct {
	serviceID int64
	Happening
}

// History is one page of what happened to one of the account's services, the newest first.
func (s *Service) History(ctx context.Context, accountID, id int64, p page.Params) (*page.List[Happening], error) {
	if _, err := getOwn(ctx, s.DB, accountID, id); err != nil {
		return nil, err
	}
	rows, total, err := history(ctx, s.DB, id, p)
	return page.Of(p, total, rows), err
}

func history(ctx context.Context, q db.Querier, id int64, p page.Params) (rows []Happening, total int, err error) {
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
