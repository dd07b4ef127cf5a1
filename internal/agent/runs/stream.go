package runs

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/sse"
)

const (
	awaitTime  = 20 * time.Second // for which an answer waits for the end of a run
	awaitEvery = 100 * time.Millisecond

	streamEvery = 250 * time.Millisecond
	mostEvents  = 500 // read at once
	// streamsMost bounds the streams of an account in this process.
	streamsMost = 20
)

// openStream reserves a stream for an account until done is called; fault.LimitReached when it has too many.
func (s *Service) openStream(accountID int64) (done func(), err error) {
	done, ok := s.streams.Acquire(accountID)
	if !ok {
		return nil, fault.LimitReached.With(fault.Fields{"limit": "event_streams", "maximum": streamsMost})
	}
	return done, nil
}

// serveTask takes a task and answers with the run, or with its events as they come.
func (s *Service) serveTask(ctx context.Context, p auth.Principal, in *taskIn, w http.ResponseWriter, _ *http.Request) error {
	streams := strings.Contains(in.Accept, sse.ContentType)
	if streams { // before the run begins, which would go on unwatched
		done, err := s.openStream(p.AccountID)
		if err != nil {
			return err
		}
		defer done()
	}
	r, err := s.start(ctx, p.AccountID, in.Service, in.Body.Message, in.Body.ConversationID)
	if err != nil {
		return err
	}
	if streams {
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
	ctx, cancel := context.WithTimeout(ctx, sse.Life)
	defer cancel()
	out := sse.Begin(w)
	look := time.NewTicker(streamEvery)
	defer look.Stop()
	alive := time.NewTicker(sse.AliveEvery)
	defer alive.Stop()
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
			out.Event(strconv.FormatInt(e.seq, 10), e.typ, []byte(data))
			after, over = e.seq, over || e.last()
		}
		if !out.Flush() || over {
			return nil // the client left, or all is said
		}
		select {
		case <-look.C:
		case <-alive.C:
			out.Alive()
		case <-s.Ending:
			return nil // the client comes again, to another server or the next
		case <-ctx.Done():
			return nil
		}
	}
}
