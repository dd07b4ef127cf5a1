package runs

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

const (
	silentFor  = 365 * 24 * time.Hour // after which a conversation is removed
	watchedFor = 7 * 24 * time.Hour   // events of runs
	mostClean  = 500                  // rows of one statement
	mostRounds = 200                  // of one job; the next one goes on
)

// clean removes what is too old: changes with their contents and what lies in the trash, conversations and events. What cannot be
// removed of one account keeps nothing of others. Hosting machines are asked last: they may be slow.
func (s *Service) clean(ctx context.Context) error {
	failed := s.cleanConversations(ctx)
	for _, remove := range []func(ctx context.Context, tx *db.Tx) (int64, error){
		func(ctx context.Context, tx *db.Tx) (int64, error) { return removeOldBlobs(ctx, tx, tx.Now, mostClean) },
		func(ctx context.Context, tx *db.Tx) (int64, error) {
			return removeOldEvents(ctx, tx, tx.Now.Add(-watchedFor), mostClean)
		},
		func(ctx context.Context, tx *db.Tx) (int64, error) {
			return removeOldChanges(ctx, tx, tx.Now.Add(-keptFor), mostClean)
		},
		func(ctx context.Context, tx *db.Tx) (int64, error) {
			return removeOldRuns(ctx, tx, tx.Now.Add(-silentFor), mostClean)
		},
	} {
		for n, round := int64(1), 0; n > 0 && round < mostRounds; round++ {
			err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
				n, err = remove(ctx, tx)
				return err
			})
			if err != nil {
				return errors.Join(failed, err)
			}
		}
	}
	return errors.Join(failed, s.emptyTrash(ctx))
}

// emptyTrash forgets changes that are too old to be undone and have files in the trash, with these. One whose files cannot be removed
// now is tried again by the next job, and its service is asked no further in this one.
func (s *Service) emptyTrash(ctx context.Context) error {
	before, failing := s.Clock.Now().Add(-keptFor), map[int64]bool{}
	return eachPage(ctx, func(last row) ([]change, error) { return oldTrash(ctx, s.DB, before, last, mostClean) },
		func(c change) row { return row{c.createdAt, c.id} },
		func(c change) error {
			if failing[c.serviceID] {
				return nil
			}
			err := s.empty(ctx, c)
			if err == nil {
				err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return removeChange(ctx, tx, c.id) })
			}
			failing[c.serviceID] = err != nil
			return err
		})
}

// row is the place of a row in an order by time.
type row struct {
	at time.Time
	id int64
}

func scanRow(from db.Row) (r row, err error) { return r, from.Scan(&r.at, &r.id) }

// eachPage does something with all rows of a list, past those that fail. find answers at most mostClean rows after a place.
func eachPage[T any](ctx context.Context, find func(last row) ([]T, error), place func(T) row, do func(T) error) error {
	var (
		failed []error
		last   row
	)
	for {
		found, err := find(last)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, one := range found {
			if ctx.Err() != nil {
				return errors.Join(append(failed, ctx.Err())...)
			}
			if err := do(one); err != nil {
				failed = append(failed, err)
			}
			last = place(one)
		}
		if len(found) < mostClean {
			return errors.Join(failed...)
		}
	}
}

// empty removes what a change has put into the trash, or has unpacked there.
func (s *Service) empty(ctx context.Context, c change) error {
	project, err := s.project(ctx, c.accountID, c.serviceID)
	if refusedForGood(err) {
		return nil // its service is over, or suspended: then the files go with it
	}
	if err != nil {
		return err
	}
	for _, name := range []string{c.toPath, part(c.toPath)} {
		err = project.files.Remove(ctx, project.ref, name, true)
		// What its owner has made read-only stays.
		if err != nil && !errors.Is(err, panel.ErrNotFound) && !errors.Is(err, panel.ErrSuspended) && !errors.Is(err, panel.ErrPathNotAllowed) {
			return err
		}
	}
	return nil
}

func (s *Service) cleanConversations(ctx context.Context) error {
	before := s.Clock.Now().Add(-silentFor)
	return eachPage(ctx, func(last row) ([]row, error) { return silentConversations(ctx, s.DB, before, last, mostClean) },
		func(c row) row { return c },
		func(c row) error {
			return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return removeSilent(ctx, tx, c.id, before) })
		})
}

// closed removes what is kept of an account. What its runs have cost in this month is on an invoice before.
func (s *Service) closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	if err := s.endAll(ctx, tx, accountID, 0); err != nil {
		return err
	}
	if err := s.billAccount(ctx, tx, accountID, tx.Now.Add(time.Microsecond)); err != nil {
		return err
	}
	return removeAll(ctx, tx, accountID)
}
