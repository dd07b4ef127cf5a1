// Package replicas knows which processes share the database. Each says every few seconds that it lives (Run); the work of
// one that no longer does is taken over by another, within DeadAfter and two beats. All times are the database's, so the
// clocks of machines do not matter.
//
// A process that stands still and comes back may find its work taken over, and be at it at the same time as another: what
// is taken over must bear that.
package replicas

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
)

const (
	// Beat is how often a replica says that it lives.
	Beat = 3 * time.Second
	// DeadAfter is how long after its last beat a replica counts as dead.
	DeadAfter = 12 * time.Second
	// patience bounds a beat. One that takes longer is not evidence that others are dead.
	patience = Beat
)

// TakeOver makes the work of dead replicas available to the others, in the transaction that forgets them.
type TakeOver func(ctx context.Context, tx *db.Tx, dead []string) error

// Member is one replica among all.
type Member struct {
	db       *db.DB
	id       string
	version  string
	log      *slog.Logger
	takeOver TakeOver

	mu   sync.Mutex
	left bool
}

// New makes the replica of that id, which no other process ever has. The version is that of its program.
func New(d *db.DB, id, version string, log *slog.Logger, f TakeOver) *Member {
	return &Member{db: d, id: id, version: version, log: log, takeOver: f}
}

// Replica is a living process.
type Replica struct{ ID, Version string }

// Living lists the replicas whose last beat is not too old, by the clock of the database, the oldest first.
func Living(ctx context.Context, d *db.DB) ([]Replica, error) {
	now, err := d.ServerTime(ctx)
	if err != nil {
		return nil, fmt.Errorf("replicas: list: %w", err)
	}
	all, err := db.Collect(ctx, d, func(r db.Row) (one Replica, err error) { return one, r.Scan(&one.ID, &one.Version) },
		`SELECT id, version FROM replicas WHERE seen_at >= $1 ORDER BY joined_at, id`, now.Add(-DeadAfter))
	if err != nil {
		return nil, fmt.Errorf("replicas: list: %w", err)
	}
	return all, nil
}

// Join makes the replica known. It comes before any work that others should take over.
func (m *Member) Join(ctx context.Context) error {
	if err := m.beat(ctx); err != nil {
		return fmt.Errorf("replicas: join: %w", err)
	}
	return nil
}

// Leave takes the replica off the list, when it has ended its work.
func (m *Member) Leave(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = true
	err := m.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM replicas WHERE id = $1`, m.id)
		return err
	})
	if err != nil {
		return fmt.Errorf("replicas: leave: %w", err)
	}
	return nil
}

// Run beats, and takes over from the dead, until ctx ends.
func (m *Member) Run(ctx context.Context) {
	steady := false
	for clock.Sleep(ctx, Beat) == nil {
		since := clock.Stopwatch()
		err := m.beat(ctx)
		// After an outage of the database everybody is late: the others have until the next beat to say that they live.
		if err == nil && steady {
			err = m.Bury(ctx)
		}
		steady = err == nil && since() < patience
		if err != nil && ctx.Err() == nil {
			m.log.ErrorContext(ctx, "replicas: no beat", "error", err)
		}
	}
}

func (m *Member) beat(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return m.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO replicas (id, version, joined_at, seen_at) VALUES ($1, $2, `+tx.ServerTime()+`, `+tx.ServerTime()+`)
			ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`, m.id, m.version)
		return err
	})
}

// Bury forgets the dead and has their work taken over. Of several replicas that notice a death at the same time, one does.
func (m *Member) Bury(ctx context.Context) error {
	var dead []string
	err := m.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		dead, err = db.Collect(ctx, tx, func(r db.Row) (id string, err error) { return id, r.Scan(&id) },
			`DELETE FROM replicas WHERE id <> $1 AND seen_at < `+tx.ServerTime()+` - $2 RETURNING id`, m.id, DeadAfter.Microseconds())
		if err != nil || len(dead) == 0 {
			return err
		}
		return m.takeOver(ctx, tx, dead)
	})
	if err != nil {
		return fmt.Errorf("replicas: take over from the dead: %w", err)
	}
	if len(dead) > 0 {
		m.log.WarnContext(ctx, "replicas died; their jobs are taken over", "replicas", dead)
	}
	return nil
}
