package app

import (
	"context"
	"fmt"
	"os"
	"time"

	"stead.dev/stead/internal/account"
	"stead.dev/stead/internal/admin"
	"stead.dev/stead/internal/invoices"
	"stead.dev/stead/internal/orders"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/wallet"
)

// buildInvoices makes the books, and plugs them into the orders. It comes after these.
func (c *core) buildInvoices() error {
	var rules invoices.Rules
	if c.cfg.TaxRulesFile != "" {
		content, err := os.ReadFile(c.cfg.TaxRulesFile)
		if err != nil {
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
		DB: c.db, Accounts: buyers{c.accounts}, Topups: receipts{c.wallet}, Events: c.outbox, Seller: seller,
		Prefix: c.cfg.InvoicePrefix, Rules: rules, Zone: zone, BaseURL: c.cfg.BaseURL,
	})
	c.invoices.SetOrders(bills{c.orders})
	c.orders.Taxes, c.orders.Books = c.invoices, books{c.invoices}
	c.services.Taxes = addedTaxes{c.invoices}
	c.accounts.OnClose(c.invoices.Forget)
	c.outbox.Subscribe("wallet.topup_succeeded", c.invoices.Follow)
	c.outbox.Subscribe(wallet.EventTopupReversed, c.invoices.Follow)
	return nil
}

// buyers are the accounts as the invoices see them.
type buyers struct{ accounts *account.Service }

// Account implements invoices.Accounts.
func (b buyers) Account(ctx context.Context, q db.Querier, accountID int64) (invoices.Account, error) {
	p, err := b.accounts.Profile(ctx, q, accountID)
	return invoices.Account{Name: p.Name, Email: p.Email, Sandbox: p.Sandbox}, err
}

// receipts are the top-ups as the invoices see them.
type receipts struct{ wallet *wallet.Service }

// Topup implements invoices.Topups.
func (r receipts) Topup(ctx context.Context, q db.Querier, id int64) (invoices.Topup, error) {
	t, err := r.wallet.Receipt(ctx, q, id)
	return invoices.Topup(t), err
}

// books are the invoices as the orders see them.
type books struct{ *invoices.Service }

// Invoice implements orders.Books.
func (b books) Invoice(ctx context.Context, tx *db.Tx, n orders.Bill) error {
	return b.Service.Invoice(ctx, tx, billOf(n))
}

// RefundOrder implements orders.Books.
func (b books) RefundOrder(ctx context.Context, tx *db.Tx, orderID int64, total money.USDCents, reason string) (orders.Refund, error) {
	r, err := b.Service.RefundOrder(ctx, tx, orderID, total, reason)
	return orders.Refund(r), err
}

// bills are the orders as the invoices see them.
type bills struct{ orders *orders.Service }

// Awaiting implements invoices.Orders.
func (b bills) Awaiting(ctx context.Context, q db.Querier, accountID, orderID int64) (invoices.Bill, time.Time, error) {
	n, due, err := b.orders.Awaiting(ctx, q, accountID, orderID)
	return billOf(n), due, err
}

func billOf(n orders.Bill) invoices.Bill {
	b := invoices.Bill{
		InvoiceID: n.InvoiceID, AccountID: n.AccountID, OrderID: n.OrderID, Number: n.Number, ServiceID: n.ServiceID, Tax: n.Tax,
		Subtotal: n.Subtotal, Discount: n.Discount, TaxAdded: n.TaxAdded, TaxContained: n.TaxContained, Total: n.Total,
	}
	for _, l := range n.Lines {
		b.Lines = append(b.Lines, invoices.Line(l))
	}
	return b
}

// addedTaxes are the taxes as the services see them.
type addedTaxes struct{ *invoices.Service }

// Added implements services.Taxes.
func (a addedTaxes) Added(ctx context.Context, q db.Querier, accountID int64) (int, error) {
	by, err := a.Tax(ctx, q, accountID)
	return by.AddedBasisPoints(), err
}

// refunds are the orders as operators see them.
type refunds struct {
	db     *db.DB
	orders *orders.Service
}

// Refund implements admin.Refunds.
func (r refunds) Refund(ctx context.Context, orderID int64, total money.USDCents, reason string) (done admin.Refund, err error) {
	err = r.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		given, err := r.orders.Refund(ctx, tx, orderID, total, reason)
		done = admin.Refund{OrderID: orderID, CreditNoteID: given.CreditNote, Amount: given.Total}
		return err
	})
	return done, err
}
