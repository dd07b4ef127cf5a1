package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// cents is an amount of an answer.
type cents struct {
	Cents money.USDCents `json:"usd_cents"`
}

// paper is what these tests read of an invoice.
type paper struct {
	ID       int64  `json:"id"`
	Number   string `json:"number"`
	Kind     string `json:"kind"`
	Status   string `json:"status"`
	OrderID  *int64 `json:"order_id"`
	Reason   string `json:"reason"`
	Subtotal cents  `json:"subtotal"`
	Tax      cents  `json:"tax"`
	Total    cents  `json:"total"`
	Buyer    struct {
		Name    string `json:"name"`
		Country string `json:"country"`
	} `json:"buyer"`
}

// numbered waits until all documents have their numbers.
func (w *world) numbered() {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool {
		var waiting int
		err := w.db.QueryRow(context.WithoutCancel(w.t.Context()), `SELECT COUNT(*) FROM invoices WHERE sequence IS NULL`).Scan(&waiting)
		return err == nil && waiting == 0
	}, "all documents have their numbers")
}

// papers are all documents that a token or key shows of a kind, the oldest first.
func (w *world) papers(token, base, kind string) []paper {
	w.t.Helper()
	w.numbered()
	var list struct {
		Data []paper `json:"data"`
	}
	w.get(w.t, token, base+"/invoices?per_page=50&kind="+kind).decode(w.t, &list)
	slices.Reverse(list.Data)
	return list.Data
}

// sums are what documents come to.
func sums(papers []paper) (total money.USDCents) {
	for _, p := range papers {
		total += p.Total.Cents
	}
	return total
}

// taxing are the settings of a server that taxes 12 % on top.
func taxing(t *testing.T) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "taxes.yaml")
	rules := "home: UZ\ncountries:\n  UZ: {name: QQS, rate: '12'}\n  DE: {name: MwSt, rate: '19', businesses: reverse_charge}\n"
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"demo": "true", "panel": "sandbox", "node_listen": "off", "tax_rules_file": file, "company_legal_name": "Stead MChJ"}
}

// bought pays an order for a domain, and waits until it is at rest.
func (w *world) bought(domain string) (orderID int64) {
	w.t.Helper()
	orderID = w.newOrder(w.owner, domain)
	if r := w.post(w.t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d/pay", orderID), ""); r.status != http.StatusOK {
		w.t.Fatalf("pay for %s: %s", domain, r)
	}
	w.orderRests(orderID)
	return orderID
}

// orderRests waits until an order that is paid is completed, or its money is back.
func (w *world) orderRests(orderID int64) {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool {
		return slices.Contains([]string{"completed", "refunded"}, w.orderOf(orderID).Status)
	}, "the order is at rest")
}

type orderSeen struct {
	Status    string `json:"status"`
	InvoiceID *int64 `json:"invoice_id"`
	ServiceID int64  `json:"service_id"`
	Subtotal  cents  `json:"subtotal"`
	Discount  cents  `json:"discount"`
	Tax       cents  `json:"tax"`
	Total     cents  `json:"total"`
	Refunded  cents  `json:"refunded"`
}

func (w *world) orderOf(id int64) (o orderSeen) {
	w.t.Helper()
	w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d", id)).decode(w.t, &o)
	return o
}

