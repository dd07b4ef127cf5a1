package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/db"
)

const (
	// relayInterval is how often a process looks for events, also when it has committed none itself: another process may
	// have died before it delivered its own, or an event may be due again.
	relayInterval = 500 * time.Millisecond
	// relayBatch is how many events one transaction delivers at most. While it is open, what subscribers lock waits.
	relayBatch = 32
	// relayLanes is how many transactions of one process deliver at a time, where the database has more than one writer.
	relayLanes = 3
)

// The pauses before an event is delivered again to a subscriber that has failed: they double up to an hour.
const (
	firstPause = time.Second
	lastPause  = time.Hour
)

// Run delivers events until ctx ends: at once those that this process has committed, and twice a second those that
// others have left.
func (o *Outbox) Run(ctx context.Context, log *slog.Logger) {
	lanes := 1
	if o.db.Shared() {
		lanes = relayLanes
	}
	var running sync.WaitGroup
	for range lanes {
		running.Go(func() { o.lane(ctx, log) })
	}
	running.Wait()
}

func (o *Outbox) lane(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(relayInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		n, err := o.Deliver(ctx)
		if err != nil && ctx.Err() == nil {
			log.ErrorContext(ctx, "events are not delivered", "error", err)
		}
		if n == relayBatch {
			o.wakeRelay() // there is work for another lane
			continue
		}
		select {
		case <-ctx.Done():
		case <-o.wake:
		case <-tick.C:
		}
	}
}

func (o *Outbox) wakeRelay() {
	select {
	case o.wake <- struct{}{}:
	default: // a token is there already
	}
}

// Deliver delivers events that are due, up to a batch, and returns how many it found. It may run on several lanes and
// replicas: each event is taken by one. When a subscriber fails, the others' events are delivered all the same.
func (o *Outbox) Deliver(ctx context.Context) (n int, err error) {
	some, err := o.anyDue(ctx)
	if err != nil || !some {
		return 0, err
	}
	var taken []Stored
	err = o.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if taken, err = due(ctx, tx, relayBatch); err != nil {
			return err
		}
		return o.deliver(ctx, tx, taken)
	})
	if err == nil || ctx.Err() != nil || len(taken) == 0 {
		return len(taken), err
	}
	var failed []error
	for _, e := range taken {
		err := o.FanOut(ctx, e.UID)
		if ctx.Err() != nil {
			return 0, err
		}
		if err != nil {
			failed = append(failed, err, o.postpone(ctx, e.UID))
		}
	}
	return len(taken), errors.Join(failed...)
}

// FanOut delivers one event to its subscribers, unless it is delivered already.
func (o *Outbox) FanOut(ctx context.Context, uid string) error {
	return o.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		found, err := waiting(ctx, tx, uid)
		if err != nil {
			return err
		}
		return o.deliver(ctx, tx, found)
	})
}

// deliver calls the subscribers of events and marks these as delivered: the marks and the subscribers' writes are one
// commit. It goes by account, so that lanes lock the accounts' rows in one order.
func (o *Outbox) deliver(ctx context.Context, tx *db.Tx, events []Stored) error {
	if len(events) == 0 {
		return nil
	}
	slices.SortFunc(events, func(a, b Stored) int {
		return cmp.Or(cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.ID, b.ID))
	})
	if err := markDelivered(ctx, tx, events); err != nil {
		return err
	}
	for _, e := range events {
		for _, s := range o.subs {
			if s.matches(e.Type) {
				if err := s.f(ctx, tx, e); err != nil {
					return fmt.Errorf("outbox: tell of %s: %w", e.Type, err)
				}
			}
		}
	}
	return nil
}

// isWaiting is the condition of events that are still to be delivered.
const isWaiting = `fan_out AND fanned_at IS NULL`

// isDue is the condition of those that are not put off beyond the time of the first argument.
const isDue = isWaiting + ` AND (retry_at IS NULL OR retry_at <= $1)`

// anyDue spares idle processes a transaction that writes, also while events are put off that a subscriber does not take.
func (o *Outbox) anyDue(ctx context.Context) (some bool, err error) {
	err = o.db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM outbox_events WHERE `+isDue+`)`, o.db.Now()).Scan(&some)
	return some, err
}

// due locks the oldest events that are due and that no other lane has locked.
func due(ctx context.Context, tx *db.Tx, limit int) ([]Stored, error) {
	return db.Collect(ctx, tx, storedRows.Scan, `SELECT `+storedRows.Columns()+` FROM outbox_events
		WHERE `+isDue+` ORDER BY id LIMIT $2`+tx.SkipLocked(), tx.Now, limit)
}

// waiting locks an event that is still to be delivered.
func waiting(ctx context.Context, tx *db.Tx, uid string) ([]Stored, error) {
	return db.Collect(ctx, tx, storedRows.Scan, `SELECT `+storedRows.Columns()+` FROM outbox_events
		WHERE `+isWaiting+` AND uid = $1`+tx.ForUpdate(), uid)
}

func markDelivered(ctx context.Context, tx *db.Tx, events []Stored) error {
	ids := make([]int64, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	in, args := db.In(tx, 2, ids)
	return tx.Queue(ctx, nil, `UPDATE outbox_events SET fanned_at = $1 WHERE id `+in, append([]any{tx.Now}, args...)...)
}

// postpone puts off an event that a subscriber has failed to take.
func (o *Outbox) postpone(ctx context.Context, uid string) error {
	return o.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		var failures int
		err := tx.QueryRow(ctx, `UPDATE outbox_events SET failures = failures + 1 WHERE uid = $1 RETURNING failures`, uid).Scan(&failures)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE outbox_events SET retry_at = $1 WHERE uid = $2`, tx.Now.Add(pause(failures)), uid)
		return err
	})
}

// pause is how long an event waits that has failed so often.
func pause(failures int) time.Duration {
	if failures > 12 {
		return lastPause
	}
	return min(firstPause<<(failures-1), lastPause)
}
