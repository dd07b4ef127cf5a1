package webhooks

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/outgoing"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/sdk/go/webhook"
)

// A turn bounds the work of one job for an endpoint before other jobs of the queue run.
const (
	turnDeliveries = 50
	turnTime       = 30 * time.Second
)

const (
	// mostSending bounds the endpoints of an account that this process sends to at a time, an eighth of the workers: addresses that
	// answer slowly delay the account's own deliveries, and no others.
	mostSending = 8
	// sendingPause is how long an endpoint above that bound waits.
	sendingPause = 5 * time.Second
)

// settlePause is the delay for an event whose predecessor of the same subject is not settled.
const settlePause = time.Second

// work is the next attempt.
type work struct {
	endpoint endpoint
	delivery delivery
	body     []byte
	secrets  []string
}

// Deliver sends an endpoint its due events, one after the other. It ends when nothing is due, when the endpoint needs a
// pause, or after its turn.
func (s *Service) Deliver(ctx context.Context, endpointID int64) error {
	lease, began := secret.Token("", 12), s.Clock.Now()
	w, done, err := s.take(ctx, endpointID, lease)
	defer done()
	for sent := 1; err == nil && w != nil; sent++ {
		o, sendErr := s.send(ctx, *w)
		if sendErr != nil {
			return errors.Join(sendErr, s.release(ctx, endpointID, lease))
		}
		if ctx.Err() != nil {
			// The process stops: the delivery may have arrived, and the endpoint is not at fault.
			return errors.Join(ctx.Err(), s.release(context.WithoutCancel(ctx), endpointID, lease))
		}
		w, err = s.record(ctx, *w, lease, o, sent < turnDeliveries && s.Clock.Now().Sub(began) < turnTime)
	}
	return err
}

// take leases the endpoint and returns the first delivery; nil when there is nothing to do now. It locks the endpoint's
// row, so the reader of that row sees everything written before the job started: this job, or the holder of the lease.
// done ends what mostSending counts.
func (s *Service) take(ctx context.Context, id int64, lease string) (w *work, done func(), err error) {
	done = func() {}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		done() // the transaction is repeated
		w, done = nil, func() {}
		e, found, err := lockEndpoint(ctx, tx, id)
		if err != nil || !found || e.leased(tx.Now) {
			return err // the holder of the lease looks again before it ends
		}
		if e.open(tx.Now) {
			release, ok := s.sending.Acquire(e.accountID)
			if !ok {
				until := tx.Now.Add(sendingPause)
				e.notBefore = &until
				return errors.Join(putEndpoint(ctx, tx, e), s.wake(ctx, tx, id, until))
			}
			done = release
			if err := reopen(ctx, tx, id); err != nil {
				return err
			}
		}
		w, err = s.proceed(ctx, tx, &e, lease)
		return err
	})
	return w, done, err
}

// proceed returns the next delivery of an endpoint and leases the endpoint for it; without one it releases the
// endpoint.
func (s *Service) proceed(ctx context.Context, tx *db.Tx, e *endpoint, lease string) (w *work, err error) {
	if e.open(tx.Now) {
		if w, err = s.next(ctx, tx, *e); err != nil {
			return nil, err
		}
	}
	if e.lease, e.leaseUntil = nil, nil; w != nil {
		until := tx.Now.Add(leaseFor)
		e.lease, e.leaseUntil = &lease, &until
	}
	return w, putEndpoint(ctx, tx, *e)
}

// next selects the next delivery of an endpoint.
func (s *Service) next(ctx context.Context, tx *db.Tx, e endpoint) (*work, error) {
	d, found, err := nextDue(ctx, tx, e.id, tx.Now)
	if err != nil {
		return nil, err
	}
	if !found {
		some, err := unsettled(ctx, tx, e.id, tx.Now)
		if err == nil && some {
			err = s.wake(ctx, tx, e.id, tx.Now.Add(settlePause))
		}
		return nil, err
	}
	v, err := eventOf(ctx, tx, e.accountID, d.eventUID)
	if err != nil {
		return nil, err
	}
	secrets, err := s.secrets(e, tx.Now)
	if err != nil {
		return nil, err
	}
	d.state = Sending
	return &work{endpoint: e, delivery: d, body: []byte(v.body), secrets: secrets}, putDelivery(ctx, tx, d)
}

