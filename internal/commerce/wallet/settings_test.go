package wallet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/gateway"
)

// keeper is a gateway that keeps cards; the tests say what becomes of a charge.
type keeper struct {
	card
	mu      sync.Mutex
	charged map[int64]gateway.Event // as the provider has it
	outcome gateway.EventKind
	// deaf: the provider does what it is asked, and the answer is lost.
	deaf  bool
	calls int
}

func newKeeper() *keeper {
	return &keeper{charged: map[int64]gateway.Event{}, outcome: gateway.Succeeded}
}

func (*keeper) Info() gateway.Info {
	i := card{}.Info()
	i.Key, i.Simulated = "demo", true // whose name there is a text for
	return i
}

func (k *keeper) FindSaved(_ context.Context, t gateway.Topup, _ string) (gateway.Event, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.charged[t.ID]
	return e, ok, nil
}

func (k *keeper) ChargeSaved(_ context.Context, t gateway.Topup, method string) (gateway.Event, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	if _, done := k.charged[t.ID]; done {
		return gateway.Event{}, fmt.Errorf("top-up %d is charged twice", t.ID)
	}
	e := gateway.Event{Kind: k.outcome, TopupID: t.ID, Reference: method + cardReference(t.ID), Payment: payment(t.ID), Currency: "USD"}
	if e.Kind == gateway.Succeeded {
		e.Total = t.Total
	}
	k.charged[t.ID] = e
	if k.deaf {
		return gateway.Event{}, gateway.ErrUnavailable
	}
	return e, nil
}

func (k *keeper) becomes(outcome gateway.EventKind, deaf bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.outcome, k.deaf = outcome, deaf
}

// kept lets the keeper have a card of the account.
func (w *world) kept(accountID int64) {
	w.t.Helper()
	w.must(func(ctx context.Context, tx *db.Tx) error {
		return putMethod(ctx, tx, accountID, method{Gateway: "demo", Reference: "card-1", Label: "Visa 4242"})
	})
}

// automatically switches automatic top-ups on, of 1000 below 500.
func (w *world) automatically(token, more string) {
	w.t.Helper()
	body := `{"auto_topup": {"enabled": true, "gateway": "demo", "amount_usd_cents": 1000, "threshold_usd_cents": 500` + more + `}}`
	if status, b := w.call(token, http.MethodPatch, "/api/v1/wallet", body); status != http.StatusOK {
		w.t.Fatalf("automatic top-ups: %d %s", status, b)
	}
}

// work does what the jobs of automatic top-ups do, and answers how many of them it began.
func (w *world) work() (begun int) {
	w.t.Helper()
	begun, err := w.AutomaticDue(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	ids, err := db.Collect(context.Background(), w.DB, func(r db.Row) (id int64, err error) { return id, r.Scan(&id) },
		`SELECT id FROM wallet_topups WHERE automatic AND status = 'processing' ORDER BY id`)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, id := range ids {
		if _, err := w.chargeAutomatic(context.Background(), id); err != nil && !errors.Is(err, gateway.ErrUnavailable) {
			w.t.Fatal(err)
		}
	}
	return begun
}

func kept(t *testing.T, f func(t *testing.T, w *world, k *keeper)) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		k := newKeeper()
		w := newWorld(t, d, clk, k)
		w.kept(1)
		f(t, w, k)
		w.sound()
	})
}

// autoTopUp is kept with a balance of 600 and automatic top-ups below 500.
func autoTopUp(t *testing.T, f func(t *testing.T, w *world, k *keeper)) {
	kept(t, func(t *testing.T, w *world, k *keeper) {
		w.credit(1, 600)
		w.automatically("anna", "")
		f(t, w, k)
	})
}

