package sale

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// Rates resolves the price that an account pays: retail or wholesale.
type Rates interface {
	// Wholesale returns the discount of a reseller's account or its sandbox on the catalogue's prices, in hundredths of a
	// percent; false for accounts that pay the catalogue's prices.
	Wholesale(ctx context.Context, q db.Querier, accountID int64) (basisPoints int, ok bool, err error)
}

// Retail implements Rates for a company without resellers: everybody pays the catalogue's prices.
type Retail struct{}

// Wholesale implements Rates.
func (Retail) Wholesale(context.Context, db.Querier, int64) (basisPoints int, ok bool, err error) {
	return 0, false, nil
}

// Taxes resolves how an account is taxed.
type Taxes interface {
	// Taxes returns the tax of each account; one that is not taxed may be missing.
	Taxes(ctx context.Context, q db.Querier, accountIDs []int64) (map[int64]money.Tax, error)
}

// TaxOf returns the tax of a single account.
func TaxOf(ctx context.Context, q db.Querier, taxes Taxes, accountID int64) (money.Tax, error) {
	all, err := taxes.Taxes(ctx, q, []int64{accountID})
	return all[accountID], err
}

// Untaxed implements Taxes for a company that charges no taxes.
type Untaxed struct{}

// Taxes implements Taxes.
func (Untaxed) Taxes(context.Context, db.Querier, []int64) (map[int64]money.Tax, error) {
	return nil, nil
}

// Clocks resolves the time of an account: a sandbox's clock may be ahead of the real time.
type Clocks interface {
	// Now returns the time of a sandbox that is ahead; false for every other account.
	Now(ctx context.Context, q db.Querier, accountID int64) (now time.Time, ahead bool, err error)
	// Enter gives tx the time of the account until leave is called. It always enters (db.Tx.Enter), also for accounts with
	// the real time: events of an account that tx has not entered are refused (CheckTime).
	Enter(ctx context.Context, tx *db.Tx, accountID int64) (leave func(), err error)
	// Ahead returns the sandboxes whose clocks stand ahead of the real time, by account.
	Ahead(ctx context.Context, q db.Querier) (map[int64]time.Time, error)
}

// RealTime implements Clocks for an installation where every sandbox has the real time.
type RealTime struct{}

// Now implements Clocks.
func (RealTime) Now(context.Context, db.Querier, int64) (now time.Time, ahead bool, err error) {
	return time.Time{}, false, nil
}

// Enter implements Clocks.
func (RealTime) Enter(_ context.Context, tx *db.Tx, accountID int64) (leave func(), err error) {
	if tx.InTimeOf(accountID) {
		return func() {}, nil
	}
	return tx.Enter(accountID, time.Time{}), nil
}

// Ahead implements Clocks.
func (RealTime) Ahead(context.Context, db.Querier) (map[int64]time.Time, error) { return nil, nil }

// CheckTime returns an error in a transaction that has not entered the time of the account: a function that forgets to enter
// it would give a sandbox the time of the machine. The sections whose time can be moved call it where they emit events, so any
// test of such a function fails.
func CheckTime(tx *db.Tx, accountID int64) error {
	if !tx.InTimeOf(accountID) {
		return fmt.Errorf("sale: the transaction is not in the time of account %d: enter it (Clocks.Enter)", accountID)
	}
	return nil
}

// Funds are what an account can spend, and the tax that comes on top of what it buys.
type Funds struct {
	Balance money.USDCents
	Tax     money.Tax
}

// Covers tells whether what there is to spend pays for a price.
func (f Funds) Covers(price money.USDCents) bool {
	on, _, err := f.Tax.Of(price)
	return err == nil && price <= f.Balance-on
}