// release releases the endpoint before everything was sent, to continue in another turn.
func (s *Service) release(ctx context.Context, id int64, lease string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		e, found, err := lockEndpoint(ctx, tx, id)
		if err != nil || !found || !e.leasedTo(lease) {
			return err
		}
		if err := reopen(ctx, tx, id); err != nil {
			return err
		}
		e.lease, e.leaseUntil = nil, nil
		if err := putEndpoint(ctx, tx, e); err != nil {
			return err
		}
		return s.wake(ctx, tx, id, tx.Now)
	})
}

// send makes one attempt. Its errors are our own; failures of the endpoint are outcomes.
func (s *Service) send(ctx context.Context, w work) (outcome, error) {
	began := s.Clock.Now()
	header, err := webhook.Sign(w.delivery.eventUID, began, w.body, w.secrets...)
	if err != nil {
		return outcome{}, err
	}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "Stead-Webhooks/1")
	a, err := s.client.Post(ctx, w.endpoint.url, header, w.body)
	now := s.Clock.Now()
	o := outcome{status: a.Status, excerpt: a.Excerpt, duration: now.Sub(began)}
	switch {
	case err != nil:
		o.errorKey = outgoing.Reason(err)
	case !o.ok():
		o.errorKey, o.retryAfter = "http_status", retryAfter(strings.TrimSpace(a.Header.Get("Retry-After")), now)
	}
	return o, nil
}

// record stores the result of an attempt and its consequences, unless another worker has leased the endpoint. It
// returns the next delivery; without one, or when the turn is over, it releases the endpoint.
func (s *Service) record(ctx context.Context, w work, lease string, o outcome, more bool) (next *work, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		next = nil
		e, found, err := lockEndpoint(ctx, tx, w.endpoint.id)
		if err != nil || !found || !e.leasedTo(lease) {
			return err
		}
		now, err := deliveryByID(ctx, tx, w.delivery.id)
		switch {
		case errors.Is(err, db.ErrNoRows): // deleted meanwhile
		case err != nil:
			return err
		case now.state == Sending: // otherwise it was discarded meanwhile
			if err := s.recordOutcome(ctx, tx, &e, w.delivery, o); err != nil {
				return err
			}
		}
		if more {
			next, err = s.proceed(ctx, tx, &e, lease)
			return err
		}
		e.lease, e.leaseUntil = nil, nil
		if err := putEndpoint(ctx, tx, e); err != nil {
			return err
		}
		return s.wake(ctx, tx, e.id, tx.Now)
	})
	return next, err
}

func (s *Service) recordOutcome(ctx context.Context, tx *db.Tx, e *endpoint, d delivery, o outcome) error {
	d.nextAttemptAt = nil
	o.note(&d)
	if o.ok() {
		d.state = Success
		e.consecutiveFailures, e.failingSince, e.notBefore, e.lastSuccessAt = 0, nil, nil, &tx.Now
		if err := putDelivery(ctx, tx, d); err != nil {
			return err
		}
	} else if err := s.recordFailure(ctx, tx, e, d, o); err != nil {
		return err
	}
	return settle(ctx, tx, d.eventID)
}

