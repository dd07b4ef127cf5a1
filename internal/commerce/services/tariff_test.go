package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// till sells until it is told not to; its sales are kept in memory, so a test that
// rolls back looks at the rows instead.
type till struct {
	sales []sale.Sale
	short bool
	again func() // called once, while money is taken
}

func (s *till) Sell(ctx context.Context, tx *db.Tx, all []sale.Sale) ([]sale.Sold, error) {
	return sellEach(all, func(sold sale.Sale) (int64, error) { return s.sell(ctx, tx, sold) })
}

// sellEach sells one thing after the other. A refusal is told of the sale, any other error of all.
func sellEach(all []sale.Sale, sell func(sale.Sale) (int64, error)) ([]sale.Sold, error) {
	sold := make([]sale.Sold, len(all))
	for i, one := range all {
		id, err := sell(one)
		if err != nil && !errors.Is(err, fault.InsufficientFunds) {
			return nil, err
		}
		sold[i] = sale.Sold{OrderID: id, Refusal: err}
	}
	return sold, nil
}

func (s *till) sell(_ context.Context, _ *db.Tx, sold sale.Sale) (int64, error) {
	if s.short {
		return 0, fault.InsufficientFunds.New()
	}
	if f := s.again; f != nil {
		s.again = nil
		f()
	}
	s.sales = append(s.sales, sold)
	return int64(1000 + len(s.sales)), nil
}

func (s *till) Begin(ctx context.Context, tx *db.Tx, p sale.Purchase) (int64, error) {
	return s.sell(ctx, tx, sale.Sale{
		AccountID: p.AccountID, ServiceID: p.ServiceID, Kind: p.Kind, Title: p.Title, Domain: p.Domain, PeriodMonths: p.PeriodMonths,
		Price: p.Price, Keyed: p.Keyed, ClientRef: p.ClientRef,
	})
}

// used is what every service uses; paying are the accounts with a payment on its way.
type used struct {
	counts map[string]int64
	paying map[int64]bool
}

func (u *used) Sandbox(_ context.Context, _ db.Querier, accountID int64) (bool, error) {
	return accountID == sandboxAccount, nil
}

// sandboxAccount is an account of a sandbox.
const sandboxAccount = 99

func (u *used) InFlight(_ context.Context, _ db.Querier, accountID int64) (bool, error) {
	return u.paying[accountID], nil
}

func (u *used) Measure(context.Context, int64, int64) (map[string]int64, error) { return u.counts, nil }

func (u *used) Known(context.Context, db.Querier, int64) (map[string]int64, error) {
	return u.counts, nil
}

// plans has the plans 3 (499 for a month), 4 (1000), 5 (100, small), 6 (sold out).
type plans struct{}

var planPrices = map[int64]money.USDCents{3: 499, 4: 1000, 5: 100, 6: 700}

func (plans) Offer(_ context.Context, _ db.Querier, id int64, months int) (sale.Offer, error) {
	price, ok := planPrices[id]
	if !ok || (months != 1 && months != 12) {
		return sale.Offer{}, fault.Invalid("period_months", "value")
	}
	if months == 12 {
		price *= 10
	}
	return sale.Offer{
		PlanID: id, PlanSlug: fmt.Sprint("plan", id), PlanName: fmt.Sprint("Plan ", id), PeriodMonths: months, Price: price,
		Limits: json.RawMessage(fmt.Sprintf(`{"disk_mb":%d,"domains":1}`, price)), Available: id != 6,
	}, nil
}

func (p plans) Changes(ctx context.Context, q db.Querier, id int64, months int) (offers []sale.Offer, err error) {
	for _, other := range []int64{3, 4, 5, 6} {
		if other == id {
			continue
		}
		o, err := p.Offer(ctx, q, other, months)
		if err != nil {
			return nil, err
		}
		offers = append(offers, o)
	}
	return offers, nil
}

func (plans) Terms(_ context.Context, _ db.Querier, planIDs []int64) (map[int64]sale.Terms, error) {
	all := map[int64]sale.Terms{}
	for _, id := range planIDs {
		all[id] = sale.DefaultTerms
	}
	return all, nil
}

