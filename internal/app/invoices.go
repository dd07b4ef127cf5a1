package app

import (
	"context"
	"fmt"
	"os"
	"time"

	"stead.dev/stead/internal/commerce/invoices"
	"stead.dev/stead/internal/commerce/orders"
	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// buildInvoices makes the section of invoices.
func (c *core) buildInvoices(ctx context.Context) error {
	var (
		rules   invoices.Rules
		content []byte
	)
	if c.cfg.TaxRulesFile != "" {
		var err error
		if content, err = os.ReadFile(c.cfg.TaxRulesFile); err != nil {
			return fmt.Errorf("tax_rules_file: %w", err)
		}
		if rules, err = invoices.ReadRules(content); err != nil {
			return fmt.Errorf("tax_rules_file: %w", err)
		}
	}
	zone, err := time.LoadLocation(c.cfg.CompanyTimezone)
	if err != nil {
		return fmt.Errorf("company_timezone: %w", err)
	}
	seller := invoices.Party{
		Company: true, Name: c.cfg.CompanyLegalName, TaxNumber: c.cfg.CompanyTaxNumber, Registration: c.cfg.CompanyRegistration,
		Country: c.cfg.CompanyCountry, City: c.cfg.CompanyCity, PostalCode: c.cfg.CompanyPostalCode, Address: c.cfg.CompanyAddress,
		Email: c.cfg.SupportEmail,
	}
	if seller.Name == "" {
		seller.Name = c.cfg.CompanyName
	}
	c.invoices = invoices.New(invoices.Config{
		DB: c.db, Clock: c.clock, Signals: c.hub, Events: c.outbox, Seller: seller,
		Prefix: c.cfg.InvoicePrefix, Rules: rules, RulesFile: string(content), Zone: zone, BaseURL: c.cfg.BaseURL, Log: c.log,
	})
	return c.invoices.LoadRules(ctx)
}

// buyers adapts the accounts to the invoices.
type buyers struct{ accounts *account.Service }

// Accounts implements invoices.Accounts.
func (b buyers) Accounts(ctx context.Context, q db.Querier, accountIDs []int64) (map[int64]invoices.Account, error) {
	found, err := b.accounts.Profiles(ctx, q, accountIDs)
	all := make(map[int64]invoices.Account, len(found))
	for _, p := range found {
		all[p.ID] = invoices.Account{Name: p.Name, Email: p.Email, Sandbox: p.Sandbox}
	}
	return all, err
}

// refunds adapts the orders to the commands of operators.
type refunds struct{ orders *orders.Service }

// Refund implements admin.Refunds.
func (r refunds) Refund(ctx context.Context, tx *db.Tx, orderID int64, total money.USDCents, reason string) (admin.Refund, error) {
	given, err := r.orders.Refund(ctx, tx, orderID, total, reason)
	return admin.Refund{OrderID: orderID, CreditNoteID: given.CreditNote, Amount: given.Total}, err
}
