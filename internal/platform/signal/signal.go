// Package signal delivers short messages to every replica within a second: a token was revoked, a section was switched
// off.
//
// A message is a row written in the transaction of the change, so it exists exactly when the change does. Every process
// polls new rows four times a second, in the order of their numbers and never by their time: the clocks of replicas
// differ. A row may be delivered twice, and a process that starts reads some older rows; subscribers drop what they
// cached, so neither matters.
//
// When reading fails for longer than a second the hub reports it (Fresh), and every cache must be bypassed.
package signal

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
)

const (
	interval = 250 * time.Millisecond
	// gapTimeout is how long to wait for a missing number after a later one was read: longer than any transaction takes
	// between sending and committing.
	gapTimeout = 30 * time.Second
	// retention is how long rows stay.
	retention = 10 * time.Minute
	// freshness is how old the last successful reading may be.
	freshness = time.Second
)

// Send writes a message in tx.
func (h *Hub) Send(ctx context.Context, tx *db.Tx, topic, payload string) error {
	_, err := tx.Exec(ctx, `INSERT INTO signal_messages (topic, payload, created_at) VALUES ($1, $2, $3)`,
		topic, payload, tx.Now)
	if err != nil {
		return err
	}
	// This process delivers its own message at once.
	tx.OnCommit(func() { h.deliver(topic, payload) })
	return nil
}

// Hub reads messages and hands them to the subscribers of their topic.
type Hub struct {
	db    *db.DB
	clock clock.Clock
	log   *slog.Logger

	mu   sync.RWMutex
	subs map[string][]func(payload string)

	// All messages up to done were read or will never come; seen are those after it that were read, and when. Only Run
	// uses both.
	done int64
	seen map[int64]time.Time

	lastRead atomic.Int64 // when the last successful reading began, in nanoseconds
}

// NewHub makes a hub; Run makes it read.
func NewHub(d *db.DB, c clock.Clock, log *slog.Logger) *Hub {
	h := &Hub{db: d, clock: c, log: log, subs: map[string][]func(string){}, seen: map[int64]time.Time{}}
	h.lastRead.Store(c.Now().UnixNano())
	return h
}

// Subscribe calls f for every message of the topic. f must be quick and must
// not write to the database.
func (h *Hub) Subscribe(topic string, f func(payload string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs[topic] = append(h.subs[topic], f)
}

// Fresh reports whether this process has read all messages older than a second.
func (h *Hub) Fresh() bool {
	return h.clock.Now().UnixNano()-h.lastRead.Load() < int64(freshness)
}

// Run reads until ctx ends.
func (h *Hub) Run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := h.read(ctx); err != nil && ctx.Err() == nil {
			h.log.Error("signal: reading failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

type message struct {
	id             int64
	topic, payload string
}

func (h *Hub) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	began := h.clock.Now()
	msgs, err := db.Collect(ctx, h.db, func(r db.Row) (m message, err error) {
		err = r.Scan(&m.id, &m.topic, &m.payload)
		return m, err
	}, `SELECT id, topic, payload FROM signal_messages WHERE id > $1 ORDER BY id`, h.done)
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if _, ok := h.seen[m.id]; ok {
			continue
		}
		h.seen[m.id] = began
		h.deliver(m.topic, m.payload)
	}
	for id, at := range h.seen {
		if began.Sub(at) > gapTimeout {
			h.done = max(h.done, id)
		}
	}
	maps.DeleteFunc(h.seen, func(id int64, _ time.Time) bool { return id <= h.done })
	h.lastRead.Store(began.UnixNano())
	return nil
}

func (h *Hub) deliver(topic, payload string) {
	h.mu.RLock()
	subs := h.subs[topic]
	h.mu.RUnlock()
	for _, f := range subs {
		f(payload)
	}
}

// Clean removes old messages; a periodic job calls it.
func (h *Hub) Clean(ctx context.Context) error {
	return h.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM signal_messages WHERE created_at < $1`, tx.Now.Add(-retention))
		return err
	})
}