func (plans) Take(_ context.Context, _ *db.Tx, _, id, _ int64) (bool, error) { return id != 6, nil }
func (plans) Return(context.Context, *db.Tx, int64, int64) error             { return nil }

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) { f(t, newWorld(t, d, clk)) })
}

func (w *world) post(token string, id int64, what, body string) (int, map[string]any) {
	w.t.Helper()
	status, data := w.call(token, http.MethodPost, fmt.Sprintf("/api/v1/services/%d/%s", id, what), body)
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil {
		w.t.Fatalf("%s: %v", data, err)
	}
	return status, answer
}

// refuses wants a refusal with a key that changes nothing of the service.
func (w *world) refuses(id int64, what, body string, status int, key string) map[string]any {
	w.t.Helper()
	before := w.record(id)
	got, answer := w.post("own", id, what, body)
	if got != status || answer["error"] != key {
		w.t.Errorf("%s %s: %d %v, want %d %s", what, body, got, answer, status, key)
	}
	if after := w.record(id); !reflect.DeepEqual(after, before) {
		w.t.Errorf("%s %s changed the service:\n%+v\n%+v", what, body, before, after)
	}
	return answer
}

func TestRenewalBeginsWhereThePaidTimeEnds(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(ask("a.test"))
		first := *w.record(id).expiresAt

		status, answer := w.post("own", id, "renew", `{"dry_run":true}`)
		if status != 200 || answer["order_id"] != nil || len(w.till.sales) != 0 || !w.record(id).expiresAt.Equal(first) {
			t.Errorf("dry run: %d %v", status, answer)
		}
		status, answer = w.post("own", id, "renew", `{"expected_usd_cents":499}`)
		if status != 200 || answer["order_id"] == nil {
			t.Fatalf("%d %v", status, answer)
		}
		r := w.record(id)
		if want := addMonths(first, 1); !r.expiresAt.Equal(want) {
			t.Errorf("paid until %v, want %v", r.expiresAt, want)
		}
		w.same("the sale", sale.Sale{
			AccountID: 1, ServiceID: id, Kind: "renewal", Title: "Start", Domain: r.domain, PlanID: 3, PeriodMonths: 1, Price: 499,
		}, w.till.sales[0])
		// Another period is sold at the catalogue's price, and changes nothing else.
		w.post("own", id, "renew", `{"period_months":12}`)
		if r := w.record(id); !r.expiresAt.Equal(addMonths(first, 13)) || r.periodMonths != 1 || r.renewPrice != 499 || w.till.sales[1].Price != 4990 {
			t.Errorf("after a year: %+v, %+v", r, w.till.sales[1])
		}
		changed := w.refuses(id, "renew", `{"expected_usd_cents":498}`, 422, "price_changed")
		if price, _ := changed["price"].(map[string]any); price["usd_cents"] != 499.0 {
			t.Errorf("price_changed says %v", changed)
		}
		w.refuses(id, "renew", `{"period_months":7}`, 422, "validation_failed")
		w.till.short = true
		w.refuses(id, "renew", `{}`, 422, "insufficient_funds")
		w.till.short = false
		if status, _ := w.post("other", id, "renew", `{}`); status != 404 {
			t.Errorf("a stranger's renewal: %d", status)
		}
		for range 20 { // ten years at most
			w.post("own", id, "renew", `{"period_months":12}`)
		}
		w.refuses(id, "renew", `{"period_months":12}`, 422, "renewal_not_allowed")
		if until := *w.record(id).expiresAt; until.After(w.clk.Now().AddDate(10, 0, 0)) {
			t.Errorf("paid until %v", until)
		}
	})
}

func TestRenewalBringsBackWhatWasNotPaidAndNothingElse(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(ask("a.test"))
		w.exec(`UPDATE services SET status = 'suspended', suspend_reason = 'unpaid', suspended_at = 1, grace_until = 1, terminates_at = 2 WHERE id = $1`, id)
		w.clk.Advance(100 * 24 * time.Hour) // all of what is bought would have passed
		if status, answer := w.post("own", id, "renew", `{}`); status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		r := w.record(id)
		if r.status != Active || r.suspendReason != nil || r.terminatesAt != nil || !r.expiresAt.Equal(addMonths(w.clk.Now(), 1)) {
			t.Errorf("renewed: %+v", r)
		}
		if w.jobs("services.suspension") != 1 {
			t.Error("the panel is not told")
		}
		w.exec(`UPDATE services SET status = 'suspended', suspend_reason = 'abuse', suspended_at = 1 WHERE id = $1`, id)
		w.refuses(id, "renew", `{}`, 422, "service_suspended")
		w.exec(`UPDATE services SET status = 'terminated' WHERE id = $1`, id)
		w.refuses(id, "renew", `{}`, 422, "renewal_not_allowed")
	})
}

