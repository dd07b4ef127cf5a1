package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/outgoing"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/semaphore"
)

// Worlds reports which accounts are resellers', and which of these are sandboxes.
type Worlds interface {
	World(ctx context.Context, q db.Querier, accountID int64) (resells, sandbox bool, err error)
}

// Tags returns a reseller's tag of a service, or of an order; nil when it has none.
type Tags interface {
	ClientRef(ctx context.Context, q db.Querier, id int64) (*string, error)
}

// Config configures the section; all but AllowLoopback is required.
type Config struct {
	DB     *db.DB
	Clock  clock.Clock
	Queue  jobs.Enqueuer
	Events *outbox.Outbox
	Box    *secret.Box
	Worlds Worlds
	Tags   Tags // of services
	// OrderTags are those of orders, for what belongs to no service, such as the invoice of a domain.
	OrderTags Tags
	// AllowLoopback accepts endpoints on this machine; for tests.
	AllowLoopback bool
}

// Service is the section's use cases.
type Service struct {
	Config
	client *outgoing.Client
	// sending bounds the endpoints of an account that are sent to at a time.
	sending semaphore.Keyed[int64]
}

// New makes the section.
func New(c Config) *Service {
	return &Service{
		Config: c, client: outgoing.New(outgoing.Config{AllowLoopback: c.AllowLoopback, Timeout: timeout}),
		sending: semaphore.Keyed[int64]{Each: mostSending},
	}
}

// Audience lists the accounts to which events of the whole platform are told: each gets an event of its own.
func (s *Service) Audience(ctx context.Context, q db.Querier) ([]int64, error) {
	return accounts(ctx, q)
}

// Follow handles an event of the outbox. It stores a reseller's event, with its deliveries, in the transaction that
// takes it from the outbox.
func (s *Service) Follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	if !known(e.Type) {
		return nil
	}
	resells, sandbox, err := s.Worlds.World(ctx, tx, e.AccountID)
	if err != nil || !resells {
		return err
	}
	// An event of an object of a service, or else of an order, has its tag, unless it has one of its own.
	t := tagOf(e)
	if t.ClientRef == nil && t.ServiceID != 0 {
		if t.ClientRef, err = s.Tags.ClientRef(ctx, tx, t.ServiceID); err != nil {
			return err
		}
	}
	if t.ClientRef == nil && t.ServiceID == 0 && t.OrderID != 0 {
		if t.ClientRef, err = s.OrderTags.ClientRef(ctx, tx, t.OrderID); err != nil {
			return err
		}
	}
	v, err := newEvent(e, sandbox, t.ClientRef)
	if err != nil {
		return err
	}
	if v.id, err = insertEvent(ctx, tx, v); err != nil || v.id == 0 {
		return err
	}
	endpoints, err := endpointsOf(ctx, tx, e.AccountID, tx.ForUpdate())
	if err != nil {
		return err
	}
	for _, p := range endpoints {
		if p.status == Disabled || !p.wants(v.typ) {
			continue
		}
		if err := s.open(ctx, tx, p, v, originScheduled); err != nil {
			return err
		}
	}
	return nil
}

// closed removes the endpoints of an account that is closed: it is told of nothing any more.
func (s *Service) closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	return deleteEndpoints(ctx, tx, accountID)
}

// open inserts a delivery of an event to an endpoint, whose row is locked: the worker that holds the lease looks again
// before it ends, and then sees the delivery.
func (s *Service) open(ctx context.Context, tx *db.Tx, p endpoint, v event, origin string) error {
	_, err := insertDelivery(ctx, tx, delivery{
		eventID: v.id, endpointID: p.id, subject: v.subject, subjectID: v.subjectID, sequence: v.sequence,
		attempt: 1, origin: origin, state: Pending, nextAttemptAt: &tx.Now, createdAt: tx.Now,
	})
	if err != nil || p.status != Active || p.leased(tx.Now) {
		return err
	}
	return s.wake(ctx, tx, p.id, tx.Now)
}

// newEndpoint creates an endpoint and returns its secret.
func (s *Service) newEndpoint(ctx context.Context, accountID int64, c settings) (e endpoint, shown string, err error) {
	shown = newSecret()
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		e = endpoint{accountID: accountID, status: Active, createdAt: tx.Now}
		if err := c.apply(&e, s.AllowLoopback); err != nil {
			return err
		}
		if e.id, err = insertEndpoint(ctx, tx, e); err != nil {
			return err
		}
		others, err := endpointsOf(ctx, tx, accountID, "")
		if err != nil {
			return err
		}
		if len(others) > MaxEndpoints {
			return errLimit.New()
		}
		if e.secret, err = s.seal(e.id, shown); err != nil {
			return err
		}
		return putEndpoint(ctx, tx, e)
	})
	return e, shown, err
}

// change locks one of the account's endpoints and calls f.
func (s *Service) change(ctx context.Context, accountID, id int64, f func(ctx context.Context, tx *db.Tx, e *endpoint) error) (e endpoint, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if e, err = endpointOf(ctx, tx, accountID, id, tx.ForUpdate()); err != nil {
			return notFound(err)
		}
		if err := f(ctx, tx, &e); err != nil {
			return err
		}
		return putEndpoint(ctx, tx, e)
	})
	return e, err
}

