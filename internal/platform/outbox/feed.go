package outbox

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
)

const (
	// feedInterval is how often a process looks for the events of followed accounts.
	feedInterval = 250 * time.Millisecond
	// idleInterval is how often it looks at the newest number while nobody follows.
	idleInterval = time.Second
	// settleTime is longer than any transaction takes between numbering its events and committing.
	settleTime = 10 * time.Second
	// feedBuffer is how many batches a follower may be late.
	feedBuffer = 64
)

// Feed passes the events of accounts on to followers of this process within a second after their commit, whichever process has
// committed them. One reader serves all followers, by one statement on the events of their accounts.
//
// Numbers of events are given before the commit, so that a lower one may be seen after a higher one. Cursor is a number up to
// which nothing new will come. Who goes on from it misses no event, and gets some of the last seconds again.
type Feed struct {
	db    *db.DB
	clock clock.Clock
	log   *slog.Logger

	reading sync.Mutex // held by Read

	mu        sync.Mutex
	followers map[int64]map[*Follower]struct{} // by account
	cursor    int64
	newest    []numberAt         // the newest number as it was seen in the last seconds
	seen      map[int64]struct{} // numbers above cursor that were passed on
	lookedAt  time.Time          // guarded by reading
}

// numberAt is the newest number of an event at a time.
type numberAt struct {
	number int64
	at     time.Time
}

// Batch is what a follower gets: events, and the cursor from which to go on after them.
type Batch struct {
	Events []Stored
	Cursor int64
}

// Follower receives the events of an account until it is closed.
type Follower struct {
	// C is closed when the follower falls behind; it must read again from its last cursor.
	C <-chan Batch

	feed    *Feed
	account int64
	batches chan Batch
	gone    bool // guarded by feed.mu
}

// NewFeed makes a feed; Run makes it read.
func NewFeed(d *db.DB, c clock.Clock, log *slog.Logger) *Feed {
	return &Feed{db: d, clock: c, log: log, followers: map[int64]map[*Follower]struct{}{}, seen: map[int64]struct{}{}}
}

// Follow passes on the events of an account from now on, and some of the last seconds. Close ends it.
func (f *Feed) Follow(ctx context.Context, accountID int64) (*Follower, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	batches := make(chan Batch, feedBuffer)
	one := &Follower{C: batches, feed: f, account: accountID, batches: batches}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.followers[accountID] == nil {
		f.followers[accountID] = map[*Follower]struct{}{}
	}
	f.followers[accountID][one] = struct{}{}
	return one, nil
}

// begin reads for the first time, unless Run has.
func (f *Feed) begin(ctx context.Context) error {
	f.reading.Lock()
	defer f.reading.Unlock()
	if !f.lookedAt.IsZero() {
		return nil
	}
	return f.read(ctx)
}

// Close ends the follower; further calls do nothing.
func (o *Follower) Close() {
	o.feed.mu.Lock()
	defer o.feed.mu.Unlock()
	o.feed.drop(o)
}

func (f *Feed) drop(o *Follower) {
	if o.gone {
		return
	}
	o.gone = true
	close(o.batches)
	delete(f.followers[o.account], o)
	if len(f.followers[o.account]) == 0 {
		delete(f.followers, o.account)
	}
}

// Cursor returns the number from which to go on.
func (f *Feed) Cursor() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cursor
}

// After returns events of an account behind a number, at most limit of them.
func (f *Feed) After(ctx context.Context, accountID, number int64, limit int) ([]Stored, error) {
	return db.Collect(ctx, f.db, storedRows.Scan, `SELECT `+storedRows.Columns()+` FROM outbox_events
		WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3`, accountID, number, limit)
}

// Run reads until ctx ends.
func (f *Feed) Run(ctx context.Context) {
	for {
		if err := f.Read(ctx); err != nil && ctx.Err() == nil {
			f.log.ErrorContext(ctx, "events are not read for those who follow", "error", err)
		}
		if clock.Sleep(ctx, feedInterval) != nil {
			return
		}
	}
}

// Read looks once for new events.
func (f *Feed) Read(ctx context.Context) error {
	f.reading.Lock()
	defer f.reading.Unlock()
	return f.read(ctx)
}

func (f *Feed) read(ctx context.Context) error {
	f.mu.Lock()
	cursor, accounts, began := f.cursor, slices.Collect(maps.Keys(f.followers)), f.clock.Now()
	first, idle := f.lookedAt.IsZero(), len(accounts) == 0 && began.Sub(f.lookedAt) < idleInterval
	f.mu.Unlock()
	if idle && !first {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	newest, err := f.newestNumber(ctx)
	if err != nil {
		return err
	}
	if first {
		cursor = newest
	}
	var events []Stored
	if len(accounts) > 0 {
		if events, err = f.of(ctx, accounts, cursor); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cursor, f.lookedAt = max(f.cursor, cursor), began
	f.settle(newest, began)
	f.pass(events)
	return nil
}

func (f *Feed) newestNumber(ctx context.Context) (newest int64, err error) {
	err = f.db.QueryRow(ctx, `SELECT COALESCE(MAX(id), 0) FROM outbox_events`).Scan(&newest)
	return newest, err
}

func (f *Feed) of(ctx context.Context, accounts []int64, after int64) ([]Stored, error) {
	in, args := db.In(f.db, 2, accounts)
	return db.Collect(ctx, f.db, storedRows.Scan, `SELECT `+storedRows.Columns()+` FROM outbox_events
		WHERE id > $1 AND account_id `+in+` ORDER BY id`, append([]any{after}, args...)...)
}

// settle moves the cursor to the newest number that was seen long enough ago.
func (f *Feed) settle(newest int64, now time.Time) {
	if n := len(f.newest); n == 0 || f.newest[n-1].number < newest {
		f.newest = append(f.newest, numberAt{newest, now})
	}
	for len(f.newest) > 0 && now.Sub(f.newest[0].at) >= settleTime {
		f.cursor = max(f.cursor, f.newest[0].number)
		f.newest = f.newest[1:]
	}
	maps.DeleteFunc(f.seen, func(number int64, _ struct{}) bool { return number <= f.cursor })
}

// pass hands out events that were not handed out yet.
func (f *Feed) pass(events []Stored) {
	batches := map[int64][]Stored{}
	for _, e := range events {
		if _, passed := f.seen[e.ID]; passed || e.ID <= f.cursor {
			continue
		}
		f.seen[e.ID] = struct{}{}
		batches[e.AccountID] = append(batches[e.AccountID], e)
	}
	for account, some := range batches {
		for o := range f.followers[account] {
			select {
			case o.batches <- Batch{Events: some, Cursor: f.cursor}:
			default:
				f.drop(o)
			}
		}
	}
}
