package loyalty

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

func codeOf(ctx context.Context, q db.Querier, accountID int64) (code string, err error) {
	err = q.QueryRow(ctx, `SELECT code FROM loyalty_codes WHERE account_id = $1`, accountID).Scan(&code)
	return code, err
}

func codeOwner(ctx context.Context, q db.Querier, code string) (id int64, err error) {
	err = q.QueryRow(ctx, `SELECT account_id FROM loyalty_codes WHERE code = $1`, code).Scan(&id)
	return id, err
}

// note adds what an event says of an order to its row, in whatever order the events arrive, and returns the row, locked.
func note(ctx context.Context, tx *db.Tx, o order) (order, error) {
	_, err := tx.Exec(ctx, `INSERT INTO loyalty_orders AS o (order_id, account_id, paid, base, refunded, completed_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (order_id) DO UPDATE SET
			paid = CASE WHEN o.completed_at IS NULL THEN excluded.paid ELSE o.paid END,
			base = CASE WHEN o.completed_at IS NULL THEN excluded.base ELSE o.base END,
			refunded = CASE WHEN excluded.refunded > o.refunded THEN excluded.refunded ELSE o.refunded END,
			completed_at = COALESCE(o.completed_at, excluded.completed_at)`,
		o.id, o.accountID, int64(o.paid), int64(o.base), int64(o.refunded), o.completedAt)
	if err != nil {
		return o, fmt.Errorf("loyalty: note order %d: %w", o.id, err)
	}
	err = tx.QueryRow(ctx, `SELECT account_id, paid, base, refunded, completed_at FROM loyalty_orders WHERE order_id = $1`+tx.ForUpdate(), o.id).
		Scan(&o.accountID, &o.paid, &o.base, &o.refunded, &o.completedAt)
	return o, err
}

type referral struct {
	referrerID int64
	orderID    *int64
}

func lockReferral(ctx context.Context, tx *db.Tx, referredID int64) (r referral, err error) {
	err = tx.QueryRow(ctx, `SELECT referrer_id, order_id FROM loyalty_referrals WHERE referred_id = $1`+tx.ForUpdate(), referredID).
		Scan(&r.referrerID, &r.orderID)
	return r, err
}

func setConverted(ctx context.Context, tx *db.Tx, referredID, orderID int64) error {
	_, err := tx.Exec(ctx, `UPDATE loyalty_referrals SET order_id = $1, converted_at = $2 WHERE referred_id = $3`, orderID, tx.Now, referredID)
	if err != nil {
		return fmt.Errorf("loyalty: convert %d: %w", referredID, err)
	}
	return nil
}

// given is a reward as it is stored.
type given struct {
	id, accountID int64
	percent       int64
	given, amount money.USDCents
}

func lockReward(ctx context.Context, tx *db.Tx, kind Kind, orderID int64) (g given, err error) {
	err = tx.QueryRow(ctx, `SELECT id, account_id, percent_bp, given, amount FROM loyalty_rewards WHERE kind = $1 AND order_id = $2`+tx.ForUpdate(),
		string(kind), orderID).Scan(&g.id, &g.accountID, &g.percent, &g.given, &g.amount)
	return g, err
}

func insertReward(ctx context.Context, tx *db.Tx, r Reward, percent int64) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO loyalty_rewards (account_id, kind, order_id, percent_bp, given, amount, created_at)
		VALUES ($1, $2, $3, $4, $5, $5, $6) RETURNING id`, r.AccountID, string(r.Kind), r.OrderID, percent, int64(r.Amount), tx.Now).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("loyalty: write a reward: %w", err)
	}
	return id, nil
}

func setReward(ctx context.Context, tx *db.Tx, id int64, amount money.USDCents) error {
	_, err := tx.Exec(ctx, `UPDATE loyalty_rewards SET amount = $1 WHERE id = $2`, int64(amount), id)
	if err != nil {
		return fmt.Errorf("loyalty: change a reward: %w", err)
	}
	return nil
}

// spending sums the orders of an account without refunds, since the earlier and since the later moment. A refund includes
// taxes in the same proportion as the order.
func spending(ctx context.Context, q db.Querier, accountID int64, year, recent time.Time) (all, lately money.USDCents, err error) {
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(base), 0) AS BIGINT), CAST(COALESCE(SUM(CASE WHEN completed_at > $3 THEN base END), 0) AS BIGINT)
		FROM loyalty_orders WHERE account_id = $1 AND completed_at > $2 AND refunded = 0`, accountID, year, recent).Scan(&all, &lately)
	if err != nil {
		return 0, 0, fmt.Errorf("loyalty: spending of %d: %w", accountID, err)
	}
	refunded, err := db.Collect(ctx, q, func(r db.Row) (o order, err error) {
		return o, r.Scan(&o.paid, &o.base, &o.refunded, &o.completedAt)
	}, `SELECT paid, base, refunded, completed_at FROM loyalty_orders WHERE account_id = $1 AND completed_at > $2 AND refunded > 0`, accountID, year)
	if err != nil {
		return 0, 0, fmt.Errorf("loyalty: spending of %d: %w", accountID, err)
	}
	for _, o := range refunded {
		kept, err := o.kept()
		if err == nil {
			all, err = all.Add(kept)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("loyalty: spending of %d: %w", accountID, err)
		}
		if o.completedAt.After(recent) {
			lately += kept
		}
	}
	return all, lately, nil
}

// statistics counts the referrals and the rewards of a referrer.
type statistics struct {
	registered, converted int
	earned                money.USDCents
}

func statisticsOf(ctx context.Context, q db.Querier, accountID int64) (s statistics, err error) {
	err1 := q.QueryRow(ctx, `SELECT COUNT(*), COUNT(converted_at) FROM loyalty_referrals WHERE referrer_id = $1`, accountID).
		Scan(&s.registered, &s.converted)
	err2 := q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM loyalty_rewards WHERE account_id = $1 AND kind = 'referral'`, accountID).
		Scan(&s.earned)
	if err := errors.Join(err1, err2); err != nil {
		return s, fmt.Errorf("loyalty: statistics of %d: %w", accountID, err)
	}
	return s, nil
}
