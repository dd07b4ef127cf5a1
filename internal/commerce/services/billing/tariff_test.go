package billing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// refuses wants a refusal with a key that changes nothing of the service.
func (w *world) refuses(id int64, what, body string, status int, key string) map[string]any {
	w.T.Helper()
	before := w.record(id)
	got, answer := w.Post("own", id, what, body)
	if got != status || answer["error"] != key {
		w.T.Errorf("%s %s: %d %v, want %d %s", what, body, got, answer, status, key)
	}
	if after := w.record(id); !reflect.DeepEqual(after, before) {
		w.T.Errorf("%s %s changed the service:\n%+v\n%+v", what, body, before, after)
	}
	return answer
}

func TestRenewalBeginsWhereThePaidTimeEnds(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(servicestest.Ask("a.test"))
		first := *w.record(id).ExpiresAt

		status, answer := w.Post("own", id, "renew", `{"dry_run":true}`)
		if status != 200 || answer["order_id"] != nil || len(w.Till.Sales) != 0 || !w.record(id).ExpiresAt.Equal(first) {
			t.Errorf("dry run: %d %v", status, answer)
		}
		status, answer = w.Post("own", id, "renew", `{"expected_usd_cents":499}`)
		if status != 200 || answer["order_id"] == nil {
			t.Fatalf("%d %v", status, answer)
		}
		r := w.record(id)
		if want := sale.AddMonths(first, 1); !r.ExpiresAt.Equal(want) {
			t.Errorf("paid until %v, want %v", r.ExpiresAt, want)
		}
		w.Same("the sale", sale.Sale{
			AccountID: 1, ServiceID: id, Kind: "renewal", Title: "Start", Domain: r.Domain, PlanID: 3, PeriodMonths: 1, Price: 499,
		}, w.Till.Sales[0])
		// Another period is sold at the catalogue's price, and changes nothing else.
		w.Post("own", id, "renew", `{"period_months":12}`)
		if r := w.record(id); !r.ExpiresAt.Equal(sale.AddMonths(first, 13)) || r.PeriodMonths != 1 || r.RenewPrice != 499 || w.Till.Sales[1].Price != 4990 {
			t.Errorf("after a year: %+v, %+v", r, w.Till.Sales[1])
		}
		changed := w.refuses(id, "renew", `{"expected_usd_cents":498}`, 422, "price_changed")
		if price, _ := changed["price"].(map[string]any); price["usd_cents"] != 499.0 {
			t.Errorf("price_changed says %v", changed)
		}
		w.refuses(id, "renew", `{"period_months":7}`, 422, "validation_failed")
		w.Till.Short = true
		w.refuses(id, "renew", `{}`, 422, "insufficient_funds")
		w.Till.Short = false
		if status, _ := w.Post("other", id, "renew", `{}`); status != 404 {
			t.Errorf("a stranger's renewal: %d", status)
		}
		for range 20 { // ten years at most
			w.Post("own", id, "renew", `{"period_months":12}`)
		}
		w.refuses(id, "renew", `{"period_months":12}`, 422, "renewal_not_allowed")
		if until := *w.record(id).ExpiresAt; until.After(w.Clk.Now().AddDate(10, 0, 0)) {
			t.Errorf("paid until %v", until)
		}
	})
}

func TestRenewalBringsBackWhatWasNotPaidAndNothingElse(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(servicestest.Ask("a.test"))
		w.Exec(`UPDATE services SET status = 'suspended', suspend_reason = 'unpaid', suspended_at = 1, grace_until = 1, terminates_at = 2 WHERE id = $1`, id)
		w.Clk.Advance(100 * 24 * time.Hour) // all of what is bought would have passed
		if status, answer := w.Post("own", id, "renew", `{}`); status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		r := w.record(id)
		var shown services.View
		w.In(func(ctx context.Context, tx *db.Tx) (err error) {
			shown, err = w.Services.ViewIn(ctx, tx, 1, id)
			return err
		})
		if r.Status != services.Active || shown.SuspendReason != nil || shown.TerminatesAt != nil || !r.ExpiresAt.Equal(sale.AddMonths(w.Clk.Now(), 1)) {
			t.Errorf("renewed: %+v", r)
		}
		if w.Jobs("services.suspension") != 1 {
			t.Error("the panel is not told")
		}
		w.Exec(`UPDATE services SET status = 'suspended', suspend_reason = 'abuse', suspended_at = 1 WHERE id = $1`, id)
		w.refuses(id, "renew", `{}`, 422, "service_suspended")
		w.Exec(`UPDATE services SET status = 'terminated' WHERE id = $1`, id)
		w.refuses(id, "renew", `{}`, 422, "renewal_not_allowed")
	})
}