// update changes an endpoint. since, when given, is the time from which on missed events are sent, together with all
// that wait for a retry.
func (s *Service) update(ctx context.Context, accountID, id int64, c settings, since *time.Time) (endpoint, error) {
	return s.change(ctx, accountID, id, func(ctx context.Context, tx *db.Tx, e *endpoint) error {
		before := e.status
		if err := c.apply(e, s.AllowLoopback); err != nil {
			return err
		}
		if before != Active && e.status == Active {
			if err := s.Events.Emit(ctx, tx, outbox.Event{
				Type: enabledType, AccountID: e.accountID, Subject: "webhook", SubjectID: e.id, Data: map[string]any{"id": e.id, "host": e.host(), "client_ref": nil},
			}); err != nil {
				return err
			}
		}
		if since != nil {
			if e.status == Disabled {
				return fault.Invalid("recover_since", "webhook_disabled")
			}
			if err := recoverSince(ctx, tx, *e, *since); err != nil {
				return err
			}
			if err := hastenAll(ctx, tx, e.id); err != nil {
				return err
			}
			e.notBefore = nil // its owner says that it works again
		}
		if e.status != Active {
			return nil
		}
		return s.wake(ctx, tx, e.id, tx.Now)
	})
}

// rotate gives an endpoint a new secret; the former one signs too during the grace period.
func (s *Service) rotate(ctx context.Context, accountID, id int64, grace time.Duration) (e endpoint, shown string, err error) {
	shown = newSecret()
	e, err = s.change(ctx, accountID, id, func(_ context.Context, tx *db.Tx, e *endpoint) error {
		before, err := s.reveal(e.id, "secret", e.secret)
		if err != nil {
			return err
		}
		e.previous, e.previousExpiresAt = nil, nil
		if grace > 0 {
			until := tx.Now.Add(grace)
			e.previousExpiresAt = &until
			if e.previous, err = s.Box.Seal([]byte(before), sealedAt(e.id, "previous_secret")); err != nil {
				return err
			}
		}
		e.secret, err = s.seal(e.id, shown)
		return err
	})
	return e, shown, err
}

func (s *Service) remove(ctx context.Context, accountID, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		found, err := deleteEndpoint(ctx, tx, accountID, id)
		if err == nil && !found {
			err = fault.NotFound.New()
		}
		return err
	})
}

// redeliver sends an event again to the endpoint, or to all of the account's that subscribe to it.
func (s *Service) redeliver(ctx context.Context, accountID int64, uid string, endpointID int64) (v event, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if v, err = eventOf(ctx, tx, accountID, uid); err != nil {
			return notFound(err)
		}
		if tx.Now.Sub(v.createdAt) >= retention {
			return errExpired.New()
		}
		endpoints, err := endpointsOf(ctx, tx, accountID, tx.ForUpdate())
		if err != nil {
			return err
		}
		found := endpointID == 0
		for _, p := range endpoints {
			switch {
			case p.id == endpointID:
				if found = true; p.status == Disabled {
					return fault.Invalid("endpoint_id", "webhook_disabled")
				}
			case endpointID != 0, p.status == Disabled, !p.wants(v.typ):
				continue
			}
			if err := hasten(ctx, tx, v, p.id); err != nil {
				return err
			}
			if p.notBefore != nil {
				p.notBefore = nil
				if err := putEndpoint(ctx, tx, p); err != nil {
					return err
				}
			}
			if err := s.open(ctx, tx, p, v, originManual); err != nil {
				return err
			}
		}
		if !found {
			return fault.NotFound.New()
		}
		return settle(ctx, tx, v.id)
	})
	return v, err
}

// Clean deletes old events. A periodic job calls it.
func (s *Service) Clean(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return clean(ctx, tx, tx.Now.Add(-retention)) })
}

// Sweep wakes the endpoints with due deliveries and without a worker, after a worker died. A periodic job calls it.
func (s *Service) Sweep(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		ids, err := waiting(ctx, tx, tx.Now)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := s.wake(ctx, tx, id, tx.Now); err != nil {
				return err
			}
		}
		return nil
	})
}

// sealedAt is the additional data with which a secret is sealed.
func sealedAt(id int64, column string) []byte {
	return fmt.Appendf(nil, "webhooks_endpoints/%d/%s", id, column)
}

func (s *Service) seal(id int64, shown string) ([]byte, error) {
	return s.Box.Seal([]byte(shown), sealedAt(id, "secret"))
}

func (s *Service) reveal(id int64, column string, sealed []byte) (string, error) {
	b, err := s.Box.Open(sealed, sealedAt(id, column))
	return string(b), err
}

// secrets are the ones that sign now, the newest first.
func (s *Service) secrets(e endpoint, now time.Time) ([]string, error) {
	current, err := s.reveal(e.id, "secret", e.secret)
	if err != nil || e.previous == nil || !now.Before(*e.previousExpiresAt) {
		return []string{current}, err
	}
	previous, err := s.reveal(e.id, "previous_secret", e.previous)
	return []string{current, previous}, err
}

// host names an endpoint in a text; the rest of its address may hold a secret of its owner.
func (e endpoint) host() string {
	u, err := url.Parse(e.url)
	if err != nil {
		return ""
	}
	return u.Host
}

func notFound(err error) error {
	if errors.Is(err, db.ErrNoRows) {
		return fault.NotFound.New()
	}
	return err
}
