package wallet

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/port/gateway"
)

func TestTheStatesOfATopUp(t *testing.T) {
	all := []status{pending, processing, succeeded, failed, cancelled, expired, refunded, chargedBack}
	// What is not named changes nothing.
	moves := map[gateway.EventKind]map[status]status{
		gateway.Waiting:     {pending: processing, processing: processing},
		gateway.Succeeded:   {pending: succeeded, processing: succeeded, failed: succeeded, cancelled: succeeded, expired: succeeded},
		gateway.Failed:      {pending: failed, processing: failed},
		gateway.Cancelled:   {pending: cancelled, processing: cancelled},
		gateway.Expired:     {pending: expired, processing: expired},
		gateway.Refunded:    {succeeded: refunded},
		gateway.ChargedBack: {succeeded: chargedBack},
		"unheard of":        {},
	}
	for event, from := range moves {
		for _, s := range all {
			want, changes := from[s]
			if !changes {
				want = s
			}
			if got, ok := next(s, event); got != want || ok != changes {
				t.Errorf("%s in %s: %s, %v; want %s, %v", event, s, got, ok, want, changes)
			}
		}
	}
}

func TestReturnURLsAreSafeToSendSomebodyTo(t *testing.T) {
	for _, good := range []string{
		"https://shop.example/back", "https://shop.example:8443/?a=b", "http://127.0.0.1:3000/cb", "http://localhost/x",
		"http://[::1]:9/", "https://дом.рф/",
	} {
		if !returnURL(good) {
			t.Errorf("%s was refused", good)
		}
	}
	for _, bad := range []string{
		"", "shop.example", "/back", "//shop.example/", "http://shop.example/", "http://127.0.0.1.evil.example/", "http://localhost.evil.example",
		"javascript:alert(1)", "data:text/html,x", "https:shop.example", "https://", "https://user:pw@shop.example/", "https://shop.example/#x",
		"https://shop.example/a b", "https://shop.example\\@evil.example/", "https://shop.example/\r\nSet-Cookie: a=b", "ftp://127.0.0.1/",
		"https://" + strings.Repeat("a", 2000) + ".example/", "myapp://back",
	} {
		if returnURL(bad) {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestWhatIsTakenBackIsSplitWithoutLosingACent(t *testing.T) {
	for name, c := range map[string]struct{ amount, before, total, spendable, customer, debt, fee int64 }{
		"all there":          {1000, 0, 1000, 5000, 1000, 0, 0},
		"all spent":          {1000, 0, 1000, 0, 0, 1000, 0},
		"part spent":         {1000, 0, 1000, 300, 300, 700, 0},
		"with the fee":       {1000, 0, 1055, 5000, 1000, 0, 55},
		"a part":             {1000, 0, 400, 5000, 400, 0, 0},
		"the rest":           {1000, 400, 655, 5000, 600, 0, 55},
		"only fee was left":  {1000, 1000, 55, 5000, 0, 0, 55},
		"the rest, all gone": {1000, 999, 10, 0, 0, 1, 9},
	} {
		a, b, f, err := takeBack(money.USDCents(c.amount), money.USDCents(c.before), money.USDCents(c.total), money.USDCents(c.spendable))
		if err != nil || a != money.USDCents(c.customer) || b != money.USDCents(c.debt) || f != money.USDCents(c.fee) {
			t.Errorf("%s: %d, %d, %d, %v", name, a, b, f, err)
		}
	}
	if _, _, _, err := takeBack(1000, 0, 0, 10); !errors.Is(err, ErrBadAmount) {
		t.Errorf("nothing: %v", err)
	}
}

func TestATopUpIsPaidDeclinedOrCancelledOnTheDemoPage(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for action, want := range map[string]string{"pay": "succeeded", "decline": "failed", "cancel": "cancelled"} {
			x := w.topup("anna", "demo", 1500, `,"return_url":"https://shop.example/back?order=7;b&a=%7e"`)
			if x.Status != "pending" || !strings.HasPrefix(x.CheckoutURL, base+"/pay/pay_") {
				t.Fatalf("made: %+v", x)
			}
			page := w.visit(x.CheckoutURL)
			if body := text(page); page.Code != http.StatusOK || !strings.Contains(body, `value="`+action+`"`) || !strings.Contains(body, "$15.00") {
				t.Fatalf("page: %d %s", page.Code, body)
			}
			if got := w.follow("anna", x.ID).Status; got != "processing" {
				t.Errorf("after the visit: %s", got)
			}
			for range 2 { // the button pressed twice
				answer := w.press(x.CheckoutURL, action)
				if answer.Code != http.StatusSeeOther || !strings.HasSuffix(answer.Header().Get("Location"), "?back=1") {
					t.Fatalf("pressed: %d %s", answer.Code, text(answer))
				}
			}
			after := w.follow("anna", x.ID)
			if after.Status != want || (want == "failed") != (after.FailureKey != nil && *after.FailureKey == "declined") {
				t.Errorf("after %s: %+v", action, after)
			}
			w.press(x.CheckoutURL, "pay") // too late
			done := w.visit(x.CheckoutURL)
			if r := done.Header().Get("Refresh"); r != "3; url=https://shop.example/back?order=7;b&a=%7e&topup="+jsonInt(x.ID) {
				t.Errorf("leads back to %q", r)
			}
			if got := w.follow("anna", x.ID).Status; got != want {
				t.Errorf("after more: %s", got)
			}
		}
		w.has(1, Balance{Spendable: 1500})
		for _, typ := range []string{"wallet.topup_succeeded", "wallet.topup_failed"} {
			if n := strings.Count(w.told.types(), typ); n != map[string]int{"wallet.topup_succeeded": 1, "wallet.topup_failed": 2}[typ] {
				t.Errorf("%s was told %d times", typ, n)
			}
		}
		w.sound()
	})
}

func TestThePaymentPageKeepsItsSecretsAndItsGuards(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		x := w.topup("boris", "bank", 5000, "")
		page := w.visit(x.CheckoutURL)
		body := text(page)
		for _, want := range []string{"Stead &lt;Hosting&gt;", "2020 8000", "TOPUP-00000"} {
			if !strings.Contains(body, want) {
				t.Errorf("no %q on the page: %s", want, body)
			}
		}
		if !strings.Contains(body, `lang="ru"`) || !strings.Contains(body, "Переведите сумму") {
			t.Errorf("the page is not in the language of the top-up: %s", body)
		}
		if !strings.Contains(text(w.visit(x.CheckoutURL+"?lang=uz")), `lang="uz"`) {
			t.Error("?lang= does not choose the language")
		}
		h := page.Header()
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Content-Security-Policy": "frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff",
		} {
			if !strings.Contains(h.Get(name), want) {
				t.Errorf("%s: %q", name, h.Get(name))
			}
		}
		if !strings.Contains(body, "<style>"+payStyle+"</style>") {
			t.Error("the style is not the one that the policy allows")
		}
		if got := w.visit(base + "/pay/pay_guessed"); got.Code != http.StatusNotFound {
			t.Errorf("a guessed token: %d", got.Code)
		}
		demo := w.topup("anna", "demo", 500, "")
		if got := w.press(demo.CheckoutURL, "pay", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"); got.Code != http.StatusForbidden {
			t.Errorf("a press from another site: %d", got.Code)
		}
		if got := w.press(demo.CheckoutURL, "steal"); got.Code != http.StatusBadRequest {
			t.Errorf("an unknown button: %d", got.Code)
		}
		if got := w.browse(http.MethodPost, demo.CheckoutURL, "action=pay&x="+strings.Repeat("x", maxForm)); got.Code != http.StatusBadRequest {
			t.Errorf("a large form: %d", got.Code)
		}
		if got := w.press(x.CheckoutURL, "pay"); got.Code != http.StatusBadRequest {
			t.Errorf("a button of a page that has none: %d", got.Code)
		}
		if got := w.browse(http.MethodPost, base+"/pay/webhooks/demo", "{}"); got.Code != http.StatusNotFound {
			t.Errorf("a webhook of a gateway without: %d", got.Code)
		}
		w.has(1, Balance{})
		w.has(2, Balance{})
		if got := w.press(demo.CheckoutURL, "pay", "Sec-Fetch-Site", "same-origin"); got.Code != http.StatusSeeOther {
			t.Errorf("a press without a visit before: %d", got.Code)
		}
		w.has(1, Balance{Spendable: 500})
	})
}

