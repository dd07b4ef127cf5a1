package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// Config is what the section works with; all is needed.
type Config struct{ DB *db.DB }

// Service is the section's use cases.
type Service struct{ Config }

// New makes the section.
func New(c Config) *Service { return &Service{c} }

// State reads the subject of a change. A fault.NotFound means that it does not exist, before its creation or after its end.
type State func(ctx context.Context, q db.Querier) (any, error)

// Change is a change by staff.
type Change struct {
	// Action is what is done, as service.suspend.
	Action string
	// Kind and Subject name what is changed, AccountID the customer whom it belongs to, if any.
	Kind, Subject string
	AccountID     int64
	Reason        string
	// State may be nil when there is nothing to compare.
	State State
	// Created, when set, is the key of the newest subject: a change makes another one. A transaction that makes none is not
	// recorded.
	Created State
}

// Change returns a context whose transactions are recorded as the change. Use cases that begin their own transaction are
// called with it.
func (s *Service) Change(ctx context.Context, c Change) context.Context {
	return db.WithWitness(ctx, &witness{change: c})
}

// Record makes a change by f in a transaction that is open already, and records it there.
func (s *Service) Record(ctx context.Context, tx *db.Tx, c Change, f func() error) error {
	w := &witness{change: c}
	if err := w.Begun(ctx, tx); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return w.Ending(ctx, tx)
}

// witness writes the row of a change.
type witness struct {
	change  Change
	before  []byte
	newest  any    // the key of the newest subject before
	written []byte // the state after the last transaction
}

// Begun implements db.Witness.
func (w *witness) Begun(ctx context.Context, tx *db.Tx) (err error) {
	if w.change.Created != nil {
		w.before = null
		w.newest, err = w.change.Created(ctx, tx)
		return err
	}
	w.before, err = read(ctx, tx, w.change.State)
	return err
}

// Ending implements db.Witness.
func (w *witness) Ending(ctx context.Context, tx *db.Tx) error {
	after, err := read(ctx, tx, w.change.State)
	if err != nil {
		return err
	}
	if w.written != nil && bytes.Equal(w.before, after) {
		return nil // a later transaction that did not change the subject
	}
	e := Entry{
		At: tx.Now, Actor: auth.ActorOf(ctx), Action: w.change.Action, Kind: w.change.Kind, Subject: w.change.Subject,
		AccountID: w.change.AccountID, Reason: w.change.Reason, Before: w.before, After: after,
	}
	if w.change.Created != nil {
		made, err := w.change.Created(ctx, tx)
		if err != nil {
			return fmt.Errorf("audit: the key of what was created: %w", err)
		}
		if made == w.newest {
			return nil
		}
		e.Subject = fmt.Sprint(made)
	}
	if err := insert(ctx, tx, e); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	// The transaction may be repeated: only a committed one counts.
	tx.OnCommit(func() { w.written = after })
	return nil
}

var null = []byte("null")

func read(ctx context.Context, q db.Querier, state State) ([]byte, error) {
	if state == nil {
		return null, nil
	}
	v, err := state(ctx, q)
	if errors.Is(err, fault.NotFound) {
		return null, nil
	}
	if err != nil {
		return nil, fmt.Errorf("audit: read the state: %w", err)
	}
	return json.Marshal(v)
}

// List reads at most limit entries that match, the newest first, which are older than the entry before; 0 begins at the
// newest.
func (s *Service) List(ctx context.Context, f Filter, before int64, limit int) ([]Entry, error) {
	return list(ctx, s.DB, f, before, limit)
}
