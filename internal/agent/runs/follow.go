package runs

import (
	"context"
	"encoding/json"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
)

// serviceEnds ends the open runs of a service that was suspended or has ended.
func (s *Service) serviceEnds(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	return s.endAll(ctx, tx, e.AccountID, e.SubjectID)
}

func (s *Service) endAll(ctx context.Context, tx *db.Tx, accountID, serviceID int64) error {
	open, err := openRuns(ctx, tx, accountID, serviceID)
	if err != nil {
		return err
	}
	for _, r := range open {
		if err := s.finish(ctx, tx, &r, ServiceChanged); err != nil {
			return err
		}
	}
	return nil
}

// InsightEvent is the internal event by which an owner is notified of insights, as the settings say.
const InsightEvent = "ai.insight_found"

// insightEvery is how often an owner is notified of them: an audit may find many at once.
const insightEvery = 24 * time.Hour

// insightFound tells the owner of a service about a new insight, if the settings say so.
func (s *Service) insightFound(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	told, err := claimInsight(ctx, tx, e.AccountID, tx.Now.Add(-insightEvery))
	if err != nil || !told {
		return err
	}
	var insight struct {
		ServiceID int64 `json:"service_id"`
	}
	if err := json.Unmarshal(e.Data, &insight); err != nil {
		return err
	}
	return s.Events.Emit(ctx, tx, outbox.Event{Type: InsightEvent, AccountID: e.AccountID, Subject: e.Subject, SubjectID: e.SubjectID, Data: insight})
}