// TestTheBooksAndTheWalletSayTheSame: through an order that fails, one that is made, a renewal, a cheaper plan, and a
// refund, what invoices less credit notes say was paid is what the wallet has lost.
func TestTheBooksAndTheWalletSayTheSame(t *testing.T) {
	engines(t, taxing(t), func(t *testing.T, a *App) {
		w := &world{App: a, t: t}
		w.owner = a.customer(t, a.application(t, false), 100_000)
		w.plan = w.aPlan()
		agree := func(when string) {
			t.Helper()
			invoiced, back := sums(w.papers(w.owner.token, "/api/v1", "invoice")), sums(w.papers(w.owner.token, "/api/v1", "credit_note"))
			if spent := money.USDCents(100_000 - w.balance(w.owner)); spent != invoiced-back {
				t.Errorf("%s: %d was spent, invoices say %d and credit notes %d", when, spent, invoiced, back)
			}
		}

		failed := w.bought("disk-full.example.com")
		if o := w.orderOf(failed); o.Status != "refunded" || o.InvoiceID == nil || w.balance(w.owner) != 100_000 {
			t.Errorf("%+v", o)
		}
		if notes := w.papers(w.owner.token, "/api/v1", "credit_note"); len(notes) != 1 || *notes[0].OrderID != failed {
			t.Errorf("%+v", notes)
		}
		agree("after an order that failed")

		order := w.orderOf(w.bought("shop.example.com"))
		price := order.Subtotal.Cents - order.Discount.Cents
		if tax, _, _ := (money.Tax{BasisPoints: 1200}).Of(price); order.Tax.Cents != tax || order.Total.Cents != price+tax {
			t.Errorf("%+v", order)
		}
		agree("after an order")
		w.service = order.ServiceID

		renew := fmt.Sprintf("/api/v1/services/%d/renew", w.service)
		var quote struct {
			Total   cents  `json:"total"`
			OrderID *int64 `json:"order_id"`
		}
		a.post(t, w.owner.token, renew, `{"dry_run": true}`).decode(t, &quote)
		before := w.balance(w.owner)
		a.post(t, w.owner.token, renew, fmt.Sprintf(`{"expected_usd_cents": %d}`, quote.Total.Cents)).decode(t, &quote)
		if lost := before - w.balance(w.owner); lost != int64(quote.Total.Cents) || w.orderOf(*quote.OrderID).Total.Cents != quote.Total.Cents {
			t.Errorf("%d was paid, quoted was %d", lost, quote.Total.Cents)
		}
		agree("after a renewal")

		ip := w.id(a.post(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/addons", w.service), `{"key": "dedicated_ip"}`))
		agree("with an add-on that operators have to make")
		dearer := w.aTariff()
		change := fmt.Sprintf("/api/v1/services/%d/tariff", w.service)
		var moved struct {
			Tariff struct {
				Charge cents `json:"charge"`
				Credit cents `json:"credit"`
			} `json:"tariff"`
		}
		before = w.balance(w.owner)
		a.post(t, w.owner.token, change, fmt.Sprintf(`{"plan_id": %d}`, dearer)).decode(t, &moved)
		if lost := before - w.balance(w.owner); lost != int64(moved.Tariff.Charge.Cents-moved.Tariff.Credit.Cents) {
			t.Errorf("the change took %d, and said %+v", lost, moved)
		}
		agree("after a change of plan")
		before = w.balance(w.owner)
		a.post(t, w.owner.token, change, fmt.Sprintf(`{"plan_id": %d}`, w.plan)).decode(t, &moved)
		if got := w.balance(w.owner) - before; got != int64(moved.Tariff.Credit.Cents-moved.Tariff.Charge.Cents) {
			t.Errorf("the change back gave %d, and said %+v", got, moved)
		}
		agree("after the change back")
		if err := a.admin.RefuseAddon(t.Context(), ip); err != nil {
			t.Error(err)
		}
		agree("after the add-on was refused")

		first := *order.InvoiceID
		before = w.balance(w.owner)
		refunded := w.orderOf(*quote.OrderID).Refunded.Cents // by the change back
		ten := money.USDCents(10)
		reason := strings.Repeat("ю", 200) // as long as the interface allows, and of two bytes each
		if _, err := a.admin.RefundOrder(t.Context(), *quote.OrderID, &ten, reason); err != nil {
			t.Error(err)
		}
		if _, err := a.admin.RefundOrder(t.Context(), *quote.OrderID, &ten, reason+"ю"); fault.From(err).Invalid["reason"] == nil {
			t.Errorf("a longer reason: %v", err)
		}
		if _, err := a.admin.RefundOrder(t.Context(), failed, nil, "again"); err == nil {
			t.Error("an order that gave its money back was refunded")
		}
		if o := w.orderOf(*quote.OrderID); w.balance(w.owner) != before+10 || o.Refunded.Cents != refunded+10 || o.Status != "completed" {
			t.Errorf("%+v, the balance went from %d to %d", o, before, w.balance(w.owner))
		}
		notes := w.papers(w.owner.token, "/api/v1", "credit_note")
		if last := notes[len(notes)-1]; last.Reason != reason || last.Total.Cents != 10 {
			t.Errorf("%+v", last)
		}
		agree("after a refund")

		var kept paper
		a.get(t, w.owner.token, fmt.Sprintf("/api/v1/invoices/%d", first)).decode(t, &kept)
		if kept.Kind != "invoice" || !strings.HasPrefix(kept.Number, "INV-") || kept.Total.Cents != order.Total.Cents {
			t.Errorf("%+v", kept)
		}
		if err := a.invoices.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		if err := auditLedger(t.Context(), a.wallet); err != nil {
			t.Error(err)
		}
	})
}

// TestAnOrderIsTaxedByTheDayOnWhichItIsPaid: the customer moves between ordering and paying.
func TestAnOrderIsTaxedByTheDayOnWhichItIsPaid(t *testing.T) {
	a := start(t, taxing(t))
	w := &world{App: a, t: t}
	w.owner = a.customer(t, a.application(t, false), 100_000)
	w.ownersPanel = a.token(t, w.owner.id, a.firstParty(t), thirdParty()...)
	w.plan = w.aPlan()
	id := w.newOrder(w.owner, "shop.example.com")
	before := w.orderOf(id)
	bill := func(body string) {
		t.Helper()
		r := a.do(t, request{method: http.MethodPut, path: "/api/v1/me/billing", token: w.ownersPanel, body: body})
		if r.status != http.StatusOK {
			t.Fatal(r)
		}
	}
	bill(`{"name": "Beispiel GmbH", "company": true, "tax_number": "DE1", "country": "DE", "address": "Weg 1"}`)
	var shown paper
	a.get(t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d/proforma", id)).decode(t, &shown)
	if before.Tax.Cents == 0 || shown.Tax.Cents != 0 || shown.Kind != "proforma" {
		t.Errorf("ordered with %d of tax, the proforma has %+v", before.Tax.Cents, shown)
	}
	if r := a.post(t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d/pay", id), ""); r.status != http.StatusOK {
		t.Fatal(r)
	}
	after := w.orderOf(id)
	if after.Tax.Cents != 0 || after.Total.Cents != before.Total.Cents-before.Tax.Cents || w.balance(w.owner) != 100_000-int64(after.Total.Cents) {
		t.Errorf("%+v, before %+v", after, before)
	}
	bill(`{"name": "Somebody else", "country": "UZ"}`)
	var invoice paper
	a.get(t, w.owner.token, fmt.Sprintf("/api/v1/invoices/%d", *after.InvoiceID)).decode(t, &invoice)
	if invoice.Buyer.Name != "Beispiel GmbH" || invoice.Total.Cents != after.Total.Cents {
		t.Errorf("%+v", invoice)
	}
	// An account that is closed has its invoices, and no profile.
	w.orderRests(id)
	w.ends(after.ServiceID, func() {})
	if err := a.accounts.Close(t.Context(), w.owner.id); err != nil {
		t.Error(err)
	}
	var profiles, invoices int
	err := a.db.QueryRow(t.Context(), `SELECT (SELECT COUNT(*) FROM invoices_profiles), (SELECT COUNT(*) FROM invoices)`).Scan(&profiles, &invoices)
	if err != nil || profiles != 0 || invoices != 1 {
		t.Errorf("%d profiles and %d invoices: %v", profiles, invoices, err)
	}
}

// TestNumbersHaveNoGapWhateverFails: customers pay at once, some of whom cannot, and a sandbox plays meanwhile.
func TestNumbersHaveNoGapWhateverFails(t *testing.T) {
	engines(t, taxing(t), func(t *testing.T, a *App) {
		w := &world{App: a, t: t}
		app := a.application(t, false)
		w.owner = a.customer(t, app, 100_000)
		w.plan = w.aPlan()
		play := w.aKey(w.owner, reseller.NewKey{Sandbox: true})
		type payment struct {
			who customer
			id  int64
		}
		var payments []payment
		for i := range 20 {
			balance := money.USDCents(100_000)
			if i%4 == 3 {
				balance = 1 // too little
			}
			c := a.customer(t, app, balance)
			payments = append(payments, payment{c, w.newOrder(c, fmt.Sprintf("at-once-%d.example.com", i))})
		}
		results := make(chan int, 2*len(payments))
		for _, p := range payments {
			for range 2 { // each twice
				go func() {
					results <- a.do(t, request{method: http.MethodPost, path: fmt.Sprintf("/api/v1/orders/%d/pay", p.id), token: p.who.token}).status
				}()
			}
		}
		bought := a.do(t, request{
			method: http.MethodPost, path: "/api/v1/reseller/services", token: play, body: fmt.Sprintf(`{"plan_id": %d, "domain": "play.example.com"}`, w.plan),
		})
		paid := 0
		for range cap(results) {
			if <-results == http.StatusOK {
				paid++
			}
		}
		if paid != 15 || bought.status >= 300 {
			t.Errorf("%d were paid, the sandbox: %s", paid, bought)
		}
		w.numbered()
		numbers, err := db.Collect(t.Context(), a.db, func(row db.Row) (n int64, err error) {
			err = row.Scan(&n)
			return n, err
		}, `SELECT sequence FROM invoices WHERE seller = '' AND kind = 'invoice' ORDER BY sequence`)
		want := make([]int64, 15)
		for i := range want {
			want[i] = int64(i + 1)
		}
		if diff := cmp.Diff(want, numbers); diff != "" || err != nil {
			t.Errorf("the numbers (-want +got): %v\n%s", err, diff)
		}
		played := w.papers(play, "/api/v1/reseller", "invoice")
		if len(played) != 1 || !strings.HasPrefix(played[0].Number, "SANDBOX-") || !strings.HasSuffix(played[0].Number, "-000001") {
			t.Errorf("the sandbox has %+v", played)
		}
		if live := w.papers(w.aKey(w.owner, reseller.NewKey{}), "/api/v1/reseller", ""); len(live) != 0 {
			t.Errorf("the real world has the sandbox's %+v", live)
		}
		if err := a.invoices.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestATopUpHasAReceipt: when its money has come.
func TestATopUpHasAReceipt(t *testing.T) {
	a := start(t, taxing(t))
	w := &world{App: a, t: t}
	w.owner = a.customer(t, a.application(t, false), 0)
	var made struct {
		ID          int64  `json:"id"`
		CheckoutURL string `json:"checkout_url"`
	}
	a.post(t, w.owner.token, "/api/v1/wallet/topups", `{"amount_usd_cents": 2500, "gateway": "demo"}`).decode(t, &made)
	_, token, _ := strings.Cut(made.CheckoutURL, "/pay/")
	a.do(t, request{method: http.MethodPost, path: "/pay/" + token, body: "action=pay", contentType: "application/x-www-form-urlencoded"})
	testkit.Eventually(t, time.Minute, func() bool { return len(w.papers(w.owner.token, "/api/v1", "receipt")) == 1 }, "there is a receipt")
	receipt := w.papers(w.owner.token, "/api/v1", "receipt")[0]
	if receipt.Total.Cents < 2500 || receipt.Status != "paid" || receipt.Tax.Cents != 0 {
		t.Errorf("%+v", receipt)
	}
	var told []string
	testkit.Eventually(t, time.Minute, func() bool {
		events, err := a.outbox.Of(context.WithoutCancel(t.Context()), "invoice", receipt.ID)
		told = nil
		for _, e := range events {
			var data paper
			if json.Unmarshal(e.Data, &data) == nil {
				told = append(told, e.Type+" "+data.Number)
			}
		}
		return err == nil && len(told) == 1
	}, "it is told of")
	if told[0] != "invoice.issued "+receipt.Number {
		t.Errorf("%v", told)
	}
}