func TestABankTransferWaitsForTheOperator(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		x := w.topup("anna", "bank", 5000, "")
		w.visit(x.CheckoutURL)
		w.clk.Advance(13 * 24 * time.Hour)
		if n, err := w.ExpireDue(t.Context()); n != 0 || err != nil {
			t.Errorf("expired: %d, %v", n, err)
		}
		err := w.ConfirmBankTransfer(t.Context(), x.ID, 4999)
		refusal := fault.From(err)
		if texts := refusal.Invalid["received_usd_cents"]; refusal.Def != fault.Validation || len(texts) != 1 || texts[0].Data["Total"] != "$50.00" {
			t.Errorf("another amount: %v", err)
		}
		if got := w.follow("anna", x.ID).Status; got != "processing" {
			t.Errorf("status %s", got)
		}
		for range 2 {
			if err := w.ConfirmBankTransfer(t.Context(), x.ID, 5000); err != nil {
				t.Fatal(err)
			}
		}
		w.has(1, Balance{Spendable: 5000})
		demo := w.topup("anna", "demo", 500, "")
		if err := w.ConfirmBankTransfer(t.Context(), demo.ID, 500); !errors.Is(err, fault.NotFound) {
			t.Errorf("a top-up by another gateway: %v", err)
		}
		if err := w.ConfirmBankTransfer(t.Context(), 9999, 500); !errors.Is(err, fault.NotFound) {
			t.Errorf("no top-up: %v", err)
		}
		w.sound()
	})
}