func TestAServiceThatChangesWhileItIsPaidIsAConflict(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(servicestest.Ask("a.test"))
		before := w.record(id)
		for _, change := range []string{
			`expires_at = expires_at + 1`, // as another renewal that was faster
			`auto_renew = FALSE`, `ends_at_expiry = TRUE`,
		} {
			err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				w.Till.Again = func() {
					if _, err := tx.Exec(ctx, `UPDATE services SET `+change+` WHERE id = $1`, id); err != nil {
						t.Fatal(err)
					}
				}
				_, _, err := w.renew(ctx, tx, 1, id, renewalWish{})
				return err
			})
			if !errors.Is(err, fault.Conflict) || !w.record(id).ExpiresAt.Equal(*before.ExpiresAt) {
				t.Errorf("%s: %v", change, err)
			}
		}
	})
}

func TestTimeThatIsRefundedWhileItsTariffChangesIsAConflict(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		n := servicestest.Ask("a.test")
		n.FirstPrice = 499
		id := w.active(n)
		err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			w.Till.Again = func() { // as a refund that was faster
				if err := w.TakeBack(ctx, tx, id, n.OrderID, 400); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := w.changeTariff(ctx, tx, 1, id, tariffWish{planID: 5})
			return err
		})
		if !errors.Is(err, fault.Conflict) || w.record(id).PlanID != 3 {
			t.Errorf("error = %v", err)
		}
	})
}

func TestATariffIsChangedForTheTimeThatIsLeft(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		n := servicestest.Ask("a.test")
		n.FirstPrice = 499
		id := w.active(n)
		end := *w.record(id).ExpiresAt
		length := end.Sub(w.Clk.Now())
		w.Clk.Advance(length / 4)

		status, answer := w.Post("own", id, "tariff", `{"plan_id":4,"dry_run":true}`)
		tariff, _ := answer["tariff"].(map[string]any)
		charge, _ := tariff["charge"].(map[string]any)
		// Three quarters of 1000, rounded up, less three quarters of 499, rounded down.
		if status != 200 || charge["usd_cents"] != 376.0 || w.record(id).PlanID != 3 {
			t.Fatalf("dry run: %d %v", status, answer)
		}
		w.refuses(id, "tariff", `{"plan_id":4,"expected_usd_cents":375}`, 422, "price_changed")
		if status, answer = w.Post("own", id, "tariff", `{"plan_id":4,"expected_usd_cents":376}`); status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		r := w.record(id)
		if r.PlanID != 4 || r.RenewPrice != 1000 || !r.ExpiresAt.Equal(end) {
			t.Errorf("after the change: %+v", r)
		}
		w.Same("the sale", sale.Sale{
			AccountID: 1, ServiceID: id, Kind: "tariff_change", Title: "Plan 4", Domain: r.Domain, PlanID: 4, PeriodMonths: 1,
			Price: 750, Discount: 374,
		}, w.Till.Sales[0])
		if err := w.prov.FollowLimits(t.Context(), id); err != nil || w.Panel.Made[servicestest.RefOf(id)].Limits.DiskMB != 1000 {
			t.Errorf("limits on the panel: %+v, %v", w.Panel.Made[servicestest.RefOf(id)].Limits, err)
		}
		// Back at the same moment: what was paid for it comes back, never more.
		w.Post("own", id, "tariff", `{"plan_id":3}`)
		if s := w.Till.Sales[1]; s.Price != 375 || s.Discount != 375 || s.Credit != 375 {
			t.Errorf("the way back: %+v", s)
		}
		w.refuses(id, "tariff", `{"plan_id":6}`, 422, "tariff_change_not_allowed")
		w.refuses(id, "tariff", `{"plan_id":99}`, 422, "tariff_change_not_allowed")
		w.refuses(id, "tariff", `{"plan_id":3}`, 422, "tariff_change_not_allowed")
		w.Used.Counts = map[string]int64{"disk_mb": 101, "domains": 1, "sites": 7}
		over := w.refuses(id, "tariff", `{"plan_id":5}`, 422, "downgrade_exceeds_usage")
		if got := fmt.Sprint(over["exceeded"]); got != "[map[limit:disk_mb maximum:100 used:101]]" {
			t.Errorf("exceeded = %s", got)
		}
		status, list := w.Call("own", http.MethodGet, fmt.Sprintf("/api/v1/services/%d/tariffs", id), "")
		if status != 200 {
			t.Fatalf("%d %s", status, list)
		}
		w.Golden("tariffs", list)
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
		id := w.active(servicestest.Ask("a.test"))
		for _, when := range []string{"now", "renewal"} {
			got := w.refuses(id, "tariff", `{"plan_id":4,"when":"`+when+`"}`, 422, "out_of_stock")
			if fmt.Sprint(got["missing"]) != "[mail]" {
				t.Errorf("%s: %v", when, got)
			}
		}
		if len(w.Till.Sales) != 0 {
			t.Errorf("it sold %+v", w.Till.Sales)
		}
		if status, answer := w.Post("own", id, "tariff", `{"plan_id":5,"dry_run":true}`); status != 200 {
			t.Errorf("another plan: %d %v", status, answer)
		}
	})
}