func TestALowBalanceIsToldOnceUntilItHasBeenAbove(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.credit(1, 1000)
		status, b := w.call("anna", http.MethodPatch, "/api/v1/wallet", `{"low_balance_threshold_usd_cents": 500}`)
		if status != http.StatusOK || !strings.Contains(string(b), `"low_balance_threshold":{"usd_cents":500`) {
			t.Fatalf("%d %s", status, b)
		}
		const given, low = "wallet.adjusted ", "wallet.low_balance "
		told := func(after, want string) {
			t.Helper()
			if got := w.told.types() + " "; got != want {
				t.Errorf("%s: told %q, want %q", after, got, want)
			}
		}
		order := int64(0)
		charge := func(cents money.USDCents) {
			t.Helper()
			order++
			if err := w.charge(1, cents, order); err != nil {
				t.Fatal(err)
			}
		}
		charge(500)
		told("exactly the threshold", given)
		charge(1)
		told("below", given+low)
		charge(100)
		told("further below", given+low)
		w.credit(1, 50)
		told("nearer, and still below", given+low+given)
		w.credit(1, 51)
		told("at the threshold", given+low+given+given)
		charge(1)
		told("below again", given+low+given+given+low)
		w.credit(1, 10)
		w.must(func(ctx context.Context, tx *db.Tx) error { // a charge of which a part comes back in the same commit
			c := sale.Charge{AccountID: 1, Amount: 400, Reference: sale.Reference{Type: "order", ID: 90}}
			if err := w.Charge(ctx, tx, c); err != nil {
				return err
			}
			if err := w.Capture(ctx, tx, c.Reference); err != nil {
				return err
			}
			c.Amount = 395
			return w.Refund(ctx, tx, c)
		})
		told("low only on the way", given+low+given+given+low+given)
		charge(100)
		told("low at the end", given+low+given+given+low+given+low)

		refused := w.do(func(ctx context.Context, tx *db.Tx) error {
			if err := w.Credit(ctx, tx, Credit{AccountID: 1, Amount: 5000, Type: TypeBonus}); err != nil {
				return err
			}
			return errors.New("undone")
		})
		if refused == nil {
			t.Error("the transaction was not undone")
		}
		charge(1)
		told("what was undone was not above", given+low+given+given+low+given+low)

		if status, b := w.call("anna", http.MethodPatch, "/api/v1/wallet", `{"low_balance_threshold_usd_cents": 0}`); status != http.StatusOK || !strings.Contains(string(b), `"low_balance_threshold":null`) {
			t.Errorf("off: %d %s", status, b)
		}
		if status, b := w.call("anna", http.MethodPatch, "/api/v1/wallet", `{"low_balance_threshold_usd_cents": 600}`); status != http.StatusOK {
			t.Errorf("on again: %d %s", status, b)
		}
		told("a threshold above the balance", given+low+given+given+low+given+low+low)
		e := w.told.events[len(w.told.events)-1]
		if data, _ := json.Marshal(e.Data); string(data) != `{"balance_usd_cents":403,"threshold_usd_cents":600}` || e.AccountID != 1 || e.Subject != "wallet" {
			t.Errorf("%s of %+v", data, e)
		}
		w.sound()
	})
}

func TestManyChargesAtOnceCrossTheThresholdOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.credit(1, 1000)
		w.call("anna", http.MethodPatch, "/api/v1/wallet", `{"low_balance_threshold_usd_cents": 500}`)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				if err := w.charge(1, 90, int64(i+1)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := strings.Count(w.told.types(), "wallet.low_balance"); got != 1 {
			t.Errorf("told %d times", got)
		}
	})
}

