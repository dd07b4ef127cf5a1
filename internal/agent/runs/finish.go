package runs

import (
	"context"
	"encoding/json"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
)

// tell writes an event of a run for who watches it. The run must be locked, or new, and is written by the caller.
func (s *Service) tell(ctx context.Context, tx *db.Tx, r *run, typ string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	r.events++
	return insertEvent(ctx, tx, r.id, event{seq: r.events, typ: typ, data: string(b), createdAt: tx.Now})
}

// runEvent is a run in the data of the events that integrators get.
type runEvent struct {
	ID        int64   `json:"id"`
	ServiceID int64   `json:"service_id"`
	Title     string  `json:"title"`
	Status    Talk    `json:"status"`
	ErrorKey  *Reason `json:"error_key,omitempty"`
}

// announce emits an event of a run to integrators.
func (s *Service) announce(ctx context.Context, tx *db.Tx, typ string, r run) error {
	if r.conversationID == nil {
		return nil
	}
	c, err := conversationOf(ctx, tx, r.accountID, r.serviceID, *r.conversationID)
	if err != nil {
		return err
	}
	data := runEvent{ID: r.id, ServiceID: r.serviceID, Title: c.title, Status: r.status.talk()}
	if r.status == Failed {
		data.ErrorKey = r.reason
	}
	return s.Events.Emit(ctx, tx, outbox.Event{Type: typ, AccountID: r.accountID, Subject: "ai_run", SubjectID: r.id, Data: data})
}

// finish ends a locked run: its calls, its question, its money, its conversation and its events, in one commit. Who still
// works on it writes nothing more.
func (s *Service) finish(ctx context.Context, tx *db.Tx, r *run, reason Reason) error {
	cents := r.charge()
	r.pause(tx.Now)
	r.status, r.reason, r.finishedAt, r.charged = reason.status(), &reason, &tx.Now, &cents
	r.asking, r.cancelling = false, false
	if err := skipCalls(ctx, tx, r.id); err != nil {
		return err
	}
	if err := withdraw(ctx, tx, r.id, reason); err != nil {
		return err
	}
	if err := s.capture(ctx, tx, *r); err != nil {
		return err
	}
	typ := map[Status]string{Completed: "run.completed", Failed: "run.failed", Cancelled: "run.cancelled"}[r.status]
	if err := s.tell(ctx, tx, r, typ, map[string]any{"reason": reason, "charged_usd_cents": cents}); err != nil {
		return err
	}
	if err := putRun(ctx, tx, *r); err != nil || r.conversationID == nil {
		return err
	}
	if err := setTalk(ctx, tx, *r.conversationID, r.status.talk()); err != nil {
		return err
	}
	switch r.status {
	case Completed:
		return s.announce(ctx, tx, "ai.run_completed", *r)
	case Failed:
		return s.announce(ctx, tx, "ai.run_failed", *r)
	default:
		return nil // the customer knows
	}
}