func TestAServiceThatChangesWhileItIsPaidIsAConflict(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(ask("a.test"))
		before := w.record(id)
		err := w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			w.till.again = func() { // as another renewal that was faster
				if _, err := tx.Exec(ctx, `UPDATE services SET expires_at = expires_at + 1 WHERE id = $1`, id); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := w.renew(ctx, tx, 1, id, renewalWish{})
			return err
		})
		if !errors.Is(err, fault.Conflict) || !w.record(id).expiresAt.Equal(*before.expiresAt) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestTimeThatIsRefundedWhileItsTariffChangesIsAConflict(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		n := ask("a.test")
		n.FirstPrice = 499
		id := w.active(n)
		err := w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			w.till.again = func() { // as a refund that was faster
				if err := w.TakeBack(ctx, tx, id, 400); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := w.changeTariff(ctx, tx, 1, id, tariffWish{planID: 5})
			return err
		})
		if !errors.Is(err, fault.Conflict) || w.record(id).planID != 3 {
			t.Errorf("error = %v", err)
		}
	})
}

func TestATariffIsChangedForTheTimeThatIsLeft(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		n := ask("a.test")
		n.FirstPrice = 499
		id := w.active(n)
		end := *w.record(id).expiresAt
		length := end.Sub(w.clk.Now())
		w.clk.Advance(length / 4)

		status, answer := w.post("own", id, "tariff", `{"plan_id":4,"dry_run":true}`)
		tariff, _ := answer["tariff"].(map[string]any)
		charge, _ := tariff["charge"].(map[string]any)
		// Three quarters of 1000, rounded up, less three quarters of 499, rounded down.
		if status != 200 || charge["usd_cents"] != 376.0 || w.record(id).planID != 3 {
			t.Fatalf("dry run: %d %v", status, answer)
		}
		w.refuses(id, "tariff", `{"plan_id":4,"expected_usd_cents":375}`, 422, "price_changed")
		if status, answer = w.post("own", id, "tariff", `{"plan_id":4,"expected_usd_cents":376}`); status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		r := w.record(id)
		if r.planID != 4 || r.renewPrice != 1000 || !r.expiresAt.Equal(end) {
			t.Errorf("after the change: %+v", r)
		}
		w.same("the sale", sale.Sale{
			AccountID: 1, ServiceID: id, Kind: "tariff_change", Title: "Plan 4", Domain: r.domain, PlanID: 4, PeriodMonths: 1,
			Price: 750, Discount: 374,
		}, w.till.sales[0])
		if err := w.prov.FollowLimits(t.Context(), id); err != nil || w.panel.made[refOf(id)].Limits.DiskMB != 1000 {
			t.Errorf("limits on the panel: %+v, %v", w.panel.made[refOf(id)].Limits, err)
		}
		// Back at the same moment: what was paid for it comes back, never more.
		w.post("own", id, "tariff", `{"plan_id":3}`)
		if s := w.till.sales[1]; s.Price != 375 || s.Discount != 375 || s.Credit != 375 {
			t.Errorf("the way back: %+v", s)
		}
		w.refuses(id, "tariff", `{"plan_id":6}`, 422, "tariff_change_not_allowed")
		w.refuses(id, "tariff", `{"plan_id":99}`, 422, "tariff_change_not_allowed")
		w.refuses(id, "tariff", `{"plan_id":3}`, 422, "tariff_change_not_allowed")
		w.used.counts = map[string]int64{"disk_mb": 101, "domains": 1, "sites": 7}
		over := w.refuses(id, "tariff", `{"plan_id":5}`, 422, "downgrade_exceeds_usage")
		if got := fmt.Sprint(over["exceeded"]); got != "[map[limit:disk_mb maximum:100 used:101]]" {
			t.Errorf("exceeded = %s", got)
		}
		status, list := w.call("own", http.MethodGet, fmt.Sprintf("/api/v1/services/%d/tariffs", id), "")
		if status != 200 {
			t.Fatalf("%d %s", status, list)
		}
		w.golden("tariffs", list)
	})
}

