package loyalty

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
)

// Reward is money for a customer.
type Reward struct {
	AccountID int64
	Kind      Kind
	// ID is that of the reward; OrderID is the order that it is for.
	ID, OrderID int64
	Amount      money.USDCents
	// Part distinguishes several reclaims of one reward.
	Part int64
}

// Kind of a reward.
type Kind string

// The kinds.
const (
	Referral Kind = "referral"
	Cashback Kind = "cashback"
)

// Wallet moves rewards.
type Wallet interface {
	// Give credits a reward, once.
	Give(ctx context.Context, tx *db.Tx, r Reward) error
	// Reclaim takes a part of a reward back; a part that was already spent becomes a debt.
	Reclaim(ctx context.Context, tx *db.Tx, r Reward) error
}

// Member is what this section needs to know of an account.
type Member struct {
	Email string
	// Open accounts are neither suspended nor closed.
	Open bool
}

// Accounts knows the customers.
type Accounts interface {
	Member(ctx context.Context, q db.Querier, accountID int64) (Member, error)
}

// Config is what the section works with; all is needed.
type Config struct {
	DB       *db.DB
	Clock    clock.Clock
	Wallet   Wallet
	Accounts Accounts
	Rates    sale.Rates
	Program  Program
	// BaseURL is the public address; share links begin with it.
	BaseURL string
}

// Service is the section's use cases.
type Service struct{ Config }

// New makes the section.
func New(c Config) *Service {
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	return &Service{c}
}

// codeLength is long enough that nobody finds codes by trying: 50 bits, in letters and digits that do not look alike
// (RFC 4648, base32).
const codeLength = 10

func newCode() string { return strings.ToLower(rand.Text()[:codeLength]) }

// code returns the account's code. It is made at the first request.
func (s *Service) code(ctx context.Context, accountID int64) (code string, err error) {
	if code, err = codeOf(ctx, s.DB, accountID); !errors.Is(err, db.ErrNoRows) {
		return code, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO loyalty_codes (account_id, code, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
			accountID, newCode(), tx.Now)
		if err != nil {
			return fmt.Errorf("loyalty: write a code: %w", err)
		}
		code, err = codeOf(ctx, tx, accountID)
		return err
	})
	return code, err
}

