// Package outbox stores events (resources, section 25). An event is a row written in the transaction of its change, so
// no event is lost, and none describes a change that was rolled back. A relay in each process (Run) delivers each event
// once to the subscribers of its type; these insert jobs of their own for work that may fail.
package outbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/secret"
)

// Event describes a change that a section has made.
type Event struct {
	// Type is a kind of resources, section 25, such as "order.paid".
	Type string
	// AccountID is the account that the event belongs to.
	AccountID int64
	// Subject and SubjectID name the object that changed; the events of one subject are numbered in order.
	Subject   string
	SubjectID int64
	// Data is the object after the change; Previous holds the changed members with their former values. Both are stored
	// as JSON and must hold no secret.
	Data     any
	Previous any
}

// Stored is an event as it is stored.
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

// Events stores events in the transaction of their change. Sections emit through it: in production it is the Outbox, in
// a section's tests a list.
type Events interface {
	Emit(ctx context.Context, tx *db.Tx, e Event) error
}

// Subscriber handles an event in the transaction that marks it as delivered.
type Subscriber func(ctx context.Context, tx *db.Tx, e Stored) error

// Outbox writes events.
type Outbox struct {
	db   *db.DB
	subs []subscription
	wake chan struct{} // a token: this process has committed events
}

type subscription struct {
	prefix string
	f      Subscriber
}

// New makes an outbox. Subscribe before Run.
func New(d *db.DB) *Outbox { return &Outbox{db: d, wake: make(chan struct{}, 1)} }

// Subscribe calls f with the events of a type; "order.*" are all of a group, "*" are all.
func (o *Outbox) Subscribe(pattern string, f Subscriber) {
	o.subs = append(o.subs, subscription{strings.TrimSuffix(pattern, "*"), f})
}

func (s subscription) matches(typ string) bool {
	return typ == s.prefix || (s.prefix == "" || strings.HasSuffix(s.prefix, ".")) && strings.HasPrefix(typ, s.prefix)
}

// pending is an event that waits for the end of its transaction.
type pending struct {
	Event
	data     string
	previous *string
	at       time.Time
}

// eventsAtEnd names the events among what a transaction defers to its end. It sorts after everything that may emit more of
// them, and before the jobs.
const eventsAtEnd = "~events"

// Emit writes the event, with its present content, at the end of tx, together with all others of tx.
func (o *Outbox) Emit(_ context.Context, tx *db.Tx, e Event) error {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return fmt.Errorf("outbox: %s: %w", e.Type, err)
	}
	w := pending{Event: e, data: string(data), at: tx.Now}
	if e.Previous != nil {
		b, err := json.Marshal(e.Previous)
		if err != nil {
			return fmt.Errorf("outbox: %s: %w", e.Type, err)
		}
		s := string(b)
		w.previous = &s
	}
	db.Gather(tx, eventsAtEnd, w, func(ctx context.Context, all []pending) error {
		for some := range slices.Chunk(all, eventsPerStatement) {
			if err := o.write(ctx, tx, some); err != nil {
				return fmt.Errorf("outbox: write %s: %w", types(some), err)
			}
		}
		return nil
	})
	return nil
}

// eventsPerStatement is the number of events in one statement.
const eventsPerStatement = 1000

// write numbers and writes events, and wakes the relay after the commit.
func (o *Outbox) write(ctx context.Context, tx *db.Tx, events []pending) error {
	next, err := numbers(ctx, tx, events)
	if err != nil {
		return err
	}
	var (
		rows db.Values
		told bool
	)
	for _, e := range events {
		uid := secret.Token("evt_", 16)
		fanOut := slices.ContainsFunc(o.subs, func(s subscription) bool { return s.matches(e.Type) })
		told = told || fanOut
		of := subject{e.Subject, e.SubjectID}
		rows.Add(uid, e.Type, e.AccountID, e.Subject, e.SubjectID, next[of], e.data, e.previous, fanOut, e.at)
		next[of]++
	}
	table, args := rows.Table(tx)
	if told {
		tx.OnCommit(o.wakeRelay)
	}
	return tx.Queue(ctx, nil, `INSERT INTO outbox_events
		(uid, type, account_id, subject, subject_id, sequence, data, previous, fan_out, created_at) `+table, args...)
}