func TestTheWalletTopsItselfUpOnceACrossing(t *testing.T) {
	t.Parallel()
	autoTopUp(t, func(t *testing.T, w *world, k *keeper) {
		if n := w.work(); n != 0 {
			t.Errorf("%d top-ups above the threshold", n)
		}
		if err := w.charge(1, 200, 1); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 { // the job, repeated by somebody, and the sweep
			wg.Go(func() {
				if _, err := w.beginAutomatic(context.Background(), 1); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if inFlight, err := w.InFlight(context.Background(), w.DB, 1); err != nil || !inFlight {
			t.Errorf("a payment is under way: %v, %v", inFlight, err)
		}
		w.work()
		w.work()
		w.has(1, Balance{Spendable: 1400, Held: 200})
		if k.calls != 1 || strings.Count(w.told.types(), "wallet.topup_succeeded") != 1 {
			t.Errorf("%d charges, told %s", k.calls, w.told.types())
		}
		if err := w.charge(1, 1000, 2); err != nil {
			t.Fatal(err)
		}
		w.work()
		w.has(1, Balance{Spendable: 1400, Held: 1200})
	})
}

func TestADeclinedCardIsNotTriedAgainForTheSameCrossing(t *testing.T) {
	t.Parallel()
	autoTopUp(t, func(t *testing.T, w *world, k *keeper) {
		k.becomes(gateway.Failed, false)
		if err := w.charge(1, 300, 1); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			w.work()
			w.clk.Advance(time.Hour)
		}
		if err := w.charge(1, 50, 2); err != nil { // deeper, and the same crossing
			t.Fatal(err)
		}
		w.work()
		if k.calls != 1 || strings.Count(w.told.types(), "wallet.topup_failed") != 1 {
			t.Errorf("%d charges, told %s", k.calls, w.told.types())
		}
		k.becomes(gateway.Succeeded, false)
		w.credit(1, 500)
		if err := w.charge(1, 500, 3); err != nil { // the next one
			t.Fatal(err)
		}
		w.work()
		w.has(1, Balance{Spendable: 1250, Held: 850})
	})
}

func TestAnAnswerThatIsLostIsNoSecondPayment(t *testing.T) {
	t.Parallel()
	autoTopUp(t, func(t *testing.T, w *world, k *keeper) {
		k.becomes(gateway.Succeeded, true)
		if err := w.charge(1, 300, 1); err != nil {
			t.Fatal(err)
		}
		w.work()
		w.has(1, Balance{Spendable: 300, Held: 300})
		w.clk.Advance(25 * time.Hour) // however long the silence
		if n, err := w.ExpireDue(context.Background()); err != nil || n != 0 {
			t.Errorf("given up although it may be paid: %d, %v", n, err)
		}
		w.work()
		w.has(1, Balance{Spendable: 1300, Held: 300})
		if k.calls != 1 {
			t.Errorf("%d charges", k.calls)
		}
	})
}

func TestAPaymentThatWaitsHoldsTheNextOneBack(t *testing.T) {
	t.Parallel()
	autoTopUp(t, func(t *testing.T, w *world, k *keeper) {
		k.becomes(gateway.Waiting, false)
		if err := w.charge(1, 300, 1); err != nil {
			t.Fatal(err)
		}
		w.work()
		w.credit(1, 300)
		if err := w.charge(1, 300, 2); err != nil { // another crossing while the answer to the first is on its way
			t.Fatal(err)
		}
		w.work()
		if k.calls != 1 {
			t.Errorf("%d charges", k.calls)
		}
		for id, e := range k.charged {
			e.Kind, e.Total = gateway.Succeeded, 1000+1000*250/10_000+30
			k.charged[id] = e
		}
		w.work()
		w.has(1, Balance{Spendable: 1300, Held: 600})
		if n := w.work(); n != 0 || k.calls != 1 {
			t.Errorf("%d more top-ups, %d charges, of a balance that is above", n, k.calls)
		}
	})
}

func TestADayHasItsBound(t *testing.T) {
	t.Parallel()
	kept(t, func(t *testing.T, w *world, k *keeper) {
		w.credit(1, 600)
		w.automatically("anna", `, "max_per_day_usd_cents": 2500`)
		cross := func(id int64) {
			t.Helper()
			b, err := w.Balance(context.Background(), w.DB, 1)
			if err == nil {
				err = w.charge(1, b.Spendable-100, id)
			}
			if err != nil {
				t.Fatal(err)
			}
			w.work()
		}
		cross(1)
		cross(2)
		if b, err := w.Balance(context.Background(), w.DB, 1); err != nil || b.Spendable != 1100 || k.calls != 2 {
			t.Fatalf("%+v after %d charges (%v)", b, k.calls, err)
		}
		cross(3)
		w.clk.Advance(23 * time.Hour)
		if w.work(); k.calls != 2 {
			t.Errorf("%d charges within the day", k.calls)
		}
		w.clk.Advance(2 * time.Hour)
		if w.work(); k.calls != 3 {
			t.Errorf("%d charges when the day is over", k.calls)
		}
	})
}

func TestAMeansOfPaymentThatIsForgottenIsNotCharged(t *testing.T) {
	t.Parallel()
	autoTopUp(t, func(t *testing.T, w *world, k *keeper) {
		if err := w.charge(1, 300, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := w.AutomaticDue(context.Background()); err != nil {
			t.Fatal(err)
		}
		if status, b := w.call("boris", http.MethodDelete, "/api/v1/wallet/methods/demo", ""); status != http.StatusNotFound {
			t.Errorf("another's: %d %s", status, b)
		}
		if status, b := w.call("anna", http.MethodDelete, "/api/v1/wallet/methods/demo", ""); status != http.StatusOK {
			t.Fatalf("%d %s", status, b)
		}
		w.work()
		if k.calls != 0 {
			t.Error("it was charged")
		}
		w.has(1, Balance{Spendable: 300, Held: 300})
		if _, b := w.call("anna", http.MethodGet, "/api/v1/wallet", ""); !strings.Contains(string(b), `"auto_topup":{"enabled":false`) {
			t.Errorf("%s", b)
		}
		if status, b := w.call("anna", http.MethodPatch, "/api/v1/wallet", `{"auto_topup": {"enabled": true}}`); status != http.StatusUnprocessableEntity || !strings.Contains(string(b), "payment_method_required") {
			t.Errorf("without one: %d %s", status, b)
		}
	})
}

func TestAGatewayThatIsGoneIsToldOf(t *testing.T) {
	t.Parallel()
	autoTopUp(t, func(t *testing.T, w *world, _ *keeper) {
		w.Gateways = nil
		if err := w.charge(1, 300, 1); err != nil {
			t.Fatal(err)
		}
		w.work()
		w.work()
		if got := strings.Count(w.told.types(), "wallet.topup_failed"); got != 1 {
			t.Errorf("told %d times", got)
		}
	})
}

func TestChoicesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	kept(t, func(t *testing.T, w *world, _ *keeper) {
		for body, want := range map[string]string{
			`{"auto_topup": {"enabled": true}}`: "auto_topup.",
			`{"auto_topup": {"enabled": true, "gateway": "nothing", "amount_usd_cents": 1000, "threshold_usd_cents": 500}}`:                            "gateway_unavailable",
			`{"auto_topup": {"enabled": true, "gateway": "demo", "amount_usd_cents": 499, "threshold_usd_cents": 500}}`:                                "auto_topup.amount_usd_cents",
			`{"auto_topup": {"enabled": true, "gateway": "demo", "amount_usd_cents": 1000, "threshold_usd_cents": 500, "max_per_day_usd_cents": 999}}`: "auto_topup.max_per_day_usd_cents",
			`{"auto_topup": {"enabled": true, "gateway": "demo", "amount_usd_cents": 1000001, "threshold_usd_cents": 500}}`:                            "amount_too_large",
			`{"low_balance_threshold_usd_cents": -1}`: "low_balance_threshold_usd_cents",
			`{"auto_topup": {"amount_usd_cents": 0}}`: "amount_usd_cents",
		} {
			if status, b := w.call("anna", http.MethodPatch, "/api/v1/wallet", body); status != http.StatusUnprocessableEntity || !strings.Contains(string(b), want) {
				t.Errorf("%s: %d %s", body, status, b)
			}
		}
		if status, b := w.call("boris", http.MethodPatch, "/api/v1/wallet", `{"auto_topup": {"enabled": true, "gateway": "demo", "amount_usd_cents": 1000, "threshold_usd_cents": 500}}`); status != http.StatusUnprocessableEntity || !strings.Contains(string(b), "payment_method_required") {
			t.Errorf("who has nothing kept: %d %s", status, b)
		}
		if status, _ := w.call("sandbox", http.MethodPatch, "/api/v1/wallet", `{"low_balance_threshold_usd_cents": 1}`); status != http.StatusForbidden {
			t.Errorf("a sandbox application: %d", status)
		}
	})
}

func TestNobodyPaysAnAutomaticTopUpByHand(t *testing.T) {
	t.Parallel()
	autoTopUp(t, func(t *testing.T, w *world, k *keeper) {
		k.becomes(gateway.Waiting, false)
		if err := w.charge(1, 300, 1); err != nil {
			t.Fatal(err)
		}
		w.work()
		x := w.follow("anna", 1)
		if x.Status != "processing" {
			t.Fatalf("%+v", x)
		}
		if got := w.visit(x.CheckoutURL); got.Code != http.StatusOK || strings.Contains(text(got), "<form") {
			t.Errorf("the page: %d", got.Code)
		}
		w.press(x.CheckoutURL, "pay")
		w.has(1, Balance{Spendable: 300, Held: 300})
	})
}

// TestASavedMeansOfPayment goes the whole way with the gateway of demonstrations.
func TestASavedMeansOfPayment(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		if a := w.topup("anna", "bank", 1000, `,"save_method":true`); a.Error != "gateway_unavailable" {
			t.Errorf("a bank transfer that is kept: %+v", a)
		}
		x := w.topup("anna", "demo", 1000, `,"save_method":true`)
		y := w.topup("boris", "demo", 1000, "")
		for _, checkout := range []string{x.CheckoutURL, y.CheckoutURL} {
			w.visit(checkout)
			w.press(checkout, "pay")
		}
		status, b := w.call("anna", http.MethodGet, "/api/v1/wallet/methods", "")
		if want := `{"data":[{"gateway":"demo","name":"Demo payment","label":"Demo 4242"}],"meta":{"page":1,"per_page":20,"total":1,"last_page":1}}`; status != http.StatusOK || strings.TrimSpace(string(b)) != want {
			t.Errorf("%d %s", status, b)
		}
		if _, b := w.call("boris", http.MethodGet, "/api/v1/wallet/methods", ""); !strings.Contains(string(b), `"total":0`) {
			t.Errorf("who did not ask for it: %s", b)
		}
		w.automatically("anna", "")
		if err := w.charge(1, 600, 1); err != nil {
			t.Fatal(err)
		}
		w.work()
		w.has(1, Balance{Spendable: 1400, Held: 600})
		w.sound()
	})
}

func TestPlayMoneyIsNeverPaidFor(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.must(func(ctx context.Context, tx *db.Tx) error { return w.OpenSandbox(ctx, tx, 1, 5000) })
		if a := w.topup("anna", "stripe", 1000, ""); a.Error != "gateway_unavailable" {
			t.Errorf("%+v", a)
		}
		if a := w.topup("anna", "demo", 1000, ""); a.Status != "pending" {
			t.Errorf("%+v", a)
		}
		if _, b := w.call("anna", http.MethodGet, "/api/v1/wallet/gateways", ""); !strings.Contains(string(b), `"total":1`) {
			t.Errorf("%s", b)
		}
	})
}
