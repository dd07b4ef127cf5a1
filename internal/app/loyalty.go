package app

import (
	"context"
	"fmt"

	"stead.dev/stead/internal/commerce/loyalty"
	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/wallet"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// buildLoyalty makes the section of rewards and connects it to orders and new accounts. The resellers must exist before.
func (c *core) buildLoyalty() error {
	tiers, err := loyalty.ParseTiers(c.cfg.LoyaltyTiers)
	if err != nil {
		return fmt.Errorf("loyalty_tiers: %w", err)
	}
	c.loyalty = loyalty.New(loyalty.Config{
		DB: c.db, Clock: c.clock, Wallet: rewards{c.wallet}, Accounts: members{c.accounts}, Rates: c.reseller, BaseURL: c.cfg.BaseURL,
		Program: loyalty.Program{
			Tiers: tiers, Referral: int64(c.cfg.ReferralPercent) * 100, ReferralMax: money.USDCents(c.cfg.ReferralMaxUSD) * 100,
		},
	})
	return nil
}

// rewards adapts the wallet to what the section of rewards needs.
type rewards struct{ wallet *wallet.Service }

func creditOf(r loyalty.Reward) wallet.Credit {
	c := wallet.Credit{AccountID: r.AccountID, Amount: r.Amount, Type: wallet.TypeBonus, Reference: sale.Order(r.OrderID), Actor: "system"}
	if r.Kind == loyalty.Referral {
		// The customer does not see the order: it belongs to another customer.
		c.Type, c.Reference = wallet.TypeReferralReward, sale.Reference{Type: "referral", ID: r.ID}
	}
	return c
}

// Give implements loyalty.Wallet.
func (w rewards) Give(ctx context.Context, tx *db.Tx, r loyalty.Reward) error {
	return w.wallet.Credit(ctx, tx, creditOf(r))
}

// Reclaim implements loyalty.Wallet.
func (w rewards) Reclaim(ctx context.Context, tx *db.Tx, r loyalty.Reward) error {
	return w.wallet.Reclaim(ctx, tx, creditOf(r), r.Part)
}

// members adapts the accounts to what the section of rewards needs.
type members struct{ accounts *account.Service }

// Member implements loyalty.Accounts.
func (m members) Member(ctx context.Context, q db.Querier, accountID int64) (loyalty.Member, error) {
	p, err := m.accounts.Profile(ctx, q, accountID)
	return loyalty.Member{Email: p.Email, Open: p.Open() && !p.Sandbox}, err
}
