package monitors

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// How leases of shards are kept. A replica that dies is replaced within leaseFor and lookEvery.
const (
	leaseFor   = 15 * time.Second
	renewEvery = 5 * time.Second
	lookEvery  = time.Second
)

// lease is a shard that this process checks.
type lease struct {
	shard int
	epoch int64
	since time.Time // it was seized, and nobody had looked for more than unwatchedAfter before; else zero
}

// unwatchedAfter is how long a shard may be without a lease while one replica takes over from another.
const unwatchedAfter = 5 * time.Second

func scanLease(row db.Row) (l lease, err error) {
	err = row.Scan(&l.shard, &l.epoch)
	return l, err
}

// held are the epochs of the shards that this process leases now.
func (s *Service) held(ctx context.Context, tx *db.Tx) (map[int]int64, error) {
	rows, err := db.Collect(ctx, tx, scanLease, `SELECT shard, epoch FROM monitors_shards WHERE owner = $1 AND until > $2`, s.name, tx.Now)
	held := map[int]int64{}
	for _, l := range rows {
		held[l.shard] = l.epoch
	}
	return held, err
}

// renew keeps the leases of this process, gives some back when it has more than its share, takes some that are free
// when it has less, and answers those that it has then. found is what it has found of late.
func (s *Service) renew(ctx context.Context, found share) (held []lease, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		until := tx.Now.Add(leaseFor)
		if err := announce(ctx, tx, s.name, until, found); err != nil {
			return err
		}
		if held, err = extend(ctx, tx, s.name, until); err != nil {
			return err
		}
		replicas, free, err := situation(ctx, tx)
		if err != nil {
			return err
		}
		share := (shards + replicas - 1) / replicas
		switch {
		case len(held) > share:
			if err := giveBack(ctx, tx, s.name, held[share:]); err != nil {
				return err
			}
			held = held[:share]
		case len(held) < share && free > 0:
			taken, err := seize(ctx, tx, s.name, until, share-len(held))
			if err != nil {
				return err
			}
			held = append(held, taken...)
		}
		return nil
	})
	return held, err
}

// free reports whether a lease of somebody has ended.
func (s *Service) free(ctx context.Context) (free bool, err error) {
	err = s.DB.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM monitors_shards WHERE until <= $1)`, s.Clock.Now()).Scan(&free)
	return free, err
}

// release gives everything back when the process stops.
func (s *Service) release(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE monitors_shards SET owner = '', until = $2 WHERE owner = $1`, s.name, tx.Now); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM monitors_replicas WHERE owner = $1 OR until < $2`, s.name, tx.Now.Add(-day))
		return err
	})
}

// makeShards makes the rows of the shards, once.
func (s *Service) makeShards(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		var rows db.Values
		for i := range shards {
			rows.Add(i, "", int64(0), int64(0))
		}
		table, args := rows.Table(tx)
		_, err := tx.Exec(ctx, `INSERT INTO monitors_shards (shard, owner, epoch, until) `+table+` ON CONFLICT DO NOTHING`, args...)
		return err
	})
}

func announce(ctx context.Context, tx *db.Tx, owner string, until time.Time, found share) error {
	_, err := tx.Exec(ctx, `INSERT INTO monitors_replicas (owner, until, failing, checked) VALUES ($1, $2, $3, $4)
		ON CONFLICT (owner) DO UPDATE SET until = excluded.until, failing = excluded.failing, checked = excluded.checked`,
		owner, until, found.failing, found.checked)
	return err
}

func extend(ctx context.Context, tx *db.Tx, owner string, until time.Time) ([]lease, error) {
	return db.Collect(ctx, tx, scanLease, `UPDATE monitors_shards SET until = $1 WHERE owner = $2 AND until > $3 RETURNING shard, epoch`, until, owner, tx.Now)
}

// situation is how many replicas are alive, this one among them, and how many shards are free.
func situation(ctx context.Context, tx *db.Tx) (replicas, free int, err error) {
	err = tx.QueryRow(ctx, `SELECT (SELECT COUNT(*) FROM monitors_replicas WHERE until > $1), (SELECT COUNT(*) FROM monitors_shards WHERE until <= $1)`,
		tx.Now).Scan(&replicas, &free)
	return max(replicas, 1), free, err
}

func giveBack(ctx context.Context, tx *db.Tx, owner string, some []lease) error {
	ids := make([]int64, len(some))
	for i, l := range some {
		ids[i] = int64(l.shard)
	}
	in, args := db.In(tx, 3, ids)
	_, err := tx.Exec(ctx, `UPDATE monitors_shards SET owner = '', until = $2 WHERE owner = $1 AND shard `+in, append([]any{owner, tx.Now}, args...)...)
	return err
}

// seize takes free shards, of which nobody else takes any meanwhile.
func seize(ctx context.Context, tx *db.Tx, owner string, until time.Time, most int) ([]lease, error) {
	type shard struct {
		id    int64
		until time.Time
	}
	free, err := db.Collect(ctx, tx, func(row db.Row) (one shard, err error) { return one, row.Scan(&one.id, &one.until) },
		`SELECT shard, until FROM monitors_shards WHERE until <= $1 ORDER BY shard LIMIT $2`+tx.ForUpdate(), tx.Now, most)
	if err != nil || len(free) == 0 {
		return nil, err
	}
	ids := make([]int64, len(free))
	unwatched := map[int]bool{}
	for i, one := range free {
		ids[i] = one.id
		unwatched[int(one.id)] = tx.Now.Sub(one.until) > unwatchedAfter
	}
	in, args := db.In(tx, 4, ids)
	taken, err := db.Collect(ctx, tx, scanLease, `UPDATE monitors_shards SET owner = $1, until = $2, epoch = epoch + 1
		WHERE until <= $3 AND shard `+in+` RETURNING shard, epoch`, append([]any{owner, until, tx.Now}, args...)...)
	for i := range taken {
		if unwatched[taken[i].shard] {
			taken[i].since = tx.Now
		}
	}
	return taken, err
}