// recordFailure plans the next attempt, pauses the endpoint for a while, and disables one that is gone or has only
// failed for too long.
func (s *Service) recordFailure(ctx context.Context, tx *db.Tx, e *endpoint, d delivery, o outcome) error {
	e.consecutiveFailures++
	// A time without attempts says nothing about the endpoint: one failure must not disable an endpoint with rare
	// events.
	if e.failingSince == nil || tx.Now.Sub(*e.lastFailureAt) >= failingFor {
		e.failingSince = &tx.Now
	}
	e.lastFailureAt = &tx.Now
	after, again := pause(d.attempt)
	if d.state = Failed; again && !o.gone() {
		d.state = Retry
		at := tx.Now.Add(max(after, o.retryAfter))
		d.nextAttemptAt = &at
	}
	if err := putDelivery(ctx, tx, d); err != nil {
		return err
	}
	switch {
	case o.gone():
		return s.disable(ctx, tx, e, reasonGone)
	case tx.Now.Sub(*e.failingSince) >= failingFor:
		return s.disable(ctx, tx, e, reasonFailing)
	}
	if d.state == Retry {
		next := delivery{
			eventID: d.eventID, endpointID: d.endpointID, subject: d.subject, subjectID: d.subjectID, sequence: d.sequence,
			attempt: d.attempt + 1, origin: originScheduled, state: Pending, nextAttemptAt: d.nextAttemptAt, createdAt: tx.Now,
		}
		if _, err := insertDelivery(ctx, tx, next); err != nil {
			return err
		}
		if err := s.wake(ctx, tx, e.id, *d.nextAttemptAt); err != nil {
			return err
		}
	}
	if alone := max(backOff(e.consecutiveFailures), o.retryAfter); alone > 0 {
		until := tx.Now.Add(alone)
		e.notBefore = &until
		return s.wake(ctx, tx, e.id, until)
	}
	return nil
}

// disable ends the deliveries to an endpoint and notifies its owner.
func (s *Service) disable(ctx context.Context, tx *db.Tx, e *endpoint, reason string) error {
	e.status, e.disabledReason, e.lease, e.leaseUntil = Disabled, &reason, nil, nil
	if err := discard(ctx, tx, e.id); err != nil {
		return err
	}
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: disabledType, AccountID: e.accountID, Subject: "webhook", SubjectID: e.id,
		Data:     map[string]any{"id": e.id, "host": e.host(), "status": Disabled, "disabled_reason": reason, "client_ref": nil},
		Previous: map[string]any{"status": Active},
	})
}

// test sends webhook.test to an endpoint at once, whatever its status, and returns the result. It is not retried.
func (s *Service) test(ctx context.Context, accountID, id int64) (d delivery, err error) {
	e, err := endpointOf(ctx, s.DB, accountID, id, "")
	if err != nil {
		return d, notFound(err)
	}
	_, sandbox, err := s.Worlds.World(ctx, s.DB, accountID)
	if err != nil {
		return d, err
	}
	now := s.Clock.Now()
	v, err := newEvent(outbox.Stored{
		UID: secret.Token("evt_", 16), Type: testType, AccountID: accountID, Subject: "webhook", SubjectID: id, CreatedAt: now,
		Data: []byte(`{"id":` + strconv.FormatInt(id, 10) + `}`),
	}, sandbox, nil)
	if err != nil {
		return d, err
	}
	secrets, err := s.secrets(e, now)
	if err != nil {
		return d, err
	}
	o, err := s.send(ctx, work{endpoint: e, delivery: delivery{eventUID: v.uid}, body: []byte(v.body), secrets: secrets})
	if err != nil {
		return d, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := endpointOf(ctx, tx, accountID, id, tx.ForUpdate()); err != nil {
			return notFound(err)
		}
		v.delivered = o.ok()
		if v.id, err = insertEvent(ctx, tx, v); err != nil {
			return err
		}
		d = delivery{
			eventID: v.id, endpointID: id, subject: v.subject, subjectID: v.subjectID, attempt: 1, origin: originManual, state: Failed,
			createdAt: now, eventUID: v.uid,
		}
		if o.ok() {
			d.state = Success
		}
		o.note(&d)
		d.id, err = insertDelivery(ctx, tx, d)
		return err
	})
	return d, err
}