// lacking is a company without the mail that its plan 4 promises.
type lacking struct{ provisioning.OnePanel }

func (lacking) Check(_ context.Context, _ db.Querier, p provisioning.Placement) error {
	if p.PlanID == 4 {
		return fault.OutOfStock.With(fault.Fields{"missing": []string{"mail"}})
	}
	return nil
}

func TestAPlanThatNoServerCanProvideIsNoWayOut(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.prov.Placer = lacking{"node"}
		id := w.active(ask("a.test"))
		for _, when := range []string{"now", "renewal"} {
			got := w.refuses(id, "tariff", `{"plan_id":4,"when":"`+when+`"}`, 422, "out_of_stock")
			if fmt.Sprint(got["missing"]) != "[mail]" {
				t.Errorf("%s: %v", when, got)
			}
		}
		if len(w.till.sales) != 0 {
			t.Errorf("it sold %+v", w.till.sales)
		}
		if status, answer := w.post("own", id, "tariff", `{"plan_id":5,"dry_run":true}`); status != 200 {
			t.Errorf("another plan: %d %v", status, answer)
		}
	})
}

// Its time has run out, and no job has seen that yet.
func TestAServiceWithoutTimeLeftChangesNoTariff(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(ask("a.test"))
		w.clk.Set(*w.record(id).expiresAt)
		w.refuses(id, "tariff", `{"plan_id":5}`, 422, "tariff_change_not_allowed")
	})
}

func TestATariffThatWaitsForTheRenewal(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		n := ask("a.test")
		n.FirstPrice = 499
		id := w.active(n)
		end := *w.record(id).expiresAt
		if status, answer := w.post("own", id, "tariff", `{"plan_id":5,"when":"renewal"}`); status != 200 || answer["order_id"] != nil {
			t.Fatalf("%d %v", status, answer)
		}
		if r := w.record(id); r.planID != 3 || *r.pendingPlanID != 5 || !r.pendingPlanAt.Equal(end) {
			t.Errorf("waiting: %+v", r)
		}
		// Staying takes it back, and again.
		w.post("own", id, "tariff", `{"plan_id":3}`)
		if r := w.record(id); r.pendingPlanID != nil {
			t.Errorf("taken back: %+v", r)
		}
		w.post("own", id, "tariff", `{"plan_id":5,"when":"renewal"}`)
		w.post("own", id, "renew", `{}`)
		if w.till.sales[0].Price != 100 || w.till.sales[0].PlanID != 5 || w.record(id).planID != 3 {
			t.Errorf("renewed for the next plan: %+v", w.till.sales[0])
		}
		w.refuses(id, "tariff", `{"plan_id":3}`, 422, "tariff_change_not_allowed") // its time is sold
		apply := func() {
			t.Helper()
			if err := w.ApplyTariffs(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		apply()
		if w.record(id).planID != 3 {
			t.Error("moved before its time")
		}
		w.clk.Advance(end.Sub(w.clk.Now()))
		apply()
		apply()
		if r := w.record(id); r.planID != 5 || r.renewPrice != 100 || r.pendingPlanID != nil {
			t.Errorf("moved: %+v", r)
		}
		told := w.told(id)
		if n := count(told, "service.tariff_changed"); n != 1 {
			t.Errorf("told %d times: %v", n, told)
		}
	})
}

