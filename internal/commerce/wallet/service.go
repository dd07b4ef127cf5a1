package wallet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/port/gateway"
)

// Sealer keeps the tokens of payment pages readable for us alone.
type Sealer interface {
	Seal(plaintext, aad []byte) ([]byte, error)
	Open(sealed, aad []byte) ([]byte, error)
}

// Config of a Service. All fields are required unless said otherwise.
type Config struct {
	DB     *db.DB
	Clock  clock.Clock
	Events outbox.Events
	Box    Sealer
	Log    *slog.Logger
	// Queue takes what follows from a movement; where it drops that, the periodic jobs do it.
	Queue jobs.Enqueuer
	// Gateways that are offered, in this order.
	Gateways []gateway.Gateway
	// BaseURL is the public address, under which /pay/ is mounted.
	BaseURL string
	// Brand is named on the payment page.
	Brand brand.Source
	// MaxBalance bounds what a customer may have when a top-up is made, and every
	// single credit; 0 means DefaultMaxBalance.
	MaxBalance money.USDCents
}

// DefaultMaxBalance is 100,000 dollars.
const DefaultMaxBalance money.USDCents = 10_000_000

// Renewals tells what an account's services are going to cost.
type Renewals interface {
	// DueRenewals is the sum of the automatic renewals due within so many days of the account's time.
	DueRenewals(ctx context.Context, q db.Querier, accountID int64, days int) (money.USDCents, error)
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Renewals Renewals
}

// Service keeps the ledger and the top-ups.
type Service struct {
	Config
	Needs
	company companyAccounts
}

// New makes the section. Connect comes before its operations.
func New(c Config) *Service {
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	if c.MaxBalance == 0 {
		c.MaxBalance = DefaultMaxBalance
	}
	return &Service{Config: c}
}

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Charge moves money from the customer's balance to what is held for them,
// until Capture or Release. It refuses with ErrInsufficientFunds, and then has
// written nothing. A charge of zero is recorded like any other. Repeated for
// the same reference it does nothing.
func (s *Service) Charge(ctx context.Context, tx *db.Tx, c sale.Charge) error {
	p, err := s.begin(ctx, tx, c.AccountID, c.Reference, c.Amount, 0)
	if err != nil {
		return err
	}
	if done, err := recorded(ctx, tx, c.AccountID, c.Reference, TypeCharge, -c.Amount); err != nil || done {
		return err
	}
	err = post(ctx, tx, p, holding(c))
	if errors.Is(err, errShort) {
		err = insufficient(ctx, c.Amount, p.balance(customer))
	}
	return err
}

// Pay is Charge and Capture at once, for things that are delivered in this very transaction. The references are new ones.
// The charges are taken in their order, several of one customer too, and Pay returns for each why it was refused: with
// ErrInsufficientFunds where what is left does not cover it. Nothing is written of a charge that is refused.
func (s *Service) Pay(ctx context.Context, tx *db.Tx, all []sale.Charge) (refused []error, err error) {
	accounts := make([]int64, len(all))
	for i, c := range all {
		if c.Amount < 0 {
			return nil, ErrBadAmount
		}
		if err := checkReference(c.Reference); err != nil {
			return nil, err
		}
		accounts[i] = c.AccountID
	}
	slices.Sort(accounts)
	purses, err := s.lockAll(ctx, tx, slices.Compact(accounts))
	if err != nil {
		return nil, err
	}
	journals := make([]*journal, len(all))
	for i, c := range all {
		journals[i] = &journal{purse: purses[c.AccountID], movements: []movement{holding(c), ending(c, TypeCapture, revenue, "")}}
	}
	if refused, err = postAll(ctx, tx, journals); err != nil {
		return nil, fmt.Errorf("wallet: pay %d charges, from %s %d on: %w", len(all), all[0].Reference.Type, all[0].Reference.ID, err)
	}
	for i, reason := range refused {
		switch {
		case errors.Is(reason, errShort):
			refused[i] = insufficient(ctx, all[i].Amount, journals[i].balance(customer)) //nolint:gosec // postAll answers one for each journal
		case reason != nil:
			return nil, reason
		}
	}
	return refused, nil
}

// begin locks the customer's ledger accounts for a movement that has a reference and is of at least so much.
func (s *Service) begin(ctx context.Context, tx *db.Tx, accountID int64, ref sale.Reference, amount, least money.USDCents) (*purse, error) {
	if amount < least {
		return nil, ErrBadAmount
	}
	if err := checkReference(ref); err != nil {
		return nil, err
	}
	return s.lock(ctx, tx, accountID)
}

