package wallet

import (
	"context"
	"errors"
	"fmt"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/module"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/port/gateway"
)

// autoState is where automatic top-ups stand. A crossing of the threshold is answered
// by one top-up: what becomes of it, there is no second one before the balance has been
// above the threshold again.
type autoState string

const (
	armed autoState = "armed" // the balance has been above
	due   autoState = "due"   // it fell below, and nothing was done yet
	acted autoState = "acted" // a top-up was begun
)

// settings are what a customer has chosen.
type settings struct {
	// LowBalance is the balance below which the owner is told; 0: never.
	LowBalance money.USDCents
	// Low: it is below, and the owner was told.
	Low   bool
	Auto  automatic
	State autoState
}

// automatic is how the wallet tops itself up.
type automatic struct {
	Enabled   bool
	Gateway   string
	Amount    money.USDCents
	Threshold money.USDCents
	// MaxPerDay bounds the automatic top-ups of any 24 hours.
	MaxPerDay money.USDCents
	Language  string
}

// perDay is how many automatic top-ups a day are made where the customer does not say.
const perDay = 3

// settingsChange is what a customer changes; nil leaves a member as it is.
type settingsChange struct {
	LowBalance *money.USDCents // 0 switches it off
	Auto       *autoChange
}

type autoChange struct {
	Enabled                      *bool
	Gateway                      *string
	Amount, Threshold, MaxPerDay *money.USDCents
}

// with is the settings after a change.
func (a automatic) with(c autoChange) (automatic, error) {
	if c.Enabled != nil {
		a.Enabled = *c.Enabled
	}
	if c.Gateway != nil {
		a.Gateway = *c.Gateway
	}
	if c.Threshold != nil {
		a.Threshold = *c.Threshold
	}
	if c.Amount != nil {
		a.Amount = *c.Amount
	}
	switch {
	case c.MaxPerDay != nil:
		a.MaxPerDay = *c.MaxPerDay
	case a.MaxPerDay == 0 || (c.Amount != nil && a.MaxPerDay < a.Amount):
		most, err := a.Amount.Mul(perDay)
		if err != nil {
			return a, err // the edge bounds it
		}
		a.MaxPerDay = most
	}
	if !a.Enabled {
		return a, nil
	}
	for field, bad := range map[string]bool{
		"auto_topup.gateway": a.Gateway == "", "auto_topup.amount_usd_cents": a.Amount == 0, "auto_topup.threshold_usd_cents": a.Threshold == 0,
	} {
		if bad {
			return a, fault.Invalid(field, "required")
		}
	}
	if a.Amount < a.Threshold {
		// One top-up has to bring the balance above the threshold, or the next crossing never comes.
		return a, fault.Invalid("auto_topup.amount_usd_cents", "auto_topup_amount")
	}
	if a.MaxPerDay < a.Amount {
		return a, fault.Invalid("auto_topup.max_per_day_usd_cents", "auto_topup_day")
	}
	return a, nil
}

// change changes the settings of an account's wallet. What they say of the balance as it
// is takes effect in the same commit.
func (s *Service) change(ctx context.Context, tx *db.Tx, accountID int64, c settingsChange) error {
	p, err := s.lock(ctx, tx, accountID)
	if err != nil {
		return err
	}
	now, err := readSettings(ctx, tx, accountID)
	if err != nil {
		return err
	}
	if c.LowBalance != nil {
		now.LowBalance = *c.LowBalance
	}
	if c.Auto != nil {
		if now.Auto, err = now.Auto.with(*c.Auto); err != nil {
			return err
		}
		now.Auto.Language = i18n.Lang(ctx)
		if now.Auto.Enabled {
			if err := s.canTopUp(ctx, tx, p, now.Auto); err != nil {
				return err
			}
		}
		// Whoever asks for it while the balance is low asks for a top-up now.
		now.State = armed
	}
	if err := putSettings(ctx, tx, accountID, now); err != nil {
		return err
	}
	if err := setWatched(ctx, tx, accountID, now.LowBalance > 0 || now.Auto.Enabled); err != nil {
		return err
	}
	return s.watch(ctx, tx, accountID)
}

