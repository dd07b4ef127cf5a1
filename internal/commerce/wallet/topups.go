package wallet

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/gateway"
)

// gateway finds an offered gateway by its key.
func (s *Service) gateway(key string) (gateway.Gateway, bool) {
	for _, g := range s.Gateways {
		if g.Info().Key == key {
			return g, true
		}
	}
	return nil, false
}

// gatewayFor finds a gateway that a wallet may be topped up through: play money costs
// nothing.
func (s *Service) gatewayFor(key string, sandbox bool) (gateway.Gateway, bool) {
	g, ok := s.gateway(key)
	if !ok || sandbox && !g.Info().Simulated {
		return nil, false
	}
	return g, true
}

// create makes a top-up. Nothing is asked of the gateway yet: that happens when
// the customer visits the payment page, outside of any transaction.
func (s *Service) create(ctx context.Context, tx *db.Tx, accountID int64, gatewayKey string, amount money.USDCents, back string, save bool) (topup, error) {
	sandbox, err := isSandbox(ctx, tx, accountID)
	if err != nil {
		return topup{}, err
	}
	g, ok := s.gatewayFor(gatewayKey, sandbox)
	if _, saving := g.(gateway.Saving); !ok || save && !saving {
		return topup{}, ErrGatewayUnavailable.New()
	}
	info := g.Info()
	switch {
	case amount < info.Min:
		return topup{}, ErrAmountTooSmall.With(fault.Fields{"min": money.Wire(ctx, info.Min)})
	case amount > info.Max:
		return topup{}, ErrAmountTooLarge.With(fault.Fields{"max": money.Wire(ctx, info.Max)})
	case back != "" && !returnURL(back):
		return topup{}, fault.Invalid("return_url", "return_url")
	}
	fee, err := info.Fee(amount)
	if err != nil {
		return topup{}, fmt.Errorf("wallet: fee of %s: %w", info.Key, err)
	}
	if err := s.checkLimit(ctx, tx, accountID, amount); err != nil {
		return topup{}, err
	}
	if err := checkUnpaid(ctx, tx, accountID); err != nil {
		return topup{}, err
	}
	token := secret.Token("pay_", 24)
	t := topup{
		AccountID: accountID, Gateway: info.Key, Amount: amount, Fee: fee, Status: pending, TokenHash: secret.Hash(token),
		Language: i18n.Lang(ctx), ReturnURL: back, CreatedAt: tx.Now, ExpiresAt: tx.Now.Add(info.Lifetime),
		Save: save,
	}
	if t.TokenSealed, err = s.Box.Seal([]byte(token), t.TokenHash); err != nil {
		return topup{}, fmt.Errorf("wallet: seal the payment token: %w", err)
	}
	t.ID, err = putTopup(ctx, tx, t)
	return t, err
}

func (s *Service) checkLimit(ctx context.Context, q db.Querier, accountID int64, amount money.USDCents) error {
	b, err := readBalance(ctx, q, accountID)
	if err != nil {
		return err
	}
	after, err := money.Sum(b.Spendable, b.Held, amount)
	if err != nil || after > s.MaxBalance {
		return ErrWalletLimitExceeded.With(fault.Fields{"max": money.Wire(ctx, s.MaxBalance)})
	}
	return nil
}

// maxUnpaid bounds the top-ups that an account begins and does not pay: they are kept, and cost nothing.
const maxUnpaid = 100

// checkUnpaid refuses one more top-up of an account: fault.LimitReached. Those begun at the same moment may exceed the bound by a few.
func checkUnpaid(ctx context.Context, tx *db.Tx, accountID int64) error {
	unpaid, err := countUnpaid(ctx, tx, accountID, tx.Now.Add(-24*time.Hour))
	if err == nil && unpaid >= maxUnpaid {
		err = fault.LimitReached.With(fault.Fields{"limit": "unpaid_topups", "maximum": maxUnpaid}).Saying("wallet.limit.unpaid")
	}
	return err
}

// checkoutURL is the address of the payment page.
func (s *Service) checkoutURL(t topup) (string, error) {
	token, err := s.Box.Open(t.TokenSealed, t.TokenHash)
	if err != nil {
		return "", fmt.Errorf("wallet: open the payment token of top-up %d: %w", t.ID, err)
	}
	return s.BaseURL + "/pay/" + string(token), nil
}