func TestUnpaidTopUpsExpireAndLateMoneyIsStillCredited(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		unpaid := w.topup("anna", "demo", 500, "")
		late := w.topup("anna", "stripe", 700, "")
		w.visit(late.CheckoutURL)
		w.clk.Advance(25 * time.Hour)
		fresh := w.topup("anna", "demo", 900, "")
		for range 2 { // the worker runs twice
			if _, err := w.ExpireDue(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for id, want := range map[int64]string{unpaid.ID: "expired", late.ID: "expired", fresh.ID: "pending"} {
			if got := w.follow("anna", id).Status; got != want {
				t.Errorf("top-up %d is %s, want %s", id, got, want)
			}
		}
		if got := w.told.types(); got != "wallet.topup_failed wallet.topup_failed" {
			t.Errorf("told: %s", got)
		}
		e := gateway.Event{
			Kind: gateway.Succeeded, TopupID: late.ID, Reference: cardReference(late.ID), Payment: payment(late.ID),
			Total: 700 + 18 + 30, Currency: "USD",
		}
		if err := w.apply(t.Context(), "stripe", e); err != nil {
			t.Fatal(err)
		}
		w.has(1, Balance{Spendable: 700})
		w.sound()
		if err := w.reconcile(t.Context()); err != nil {
			t.Errorf("reconcile: %v", err)
		}
		w.must(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE wallet_ledger_accounts SET balance = balance + 1 WHERE kind = 'held'`)
			return err
		})
		for range 2 {
			if err := w.reconcile(t.Context()); err == nil {
				t.Error("reconcile took wrong books for right")
			}
		}
		if !strings.Contains(w.logs.String(), "do not add up") {
			t.Error("nothing was logged")
		}
	})
}

func TestAnEventThatContradictsTheTopUpCreditsNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		begun := func() (topupAnswer, gateway.Event) {
			x := w.topup("anna", "stripe", 1000, "")
			w.visit(x.CheckoutURL)
			return x, gateway.Event{
				Kind: gateway.Succeeded, TopupID: x.ID, Reference: cardReference(x.ID), Payment: payment(x.ID), Total: 1055, Currency: "USD",
			}
		}
		x, good := begun()
		for name, c := range map[string]struct {
			change func(e *gateway.Event)
			want   error
			status string
		}{
			"another session":    {func(e *gateway.Event) { e.Reference = "cs_other" }, errForeign, "processing"},
			"another top-up":     {func(e *gateway.Event) { e.TopupID = 9999 }, errForeign, "processing"},
			"a smaller amount":   {func(e *gateway.Event) { e.Total = 1 }, nil, "failed"},
			"another currency":   {func(e *gateway.Event) { e.Currency = "UZS" }, nil, "failed"},
			"a refund too early": {func(e *gateway.Event) { e.Kind, e.Reference = gateway.Refunded, "" }, errEarly, "processing"},
			"unknown payment":    {func(e *gateway.Event) { *e = gateway.Event{Kind: gateway.ChargedBack, Payment: "pi_x"} }, errForeign, "processing"},
		} {
			y, e := begun()
			c.change(&e)
			if err := w.apply(t.Context(), "stripe", e); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
			if got := w.follow("anna", y.ID).Status; got != c.status {
				t.Errorf("%s: the top-up is %s", name, got)
			}
		}
		w.has(1, Balance{})
		if err := w.apply(t.Context(), "demo", good); !errors.Is(err, errForeign) {
			t.Errorf("told by another gateway: %v", err)
		}
		if err := w.apply(t.Context(), "stripe", good); err != nil {
			t.Fatal(err)
		}
		if got := w.follow("anna", x.ID).Status; got != "succeeded" {
			t.Errorf("status %s", got)
		}
		w.has(1, Balance{Spendable: 1000})
		w.sound()
	})
}

func TestAChargeBackOfSpentMoneyBecomesADebtThatTheNextMoneyRepays(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		x, err := w.paidTopup(1, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.charge(1, 700, 1); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			err := w.apply(t.Context(), "stripe", gateway.Event{Kind: gateway.ChargedBack, Payment: payment(x.ID), Total: x.total(), Currency: "USD"})
			if err != nil {
				t.Fatal(err)
			}
		}
		w.has(1, Balance{Held: 700, Debt: 700})
		if got := w.follow("anna", x.ID).Status; got != "charged_back" {
			t.Errorf("status %s", got)
		}
		w.must(func(ctx context.Context, tx *db.Tx) error { return w.Release(ctx, tx, order(1), "") })
		w.has(1, Balance{})
		w.credit(1, 40)
		w.has(1, Balance{Spendable: 40})
		_, body := w.call("anna", http.MethodGet, "/api/v1/wallet", "")
		golden(t, "wallet_debt", body)
		w.sound()
	})
}

// reversal is money that a gateway tells to have given back, and what is left in the wallet then.
type reversal struct {
	kind       gateway.EventKind
	dispute    string
	told, left money.USDCents
}

// reverse tells of reversals of a top-up, one after the other.
func (w *world) reverse(t *testing.T, x topup, all ...reversal) {
	t.Helper()
	for _, r := range all {
		err := w.apply(t.Context(), "stripe", gateway.Event{Kind: r.kind, Payment: payment(x.ID), Dispute: r.dispute, Total: r.told, Currency: "USD"})
		if err != nil {
			t.Fatal(err)
		}
		w.has(1, Balance{Spendable: r.left})
	}
}

// A gateway tells refunds as their sum, and a dispute of a part is not in it.
func TestARefundBesideADisputeOfAPartIsTakenBackToo(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		x, err := w.paidTopup(1, 1000)
		if err != nil {
			t.Fatal(err)
		}
		w.reverse(
			t, x,
			reversal{gateway.Refunded, "", 200, 800},
			reversal{gateway.ChargedBack, "", 300, 500},
			reversal{gateway.Refunded, "", 200, 500},
			reversal{gateway.Refunded, "", 350, 350},
			reversal{gateway.Refunded, "", 5000, 0},
		)
		w.sound()
	})
}

// A payment may be disputed again for another part of it; a dispute that is told again takes nothing.
func TestASecondDisputeIsTakenBackToo(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		x, err := w.paidTopup(1, 1000)
		if err != nil {
			t.Fatal(err)
		}
		w.reverse(
			t, x,
			reversal{gateway.Refunded, "", 100, 900},
			reversal{gateway.ChargedBack, "dp_1", 300, 600},
			reversal{gateway.ChargedBack, "dp_1", 300, 600},
			reversal{gateway.ChargedBack, "dp_2", 300, 300},
			reversal{gateway.ChargedBack, "dp_1", 300, 300},
			reversal{gateway.ChargedBack, "dp_2", 300, 300},
			reversal{gateway.Refunded, "", 150, 250},
			reversal{gateway.ChargedBack, "dp_3", 5000, 0},
		)
		if got := w.follow("anna", x.ID).Status; got != "charged_back" {
			t.Errorf("status %s", got)
		}
		w.sound()
	})
}

// v0.1.0 noted a dispute by what was taken back in all, not by its name.
func TestADisputeOfTheFormerReleaseIsNotTakenTwice(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		x, err := w.paidTopup(1, 1000)
		if err != nil {
			t.Fatal(err)
		}
		w.reverse(t, x, reversal{gateway.ChargedBack, "dp_1", 300, 700})
		w.must(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE wallet_transactions SET part = 300 WHERE type = 'chargeback' AND reference_id = $1`, x.ID)
			return err
		})
		w.reverse(
			t, x,
			reversal{gateway.ChargedBack, "dp_1", 300, 700},
			reversal{gateway.ChargedBack, "dp_2", 200, 500},
		)
		w.sound()
	})
}