func TestAPlanThatIsGoneHoldsUpNobody(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		gone, broken, other := w.active(ask("gone.test")), w.active(ask("broken.test")), w.active(ask("other.test"))
		end := *w.record(gone).expiresAt
		w.exec(`UPDATE services SET pending_plan_id = 77, pending_plan_at = expires_at WHERE id = $1`, gone)
		w.exec(`UPDATE services SET pending_plan_id = 5, pending_plan_at = expires_at WHERE id = $1`, broken)
		w.exec(`UPDATE services SET pending_plan_id = 5, pending_plan_at = expires_at WHERE id = $1`, other)
		if _, answer := w.post("own", gone, "renew", `{"period_months":12}`); answer["error"] != "validation_failed" {
			t.Errorf("a period that the next plan does not have: %v", answer)
		}
		_, quote := w.post("own", gone, "renew", `{"dry_run":true}`)
		for _, id := range []int64{gone, broken, other} {
			if status, answer := w.post("own", id, "renew", `{}`); status != 200 {
				t.Fatalf("%d %v", status, answer)
			}
		}
		if sold := w.till.sales[0]; sold.PlanID != 3 || sold.Price != 499 || quote["plan_id"] != 3.0 {
			t.Errorf("the plan that is gone: %+v, %v", sold, quote)
		}
		w.clk.Set(end.Add(time.Hour))
		sound := w.Plans
		w.Plans = &failingPlans{sound, 1}
		if err := w.ApplyTariffs(t.Context()); err == nil {
			t.Error("a failure goes unseen")
		}
		w.same("plans after the failure", []int64{3, 3, 5}, []int64{w.record(gone).planID, w.record(broken).planID, w.record(other).planID})
		w.Plans = sound
		if err := w.ApplyTariffs(t.Context()); err != nil {
			t.Error(err)
		}
		w.same("plans", []int64{3, 5, 5}, []int64{w.record(gone).planID, w.record(broken).planID, w.record(other).planID})
		if r := w.record(gone); r.pendingPlanID != nil || count(w.told(gone), "service.tariff_change_failed") != 1 {
			t.Errorf("the change that cannot be: %+v, told %v", r, w.told(gone))
		}
	})
}

func TestAPlanThatIsSoldOutIsNotPaidFor(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(ask("a.test"))
		end := *w.record(id).expiresAt
		w.exec(`UPDATE services SET pending_plan_id = 6, pending_plan_at = expires_at WHERE id = $1`, id) // chosen before it was
		w.refuses(id, "renew", `{"period_months":12}`, 422, "renewal_not_allowed")
		if status, answer := w.post("own", id, "renew", `{}`); status != 200 || answer["plan_id"] != 3.0 {
			t.Fatalf("%d %v", status, answer)
		}
		if sold := w.till.sales[0]; sold.PlanID != 3 || sold.Price != 499 {
			t.Errorf("it stays what it is, and pays for another plan: %+v", sold)
		}
		w.Plans = restocked{w.Plans}
		w.clk.Set(end.Add(time.Hour))
		if err := w.ApplyTariffs(t.Context()); err != nil {
			t.Error(err)
		}
		if r := w.record(id); r.planID != 3 || r.pendingPlanID != nil || count(w.told(id), "service.tariff_change_failed") != 1 {
			t.Errorf("%+v, told %v", r, w.told(id))
		}
	})
}

// restocked sells what was sold out.
type restocked struct{ Plans }

func (p restocked) Offer(ctx context.Context, q db.Querier, id int64, months int) (sale.Offer, error) {
	o, err := p.Plans.Offer(ctx, q, id, months)
	o.Available = true
	return o, err
}

func (p restocked) Changes(ctx context.Context, q db.Querier, id int64, months int) ([]sale.Offer, error) {
	offers, err := p.Plans.Changes(ctx, q, id, months)
	for i := range offers {
		offers[i].Available = true
	}
	return offers, err
}

func (restocked) Take(context.Context, *db.Tx, int64, int64, int64) (bool, error) { return true, nil }

// A plan that was paid for already, and is not sold when time after that is to be paid, comes; the rest waits for that.
func TestTimeAfterAPlanThatIsSoldOutIsNotPaidForAnother(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(ask("a.test"))
		sold := w.Plans
		w.Plans = restocked{sold}
		if status, answer := w.post("own", id, "tariff", `{"plan_id": 6, "when": "renewal"}`); status != 200 {
			t.Fatal(answer)
		}
		if status, answer := w.post("own", id, "renew", `{}`); status != 200 {
			t.Fatal(answer)
		}
		w.Plans = sold
		w.refuses(id, "renew", `{}`, 422, "renewal_not_allowed")
		w.Plans = restocked{sold}
		if status, answer := w.post("own", id, "renew", `{}`); status != 200 || w.till.sales[1].Price != 700 {
			t.Errorf("%v, sold %+v", answer, w.till.sales)
		}
	})
}