// forGateway is what the gateway is told.
func (s *Service) forGateway(t topup) (gateway.Topup, error) {
	page, err := s.checkoutURL(t)
	return gateway.Topup{ID: t.ID, Amount: t.Amount, Fee: t.Fee, Total: t.total(), PageURL: page, Language: t.Language, Save: t.Save}, err
}

// start begins the payment with the gateway and records where it is. It may be
// repeated: the gateway answers the same payment for the same top-up.
func (s *Service) start(ctx context.Context, t topup) (topup, gateway.Started, error) {
	g, ok := s.gateway(t.Gateway)
	if !ok {
		return t, gateway.Started{}, ErrGatewayUnavailable.New()
	}
	ask, err := s.forGateway(t)
	if err != nil {
		return t, gateway.Started{}, err
	}
	begun, err := g.Start(ctx, ask)
	if err != nil {
		return t, begun, ErrGatewayUnavailable.Wrap(err)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if t, err = lockTopup(ctx, tx, t.Gateway, t.ID); err != nil {
			return err
		}
		if !t.Status.open() || (t.Status == processing && t.Reference != nil) {
			return nil // settled, or begun by another visit
		}
		t.Status, t.Reference, t.RedirectURL = processing, &begun.Reference, begun.URL
		// The gateway may take the money until its own end, and tells us a little
		// later; only after that is the top-up given up.
		if slack := begun.ExpiresAt.Add(time.Hour); !begun.ExpiresAt.IsZero() && slack.After(t.ExpiresAt) {
			t.ExpiresAt = slack
		}
		return saveTopup(ctx, tx, t)
	})
	return t, begun, err
}

// The reasons for which an event is not taken.
var (
	// errForeign: the event does not concern a payment of ours.
	errForeign = errors.New("wallet: the event names no payment of ours")
	// errEarly: the event concerns a payment whose success has not arrived.
	errEarly = errors.New("wallet: the event came before the payment's success")
	// errMismatch: the event contradicts what was to be paid.
	errMismatch = errors.New("wallet: the event contradicts the top-up")
)

// apply takes an event of a gateway. It may come any number of times.
func (s *Service) apply(ctx context.Context, gatewayKey string, e gateway.Event) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		t, err := s.concerned(ctx, tx, gatewayKey, e)
		if err != nil {
			return err
		}
		switch e.Kind {
		case gateway.Succeeded:
			err := s.succeed(ctx, tx, t, e)
			if errors.Is(err, errMismatch) {
				// Nothing is credited; somebody has to look where the money is.
				s.Log.ErrorContext(ctx, "wallet: a payment is not what was asked for", "topup", t.ID, "error", err)
				return s.giveUp(ctx, tx, t, gateway.Failed, "amount_mismatch")
			}
			return err
		case gateway.Refunded, gateway.ChargedBack:
			return s.takeBack(ctx, tx, t, e)
		case gateway.Waiting:
			if _, ok := next(t.Status, e.Kind); !ok {
				return nil
			}
			t.Status, t.ExpiresAt = processing, tx.Now.Add(unpaidAfter)
			return saveTopup(ctx, tx, t)
		default:
			return s.giveUp(ctx, tx, t, e.Kind, e.FailureKey)
		}
	})
}

// concerned finds and locks the top-up, and compares what the event says with
// what we know: a payment is ours only when every name that it bears is.
func (s *Service) concerned(ctx context.Context, tx *db.Tx, gatewayKey string, e gateway.Event) (t topup, err error) {
	if e.TopupID > 0 {
		t, err = lockTopup(ctx, tx, gatewayKey, e.TopupID)
	} else {
		t, err = lockTopupByPayment(ctx, tx, gatewayKey, e.Payment)
	}
	switch {
	case errors.Is(err, db.ErrNoRows):
		return t, errForeign
	case err != nil:
		return t, fmt.Errorf("wallet: find the top-up of an event: %w", err)
	}
	back := e.Kind == gateway.Refunded || e.Kind == gateway.ChargedBack
	if !back && (t.Reference == nil || e.Reference != *t.Reference) {
		return t, errForeign
	}
	if back && !t.Status.paid() {
		return t, errEarly
	}
	if back && (t.Payment == nil || e.Payment != *t.Payment) {
		return t, errForeign
	}
	return t, nil
}

