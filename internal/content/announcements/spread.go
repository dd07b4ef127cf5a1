package announcements

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// batch is how many accounts are told in one commit.
const batch = 200

// keepDismissals is how long what an account has dismissed is kept after the announcement is over.
const keepDismissals = 30 * 24 * time.Hour

// begin orders the first batch of notifications.
func (s *Service) begin(ctx context.Context, tx *db.Tx, a *Announcement) error {
	a.begunAt = &tx.Now
	if err := putProgress(ctx, tx, *a); err != nil {
		return err
	}
	return s.Queue.Enqueue(ctx, tx, spreadArgs{AnnouncementID: a.ID}, nil)
}

// beginDue begins the notifications of announcements whose time has come.
func (s *Service) beginDue(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		ids, err := due(ctx, tx)
		if err != nil {
			return err
		}
		for _, id := range ids {
			a, err := lock(ctx, tx, id)
			if err != nil {
				return err
			}
			if a.begunAt != nil || a.State(tx.Now) == Withdrawn {
				continue
			}
			if err := s.begin(ctx, tx, &a); err != nil {
				return err
			}
		}
		return nil
	})
}

// spread tells the next accounts of an announcement. The notifications, how far they have come and the job of the next batch
// are one commit.
func (s *Service) spread(ctx context.Context, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		a, err := lock(ctx, tx, id)
		if errors.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil || a.begunAt == nil || a.FinishedAt != nil {
			return err
		}
		if a.State(tx.Now) != Shown { // withdrawn or over meanwhile: nobody else is told
			a.FinishedAt = &tx.Now
			return putProgress(ctx, tx, a)
		}
		accounts, next, err := s.Accounts.After(ctx, tx, a.Audience, a.reached, batch)
		if err != nil {
			return err
		}
		told, err := s.Notifier.Notify(ctx, tx, a, accounts)
		if err != nil {
			return err
		}
		a.Told += int64(told)
		if next == 0 {
			a.FinishedAt = &tx.Now
			return putProgress(ctx, tx, a)
		}
		a.reached = next
		if err := putProgress(ctx, tx, a); err != nil {
			return err
		}
		return s.Queue.Enqueue(ctx, tx, spreadArgs{AnnouncementID: id}, nil)
	})
}

// clean removes what nobody needs any more.
func (s *Service) clean(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return clean(ctx, tx) })
}
