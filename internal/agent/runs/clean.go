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
// removed of one account keeps nothing of others.
func (s *Service) clean(ctx context.Context) error {
	failed := errors.Join(s.cleanChanges(ctx), s.cleanConversations(ctx))
	for _, remove := range []func(ctx context.Context, tx *db.Tx) (int64, error){
		func(ctx context.Context, tx *db.Tx) (int64, error) { return removeOldBlobs(ctx, tx, tx.Now, mostClean) },
		func(ctx context.Context, tx *db.Tx) (int64, error) {
			return removeOldEvents(ctx, tx, tx.Now.Add(-watchedFor), mostClean)
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
	return failed
}

// cleanChanges forgets changes that are too old to be undone. One whose file in the trash cannot be removed now is tried
// again the next day.
func (s *Service) cleanChanges(ctx context.Context) error {
	old, err := oldChanges(ctx, s.DB, s.Clock.Now().Add(-keptFor), mostClean)
	for _, c := range old {
		if c.kind == remove && c.status == applied || c.kind == unpack {
			if failure := s.empty(ctx, c); failure != nil {
				err = errors.Join(err, failure)
				continue
			}
		}
		err = errors.Join(err, s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return removeChange(ctx, tx, c.id) }))
	}
	return err
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
	all, err := silentConversations(ctx, s.DB, before, mostClean)
	for _, id := range all {
		err = errors.Join(err, s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return removeSilent(ctx, tx, id, before) }))
	}
	return err
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