// succeed credits the top-up, once.
func (s *Service) succeed(ctx context.Context, tx *db.Tx, t topup, e gateway.Event) error {
	to, ok := next(t.Status, gateway.Succeeded)
	if !ok {
		return nil
	}
	if e.Total != t.total() || e.Currency != "USD" {
		return fmt.Errorf("%w: top-up %d is of %d USD cents, paid were %d %s", errMismatch, t.ID, t.total(), e.Total, e.Currency)
	}
	p, err := s.lock(ctx, tx, t.AccountID)
	if err != nil {
		return err
	}
	err = post(ctx, tx, p, movement{
		typ: TypeTopup, ref: sale.Reference{Type: "topup", ID: t.ID},
		legs: legs(leg{clearing, t.Gateway, -t.total()}, leg{customer, "", t.Amount}, leg{fees, "", t.Fee}),
	})
	if err != nil {
		return err
	}
	if err := repay(ctx, tx, p); err != nil {
		return err
	}
	t.Status, t.FailureKey, t.CompletedAt = to, "", &tx.Now
	if e.Payment != "" {
		t.Payment = &e.Payment
	}
	if err := saveTopup(ctx, tx, t); err != nil {
		return err
	}
	if t.Save && e.Method != nil {
		if err := putMethod(ctx, tx, t.AccountID, method{Gateway: t.Gateway, Reference: e.Method.Reference, Label: e.Method.Label}); err != nil {
			return err
		}
	}
	return s.tell(ctx, tx, "wallet.topup_succeeded", t)
}

// giveUp ends a top-up without money.
func (s *Service) giveUp(ctx context.Context, tx *db.Tx, t topup, kind gateway.EventKind, key string) error {
	to, ok := next(t.Status, kind)
	if !ok {
		return nil
	}
	t.Status, t.FailureKey, t.CompletedAt = to, key, &tx.Now
	if err := saveTopup(ctx, tx, t); err != nil {
		return err
	}
	return s.tell(ctx, tx, "wallet.topup_failed", t)
}

// EventTopupReversed tells the other sections of a top-up of which a part, or all, was taken back. Receivers of
// webhooks are told of the money by wallet.adjusted.
const EventTopupReversed = "wallet.topup_reversed"

// takeBack reverses money that the gateway gave back to the customer or lost to
// their bank. What they have spent already becomes their debt.
func (s *Service) takeBack(ctx context.Context, tx *db.Tx, t topup, e gateway.Event) error {
	if e.Currency != "USD" {
		return fmt.Errorf("%w: top-up %d was reversed in %s", errMismatch, t.ID, e.Currency)
	}
	ref, total, typ, part := sale.Reference{Type: "topup", ID: t.ID}, e.Total, TypeChargeback, disputePart(e.Dispute)
	if e.Kind == gateway.Refunded {
		// Refunds are told as their sum so far, in which disputes are not.
		before, err := refundedOf(ctx, tx, t.ID)
		if err != nil {
			return err
		}
		total, typ = e.Total-before, TypeReversal
	} else {
		for _, told := range []int64{part, int64(e.Total)} { // v0.1.0 noted what was taken back in all
			if _, again, err := findEntry(ctx, tx, ref, typ, told); err != nil || again {
				return err
			}
		}
	}
	total = min(total, t.total()-t.TakenBack)
	if total <= 0 {
		return nil
	}
	p, err := s.lock(ctx, tx, t.AccountID)
	if err != nil {
		return err
	}
	fromCustomer, asDebt, fromFee, err := takeBack(t.Amount, t.TakenBack, total, p.balance(customer))
	if err != nil {
		return err
	}
	if t.TakenBack += total; typ == TypeReversal {
		part = int64(t.TakenBack)
	}
	err = post(ctx, tx, p, movement{
		typ: typ, ref: ref, part: part,
		legs: legs(leg{customer, "", -fromCustomer}, leg{debt, "", -asDebt}, leg{fees, "", -fromFee}, leg{clearing, t.Gateway, total}),
	})
	if err != nil {
		return err
	}
	if to, ok := next(t.Status, e.Kind); ok && (e.Kind == gateway.ChargedBack || t.TakenBack >= t.Amount) {
		t.Status = to
	}
	if err := saveTopup(ctx, tx, t); err != nil {
		return err
	}
	if err := s.tell(ctx, tx, EventTopupReversed, t); err != nil {
		return err
	}
	return s.adjusted(ctx, tx, p, typ, -(fromCustomer + asDebt), "")
}