// Its time has run out, and no job has seen that yet.
func TestAServiceWithoutTimeLeftChangesNoTariff(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(servicestest.Ask("a.test"))
		w.Clk.Set(*w.record(id).ExpiresAt)
		w.refuses(id, "tariff", `{"plan_id":5}`, 422, "tariff_change_not_allowed")
	})
}

func TestATariffThatWaitsForTheRenewal(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		n := servicestest.Ask("a.test")
		n.FirstPrice = 499
		id := w.active(n)
		end := *w.record(id).ExpiresAt
		if status, answer := w.Post("own", id, "tariff", `{"plan_id":5,"when":"renewal"}`); status != 200 || answer["order_id"] != nil {
			t.Fatalf("%d %v", status, answer)
		}
		if r := w.record(id); r.PlanID != 3 || *r.PendingPlanID != 5 || !r.PendingPlanAt.Equal(end) {
			t.Errorf("waiting: %+v", r)
		}
		// Staying takes it back, and again.
		w.Post("own", id, "tariff", `{"plan_id":3}`)
		if r := w.record(id); r.PendingPlanID != nil {
			t.Errorf("taken back: %+v", r)
		}
		w.Post("own", id, "tariff", `{"plan_id":5,"when":"renewal"}`)
		w.Post("own", id, "renew", `{}`)
		if w.Till.Sales[0].Price != 100 || w.Till.Sales[0].PlanID != 5 || w.record(id).PlanID != 3 {
			t.Errorf("renewed for the next plan: %+v", w.Till.Sales[0])
		}
		w.refuses(id, "tariff", `{"plan_id":3}`, 422, "tariff_change_not_allowed") // its time is sold
		apply := func() {
			t.Helper()
			if err := w.ApplyTariffs(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		apply()
		if w.record(id).PlanID != 3 {
			t.Error("moved before its time")
		}
		w.Clk.Advance(end.Sub(w.Clk.Now()))
		apply()
		apply()
		if r := w.record(id); r.PlanID != 5 || r.RenewPrice != 100 || r.PendingPlanID != nil {
			t.Errorf("moved: %+v", r)
		}
		told := w.Told(id)
		if n := count(told, "service.tariff_changed"); n != 1 {
			t.Errorf("told %d times: %v", n, told)
		}
	})
}