func TestOneSuccessToldManyTimesAtOnceIsCreditedOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		x := w.topup("anna", "stripe", 1000, "")
		w.visit(x.CheckoutURL)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				err := w.apply(context.Background(), "stripe", gateway.Event{
					Kind: gateway.Succeeded, TopupID: x.ID, Reference: cardReference(x.ID), Payment: payment(x.ID), Total: 1055, Currency: "USD",
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		w.has(1, Balance{Spendable: 1000})
		if got := w.told.types(); got != "wallet.topup_succeeded" {
			t.Errorf("told: %s", got)
		}
		w.sound()
	})
}

func TestTheAnswersAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ask := func(name, who, method, path, body string, want int, headers ...string) []byte {
			t.Helper()
			status, b := w.call(who, method, path, body, headers...)
			if status != want {
				t.Errorf("%s: %d, want %d: %s", name, status, want, b)
			}
			if name != "" {
				golden(t, name, b)
			}
			return b
		}
		const topups = "/api/v1/wallet/topups"
		ask("wallet_empty", "anna", "GET", "/api/v1/wallet", "", 200)
		ask("gateways", "anna", "GET", "/api/v1/wallet/gateways", "", 200)
		ask("gateways_page", "boris", "GET", "/api/v1/wallet/gateways?per_page=1&page=2", "", 200)
		made := ask("topup_created", "anna", "POST", topups,
			`{"amount_usd_cents": 2000, "gateway": "stripe", "return_url": "http://127.0.0.1:3000/back"}`, 201, "Idempotency-Key", "k1")
		again := ask("", "anna", "POST", topups,
			`{"amount_usd_cents": 2000, "gateway": "stripe", "return_url": "http://127.0.0.1:3000/back"}`, 201, "Idempotency-Key", "k1")
		if string(made) != string(again) {
			t.Errorf("a repeated request made another top-up:\n%s\n%s", made, again)
		}
		ask("topup_key_reused", "anna", "POST", topups, `{"amount_usd_cents": 1, "gateway": "stripe"}`, 422, "Idempotency-Key", "k1")
		ask("topup_too_small", "anna", "POST", topups, `{"amount_usd_cents": 99, "gateway": "demo"}`, 422)
		ask("topup_too_large", "boris", "POST", topups, `{"amount_usd_cents": 1000001, "gateway": "demo"}`, 422)
		ask("topup_no_gateway", "anna", "POST", topups, `{"amount_usd_cents": 100, "gateway": "paypal"}`, 422)
		ask("topup_bad_return", "anna", "POST", topups, `{"amount_usd_cents": 100, "gateway": "demo", "return_url": "javascript:alert(1)"}`, 422)
		ask("topup_bad_body", "anna", "POST", topups, `{"amount_usd_cents": -5}`, 422)
		ask("", "anna", "POST", topups, `{"amount_usd_cents": 1e300, "gateway": "demo"}`, 422)
		ask("", "anna", "POST", topups, `{"amount_usd_cents": 1.5, "gateway": "demo"}`, 422)
		w.credit(2, DefaultMaxBalance-50)
		ask("topup_limit", "boris", "POST", topups, `{"amount_usd_cents": 100, "gateway": "demo"}`, 422)
		ask("", "sandbox", "POST", topups, `{"amount_usd_cents": 100, "gateway": "demo"}`, 403)
		ask("", "orders", "GET", "/api/v1/wallet", "", 403)
		ask("", "writer", "GET", "/api/v1/wallet", "", 403)

		var x topupAnswer
		if err := json.Unmarshal(made, &x); err != nil {
			t.Fatal(err)
		}
		if got := w.visit(x.CheckoutURL); got.Code != http.StatusSeeOther || got.Header().Get("Location") != "https://card.test/pay" {
			t.Errorf("the visit: %d %s", got.Code, got.Header().Get("Location"))
		}
		ask("topup_processing", "writer", "GET", topups+"/"+jsonInt(x.ID), "", 200)
		ask("topup_of_another", "boris", "GET", topups+"/"+jsonInt(x.ID), "", 404)
		ask("", "anna", "GET", topups+"/first", "", 404)
		w.clk.Advance(time.Minute)
		err := w.apply(t.Context(), "stripe", gateway.Event{
			Kind: gateway.Succeeded, TopupID: x.ID, Reference: cardReference(x.ID), Payment: "pi_1", Total: 2080, Currency: "USD",
		})
		if err != nil {
			t.Fatal(err)
		}
		ask("topup_succeeded", "anna", "GET", topups+"/"+jsonInt(x.ID), "", 200)
		for i, cents := range []int64{300, 500, 20} {
			if err := w.charge(1, money.USDCents(cents), int64(i+1)); err != nil {
				t.Fatal(err)
			}
		}
		w.must(func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(w.Capture(ctx, tx, order(1)), w.Release(ctx, tx, order(2), ""))
		})
		ask("wallet", "anna", "GET", "/api/v1/wallet", "", 200)
		ask("wallet_page", "anna", "GET", "/api/v1/wallet?per_page=2&page=2&lang=uz", "", 200)
		w.sound()
	})
}