// Referred records that a new account was opened with a code, in the transaction that makes the account. An unknown code is
// ignored: it must not keep anybody from registering.
func (s *Service) Referred(ctx context.Context, tx *db.Tx, accountID int64, code string) error {
	code = strings.ToLower(strings.TrimSpace(code))
	if len(code) != codeLength {
		return nil
	}
	referrer, err := codeOwner(ctx, tx, code)
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	owner, err := s.Accounts.Member(ctx, tx, referrer)
	if err != nil {
		return err
	}
	newcomer, err := s.Accounts.Member(ctx, tx, accountID)
	if err != nil {
		return err
	}
	if referrer == accountID || !owner.Open || sameMailbox(owner.Email, newcomer.Email) {
		return nil
	}
	_, err = tx.Exec(ctx, `INSERT INTO loyalty_referrals (referred_id, referrer_id, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
		accountID, referrer, tx.Now)
	if err != nil {
		return fmt.Errorf("loyalty: write a referral: %w", err)
	}
	return nil
}

// sameMailbox reports whether two addresses differ at most in the part behind a plus sign (RFC 5233), which leads into the
// same mailbox.
func sameMailbox(a, b string) bool {
	box := func(address string) string {
		local, domain, _ := strings.Cut(strings.ToLower(address), "@")
		local, _, _ = strings.Cut(local, "+")
		return local + "@" + domain
	}
	return box(a) == box(b)
}

// orderData holds the members of orders' events that count here.
type orderData struct {
	ID          int64       `json:"id"`
	Total       money.Money `json:"total"`
	Tax         money.Money `json:"tax"`
	TaxIncluded money.Money `json:"tax_included"`
	Refunded    money.Money `json:"refunded"`
}

// Follow handles the events of orders.
func (s *Service) Follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	if e.Type != "order.completed" && e.Type != "order.refunded" {
		return nil
	}
	var d orderData
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return fmt.Errorf("loyalty: data of %s: %w", e.UID, err)
	}
	seen := order{id: e.SubjectID, accountID: e.AccountID, refunded: d.Refunded.USDCents}
	if e.Type == "order.completed" {
		seen.paid = d.Total.USDCents
		seen.base = max(0, d.Total.USDCents-d.Tax.USDCents-d.TaxIncluded.USDCents)
		seen.completedAt = &e.CreatedAt
	}
	o, err := note(ctx, tx, seen)
	if err != nil || o.completedAt == nil {
		return err // one that was never completed has brought nobody anything
	}
	return s.reward(ctx, tx, o, e.Type == "order.completed")
}

// reward makes the rewards of an order equal to what they should be. A refund makes none: whether there is one, and of which
// percentage, is decided when the order is completed.
func (s *Service) reward(ctx context.Context, tx *db.Tx, o order, completed bool) error {
	_, wholesale, err := s.Rates.Wholesale(ctx, tx, o.accountID)
	if err != nil {
		return err
	}
	earns := completed && !wholesale
	kept, err := o.kept()
	if err != nil {
		return fmt.Errorf("loyalty: order %d: %w", o.id, err)
	}
	if err := s.rewardReferrer(ctx, tx, o, kept, earns); err != nil {
		return err
	}
	spent, _, err := s.spent(ctx, tx, o.accountID)
	if err != nil {
		return err
	}
	// The tier of an order follows from the spending before it.
	tier := s.Program.standingOf(max(0, spent-kept), 0).Tier
	percent := tier.Cashback
	if !earns {
		percent = 0
	}
	return s.settle(ctx, tx, o, Cashback, o.accountID, kept, percent, s.Program.cap(Cashback))
}

func (s *Service) rewardReferrer(ctx context.Context, tx *db.Tx, o order, kept money.USDCents, earns bool) error {
	r, err := lockReferral(ctx, tx, o.accountID)
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if earns && r.orderID == nil && kept > 0 {
		if err := setConverted(ctx, tx, o.accountID, o.id); err != nil {
			return err
		}
		r.orderID = &o.id
	}
	if r.orderID == nil || *r.orderID != o.id {
		return nil // one that came before has converted
	}
	percent := s.Program.Referral
	owner, err := s.Accounts.Member(ctx, tx, r.referrerID)
	if err != nil {
		return err
	}
	if !earns || !owner.Open {
		percent = 0
	}
	if _, wholesale, err := s.Rates.Wholesale(ctx, tx, r.referrerID); err != nil {
		return err
	} else if wholesale {
		percent = 0
	}
	return s.settle(ctx, tx, o, Referral, r.referrerID, kept, percent, s.Program.cap(Referral))
}

// cap bounds one reward; 0 means no bound.
func (p Program) cap(k Kind) money.USDCents {
	if k == Referral {
		return p.ReferralMax
	}
	return 0
}

// settle gives a reward of a percentage, or takes back the part that a refund has made too much: of one that was given, the
// percentage of that time holds.
func (s *Service) settle(ctx context.Context, tx *db.Tx, o order, kind Kind, accountID int64, kept money.USDCents, percent int64, most money.USDCents) error {
	now, err := lockReward(ctx, tx, kind, o.id)
	found := !errors.Is(err, db.ErrNoRows)
	if err != nil && found {
		return err
	}
	if found {
		percent, accountID = now.percent, now.accountID
	}
	due := part(kept, percent)
	if most > 0 {
		due = min(due, most)
	}
	switch {
	case !found && due > 0:
		r := Reward{AccountID: accountID, Kind: kind, OrderID: o.id, Amount: due}
		if r.ID, err = insertReward(ctx, tx, r, percent); err != nil {
			return err
		}
		return s.Wallet.Give(ctx, tx, r)
	case found && due < now.amount:
		if err := setReward(ctx, tx, now.id, due); err != nil {
			return err
		}
		return s.Wallet.Reclaim(ctx, tx, Reward{
			AccountID: accountID, Kind: kind, ID: now.id, OrderID: o.id, Amount: now.amount - due, Part: int64(now.given - due),
		})
	default:
		return nil
	}
}

// spent is the amount that an account spent within the Window, and within the last 90 days of it.
func (s *Service) spent(ctx context.Context, q db.Querier, accountID int64) (year, recent money.USDCents, err error) {
	now := s.Clock.Now()
	return spending(ctx, q, accountID, now.Add(-Window), now.Add(-paceWindow))
}

// kept returns the part of the order's price that counts after refunds.
func (o order) kept() (money.USDCents, error) {
	if o.paid == 0 || o.refunded >= o.paid {
		return 0, nil
	}
	return o.base.MulDiv(int64(o.paid-o.refunded), int64(o.paid))
}

// order is an order as its events describe it.
type order struct {
	id, accountID        int64
	paid, base, refunded money.USDCents
	completedAt          *time.Time
}
