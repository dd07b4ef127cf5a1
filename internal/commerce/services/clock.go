package services

import (
	"context"
	"errors"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// Change locks a service and runs f with it, at its time.
func (s *Service) Change(ctx context.Context, tx *db.Tx, id int64, f func(r Row) error) error {
	r, err := lock(ctx, tx, id)
	return s.inTimeOf(ctx, tx, r, err, f)
}

// changeOwn is Change for a service of the account.
func (s *Service) changeOwn(ctx context.Context, tx *db.Tx, accountID, id int64, f func(r Row) error) error {
	r, err := lockOwn(ctx, tx, accountID, id)
	return s.inTimeOf(ctx, tx, r, err, f)
}

// read is Change without the lock, for what has to lock rows of an order or of a wallet first.
func (s *Service) read(ctx context.Context, tx *db.Tx, id int64, f func(r Row) error) error {
	r, err := get(ctx, tx, id)
	return s.inTimeOf(ctx, tx, r, err, f)
}

// inTimeOf runs f with a service at the service's time, unless err says that the service was not found.
func (s *Service) inTimeOf(ctx context.Context, tx *db.Tx, r Row, err error, f func(r Row) error) error {
	if err != nil {
		return err
	}
	leave, err := s.EnterTime(ctx, tx, r)
	if err != nil {
		return err
	}
	defer leave()
	return f(r)
}

// EnterTime lets tx go on at the time of the service, until leave is called. The live world has one time: its services'
// clocks are not even asked for.
func (s *Service) EnterTime(ctx context.Context, tx *db.Tx, r Row) (leave func(), err error) {
	if !r.Sandbox {
		return tx.Enter(r.AccountID, time.Time{}), nil
	}
	return s.Enter(ctx, tx, r.AccountID)
}

// enterAll is EnterTime for the services of a batch: of the live world, or of one sandbox.
func (s *Service) enterAll(ctx context.Context, tx *db.Tx, all []Row) (leave func(), err error) {
	if all[0].Sandbox {
		return s.Enter(ctx, tx, all[0].AccountID)
	}
	accounts := make([]int64, len(all))
	for i, r := range all {
		accounts[i] = r.AccountID
	}
	return tx.EnterAll(accounts, time.Time{}), nil
}

// Enter lets tx go on at the time of an account's services, which differs for a sandbox whose clock was moved, until
// leave is called.
func (s *Service) Enter(ctx context.Context, tx *db.Tx, accountID int64) (leave func(), err error) {
	return s.Clocks.Enter(ctx, tx, accountID)
}

// TimeOf is the time of a service, for what is read.
func (s *Service) TimeOf(ctx context.Context, q db.Querier, r Row) (time.Time, error) {
	if !r.Sandbox {
		return s.Clock.Now(), nil
	}
	return s.Now(ctx, q, r.AccountID)
}

// Now is the time of an account's services.
func (s *Service) Now(ctx context.Context, q db.Querier, accountID int64) (time.Time, error) {
	if now, ahead, err := s.Clocks.Now(ctx, q, accountID); err != nil || ahead {
		return now, err
	}
	return s.Clock.Now(), nil
}

// Due does all that is due with the services of a sandbox, in the order in which they expire. busy tells that something
// is not done: a panel is at work, or a step has to wait.
func (s *Service) Due(ctx context.Context, accountID int64) (busy bool, err error) {
	for did := true; did; {
		now, err := s.Now(ctx, s.DB, accountID)
		if err != nil {
			return false, err
		}
		ids, err := dueOf(ctx, s.DB, accountID, now)
		if err != nil {
			return false, err
		}
		busy = len(ids) > 0
		var (
			waiting int
			failed  error
		)
		for batch := range slices.Chunk(ids, batchSize) {
			s.stepAll(ctx, batch, func(_ int64, err error) {
				switch {
				case errors.Is(err, errNotYet):
					waiting++
				case !errors.Is(err, errMoved): // else somebody else was faster
					failed = errors.Join(failed, err)
				}
			})
		}
		if failed != nil {
			return false, failed
		}
		did = len(ids) > waiting
		if err := s.Billing.ApplyTariffsOf(ctx, accountID, now); err != nil {
			return false, err
		}
	}
	moving, err := inMotion(ctx, s.DB, accountID)
	return busy || moving, err
}

// Next is when something is due with the services of an account for the first time after t.
func (s *Service) Next(ctx context.Context, q db.Querier, accountID int64, t time.Time) (time.Time, error) {
	return nextDue(ctx, q, accountID, t)
}

// dueOf lists an account's services of which a step is due, in the order in which they expire.
func dueOf(ctx context.Context, q db.Querier, accountID int64, now time.Time) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT id FROM services WHERE account_id = $1 AND sandbox AND step_at IS NOT NULL AND step_at <= $2 ORDER BY expires_at, id`,
		accountID, now)
}

// inMotion tells whether a panel is at work on one of a sandbox's services, for its account to be made or removed.
func inMotion(ctx context.Context, q db.Querier, accountID int64) (moving bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM services WHERE account_id = $1 AND sandbox
		AND status IN ('provisioning', 'terminating'))`, accountID).Scan(&moving)
	return moving, err
}

func nextDue(ctx context.Context, q db.Querier, accountID int64, t time.Time) (time.Time, error) {
	var step, tariff *time.Time
	err := q.QueryRow(ctx, `SELECT (SELECT MIN(step_at) FROM services WHERE account_id = $1 AND sandbox AND step_at IS NOT NULL AND step_at > $2),
		(SELECT MIN(pending_plan_at) FROM services WHERE account_id = $1 AND sandbox AND pending_plan_at IS NOT NULL AND pending_plan_at > $2
			AND expires_at > pending_plan_at AND status IN ('active', 'past_due', 'suspended'))`, accountID, t).Scan(&step, &tariff)
	var first time.Time
	for _, at := range []*time.Time{step, tariff} {
		if at != nil && (first.IsZero() || at.Before(first)) {
			first = *at
		}
	}
	return first, err
}
