package backups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// How often the final backup of a service is tried, and how long after the first failure the next is. Each pause is twice
// the one before: eleven hours in all.
const (
	finalTries   = 8
	anotherFinal = 5 * time.Minute
)

// ErrNotKept says that the final backup of a service was tried as often as it is. An operator mends what is in its way,
// or has the service end without.
var ErrNotKept = errors.New("backups: the final backup is not tried any more")

// Keep makes the final backup of a service that is about to end. It is called again and
// again until it answers true: the backup is complete. A panel that makes no backups
// keeps nothing, and that is true at once; so it is where the product keeps nothing. A backup that fails is an error: it
// is tried finalTries times, and then ErrNotKept. What failed is forgotten after a week, and it is tried again.
func (s *Service) Keep(ctx context.Context, accountID, serviceID int64) (done bool, err error) {
	keep, err := s.keptFinal(ctx, s.DB, serviceID)
	if err != nil {
		return false, err
	}
	if keep <= 0 {
		return true, nil
	}
	_, _, err = s.panelOf(ctx, accountID, serviceID)
	if errors.Is(err, panel.ErrUnsupported) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := s.Services.LockSite(ctx, tx, accountID, serviceID); err != nil {
			return err
		}
		b, ok, err := finalOf(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		if done = ok && b.status == Completed; done {
			return nil
		}
		if ok && b.status == Failed {
			failed, err := countFailedFinals(ctx, tx, serviceID)
			if err != nil {
				return err
			}
			if failed >= finalTries {
				return fmt.Errorf("%w: service %d, %d times, at last %s", ErrNotKept, serviceID, failed, *b.errorKey)
			}
			if tx.Now.Sub(*b.finishedAt) < anotherFinal<<max(0, failed-1) {
				return fmt.Errorf("backups: the final backup of service %d failed: %s", serviceID, *b.errorKey)
			}
		}
		is, err := isBusy(ctx, tx, serviceID)
		if err != nil || is {
			return err
		}
		_, err = s.begin(ctx, tx, backup{Owned: site.Owned{AccountID: accountID, ServiceID: serviceID}, kind: PreChange, final: true, parts: queuedParts(panel.BackupParts)})
		return err
	})
	return done, err
}

// Kept are those of some services that ended which can be restored: their final backups are there.
func (s *Service) Kept(ctx context.Context, q db.Querier, serviceIDs []int64) ([]int64, error) {
	return finalsKept(ctx, q, serviceIDs)
}

// Return begins to restore the final backup of a service whose account was just made
// anew, in the transaction that brings the service back. The service is locked.
func (s *Service) Return(ctx context.Context, tx *db.Tx, serviceID int64) error {
	b, ok, err := finalOf(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	if !ok || b.status != Completed {
		return fault.NotFound.Wrapf("backups: service %d has no final backup", serviceID)
	}
	if err := setOrdinary(ctx, tx, serviceID); err != nil {
		return err
	}
	_, err = s.beginRestore(ctx, tx, b, restore{parts: b.partNames()})
	return err
}

// Newest is when the newest complete backup of a service was made; nil when there is none.
func (s *Service) Newest(ctx context.Context, q db.Querier, serviceID int64) (*time.Time, error) {
	return newestComplete(ctx, q, serviceID)
}