// canTopUp says why the wallet cannot top itself up like this, or nil.
func (s *Service) canTopUp(ctx context.Context, q db.Querier, p *purse, a automatic) error {
	g, ok := s.gatewayFor(a.Gateway, p.sandbox)
	if _, saving := g.(gateway.Saving); !ok || !saving {
		return ErrGatewayUnavailable.New()
	}
	info := g.Info()
	switch {
	case a.Amount < info.Min:
		return ErrAmountTooSmall.With(fault.Fields{"min": money.Wire(ctx, info.Min)})
	case a.Amount > info.Max:
		return ErrAmountTooLarge.With(fault.Fields{"max": money.Wire(ctx, info.Max)})
	}
	if _, err := findMethod(ctx, q, p.accountID, a.Gateway); errors.Is(err, db.ErrNoRows) {
		return ErrPaymentMethodRequired.New()
	} else if err != nil {
		return err
	}
	return nil
}

// SetLowBalance changes the balance below which the owner of a wallet is told; 0 means
// never.
func (s *Service) SetLowBalance(ctx context.Context, tx *db.Tx, accountID int64, threshold money.USDCents) error {
	return s.change(ctx, tx, accountID, settingsChange{LowBalance: &threshold})
}

// LowBalance is what SetLowBalance has set.
func (s *Service) LowBalance(ctx context.Context, q db.Querier, accountID int64) (money.USDCents, error) {
	found, err := readSettings(ctx, q, accountID)
	return found.LowBalance, err
}

// watchName orders the look at a watched balance among what transactions leave to their end.
const watchName = "wallet.watch"

// watch compares a balance with what its owner wants to know and to happen. It is done
// once all movements of a transaction are, so that a charge whose part comes back at once
// does not look like a low balance.
func (s *Service) watch(ctx context.Context, tx *db.Tx, accountID int64) error {
	now, err := readSettings(ctx, tx, accountID)
	if err != nil {
		return err
	}
	b, err := readBalance(ctx, tx, accountID)
	if err != nil {
		return err
	}
	before := now
	now.Low = b.Spendable < now.LowBalance
	switch {
	case !now.Auto.Enabled || b.Spendable >= now.Auto.Threshold:
		now.State = armed
	case now.State == armed:
		now.State = due
	}
	if now == before {
		return nil
	}
	if err := putSettings(ctx, tx, accountID, now); err != nil {
		return err
	}
	if now.State == due && before.State != due {
		if err := s.wakeAutomatic(ctx, tx, accountID); err != nil {
			return err
		}
	}
	if !now.Low || before.Low {
		return nil
	}
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: "wallet.low_balance", AccountID: accountID, Subject: "wallet", SubjectID: accountID,
		Data: lowBalanceEvent{Balance: b.Spendable, Threshold: now.LowBalance},
	})
}

// lowBalanceEvent is the data of wallet.low_balance.
type lowBalanceEvent struct {
	Balance   money.USDCents `json:"balance_usd_cents"`
	Threshold money.USDCents `json:"threshold_usd_cents"`
}

func readSettings(ctx context.Context, q db.Querier, accountID int64) (s settings, err error) {
	var (
		low   *int64
		state string
	)
	err = q.QueryRow(ctx, `SELECT low_balance_threshold, low, auto_enabled, auto_gateway, auto_amount, auto_threshold, auto_max_per_day,
			auto_language, auto_state FROM wallet_settings WHERE account_id = $1`, accountID).
		Scan(&low, &s.Low, &s.Auto.Enabled, &s.Auto.Gateway, &s.Auto.Amount, &s.Auto.Threshold, &s.Auto.MaxPerDay, &s.Auto.Language, &state)
	if errors.Is(err, db.ErrNoRows) {
		return settings{State: armed}, nil
	}
	if err != nil {
		return s, fmt.Errorf("wallet: read the settings of %d: %w", accountID, err)
	}
	if low != nil {
		s.LowBalance = money.USDCents(*low)
	}
	s.State = autoState(state)
	return s, nil
}

func putSettings(ctx context.Context, tx *db.Tx, accountID int64, s settings) error {
	var low *int64
	if s.LowBalance > 0 {
		cents := int64(s.LowBalance)
		low = &cents
	}
	_, err := tx.Exec(ctx, `INSERT INTO wallet_settings (account_id, low_balance_threshold, low, auto_enabled, auto_gateway, auto_amount,
			auto_threshold, auto_max_per_day, auto_language, auto_state)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (account_id) DO UPDATE SET low_balance_threshold = excluded.low_balance_threshold, low = excluded.low,
			auto_enabled = excluded.auto_enabled, auto_gateway = excluded.auto_gateway, auto_amount = excluded.auto_amount,
			auto_threshold = excluded.auto_threshold, auto_max_per_day = excluded.auto_max_per_day, auto_language = excluded.auto_language,
			auto_state = excluded.auto_state`,
		accountID, low, s.Low, s.Auto.Enabled, s.Auto.Gateway, int64(s.Auto.Amount), int64(s.Auto.Threshold), int64(s.Auto.MaxPerDay),
		s.Auto.Language, string(s.State))
	if err != nil {
		return fmt.Errorf("wallet: write the settings of %d: %w", accountID, err)
	}
	return nil
}