// recorded tells whether a movement was made before; ErrReferenceReused when one of another customer or amount was.
func recorded(ctx context.Context, tx *db.Tx, accountID int64, ref sale.Reference, typ Type, amount money.USDCents) (bool, error) {
	done, found, err := findEntry(ctx, tx, ref, typ, 0)
	if err == nil && found && (done.accountID != accountID || done.amount != amount) {
		err = ErrReferenceReused
	}
	return found, err
}

// holding is the movement that sets the money of a charge aside.
func holding(c sale.Charge) movement {
	return movement{
		typ: TypeCharge, ref: c.Reference, description: c.Description, clientRef: c.ClientRef,
		legs: legs(leg{customer, "", -c.Amount}, leg{held, "", c.Amount}),
	}
}

// ending is the movement that takes it to where it stays.
func ending(c sale.Charge, typ Type, to accountKind, description string) movement {
	return movement{
		typ: typ, ref: c.Reference, description: description, clientRef: c.ClientRef,
		legs: legs(leg{held, "", -c.Amount}, leg{to, "", c.Amount}),
	}
}

func insufficient(ctx context.Context, required, balance money.USDCents) error {
	return ErrInsufficientFunds.With(fault.Fields{
		"required": money.Wire(ctx, required),
		"balance":  money.Wire(ctx, balance),
		"missing":  money.Wire(ctx, required-balance),
	})
}

// Capture makes what is held for the reference the company's: it was delivered.
// Repeated it does nothing.
func (s *Service) Capture(ctx context.Context, tx *db.Tx, ref sale.Reference) error {
	return s.settle(ctx, tx, ref, TypeCapture, revenue, "")
}

// Release gives what is held for the reference back to the customer's balance:
// it was not delivered. Repeated it does nothing.
func (s *Service) Release(ctx context.Context, tx *db.Tx, ref sale.Reference, description string) error {
	return s.settle(ctx, tx, ref, TypeRefund, customer, description)
}

// CapturePart makes a part of what is held for the reference the company's and gives the rest back: less was used than was
// held. Nothing and all of it are parts, too. Repeated with the same amount it does nothing.
func (s *Service) CapturePart(ctx context.Context, tx *db.Tx, ref sale.Reference, amount money.USDCents, description string) error {
	charge, found, err := findEntry(ctx, tx, ref, TypeCharge, 0)
	if err != nil {
		return err
	}
	all := -charge.amount
	switch {
	case !found:
		return ErrNothingHeld
	case amount < 0 || amount > all:
		return ErrBadAmount
	case amount == all:
		return s.Capture(ctx, tx, ref)
	case amount == 0:
		return s.Release(ctx, tx, ref, description)
	}
	p, err := s.lock(ctx, tx, charge.accountID)
	if err != nil {
		return err
	}
	done, err := s.capturedPart(ctx, tx, ref, amount)
	if err != nil || done {
		return err
	}
	part := sale.Charge{Amount: amount, Reference: ref, ClientRef: charge.clientRef}
	rest := sale.Charge{Amount: all - amount, Reference: ref, ClientRef: charge.clientRef}
	if err := post(ctx, tx, p, ending(part, TypeCapture, revenue, ""), ending(rest, TypeRefund, customer, description)); err != nil {
		return err
	}
	return repay(ctx, tx, p)
}

// capturedPart tells whether this part was captured before; ErrNothingHeld when the charge has ended otherwise.
func (s *Service) capturedPart(ctx context.Context, tx *db.Tx, ref sale.Reference, amount money.USDCents) (bool, error) {
	ends, err := endsOf(ctx, tx, ref)
	if err != nil || len(ends) == 0 {
		return false, err
	}
	captured, err := capturedOf(ctx, tx, ref)
	if err != nil {
		return false, err
	}
	if len(ends) != 2 || captured != amount {
		return false, ErrNothingHeld
	}
	return true, nil
}

