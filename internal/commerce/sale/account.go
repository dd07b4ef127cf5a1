package sale

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// Rates tell what accounts pay.
type Rates interface {
	// Wholesale is what a reseller's account, or its sandbox, pays less than the catalogue's prices, in
	// hundredths of a percent; false for who pays those.
	Wholesale(ctx context.Context, q db.Querier, accountID int64) (basisPoints int, ok bool, err error)
}

// Retail is the Rates of a company without resellers: everybody pays the catalogue's prices.
type Retail struct{}

// Wholesale implements Rates.
func (Retail) Wholesale(context.Context, db.Querier, int64) (basisPoints int, ok bool, err error) {
	return 0, false, nil
}

// Taxes tell how accounts are taxed.
type Taxes interface {
	Tax(ctx context.Context, q db.Querier, accountID int64) (money.Tax, error)
}

// Untaxed is the Taxes of a company that pays none.
type Untaxed struct{}

// Tax implements Taxes.
func (Untaxed) Tax(context.Context, db.Querier, int64) (money.Tax, error) { return money.Tax{}, nil }

// Clocks tell the time of sandboxes whose clocks were moved ahead of the real time.
type Clocks interface {
	// Now is the time of such a sandbox; false for everybody else.
	Now(ctx context.Context, q db.Querier, accountID int64) (now time.Time, ahead bool, err error)
	// Enter lets tx go on at that time until leave is called, and for everybody else at the machine's. It always enters
	// (db.Tx.Enter): what is written of an account before that is refused (CheckTime).
	Enter(ctx context.Context, tx *db.Tx, accountID int64) (leave func(), err error)
	// Ahead are those of them whose clocks stand, by account.
	Ahead(ctx context.Context, q db.Querier) (map[int64]time.Time, error)
}

// RealTime is the Clocks of an installation where every sandbox has the real time.
type RealTime struct{}

// Now implements Clocks.
func (RealTime) Now(context.Context, db.Querier, int64) (now time.Time, ahead bool, err error) {
	return time.Time{}, false, nil
}

// Enter implements Clocks.
func (RealTime) Enter(_ context.Context, tx *db.Tx, accountID int64) (leave func(), err error) {
	return tx.Enter(accountID, time.Time{}), nil
}

// Ahead implements Clocks.
func (RealTime) Ahead(context.Context, db.Querier) (map[int64]time.Time, error) { return nil, nil }

// CheckTime refuses to go on in a transaction that is not in the time of the account: who forgets to enter it would give
// what a sandbox does the time of the machine. The sections whose time may be moved call it where they emit events, so
// that any test of the forgetful function finds it.
func CheckTime(tx *db.Tx, accountID int64) error {
	if of := tx.TimeOf(); of != accountID {
		return fmt.Errorf("sale: the transaction is in the time of account %d, not of %d: enter it (Clocks.Enter)", of, accountID)
	}
	return nil
}
