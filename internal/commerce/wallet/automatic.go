package wallet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/gateway"
)

// Automatic top-ups. A crossing of the threshold, seen in the transaction of the movement,
// makes the wallet due; beginAutomatic turns that into one top-up, in one commit; and
// chargeAutomatic has the gateway take its money, as often as it takes to know the outcome.

// wakeAutomatic has what is due done at once. Where the job is lost,
// the sweep does it.
func (s *Service) wakeAutomatic(ctx context.Context, tx *db.Tx, accountID int64) error {
	return s.Queue.Enqueue(ctx, tx, automaticArgs{AccountID: accountID}, nil)
}

type automaticArgs struct {
	AccountID int64 `json:"account_id"`
}

func (automaticArgs) Kind() string { return "wallet.automatic" }

// beginAutomatic answers a crossing with a top-up. It does nothing while another automatic
// one is under way or the day's bound is reached: the wallet stays due, and the sweep looks
// again.
func (s *Service) beginAutomatic(ctx context.Context, accountID int64) (begun bool, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		begun = false
		p, err := s.lock(ctx, tx, accountID)
		if err != nil {
			return err
		}
		now, err := readSettings(ctx, tx, accountID)
		if err != nil || now.State != due || !now.Auto.Enabled {
			return err
		}
		open, made, err := automaticSince(ctx, tx, accountID, tx.Now.Add(-24*time.Hour))
		if err != nil || open {
			return err
		}
		if after, err := made.Add(now.Auto.Amount); err != nil || after > now.Auto.MaxPerDay {
			return err
		}
		t := topup{
			AccountID: accountID, Gateway: now.Auto.Gateway, Amount: now.Auto.Amount, Status: processing, Automatic: true,
			Language: now.Auto.Language, CreatedAt: tx.Now, ExpiresAt: tx.Now.Add(automaticFor),
		}
		refusal := s.canTopUp(ctx, tx, p, now.Auto)
		if refusal == nil {
			refusal = s.checkLimit(ctx, tx, accountID, t.Amount)
		}
		if refusal == nil {
			m, err := findMethod(ctx, tx, accountID, t.Gateway)
			if err != nil {
				return fmt.Errorf("wallet: the means of payment of %d: %w", accountID, err)
			}
			t.Method = m.Reference
		} else if fault.From(refusal).Def == fault.Internal {
			return refusal
		}
		if g, ok := s.gateway(t.Gateway); ok {
			if t.Fee, err = g.Info().Fee(t.Amount); err != nil {
				return fmt.Errorf("wallet: fee of %s: %w", t.Gateway, err)
			}
		}
		token := secret.Token("pay_", 24)
		t.TokenHash = secret.Hash(token)
		if t.TokenSealed, err = s.Box.Seal([]byte(token), t.TokenHash); err != nil {
			return fmt.Errorf("wallet: seal the payment token: %w", err)
		}
		if t.ID, err = putTopup(ctx, tx, t); err != nil {
			return err
		}
		now.State = acted
		if err := putSettings(ctx, tx, accountID, now); err != nil {
			return err
		}
		begun = true
		if refusal != nil {
			// The owner relies on it, so it is told that it cannot be done.
			return s.giveUp(ctx, tx, t, gateway.Failed, ErrGatewayUnavailable.Key)
		}
		return s.Queue.Enqueue(ctx, tx, chargeArgs{TopupID: t.ID}, &river.InsertOpts{MaxAttempts: chargeAttempts})
	})
	return begun, err
}

// automaticFor is how long an automatic top-up is tried whose gateway does not answer.
const automaticFor = 24 * time.Hour