func setWatched(ctx context.Context, tx *db.Tx, accountID int64, watched bool) error {
	_, err := tx.Exec(ctx, `UPDATE wallet_ledger_accounts SET watched = $1 WHERE owner_id = $2 AND kind = $3`, watched, accountID, string(customer))
	if err != nil {
		return fmt.Errorf("wallet: watch %d: %w", accountID, err)
	}
	return nil
}

// method is a means of payment that a gateway keeps for a customer.
type method struct {
	Gateway   string
	Reference string
	Label     string
}

func scanMethod(r db.Row) (m method, err error) {
	err = r.Scan(&m.Gateway, &m.Reference, &m.Label)
	return m, err
}

const selectMethod = `SELECT gateway, reference, label FROM wallet_methods WHERE account_id = $1`

func findMethod(ctx context.Context, q db.Querier, accountID int64, gatewayKey string) (method, error) {
	return scanMethod(q.QueryRow(ctx, selectMethod+` AND gateway = $2`, accountID, gatewayKey))
}

func methods(ctx context.Context, q db.Querier, accountID int64) ([]method, error) {
	return db.Collect(ctx, q, scanMethod, selectMethod+` ORDER BY gateway`, accountID)
}

// putMethod keeps a means of payment in the place of the one before.
func putMethod(ctx context.Context, tx *db.Tx, accountID int64, m method) error {
	_, err := tx.Exec(ctx, `INSERT INTO wallet_methods (account_id, gateway, reference, label, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (account_id, gateway) DO UPDATE SET reference = excluded.reference, label = excluded.label, created_at = excluded.created_at`,
		accountID, m.Gateway, m.Reference, m.Label, tx.Now)
	if err != nil {
		return fmt.Errorf("wallet: keep a means of payment: %w", err)
	}
	return nil
}

// Closed forgets how the wallet of an account that is closed is topped up. While a payment is on its way it is not closed.
func (s *Service) Closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	if _, err := s.lock(ctx, tx, accountID); err != nil {
		return err
	}
	sandbox, err := isSandbox(ctx, tx, accountID)
	if err != nil {
		return err
	}
	waiting, err := inFlight(ctx, tx, accountID)
	if err == nil && waiting && !sandbox { // of play money nothing is lost
		err = fault.InUse.Wrapf("a payment to its wallet is on its way")
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM wallet_methods WHERE account_id = $1`, accountID); err != nil {
		return fmt.Errorf("wallet: forget the means of payment of %d: %w", accountID, err)
	}
	off, never := false, money.USDCents(0)
	return s.change(ctx, tx, accountID, settingsChange{LowBalance: &never, Auto: &autoChange{Enabled: &off}})
}

// obstacles are payments on their way, money that is set aside and debts; what can be spent may be given up.
func (s *Service) obstacles(ctx context.Context, q db.Querier, accountID int64) (all []module.Obstacle, err error) {
	waiting, err := inFlight(ctx, q, accountID)
	if err != nil {
		return nil, err
	}
	if waiting {
		all = append(all, module.Obstacle{Kind: "payments", Count: 1})
	}
	b, err := readBalance(ctx, q, accountID)
	for _, o := range []module.Obstacle{{Kind: "reserved", Amount: b.Held}, {Kind: "debt", Amount: b.Debt}, {Kind: "balance", Amount: b.Spendable, Waivable: true}} {
		if o.Amount > 0 {
			o.Count = 1
			all = append(all, o)
		}
	}
	return all, err
}

// dropMethod forgets a means of payment, and the automatic top-ups that use it.
func (s *Service) dropMethod(ctx context.Context, tx *db.Tx, accountID int64, gatewayKey string) error {
	if _, err := s.lock(ctx, tx, accountID); err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `DELETE FROM wallet_methods WHERE account_id = $1 AND gateway = $2`, accountID, gatewayKey)
	if err != nil {
		return fmt.Errorf("wallet: forget a means of payment: %w", err)
	}
	if n == 0 {
		return fault.NotFound.New()
	}
	now, err := readSettings(ctx, tx, accountID)
	if err != nil || !now.Auto.Enabled || now.Auto.Gateway != gatewayKey {
		return err
	}
	off := false
	return s.change(ctx, tx, accountID, settingsChange{Auto: &autoChange{Enabled: &off}})
}