// subject is the object by which events are numbered.
type subject struct {
	kind string
	id   int64
}

// numbers reserves the numbers for events, and returns the first one of each subject. It locks their rows in the order
// of the subjects, so that transactions cannot deadlock.
func numbers(ctx context.Context, tx *db.Tx, events []pending) (map[subject]int64, error) {
	count := map[subject]int64{}
	for _, e := range events {
		count[subject{e.Subject, e.SubjectID}]++
	}
	var rows db.Values
	for _, s := range slices.SortedFunc(maps.Keys(count), func(a, b subject) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
	}) {
		rows.Add(s.kind, s.id, count[s])
	}
	table, args := rows.Table(tx)
	first := map[subject]int64{}
	_, err := db.Collect(ctx, tx, func(row db.Row) (struct{}, error) {
		var (
			s    subject
			last int64
		)
		err := row.Scan(&s.kind, &s.id, &last)
		first[s] = last - count[s] + 1
		return struct{}{}, err
	}, `INSERT INTO outbox_sequences AS s (subject, subject_id, last) `+table+`
		ON CONFLICT (subject, subject_id) DO UPDATE SET last = s.last + excluded.last RETURNING subject, subject_id, last`, args...)
	return first, err
}

// types names events, each type once.
func types(events []pending) string {
	var names []string
	for _, e := range events {
		if !slices.Contains(names, e.Type) {
			names = append(names, e.Type)
		}
	}
	return strings.Join(names, ", ")
}

// Settled is the condition, for the queries of subscribers that keep the order of a subject's events, that the subscribers have
// handled all events of a subject before the one with that sequence: several lanes deliver events, so a later one may come first.
// The arguments are columns of such a query.
func Settled(subject, id, sequence string) string {
	return `NOT EXISTS (SELECT 1 FROM outbox_events earlier WHERE earlier.subject = ` + subject + ` AND earlier.subject_id = ` + id + `
		AND earlier.sequence < ` + sequence + ` AND ` + isWaiting + `)`
}

// Retention is how long events are kept for replay (resources, section 23).
const Retention = 30 * 24 * time.Hour

// Clean removes events older than Retention; a periodic job calls it. An event that is not delivered yet stays. One that lies ahead,
// because its sandbox's clock does, is as old as its delivery.
func (o *Outbox) Clean(ctx context.Context) error {
	return o.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM outbox_events WHERE created_at < $1 AND (fanned_at IS NOT NULL OR NOT fan_out)
			OR created_at > $2 AND fanned_at < $1`, tx.Now.Add(-Retention), tx.Now)
		return err
	})
}

// Of reads the events of one subject in order.
func (o *Outbox) Of(ctx context.Context, subject string, id int64) ([]Stored, error) {
	return db.Collect(ctx, o.db, storedRows.Scan, `SELECT `+storedRows.Columns()+` FROM outbox_events WHERE subject = $1 AND subject_id = $2 ORDER BY sequence`, subject, id)
}

// Since reads the events of a type of one subject since a time, in order, within Retention.
func Since(ctx context.Context, q db.Querier, eventType, subject string, id int64, from time.Time) ([]Stored, error) {
	return db.Collect(ctx, q, storedRows.Scan, `SELECT `+storedRows.Columns()+` FROM outbox_events
		WHERE subject = $1 AND subject_id = $2 AND type = $3 AND created_at >= $4 ORDER BY sequence`, subject, id, eventType, from)
}

// storedRows reads outbox_events.
var storedRows = db.Map(func(e *Stored) db.Fields {
	return db.Fields{
		"id": &e.ID, "uid": &e.UID, "type": &e.Type, "account_id": &e.AccountID, "subject": &e.Subject, "subject_id": &e.SubjectID,
		"sequence": &e.Sequence, "data": (*[]byte)(&e.Data), "COALESCE(previous, 'null')": (*[]byte)(&e.Previous),
		"created_at": &e.CreatedAt,
	}
})