// withdrawn has a plan that was sold until now.
type withdrawn struct {
	Plans
	id int64
}

func (p withdrawn) Take(ctx context.Context, tx *db.Tx, accountID, id, serviceID int64) (bool, error) {
	if id == p.id {
		return false, nil
	}
	return p.Plans.Take(ctx, tx, accountID, id, serviceID)
}

func TestWhatWasPaidForAPlanThatIsGoneComesBack(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		dearer, cheaper := w.active(ask("dearer.test")), w.active(ask("cheaper.test"))
		end := *w.record(dearer).expiresAt
		for id, plan := range map[int64]int64{dearer: 4, cheaper: 5} {
			w.post("own", id, "tariff", fmt.Sprintf(`{"plan_id":%d,"when":"renewal"}`, plan))
			w.post("own", id, "renew", `{}`)
		}
		w.clk.Set(end)
		sound := w.Plans
		w.Plans = withdrawn{withdrawn{sound, 4}, 5}
		for range 2 {
			if err := w.ApplyTariffs(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		r := w.record(dearer)
		w.same("sales", 3, len(w.till.sales))
		w.same("what comes back", sale.Sale{
			AccountID: 1, ServiceID: dearer, Kind: "tariff_change", Title: r.planName, Domain: r.domain, PlanID: 3, PeriodMonths: 1,
			Price: 499, Discount: 499, Credit: 501,
		}, w.till.sales[2])
		for _, id := range []int64{dearer, cheaper} {
			if r := w.record(id); r.planID != 3 || r.pendingPlanID != nil || count(w.told(id), "service.tariff_change_failed") != 1 {
				t.Errorf("%+v, told %v", r, w.told(id))
			}
		}
		// What came back is not to be exchanged once more.
		w.Plans = sound
		w.post("own", dearer, "tariff", `{"plan_id":5}`)
		if s := w.till.sales[3]; s.Credit != 399 {
			t.Errorf("%+v", s)
		}
	})
}

// failingPlans fails when the first sales of a plan are counted.
type failingPlans struct {
	Plans
	left int
}

func (p *failingPlans) Take(ctx context.Context, tx *db.Tx, accountID, id, serviceID int64) (bool, error) {
	if p.left--; p.left >= 0 {
		return false, errors.New("broken")
	}
	return p.Plans.Take(ctx, tx, accountID, id, serviceID)
}

func count(all []string, what string) (n int) {
	for _, s := range all {
		if s == what {
			n++
		}
	}
	return n
}

// However plans are changed back and forth, at whatever moments: the platform keeps
// no less than the plans cost for the time that they were used, and the customer never
// gets back more than was paid.
func TestChangingBackAndForthEarnsNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
		first := money.USDCents(rapid.Int64Range(0, 2000).Draw(rt, "first")) // a promotion, or dearer than today
		end := addMonths(now, 1)
		paid := []period{{1, now, end, first, now}}
		kept := first
		price := money.USDCents(0)
		least := money.USDCents(0) // what the time that passed cost, rounded down per step
		started, since := false, now
		for range rapid.IntRange(1, 12).Draw(rt, "changes") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(end.Sub(now))).Draw(rt, "step")))
			if !now.Before(end) {
				break
			}
			if started {
				part, err := cost(price, 1, since, end, time.Time{})
				if err != nil {
					rt.Fatal(err)
				}
				left, err := cost(price, 1, now, end, time.Time{})
				if err != nil {
					rt.Fatal(err)
				}
				least += max(0, part-left-1)
			}
			price = money.USDCents(rapid.Int64Range(0, 5000).Draw(rt, "price"))
			started, since = true, now
			c, err := cost(price, 1, now, end, time.Time{})
			if err != nil {
				rt.Fatal(err)
			}
			value, err := worth(paid, now)
			if err != nil {
				rt.Fatal(err)
			}
			kept += c - value
			for i, p := range paid {
				if p.starts.Before(now) && p.ends.After(now) {
					paid[i].amount -= p.worth(now)
					paid[i].ends = now
				}
			}
			paid = append(paid[:len(paid):len(paid)], period{2, now, end, c, now})
			if len(paid) > 1 && !paid[len(paid)-2].starts.Before(now) {
				paid = append(paid[:len(paid)-2], paid[len(paid)-1])
			}
			if kept < 0 {
				rt.Fatalf("the customer got %d more than was paid", -kept)
			}
			if kept < least {
				rt.Fatalf("kept %d of what cost %d", kept, least)
			}
		}
	})
}

