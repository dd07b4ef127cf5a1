package backups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// sweepBatch is how many rows that are left a sweep takes up at once.
const sweepBatch = 200

// Sweep begins what is due: automatic backups, checks, and the end of backups whose
// time is over; and it takes up again what no job does any more. A periodic job calls it; each
// service gets a job of its own.
func (s *Service) Sweep(ctx context.Context) error {
	for _, take := range []func(ctx context.Context, tx *db.Tx, limit int) (int, error){s.takeBackups, s.takeChecks, s.takeExpired} {
		if err := site.Sweep(ctx, s.DB, take); err != nil {
			return fmt.Errorf("backups: sweep: %w", err)
		}
	}
	for _, l := range []struct {
		left func(ctx context.Context, q db.Querier, before time.Time, after int64, limit int) ([]int64, error)
		job  func(id int64) river.JobArgs
	}{
		{unfinished, func(id int64) river.JobArgs { return makeArgs{id} }},
		{unfinishedRestores, func(id int64) river.JobArgs { return restoreArgs{id} }},
		{deleted, func(id int64) river.JobArgs { return removeArgs{id} }},
	} {
		if err := s.takeUp(ctx, l.left, l.job); err != nil {
			return fmt.Errorf("backups: sweep: %w", err)
		}
	}
	return nil
}

// lostAfter is the age at which something unfinished is checked: the queue may have given up its job.
const lostAfter = time.Hour

// takeUp inserts a job for everything unfinished that has none.
func (s *Service) takeUp(ctx context.Context, left func(ctx context.Context, q db.Querier, before time.Time, after int64, limit int) ([]int64, error),
	job func(id int64) river.JobArgs,
) error {
	for after, more := int64(0), true; more; {
		ids, err := left(ctx, s.DB, s.Clock.Now().Add(-lostAfter), after, sweepBatch)
		if err != nil {
			return err
		}
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			for _, id := range ids {
				if err := s.enqueue(ctx, tx, job(id)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if more = len(ids) == sweepBatch; more {
			after = ids[len(ids)-1]
		}
	}
	return nil
}

func (s *Service) takeBackups(ctx context.Context, tx *db.Tx, limit int) (int, error) {
	return site.Each(ctx, tx, limit, takeSchedules("due_at", backupEvery), func(ctx context.Context, tx *db.Tx, t site.Target) error {
		return s.enqueue(ctx, tx, dailyArgs{t.AccountID, t.ServiceID})
	})
}

func (s *Service) takeChecks(ctx context.Context, tx *db.Tx, limit int) (int, error) {
	return site.Each(ctx, tx, limit, takeSchedules("check_at", checkEvery), func(ctx context.Context, tx *db.Tx, t site.Target) error {
		return s.enqueue(ctx, tx, checkArgs{t.AccountID, t.ServiceID, tx.Now.Unix()})
	})
}

func (s *Service) takeExpired(ctx context.Context, tx *db.Tx, limit int) (int, error) {
	return site.Each(ctx, tx, limit, takeExpired, func(ctx context.Context, tx *db.Tx, id int64) error {
		return s.enqueue(ctx, tx, removeArgs{id})
	})
}

// daily begins the automatic backup of a service. One that is not online, whose plan
// has none, that is moved, or that is busy has its next one tomorrow.
func (s *Service) daily(ctx context.Context, accountID, serviceID int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
		if err != nil {
			return err
		}
		is, err := isBusy(ctx, tx, serviceID)
		if err != nil || is || !on.Online() || on.Moving || on.Limits.Of("backups") == 0 {
			return err
		}
		_, err = s.begin(ctx, tx, backup{Owned: site.Owned{AccountID: accountID, ServiceID: serviceID}, kind: Auto, parts: queuedParts(panel.BackupParts)})
		return err
	})
}

// check has the newest backup of a service read whole, and what else the panel keeps of it and was not read for long. What is
// damaged is told of and not offered any more. A service that is suspended or has ended is checked as well: its backups are all
// that it comes back from, and a panel keeps them without the account. One that is moved is left for the next week.
func (s *Service) check(ctx context.Context, accountID, serviceID int64, began time.Time) (time.Duration, error) {
	if on, err := s.Services.Site(ctx, s.DB, accountID, serviceID); err != nil || on.Ref == "" || on.Moving {
		return 0, err
	}
	all, err := table.OfService(ctx, s.DB, serviceID)
	if err != nil {
		return 0, err
	}
	var newest *backup
	for i := range all {
		if all[i].status == Completed {
			newest = &all[i]
			break
		}
	}
	if newest == nil {
		return 0, s.Apply(ctx, accountID, serviceID) // one that has ended is not checked any more
	}
	name := fmt.Sprintf("c%d-%d", newest.ID, began.Unix())
	r := restore{Owned: site.Owned{AccountID: accountID, ServiceID: serviceID}}
	task, err := s.task(ctx, r, name, func(p panel.Backups, ref string) (panel.BackupTask, error) {
		return p.StartBackupCheck(ctx, ref, panel.CheckRequest{ID: name, Backup: newest.name(), Thorough: true})
	})
	switch again := s.isRetryable(err, began); {
	case again:
		return askLater, nil
	case errors.Is(err, panel.ErrNotFound):
		return 0, s.markDamaged(ctx, newest.ID) // the panel has lost it
	case err != nil:
		return 0, err
	}
	if task.Status == panel.TaskRunning {
		return s.pause(began), nil
	}
	if task.Status == panel.TaskFailed && task.Failure != panel.ErrInvalid {
		return 0, nil //nolint:nilerr // it failed for a reason of its own, and is made again in its time
	}
	if task.Failure == panel.ErrInvalid {
		if err := s.markDamaged(ctx, newest.ID); err != nil {
			return 0, err
		}
	}
	return 0, s.reviewSoon(ctx, accountID, serviceID)
}

// markDamaged writes that a complete backup cannot be read back, and emits backup.failed.
func (s *Service) markDamaged(ctx context.Context, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		b, err := table.Find(ctx, tx, id)
		if err != nil {
			return err
		}
		found, err := s.Services.Site(ctx, tx, b.AccountID, b.ServiceID)
		if err != nil {
			return err
		}
		return s.damaged(ctx, tx, found, []int64{id})
	})
}