// automaticSince tells whether an automatic top-up is under way, and the sum of those made
// since that were not given up.
func automaticSince(ctx context.Context, q db.Querier, accountID int64, since time.Time) (open bool, made money.USDCents, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM wallet_topups WHERE account_id = $1 AND automatic AND status IN ('pending', 'processing')),
		CAST(COALESCE((SELECT SUM(amount) FROM wallet_topups WHERE account_id = $1 AND automatic AND created_at > $2
			AND status NOT IN ('failed', 'cancelled', 'expired')), 0) AS BIGINT)`, accountID, since).Scan(&open, &made)
	if err != nil {
		return false, 0, fmt.Errorf("wallet: automatic top-ups of %d: %w", accountID, err)
	}
	return open, made, nil
}

type chargeArgs struct {
	TopupID int64 `json:"topup_id"`
}

func (chargeArgs) Kind() string { return "wallet.charge_saved" }

type chargeWorker struct {
	river.WorkerDefaults[chargeArgs]
	service *Service
}

// askAgain is when a payment that a gateway has not decided is asked about again; its
// notification usually comes before. It is also the longest pause between attempts, of
// which there are some for two months: a payment whose outcome nobody knows is not
// forgotten.
const (
	askAgain       = time.Hour
	chargeAttempts = 1500
)

// NextRetry implements river.Worker.
func (*chargeWorker) NextRetry(job *river.Job[chargeArgs]) time.Time {
	if job.AttemptedAt == nil {
		return time.Time{} // River's own
	}
	pause := askAgain
	if job.Attempt < 7 { // 5, 20, 45 seconds and so on
		pause = min(pause, time.Duration(5*job.Attempt*job.Attempt)*time.Second)
	}
	return job.AttemptedAt.Add(pause)
}

func (w *chargeWorker) Work(ctx context.Context, job *river.Job[chargeArgs]) error {
	settled, err := w.service.chargeAutomatic(ctx, job.Args.TopupID)
	if err == nil && !settled {
		return river.JobSnooze(askAgain)
	}
	return err
}

// chargeAutomatic has the gateway take the money of an automatic top-up, and tells whether
// it is settled. It asks what became of an earlier attempt before it makes one: an outcome
// that nobody heard is never a second payment.
func (s *Service) chargeAutomatic(ctx context.Context, id int64) (settled bool, err error) {
	t, err := topupRows.Scan(s.DB.QueryRow(ctx, selectTopup+` WHERE id = $1 AND automatic`, id))
	if err != nil {
		return false, fmt.Errorf("wallet: find automatic top-up %d: %w", id, err)
	}
	if !t.Status.open() {
		return true, nil
	}
	g, _ := s.gateway(t.Gateway)
	saving, ok := g.(gateway.Saving)
	if !ok {
		return s.endAutomatic(ctx, t, gateway.Failed, ErrGatewayUnavailable.Key)
	}
	kept, err := findMethod(ctx, s.DB, t.AccountID, t.Gateway)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		return false, fmt.Errorf("wallet: the means of payment of top-up %d: %w", id, err)
	}
	ask, err := s.forGateway(t)
	if err != nil {
		return false, err
	}
	e, found, err := saving.FindSaved(ctx, ask, t.Method)
	if err != nil {
		return false, fmt.Errorf("wallet: ask for top-up %d: %w", id, err)
	}
	if !found {
		switch {
		case kept.Reference != t.Method: // its owner has taken it away since
			return s.endAutomatic(ctx, t, gateway.Cancelled, "cancelled")
		case !s.Clock.Now().Before(t.ExpiresAt):
			return s.endAutomatic(ctx, t, gateway.Expired, "expired")
		}
		if e, err = saving.ChargeSaved(ctx, ask, t.Method); err != nil {
			return false, fmt.Errorf("wallet: charge top-up %d: %w", id, err)
		}
	}
	if err := s.setReference(ctx, t, e.Reference); err != nil {
		return false, err
	}
	if err := s.apply(ctx, t.Gateway, e); err != nil {
		return false, err
	}
	return e.Kind != gateway.Waiting, nil
}

// endAutomatic ends an automatic top-up for which no payment was made.
func (s *Service) endAutomatic(ctx context.Context, t topup, kind gateway.EventKind, key string) (bool, error) {
	return true, s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		locked, err := lockTopup(ctx, tx, t.Gateway, t.ID)
		if err != nil {
			return err
		}
		return s.giveUp(ctx, tx, locked, kind, key)
	})
}

// setReference records the gateway's name of the payment, by which its events are known.
func (s *Service) setReference(ctx context.Context, t topup, reference string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		locked, err := lockTopup(ctx, tx, t.Gateway, t.ID)
		if err != nil || locked.Reference != nil {
			return err
		}
		locked.Reference = &reference
		return saveTopup(ctx, tx, locked)
	})
}

// AutomaticDue answers the crossings that were not answered at once, and answers how many
// top-ups it began. A periodic job calls it.
func (s *Service) AutomaticDue(ctx context.Context) (n int, err error) {
	for after := int64(0); ; {
		ids, err := db.Collect(ctx, s.DB, func(r db.Row) (id int64, err error) { return id, r.Scan(&id) }, dueAutomaticQuery, after, batch)
		if err != nil {
			return n, fmt.Errorf("wallet: due top-ups: %w", err)
		}
		for _, id := range ids {
			begun, err := s.beginAutomatic(ctx, id)
			if err != nil {
				return n, fmt.Errorf("wallet: top up %d: %w", id, err)
			}
			if begun {
				n++
			}
			after = id
		}
		if len(ids) < batch {
			return n, nil
		}
	}
}

const dueAutomaticQuery = `SELECT account_id FROM wallet_settings WHERE auto_state = 'due' AND account_id > $1 ORDER BY account_id LIMIT $2`

type dueArgs struct{}

func (dueArgs) Kind() string { return "wallet.automatic_due" }