func TestCostOfTime(t *testing.T) {
	end := time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		from   time.Time
		months int
		want   money.USDCents
	}{
		{end, 1, 0},
		{end.AddDate(0, 0, 1), 1, 0},
		{time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC), 1, 1000}, // the month before 31 March
		{end.AddDate(0, 0, -1), 1, 33},                          // a 31st of 1000, rounded up
		{time.Date(2025, 3, 31, 0, 0, 0, 0, time.UTC), 12, 1000},
		{time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC), 1, 2000},
		{time.Date(2026, 1, 30, 0, 0, 0, 0, time.UTC), 1, 2033},
	} {
		if got, err := cost(1000, c.months, c.from, end, time.Time{}); got != c.want || err != nil {
			t.Errorf("cost from %v by %d months = %d, %v; want %d", c.from, c.months, got, err, c.want)
		}
	}
	if _, err := cost(1<<62, 1, end.AddDate(0, -3, 0), end, time.Time{}); err == nil {
		t.Error("a sum beyond all money is no error")
	}
}

// A month that ends earlier than it began is a whole month: another plan costs as much for it as who buys that plan pays,
// and moving back gives that back.
func TestAShortMonthIsAWholeOne(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			bought string
			months int
		}{
			{"2027-01-29 12:00", 1},
			{"2027-01-31 12:00", 1},
			{"2027-02-28 12:00", 1},
			{"2027-03-31 12:00", 1},
			{"2028-02-29 12:00", 12},
		} {
			times := money.USDCents(1)
			if c.months == 12 {
				times = 10 // of the price of a month
			}
			w.clk.Set(at(c.bought))
			n := ask("from-" + c.bought[:10] + ".test")
			n.PeriodMonths, n.RenewPrice, n.FirstPrice = c.months, 499*times, 499*times
			id := w.active(n)
			w.till.sales = nil
			for _, plan := range []int{4, 3, 4} {
				if status, answer := w.post("own", id, "tariff", fmt.Sprintf(`{"plan_id": %d}`, plan)); status != http.StatusOK {
					t.Fatal(answer)
				}
			}
			var got []money.USDCents
			for _, s := range w.till.sales {
				got = append(got, s.Price-s.Discount-s.Credit)
			}
			w.same(c.bought, []money.USDCents{501 * times, -501 * times, 501 * times}, got)
			// A part of it is so of all of it.
			w.clk.Advance(w.record(id).expiresAt.Sub(w.clk.Now()) / 2)
			w.post("own", id, "tariff", `{"plan_id": 3}`)
			last := w.till.sales[3]
			w.same("half of "+c.bought, (501*times)/2, last.Credit-last.Price+last.Discount)
		}
	})
}

// dearer is a catalogue whose plans cost more since the last import.
type dearer struct{ Plans }

func (p dearer) Offer(ctx context.Context, q db.Querier, id int64, months int) (sale.Offer, error) {
	offer, err := p.Plans.Offer(ctx, q, id, months)
	offer.Price += 1000
	return offer, err
}

// TestATariffThatWaitsKeepsItsPrice: what its owner agreed to, and what the renewal was said to cost.
func TestATariffThatWaitsKeepsItsPrice(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(ask("a.test"))
		end := *w.record(id).expiresAt
		w.post("own", id, "tariff", `{"plan_id":5,"when":"renewal"}`)
		said := w.record(id).nextPrice()
		w.Plans = dearer{w.Plans}
		w.post("own", id, "renew", `{}`)
		if paid := w.till.sales[0]; paid.Price != said || paid.PlanID != 5 {
			t.Errorf("paid %+v, it was said to cost %d", paid, said)
		}
		w.clk.Set(end)
		if err := w.ApplyTariffs(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := w.record(id); r.planID != 5 || r.renewPrice != said {
			t.Errorf("it has plan %d and renews at %d, want plan 5 at %d", r.planID, r.renewPrice, said)
		}
	})
}