func TestAPlanThatIsGoneHoldsUpNobody(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		gone, broken, other := w.active(servicestest.Ask("gone.test")), w.active(servicestest.Ask("broken.test")), w.active(servicestest.Ask("other.test"))
		end := *w.record(gone).ExpiresAt
		w.Exec(`UPDATE services SET pending_plan_id = 77, pending_plan_at = expires_at WHERE id = $1`, gone)
		w.Exec(`UPDATE services SET pending_plan_id = 5, pending_plan_at = expires_at WHERE id = $1`, broken)
		w.Exec(`UPDATE services SET pending_plan_id = 5, pending_plan_at = expires_at WHERE id = $1`, other)
		if _, answer := w.Post("own", gone, "renew", `{"period_months":12}`); answer["error"] != "validation_failed" {
			t.Errorf("a period that the next plan does not have: %v", answer)
		}
		_, quote := w.Post("own", gone, "renew", `{"dry_run":true}`)
		for _, id := range []int64{gone, broken, other} {
			if status, answer := w.Post("own", id, "renew", `{}`); status != 200 {
				t.Fatalf("%d %v", status, answer)
			}
		}
		if sold := w.Till.Sales[0]; sold.PlanID != 3 || sold.Price != 499 || quote["plan_id"] != 3.0 {
			t.Errorf("the plan that is gone: %+v, %v", sold, quote)
		}
		w.Clk.Set(end.Add(time.Hour))
		sound := w.Plans
		w.Plans = &failingPlans{sound, 1}
		if err := w.ApplyTariffs(t.Context()); err == nil {
			t.Error("a failure goes unseen")
		}
		w.Same("plans after the failure", []int64{3, 3, 5}, []int64{w.record(gone).PlanID, w.record(broken).PlanID, w.record(other).PlanID})
		w.Plans = sound
		if err := w.ApplyTariffs(t.Context()); err != nil {
			t.Error(err)
		}
		w.Same("plans", []int64{3, 5, 5}, []int64{w.record(gone).PlanID, w.record(broken).PlanID, w.record(other).PlanID})
		if r := w.record(gone); r.PendingPlanID != nil || count(w.Told(gone), "service.tariff_change_failed") != 1 {
			t.Errorf("the change that cannot be: %+v, told %v", r, w.Told(gone))
		}
	})
}