// Refund gives a customer back a part of what was paid before, such as the rest of a
// period that another plan takes the place of. Repeated for the same reference it
// does nothing; a reference whose charge was released cannot be refunded.
func (s *Service) Refund(ctx context.Context, tx *db.Tx, c sale.Charge) error {
	p, err := s.begin(ctx, tx, c.AccountID, c.Reference, c.Amount, 1)
	if err != nil {
		return err
	}
	if done, err := recorded(ctx, tx, c.AccountID, c.Reference, TypeRefund, c.Amount); err != nil || done {
		return err
	}
	err = post(ctx, tx, p, movement{
		typ: TypeRefund, ref: c.Reference, description: c.Description, clientRef: c.ClientRef,
		legs: legs(leg{revenue, "", -c.Amount}, leg{customer, "", c.Amount}),
	})
	if err != nil {
		return err
	}
	return repay(ctx, tx, p)
}

// settle ends a charge in one of its two ways.
func (s *Service) settle(ctx context.Context, tx *db.Tx, ref sale.Reference, typ Type, to accountKind, description string) error {
	charge, found, err := findEntry(ctx, tx, ref, TypeCharge, 0)
	if err != nil {
		return err
	}
	if !found {
		return ErrNothingHeld
	}
	p, err := s.lock(ctx, tx, charge.accountID)
	if err != nil {
		return err
	}
	ends, err := endsOf(ctx, tx, ref)
	if err != nil {
		return err
	}
	other := map[Type]Type{TypeCapture: TypeRefund, TypeRefund: TypeCapture}[typ]
	if slices.Contains(ends, other) {
		return ErrNothingHeld
	}
	if slices.Contains(ends, typ) {
		return nil
	}
	c := sale.Charge{Amount: -charge.amount, Reference: ref, ClientRef: charge.clientRef}
	if err := post(ctx, tx, p, ending(c, typ, to, description)); err != nil {
		return err
	}
	return repay(ctx, tx, p)
}

// repay lets a customer's debt be paid by what has come in.
func repay(ctx context.Context, tx *db.Tx, p *purse) error {
	amount := min(-p.balance(debt), p.balance(customer))
	if amount <= 0 {
		return nil
	}
	ref, err := putAdjustment(ctx, tx, p.accountID, -amount, "debt", "system")
	if err != nil {
		return err
	}
	return post(ctx, tx, p, movement{
		typ: TypeRepayment, ref: ref, legs: legs(leg{customer, "", -amount}, leg{debt, "", amount}),
	})
}

// Credit is money given to a customer.
type Credit struct {
	AccountID int64
	Amount    money.USDCents
	// Type is adjustment, bonus, sla_credit or referral_reward.
	Type Type
	// Reference makes the credit unique, as an SLA assessment does; a zero one is
	// replaced by a new adjustment, and then every call credits.
	Reference sale.Reference
	// Reason is shown to the customer; Actor is who did it, for the records.
	Reason string
	Actor  string
}

// Credit gives money to a customer and tells wallet.adjusted, or wallet.sla_credited of compensation for an outage.
func (s *Service) Credit(ctx context.Context, tx *db.Tx, c Credit) error {
	switch c.Type {
	case TypeAdjustment, TypeBonus, TypeSLACredit, TypeReferralReward:
	default:
		return errors.New("wallet: a credit cannot be a " + string(c.Type))
	}
	if c.Amount <= 0 || c.Amount > s.MaxBalance {
		return fmt.Errorf("%w: a credit is between one cent and %v", ErrBadAmount, s.MaxBalance)
	}
	p, err := s.lock(ctx, tx, c.AccountID)
	if err != nil {
		return err
	}
	if c.Reference == (sale.Reference{}) {
		if c.Reference, err = putAdjustment(ctx, tx, c.AccountID, c.Amount, c.Reason, c.Actor); err != nil {
			return err
		}
	} else if done, err := recorded(ctx, tx, c.AccountID, c.Reference, c.Type, c.Amount); err != nil || done {
		return err
	}
	err = post(ctx, tx, p, movement{
		typ: c.Type, ref: c.Reference, description: c.Reason,
		legs: legs(leg{adjustments, "", -c.Amount}, leg{customer, "", c.Amount}),
	})
	if err != nil {
		return err
	}
	if err := repay(ctx, tx, p); err != nil {
		return err
	}
	return s.adjusted(ctx, tx, p, c.Type, c.Amount, c.Reason)
}

