package runs

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/port/llm"
)

// Wallet holds money for runs.
type Wallet interface {
	// Charge moves money from the customer's balance to what is held; insufficient_funds when there is not enough.
	Charge(ctx context.Context, tx *db.Tx, c sale.Charge) error
	// CapturePart makes a part of it the company's and gives the rest back.
	CapturePart(ctx context.Context, tx *db.Tx, ref sale.Reference, amount money.USDCents, description string) error
}

// monthOf is when the calendar month of a time began, in UTC.
func monthOf(now time.Time) time.Time {
	return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// holdFor is what is held for a run with this model: at most what is left of the month's budget.
func holdFor(ctx context.Context, m llm.Model, budget, spent money.USDCents) (money.USDCents, error) {
	left := budget - spent
	switch {
	case left <= 0:
		return 0, errBudget.With(fault.Fields{"budget": money.Wire(ctx, budget), "spent": money.Wire(ctx, spent)})
	case m.Price == llm.Price{}:
		return 0, nil
	}
	return min(mostHeld, left), nil
}

// charge is what a run that ends costs. What was used beyond what is held, because a provider counted more than the worst
// case, is the company's loss.
func (r run) charge() money.USDCents {
	return min(money.USDCents(llm.Cents(r.cost)), r.held)
}

// affords tells whether the worst case of another answer fits into what is left of the hold.
func (r run) affords(worst int64) bool {
	return worst == 0 || llm.Cents(r.cost+worst) <= int64(r.held)
}

// hold sets the money of a run aside.
func (s *Service) hold(ctx context.Context, tx *db.Tx, r run) error {
	if r.held == 0 {
		return nil
	}
	err := s.Wallet.Charge(ctx, tx, sale.Charge{
		AccountID: r.accountID, Amount: r.held, Reference: sale.AgentRun(r.id), Description: i18n.T(i18n.Lang(ctx), "ai.charge", map[string]any{"ID": r.id}),
	})
	if err != nil {
		return fmt.Errorf("runs: hold for run %d: %w", r.id, err)
	}
	return nil
}

// capture takes what a run cost and gives the rest back.
func (s *Service) capture(ctx context.Context, tx *db.Tx, r run) error {
	if r.held == 0 {
		return nil
	}
	err := s.Wallet.CapturePart(ctx, tx, sale.AgentRun(r.id), *r.charged, i18n.T(i18n.Lang(ctx), "ai.unused", map[string]any{"ID": r.id}))
	if err != nil {
		return fmt.Errorf("runs: capture for run %d: %w", r.id, err)
	}
	return nil
}