func TestAPlanThatIsSoldOutIsNotPaidFor(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(servicestest.Ask("a.test"))
		end := *w.record(id).ExpiresAt
		w.Exec(`UPDATE services SET pending_plan_id = 6, pending_plan_at = expires_at WHERE id = $1`, id) // chosen before it was
		w.refuses(id, "renew", `{"period_months":12}`, 422, "renewal_not_allowed")
		if status, answer := w.Post("own", id, "renew", `{}`); status != 200 || answer["plan_id"] != 3.0 {
			t.Fatalf("%d %v", status, answer)
		}
		if sold := w.Till.Sales[0]; sold.PlanID != 3 || sold.Price != 499 {
			t.Errorf("it stays what it is, and pays for another plan: %+v", sold)
		}
		w.Plans = restocked{w.Plans}
		w.Clk.Set(end.Add(time.Hour))
		if err := w.ApplyTariffs(t.Context()); err != nil {
			t.Error(err)
		}
		if r := w.record(id); r.PlanID != 3 || r.PendingPlanID != nil || count(w.Told(id), "service.tariff_change_failed") != 1 {
			t.Errorf("%+v, told %v", r, w.Told(id))
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
		id := w.active(servicestest.Ask("a.test"))
		sold := w.Plans
		w.Plans = restocked{sold}
		if status, answer := w.Post("own", id, "tariff", `{"plan_id": 6, "when": "renewal"}`); status != 200 {
			t.Fatal(answer)
		}
		if status, answer := w.Post("own", id, "renew", `{}`); status != 200 {
			t.Fatal(answer)
		}
		w.Plans = sold
		w.refuses(id, "renew", `{}`, 422, "renewal_not_allowed")
		w.Plans = restocked{sold}
		if status, answer := w.Post("own", id, "renew", `{}`); status != 200 || w.Till.Sales[1].Price != 700 {
			t.Errorf("%v, sold %+v", answer, w.Till.Sales)
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
		dearer, cheaper := w.active(servicestest.Ask("dearer.test")), w.active(servicestest.Ask("cheaper.test"))
		end := *w.record(dearer).ExpiresAt
		for id, plan := range map[int64]int64{dearer: 4, cheaper: 5} {
			w.Post("own", id, "tariff", fmt.Sprintf(`{"plan_id":%d,"when":"renewal"}`, plan))
			w.Post("own", id, "renew", `{}`)
		}
		w.Clk.Set(end)
		sound := w.Plans
		w.Plans = withdrawn{withdrawn{sound, 4}, 5}
		for range 2 {
			if err := w.ApplyTariffs(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		r := w.record(dearer)
		w.Same("sales", 3, len(w.Till.Sales))
		w.Same("what comes back", sale.Sale{
			AccountID: 1, ServiceID: dearer, Kind: "tariff_change", Title: r.PlanName, Domain: r.Domain, PlanID: 3, PeriodMonths: 1,
			Price: 499, Discount: 499, Credit: 501,
		}, w.Till.Sales[2])
		for _, id := range []int64{dearer, cheaper} {
			if r := w.record(id); r.PlanID != 3 || r.PendingPlanID != nil || count(w.Told(id), "service.tariff_change_failed") != 1 {
				t.Errorf("%+v, told %v", r, w.Told(id))
			}
		}
		// What came back is not to be exchanged once more.
		w.Plans = sound
		w.Post("own", dearer, "tariff", `{"plan_id":5}`)
		if s := w.Till.Sales[3]; s.Credit != 399 {
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
		end := sale.AddMonths(now, 1)
		paid := []period{{starts: now, ends: end, amount: first, order: 1, began: now}}
		kept, order := first, int64(1)
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
			order++
			next := settled(paid, now, order, value, c)
			for i, p := range next {
				next[i] = period{starts: now, ends: end, amount: p.amount, order: p.order, began: now}
			}
			if paid = next; sumOf(paid) != c {
				rt.Fatalf("the orders have paid %d of %d", sumOf(paid), c)
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

func sumOf(all []period) (sum money.USDCents) {
	for _, p := range all {
		sum += p.amount
	}
	return sum
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
			bought, err := time.Parse("2006-01-02 15:04", c.bought)
			if err != nil {
				t.Fatal(err)
			}
			w.Clk.Set(bought)
			n := servicestest.Ask("from-" + c.bought[:10] + ".test")
			n.PeriodMonths, n.RenewPrice, n.FirstPrice = c.months, 499*times, 499*times
			id := w.active(n)
			w.Till.Sales = nil
			for _, plan := range []int{4, 3, 4} {
				if status, answer := w.Post("own", id, "tariff", fmt.Sprintf(`{"plan_id": %d}`, plan)); status != http.StatusOK {
					t.Fatal(answer)
				}
			}
			var got []money.USDCents
			for _, s := range w.Till.Sales {
				got = append(got, s.Price-s.Discount-s.Credit)
			}
			w.Same(c.bought, []money.USDCents{501 * times, -501 * times, 501 * times}, got)
			// A part of it is so of all of it.
			w.Clk.Advance(w.record(id).ExpiresAt.Sub(w.Clk.Now()) / 2)
			w.Post("own", id, "tariff", `{"plan_id": 3}`)
			last := w.Till.Sales[3]
			w.Same("half of "+c.bought, (501*times)/2, last.Credit-last.Price+last.Discount)
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
		id := w.active(servicestest.Ask("a.test"))
		end := *w.record(id).ExpiresAt
		w.Post("own", id, "tariff", `{"plan_id":5,"when":"renewal"}`)
		owned, err := w.Services.OwnedOne(t.Context(), w.DB, 1, id)
		if err != nil {
			t.Fatal(err)
		}
		said := owned.NextPrice
		w.Plans = dearer{w.Plans}
		w.Post("own", id, "renew", `{}`)
		if paid := w.Till.Sales[0]; paid.Price != said || paid.PlanID != 5 {
			t.Errorf("paid %+v, it was said to cost %d", paid, said)
		}
		w.Clk.Set(end)
		if err := w.ApplyTariffs(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := w.record(id); r.PlanID != 5 || r.RenewPrice != said {
			t.Errorf("it has plan %d and renews at %d, want plan 5 at %d", r.PlanID, r.RenewPrice, said)
		}
	})
}