// Debit takes money from a customer, on an operator's order. reason is shown to the customer; actor is who did it, for the
// records. No more can be taken than can be spent.
func (s *Service) Debit(ctx context.Context, tx *db.Tx, accountID int64, amount money.USDCents, reason, actor string) error {
	if amount <= 0 || amount > s.MaxBalance {
		return fault.Validation.Wrapf("a debit is between one cent and %v", s.MaxBalance)
	}
	p, err := s.lock(ctx, tx, accountID)
	if err != nil {
		return err
	}
	if spendable := p.balance(customer); amount > spendable {
		return ErrInsufficientFunds.With(fault.Fields{"balance_usd_cents": spendable, "required_usd_cents": amount})
	}
	ref, err := putAdjustment(ctx, tx, accountID, -amount, reason, actor)
	if err != nil {
		return err
	}
	err = post(ctx, tx, p, movement{
		typ: TypeAdjustment, ref: ref, description: reason,
		legs: legs(leg{customer, "", -amount}, leg{adjustments, "", amount}),
	})
	if err != nil {
		return err
	}
	return s.adjusted(ctx, tx, p, TypeAdjustment, -amount, reason)
}

// Reclaim takes a part of a credit back, such as a reward for what is refunded: from what
// can be spent, the rest as a debt. Reference is the credit's; part tells several of them
// apart, and repeated for the same part it does nothing.
func (s *Service) Reclaim(ctx context.Context, tx *db.Tx, c Credit, part int64) error {
	p, err := s.begin(ctx, tx, c.AccountID, c.Reference, c.Amount, 1)
	if err != nil {
		return err
	}
	if _, found, err := findEntry(ctx, tx, c.Reference, TypeReversal, part); err != nil || found {
		return err
	}
	fromCustomer := min(c.Amount, p.balance(customer))
	err = post(ctx, tx, p, movement{
		typ: TypeReversal, ref: c.Reference, part: part, description: c.Reason,
		legs: legs(leg{customer, "", -fromCustomer}, leg{debt, "", fromCustomer - c.Amount}, leg{adjustments, "", c.Amount}),
	})
	if err != nil {
		return err
	}
	return s.adjusted(ctx, tx, p, TypeReversal, -c.Amount, c.Reason)
}

// TakeBack undoes a credit that an operator gave by mistake, named by its transaction: what can still be spent leaves the
// wallet, and the rest becomes a debt. A second time is a conflict. actor is who did it, for the records.
func (s *Service) TakeBack(ctx context.Context, tx *db.Tx, accountID, transaction int64, reason, actor string) error {
	if _, err := s.lock(ctx, tx, accountID); err != nil {
		return err
	}
	credit, err := findAdjustment(ctx, tx, accountID, transaction)
	if err != nil {
		return err
	}
	_, found, err := findEntry(ctx, tx, credit.Reference, TypeReversal, 0)
	if err == nil && found {
		err = fault.Conflict.Wrapf("wallet: transaction %d was taken back already", transaction)
	}
	if err != nil {
		return err
	}
	if _, err := putAdjustment(ctx, tx, accountID, -credit.Amount, reason, actor); err != nil {
		return err
	}
	credit.Reason = reason
	return s.Reclaim(ctx, tx, credit, 0)
}

// walletEvent is the data of wallet.adjusted.
type walletEvent struct {
	Type           Type           `json:"type"`
	AmountUSDCents money.USDCents `json:"amount_usd_cents"`
	BalanceAfter   money.USDCents `json:"balance_after_usd_cents"`
	Reason         string         `json:"reason"`
}

func (s *Service) adjusted(ctx context.Context, tx *db.Tx, p *purse, typ Type, amount money.USDCents, reason string) error {
	kind := "wallet.adjusted"
	if typ == TypeSLACredit {
		kind = "wallet.sla_credited"
	}
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: kind, AccountID: p.accountID, Subject: "wallet", SubjectID: p.accountID,
		Data: walletEvent{Type: typ, AmountUSDCents: amount, BalanceAfter: p.balance(customer), Reason: reason},
	})
}

// Transaction is the id of the movement of a type that was made for a reference; false when there is none.
func (s *Service) Transaction(ctx context.Context, q db.Querier, ref sale.Reference, typ Type) (int64, bool, error) {
	e, found, err := findEntry(ctx, q, ref, typ, 0)
	return e.id, found, err
}

// Balance of a customer; a customer without movements has none.
func (s *Service) Balance(ctx context.Context, q db.Querier, accountID int64) (Balance, error) {
	return readBalance(ctx, q, accountID)
}

// Spendable is the part of a customer's balance that pays for something now.
func (s *Service) Spendable(ctx context.Context, q db.Querier, accountID int64) (money.USDCents, error) {
	b, err := readBalance(ctx, q, accountID)
	return b.Spendable, err
}
