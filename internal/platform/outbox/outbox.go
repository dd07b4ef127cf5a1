// Package outbox keeps what happened (resources, section 25). An event is a row
// written in the transaction of its change, so no event is lost and none is
// told of a change that was rolled back. A job, inserted with it, fans the
// event out once to the subscribers of its type; they insert jobs of their own
// for what may fail.
package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/secret"
)

// Event is what a section tells.
type Event struct {
	// Type is a kind of resources, section 25, such as "order.paid".
	Type string
	// AccountID is whose event it is.
	AccountID int64
	// Subject and SubjectID name the thing that changed; events of one subject
	// are numbered in order.
	Subject   string
	SubjectID int64
	// Data is the object after the change; Previous the members that changed,
	// as they were. Both are stored as JSON and must hold no secret.
	Data     any
	Previous any
}

// Stored is an event as it was kept.
type Stored struct {
	ID        int64
	UID       string
	Type      string
	AccountID int64
	Subject   string
	SubjectID int64
	Sequence  int64
	Data      json.RawMessage
	Previous  json.RawMessage
	CreatedAt time.Time
}

// Subscriber is told of an event in the transaction that marks it as told.
type Subscriber func(ctx context.Context, tx *db.Tx, e Stored) error

// Outbox writes events.
type Outbox struct {
	db    *db.DB
	queue jobs.Enqueuer
	subs  []subscription
}

type subscription struct {
	prefix string
	f      Subscriber
}

// New makes an outbox. Subscribe and Register before the queue starts.
func New(d *db.DB, q jobs.Enqueuer) *Outbox { return &Outbox{db: d, queue: q} }

// Subscribe tells f of the events of a type; "order.*" are all of a group, "*"
// are all.
func (o *Outbox) Subscribe(pattern string, f Subscriber) {
	o.subs = append(o.subs, subscription{strings.TrimSuffix(pattern, "*"), f})
}

func (s subscription) matches(typ string) bool {
	return typ == s.prefix || (s.prefix == "" || strings.HasSuffix(s.prefix, ".")) && strings.HasPrefix(typ, s.prefix)
}

// Emit writes the event in tx.
func (o *Outbox) Emit(ctx context.Context, tx *db.Tx, e Event) error {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return fmt.Errorf("outbox: %s: %w", e.Type, err)
	}
	var previous *string
	if e.Previous != nil {
		b, err := json.Marshal(e.Previous)
		if err != nil {
			return fmt.Errorf("outbox: %s: %w", e.Type, err)
		}
		s := string(b)
		previous = &s
	}
	fanOut := slices.ContainsFunc(o.subs, func(s subscription) bool { return s.matches(e.Type) })
	var sequence, id int64
	err = tx.QueryRow(ctx, `INSERT INTO outbox_sequences AS s (subject, subject_id, last) VALUES ($1, $2, 1)
		ON CONFLICT (subject, subject_id) DO UPDATE SET last = s.last + 1 RETURNING last`,
		e.Subject, e.SubjectID).Scan(&sequence)
	if err != nil {
		return fmt.Errorf("outbox: number %s: %w", e.Type, err)
	}
	err = tx.QueryRow(ctx, `INSERT INTO outbox_events
			(uid, type, account_id, subject, subject_id, sequence, data, previous, fan_out, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
		secret.Token("evt_", 16), e.Type, e.AccountID, e.Subject, e.SubjectID, sequence, string(data), previous, fanOut, tx.Now).Scan(&id)
	if err != nil {
		return fmt.Errorf("outbox: write %s: %w", e.Type, err)
	}
	if !fanOut {
		return nil
	}
	return o.queue.Enqueue(ctx, tx, fanOutArgs{EventID: id}, nil)
}

// Register adds the job that fans out.
func (o *Outbox) Register(w *river.Workers) { river.AddWorker(w, &fanOutWorker{outbox: o}) }

type fanOutArgs struct {
	EventID int64 `json:"event_id"`
}

func (fanOutArgs) Kind() string { return "outbox.fan_out" }

type fanOutWorker struct {
	river.WorkerDefaults[fanOutArgs]
	outbox *Outbox
}

func (w *fanOutWorker) Work(ctx context.Context, job *river.Job[fanOutArgs]) error {
	return w.outbox.FanOut(ctx, job.Args.EventID)
}

// FanOut tells the subscribers of an event, once: the mark and what they write
// are one commit.
func (o *Outbox) FanOut(ctx context.Context, eventID int64) error {
	return o.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE outbox_events SET fanned_at = $1 WHERE id = $2 AND fanned_at IS NULL`, tx.Now, eventID)
		if err != nil || n == 0 {
			return err
		}
		e, err := scanEvent(tx.QueryRow(ctx, selectEvent+` WHERE id = $1`, eventID))
		if err != nil {
			return err
		}
		for _, s := range o.subs {
			if s.matches(e.Type) {
				if err := s.f(ctx, tx, e); err != nil {
					return fmt.Errorf("outbox: tell of %s: %w", e.Type, err)
				}
			}
		}
		return nil
	})
}

// Settled tells whether the subscribers have been told of all events of a subject
// that come before the one with the sequence. Events are fanned out by as many jobs,
// so a later one may be told of first; who keeps their order asks here.
func (o *Outbox) Settled(ctx context.Context, q db.Querier, subject string, id, sequence int64) (settled bool, err error) {
	err = q.QueryRow(ctx, `SELECT NOT EXISTS (SELECT 1 FROM outbox_events
		WHERE subject = $1 AND subject_id = $2 AND sequence < $3 AND fan_out AND fanned_at IS NULL)`, subject, id, sequence).Scan(&settled)
	return settled, err
}

// Retention is how long events are kept for replay (resources, section 23).
const Retention = 30 * 24 * time.Hour

// Clean removes events older than Retention; a periodic job calls it. An event
// that is still to be told to subscribers stays.
func (o *Outbox) Clean(ctx context.Context) error {
	return o.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM outbox_events WHERE created_at < $1 AND (fanned_at IS NOT NULL OR NOT fan_out)`,
			tx.Now.Add(-Retention))
		return err
	})
}

// Of reads the events of one subject in order.
func (o *Outbox) Of(ctx context.Context, subject string, id int64) ([]Stored, error) {
	return db.Collect(ctx, o.db, scanEvent, selectEvent+` WHERE subject = $1 AND subject_id = $2 ORDER BY sequence`, subject, id)
}

const selectEvent = `SELECT id, uid, type, account_id, subject, subject_id, sequence, data, COALESCE(previous, 'null'), created_at
	FROM outbox_events`

func scanEvent(r db.Row) (e Stored, err error) {
	var data, previous string
	err = r.Scan(&e.ID, &e.UID, &e.Type, &e.AccountID, &e.Subject, &e.SubjectID, &e.Sequence, &data, &previous, &e.CreatedAt)
	e.Data, e.Previous = json.RawMessage(data), json.RawMessage(previous)
	return e, err
}