// disputePart tells the chargebacks of one top-up apart, in the ledger: by the provider's name of the dispute. It is negative, as
// no amount is.
func disputePart(dispute string) int64 {
	sum := sha256.Sum256([]byte(dispute))
	return -1 - int64(binary.BigEndian.Uint64(sum[:])>>1)
}

// ConfirmBankTransfer credits a top-up by bank transfer whose money an operator
// has seen on the company's account. received must be what was to be paid.
func (s *Service) ConfirmBankTransfer(ctx context.Context, topupID int64, received money.USDCents) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		t, err := topupRows.Scan(tx.QueryRow(ctx, selectTopup+` WHERE id = $1`+tx.ForUpdate(), topupID))
		if errors.Is(err, db.ErrNoRows) {
			return fault.NotFound.New()
		}
		if err != nil {
			return fmt.Errorf("wallet: find top-up %d: %w", topupID, err)
		}
		if g, ok := s.gateway(t.Gateway); !ok || g.Info().Kind != gateway.KindBankTransfer {
			return fault.NotFound.Wrapf("wallet: top-up %d is not paid by bank transfer", t.ID)
		}
		err = s.succeed(ctx, tx, t, gateway.Event{Kind: gateway.Succeeded, Total: received, Currency: "USD"})
		if errors.Is(err, errMismatch) {
			refusal := fault.InvalidData("received_usd_cents", "received_amount", map[string]any{"Total": t.total().String()})
			refusal.Cause = err
			return refusal
		}
		return err
	})
}

// batch is how many top-ups one transaction expires.
const batch = 100

// ExpireDue gives up the unpaid top-ups whose time is over and answers how many.
func (s *Service) ExpireDue(ctx context.Context) (int, error) {
	for total := 0; ; {
		n := 0
		err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			due, err := dueTopups(ctx, tx, batch)
			n = len(due)
			for _, t := range due {
				if err == nil {
					err = s.giveUp(ctx, tx, t, gateway.Expired, "expired")
				}
			}
			return err
		})
		if err != nil {
			return total, fmt.Errorf("wallet: expire top-ups: %w", err)
		}
		if total += n; n < batch {
			return total, nil
		}
	}
}

// InFlight tells whether a gateway is working on a payment of the account: its money may
// come at any moment.
func (s *Service) InFlight(ctx context.Context, q db.Querier, accountID int64) (bool, error) {
	return inFlight(ctx, q, accountID)
}

// topupEvent is the data of wallet.topup_succeeded and wallet.topup_failed.
type topupEvent struct {
	ID             int64          `json:"id"`
	Gateway        string         `json:"gateway"`
	AmountUSDCents money.USDCents `json:"amount_usd_cents"`
	FeeUSDCents    money.USDCents `json:"fee_usd_cents"`
	Status         string         `json:"status"`
	FailureKey     *string        `json:"failure_key"`
	CreatedAt      time.Time      `json:"created_at"`
	CompletedAt    *time.Time     `json:"completed_at"`
}

func (s *Service) tell(ctx context.Context, tx *db.Tx, typ string, t topup) error {
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: typ, AccountID: t.AccountID, Subject: "topup", SubjectID: t.ID,
		Data: topupEvent{
			ID: t.ID, Gateway: t.Gateway, AmountUSDCents: t.Amount, FeeUSDCents: t.Fee, Status: string(t.Status),
			FailureKey: optional(t.FailureKey), CreatedAt: t.CreatedAt, CompletedAt: t.CompletedAt,
		},
	})
}

// optional is nil for what is empty.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
