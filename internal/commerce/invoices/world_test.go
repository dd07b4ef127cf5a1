package invoices

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

const rulesFile = `
home: UZ
elsewhere: {name: VAT, rate: "0"}
countries:
  UZ: {name: QQS, rate: "12", prices: exclude, businesses: taxed, tax_number: '\d{9}'}
  DE: {name: MwSt, rate: "19", prices: include, businesses: reverse_charge, tax_number: 'DE\d{9}'}
  CH: {name: MWST, rate: "8.1", businesses: exempt}
`

// world is the section with customers 1 and 2, and a sandbox 3.
type world struct {
	*Service
	t      *testing.T
	edge   http.Handler
	mu     sync.Mutex
	told   []outbox.Event
	topups map[int64]sale.Receipt
	bill   sale.Bill // that awaits payment, order 77 of account 1
	held   []int64   // orders that are not made yet
}

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake) *world {
	t.Helper()
	rules, err := ReadRules([]byte(rulesFile))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, topups: map[int64]sale.Receipt{}}
	w.Service = New(Config{
		DB: d, Clock: clk, Signals: w, Events: w, Rules: rules, Zone: time.UTC, BaseURL: apitest.BaseURL + "/", Log: slog.New(slog.DiscardHandler),
		Seller: Party{Company: true, Name: "Stead Hosting MChJ", TaxNumber: "301234567", Country: "UZ", City: "Toshkent", Address: "Navoiy 1"},
	})
	w.Connect(Needs{Accounts: customers{}, Topups: w, Orders: w, Audit: w})
	scopes := []string{"orders:read", "profile"}
	w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
		"own": {AccountID: 1, ApplicationID: 1, Scopes: scopes, FirstParty: true}, "other": {AccountID: 2, ApplicationID: 1, Scopes: scopes},
		"application": {AccountID: 1, ApplicationID: 2, Scopes: scopes}, "profile": {AccountID: 1, ApplicationID: 2, Scopes: []string{"profile"}},
	}, w.Operations())
	return w
}

func (*world) Send(context.Context, *db.Tx, string, string) error { return nil }

func (*world) Subscribe(string, func(string)) {}

func (*world) RecordTaxRules(ctx context.Context, _, _ string, _ int64) context.Context { return ctx }

// each runs f in a world on each engine.
func each(t *testing.T, f func(w *world, clk *clock.Fake)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) { f(newWorld(t, d, clk), clk) })
}

type customers struct{}

func (customers) Accounts(context.Context, db.Querier, []int64) (map[int64]Account, error) {
	return map[int64]Account{
		1: {Name: "Aziza Karimova", Email: "aziza@stead.test"}, 2: {Name: "Bob", Email: "bob@stead.test"}, 3: {Name: "Play", Sandbox: true},
	}, nil
}

// Emit keeps the events of transactions that commit.
func (w *world) Emit(_ context.Context, tx *db.Tx, e outbox.Event) error {
	tx.OnCommit(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told = append(w.told, e)
	})
	return nil
}

// Receipt implements Topups.
func (w *world) Receipt(_ context.Context, _ db.Querier, id int64) (sale.Receipt, error) {
	found, ok := w.topups[id]
	if !ok {
		return found, db.ErrNoRows
	}
	return found, nil
}

// Awaiting implements Orders.
func (w *world) Awaiting(_ context.Context, _ db.Querier, accountID, orderID int64) (sale.Bill, time.Time, error) {
	if accountID != w.bill.AccountID || orderID != w.bill.OrderID {
		return sale.Bill{}, time.Time{}, fault.NotFound.New()
	}
	return w.bill, testkit.Start.AddDate(0, 0, 7), nil
}

// Held implements Orders.
func (w *world) Held(_ context.Context, _ db.Querier, orderIDs []int64) (held []int64, err error) {
	for _, id := range orderIDs {
		if slices.Contains(w.held, id) {
			held = append(held, id)
		}
	}
	return held, nil
}

func (w *world) in(f func(ctx context.Context, tx *db.Tx) error) error {
	w.t.Helper()
	return w.DB.InTx(w.t.Context(), f)
}

func (w *world) must(f func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	if err := w.in(f); err != nil {
		w.t.Fatal(err)
	}
}

// billFor is an order of one service at a price, taxed as its owner is.
func (w *world) billFor(accountID, orderID, serviceID int64, price money.USDCents) sale.Bill {
	w.t.Helper()
	by, err := sale.TaxOf(w.t.Context(), w.DB, w, accountID)
	if err != nil {
		w.t.Fatal(err)
	}
	added, contained, err := by.Of(price)
	if err != nil {
		w.t.Fatal(err)
	}
	return sale.Bill{
		AccountID: accountID, OrderID: orderID, Number: "ORD-2026-000007", ServiceID: &serviceID, Tax: by,
		Subtotal: price + 100, Discount: 100, TaxAdded: added, TaxContained: contained, Total: price + added,
		Lines: []sale.Line{{
			Kind: "renewal", Title: "Старт — Boshlangʻich", Domain: "example.uz", PeriodMonths: 12, Quantity: 1, UnitPrice: price + 100,
			Discount: 100, TaxAdded: added, Total: price + added,
		}},
	}
}

// sell makes the invoice of an order.
func (w *world) sell(accountID, orderID, serviceID int64, price money.USDCents) (r record) {
	w.t.Helper()
	b := w.billFor(accountID, orderID, serviceID, price)
	var id int64
	w.must(func(ctx context.Context, tx *db.Tx) (err error) {
		id, err = w.invoice(ctx, tx, b)
		return err
	})
	w.number()
	return w.get(id)
}

// number has the sequencer number all that is committed.
func (w *world) number() {
	w.t.Helper()
	if err := w.Number(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// invoice makes the invoice of a bill.
func (w *world) invoice(ctx context.Context, tx *db.Tx, b sale.Bill) (id int64, err error) {
	if b.InvoiceID, err = w.nextID(ctx, tx); err != nil {
		return 0, err
	}
	return b.InvoiceID, w.Invoice(ctx, tx, []sale.Bill{b})
}

func (w *world) get(id int64) record {
	w.t.Helper()
	w.number()
	r, err := get(w.t.Context(), w.DB, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// numbers are those of an account's documents of a kind, the oldest first.
func (w *world) numbers(accountID int64, kind Kind) (all []string) {
	w.t.Helper()
	w.number()
	rows, err := db.Collect(w.t.Context(), w.DB, documentRows.Scan, `SELECT `+documentRows.Columns()+` FROM invoices WHERE account_id = $1 AND kind = $2 ORDER BY id`, accountID, kind)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range rows {
		all = append(all, r.number())
	}
	return all
}

func (w *world) call(token, method, path, body string, header ...string) *httptest.ResponseRecorder {
	return apitest.Call(w.edge, token, method, path, body, header...)
}

// read reads an answer of 200.
func (w *world) read(rec *httptest.ResponseRecorder, to any) {
	w.t.Helper()
	if rec.Code != http.StatusOK {
		w.t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	if err := json.Unmarshal(rec.Body.Bytes(), to); err != nil {
		w.t.Fatal(err)
	}
}
