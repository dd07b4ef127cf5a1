package services

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// remember keeps what is told of a service (services_history), when tx ends. more are the members beside those of the service.
func remember(tx *db.Tx, eventType string, r Row, previous, more map[string]any) {
	h := happening{eventType: eventType, at: tx.Now, of: r, errorKey: r.failureKey}
	if before, ok := previous["status"].(Status); ok && before != r.Status {
		h.before = &before
	}
	if key, ok := more["error_key"].(string); ok {
		h.errorKey = &key
	}
	if days, ok := more["days"].(int); ok {
		h.days = &days
	}
	db.Gather(tx, "services.history", h, func(ctx context.Context, all []happening) error {
		var rows db.Values
		for _, h := range all {
			rows.Add(h.of.ID, h.eventType, h.of.Status, h.before, h.of.suspendReason, h.errorKey, h.days, h.at)
		}
		table, args := rows.Table(tx)
		err := tx.Queue(ctx, nil, `INSERT INTO services_history
			(service_id, type, status, previous_status, suspend_reason, error_key, days, created_at) `+table, args...)
		if err != nil {
			return fmt.Errorf("services: history: %w", err)
		}
		return nil
	})
}

// happening is something that happened to a service.
type happening struct {
	eventType string
	of        Row     // as it was then
	before    *Status // the state that it left
	errorKey  *string
	days      *int
	at        time.Time
}
