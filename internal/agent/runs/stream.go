package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/auth"
)

const (
	awaitTime  = 20 * time.Second // for which an answer waits for the end of a run
	awaitEvery = 100 * time.Millisecond

	streamTime  = time.Hour
	streamEvery = 250 * time.Millisecond
	aliveEvery  = 15 * time.Second
	mostEvents  = 500 // read at once
	retry       = 3000
)

// serveTask takes a task and answers with the run, or with its events as they come.
func (s *Service) serveTask(ctx context.Context, p auth.Principal, in *taskIn, w http.ResponseWriter, _ *http.Request) error {
	r, err := s.start(ctx, p.AccountID, in.Service, in.Body.Message, in.Body.ConversationID)
	if err != nil {
		return err
	}
	if strings.Contains(in.Accept, eventStream) {
		return s.stream(ctx, w, r, 0)
	}
	if r, err = s.await(ctx, r); err != nil {
		return err
	}
	answer, err := s.show(ctx, r)
	if err != nil {
		return err
	}
	body, err := encode(answer)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body+"\n") // the client left
	return nil
}

// await waits until a run has ended or waits for a person, and not for longer than people wait for an answer.
func (s *Service) await(ctx context.Context, r run) (run, error) {
	look := time.NewTicker(awaitEvery)
	defer look.Stop()
	late := time.NewTimer(awaitTime)
	defer late.Stop()
	for r.status == Queued || r.status == Running {
		select {
		case <-look.C:
		case <-late.C:
			return r, nil
		case <-s.Ending:
			return r, nil
		case <-ctx.Done():
			return r, ctx.Err()
		}
		var err error
		if r, err = runOf(ctx, s.DB, r.accountID, r.serviceID, r.id); err != nil {
			return r, err
		}
	}
	return r, nil
}

// last tells whether an event is the last one of its run.
func (e event) last() bool {
	return e.typ == "run.completed" || e.typ == "run.failed" || e.typ == "run.cancelled"
}

// stream writes the events of a run behind a number, as they come. Any replica can: they are rows.
func (s *Service) stream(ctx context.Context, w http.ResponseWriter, r run, after int64) (err error) {
	ctx, cancel := context.WithTimeout(ctx, streamTime)
	defer cancel()
	h := w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy in front must not hold events back
	flush := http.NewResponseController(w)
	look := time.NewTicker(streamEvery)
	defer look.Stop()
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	text := fmt.Sprintf("retry: %d\n\n", retry)
	for {
		// The state is read before the events: when it is over, all of them are there.
		if r, err = runOf(ctx, s.DB, r.accountID, r.serviceID, r.id); err != nil {
			return err
		}
		events, err := eventsAfter(ctx, s.DB, r.id, after, mostEvents)
		if err != nil {
			return err
		}
		over := !r.status.open() && len(events) == 0
		for _, e := range events {
			data, err := encode(map[string]any{"type": e.typ, "at": e.createdAt, "data": json.RawMessage(e.data)})
			if err != nil {
				return err
			}
			text += fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", e.seq, e.typ, data)
			after, over = e.seq, over || e.last()
		}
		if text != "" {
			if _, err := io.WriteString(w, text); err != nil {
				return nil // the client left
			}
			if err := flush.Flush(); err != nil {
				return nil // the client left
			}
		}
		text = ""
		if over {
			return nil
		}
		select {
		case <-look.C:
		case <-alive.C:
			text = ": \n\n"
		case <-s.Ending:
			return nil // the client comes again, to another server or the next
		case <-ctx.Done():
			return nil
		}
	}
}
