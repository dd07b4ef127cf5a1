package services

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

func at(s string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

func ptr[T any](v T) *T { return &v }

func TestWhatIsDueInTheLifeOfAService(t *testing.T) {
	live := func(change func(*Row)) Row {
		r := Row{Status: Active, autoRenew: true, PeriodMonths: 12, ExpiresAt: ptr(at("2026-06-15 12:00"))}
		if change != nil {
			change(&r)
		}
		return r
	}
	byHand := func(r *Row) { r.autoRenew = false }
	for _, c := range []struct {
		name string
		r    Row
		now  string
		want todo
	}{
		{"long before", live(nil), "2026-01-01 00:00", todo{next: at("2026-05-16 12:00")}},
		{"a month before", live(nil), "2026-05-16 12:00", todo{act: actRemind, days: 30}},
		{"told of that", live(func(r *Row) { r.reminded = ptr(30) }), "2026-05-17 00:00", todo{next: at("2026-06-01 12:00")}},
		{"several passed, one is told", live(func(r *Row) { r.reminded = ptr(30) }), "2026-06-09 00:00", todo{act: actRemind, days: 7}},
		{"three days before", live(func(r *Row) { r.reminded = ptr(3) }), "2026-06-12 12:00", todo{act: actRenew}},
		{"a renewal before a reminder", live(nil), "2026-06-12 12:00", todo{act: actRenew}},
		{"not covered, again tomorrow", live(func(r *Row) {
			r.reminded, r.nextRenewalAttemptAt = ptr(1), ptr(at("2026-06-14 12:00"))
		}), "2026-06-14 11:00", todo{next: at("2026-06-14 12:00")}},
		{"expired", live(func(r *Row) { r.nextRenewalAttemptAt = ptr(at("2026-06-16 00:00")) }), "2026-06-15 12:00", todo{act: actExpire}},
		{"by hand, last reminder", live(byHand), "2026-06-15 11:59", todo{act: actRemind, days: 1}},
		{"by hand, expired", live(byHand), "2026-06-15 12:00", todo{act: actExpire}},
		{"a month is too short for a reminder of a month", live(func(r *Row) { r.PeriodMonths = 1 }), "2026-05-16 12:00", todo{next: at("2026-06-01 12:00")}},
		{"in grace", live(func(r *Row) {
			r.autoRenew, r.Status, r.graceUntil = false, PastDue, ptr(at("2026-06-18 12:00"))
		}), "2026-06-18 11:00", todo{next: at("2026-06-18 12:00")}},
		{"grace over", live(func(r *Row) {
			r.autoRenew, r.Status, r.graceUntil = false, PastDue, ptr(at("2026-06-18 12:00"))
		}), "2026-06-18 12:00", todo{act: actSuspend}},
		{"grace over, but covered", live(func(r *Row) {
			r.Status, r.graceUntil, r.nextRenewalAttemptAt = PastDue, ptr(at("2026-06-18 12:00")), ptr(at("2026-06-18 12:00"))
		}), "2026-06-18 12:00", todo{act: actRenew}},
		{"a week before the end", live(func(r *Row) {
			r.autoRenew, r.Status, r.suspendReason, r.terminatesAt = false, Suspended, ptr(Unpaid), ptr(at("2026-07-02 12:00"))
		}), "2026-06-25 12:00", todo{act: actWarn, days: 7}},
		{"the end", live(func(r *Row) {
			r.autoRenew, r.Status, r.suspendReason, r.terminatesAt = false, Suspended, ptr(Unpaid), ptr(at("2026-07-02 12:00"))
		}), "2026-07-02 12:00", todo{act: actTerminate}},
		{"suspended by an operator", live(func(r *Row) { r.Status, r.suspendReason = Suspended, ptr(Abuse) }), "2027-01-01 00:00", todo{}},
		{"suspended by its owner", live(func(r *Row) {
			r.Status, r.suspendReason, r.suspendedAt, r.ownerSuspendedAt = Suspended, ptr(Manual), ptr(at("2026-06-01 00:00")), ptr(at("2026-06-01 00:00"))
		}), "2026-06-15 11:00", todo{next: at("2026-06-15 12:00")}},
		{"suspended by its owner, its paid time over", live(func(r *Row) {
			r.Status, r.suspendReason, r.suspendedAt, r.ownerSuspendedAt = Suspended, ptr(Manual), ptr(at("2026-06-01 00:00")), ptr(at("2026-06-01 00:00"))
		}), "2026-06-15 12:00", todo{act: actExpire}},
		{"gone", live(func(r *Row) { r.Status = Terminated }), "2027-01-01 00:00", todo{}},
		{"never paid", Row{Status: Pending, autoRenew: true}, "2027-01-01 00:00", todo{}},
	} {
		got := c.r.todo(sale.DefaultTerms, at(c.now))
		if c.want.act != "" {
			got.next = time.Time{}
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestARenewalIsTriedInTheSecondHalfOfThePeriod(t *testing.T) {
	for _, c := range []struct {
		months, days int
		want         string
	}{
		{1, 3, "2026-06-12 12:00"}, {1, 30, "2026-05-31 00:00"}, {1, 365, "2026-05-31 00:00"}, {12, 30, "2026-05-16 12:00"}, {12, 365, "2025-12-15 00:00"},
	} {
		r := Row{Status: Active, autoRenew: true, PeriodMonths: c.months, ExpiresAt: ptr(at("2026-06-15 12:00"))}
		if got := r.attemptAt(sale.Terms{RenewBefore: c.days}); !got.Equal(at(c.want)) {
			t.Errorf("%d days before the end of %d months: %v, want %s", c.days, c.months, got, c.want)
		}
	}
}

// live runs the steps of all services as the periodic job and its workers do: the shares in any order.
func (w *world) live() {
	w.T.Helper()
	for _, share := range rand.Perm(Shares) {
		for more := true; more; {
			var err error
			if more, err = w.StepShare(w.T.Context(), share); err != nil {
				w.T.Fatal(err)
			}
		}
	}
	if due, err := sharesDue(w.T.Context(), w.DB, w.Clk.Now()); err != nil || len(due) > 0 {
		w.T.Fatalf("something is left to do in the shares %v, %v", due, err)
	}
}

func (w *world) days(n int) {
	w.T.Helper()
	for range n * 4 {
		w.Clk.Advance(6 * time.Hour)
		w.live()
	}
}

// purse is a till that takes from balances in a table.
type purse struct{ w *world }

func (p purse) Sell(ctx context.Context, tx *db.Tx, all []sale.Sale) ([]sale.Sold, error) {
	return servicestest.SellEach(all, func(sold sale.Sale) (int64, error) { return p.sell(ctx, tx, sold) })
}

func (purse) sell(ctx context.Context, tx *db.Tx, sold sale.Sale) (int64, error) {
	n, err := tx.Exec(ctx, `UPDATE test_purse SET balance = balance - $1 WHERE account_id = $2 AND balance >= $1`, sold.Price, sold.AccountID)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fault.InsufficientFunds.New()
	}
	_, err = tx.Exec(ctx, `INSERT INTO test_sales (service_id, amount, at) VALUES ($1, $2, $3)`, sold.ServiceID, sold.Price, tx.Now)
	return 1, err
}

func (p purse) Begin(ctx context.Context, tx *db.Tx, n sale.Purchase) (int64, error) {
	return p.sell(ctx, tx, sale.Sale{
		AccountID: n.AccountID, ServiceID: n.ServiceID, Kind: n.Kind, Title: n.Title, Domain: n.Domain, PeriodMonths: n.PeriodMonths,
		Price: n.Price, Keyed: n.Keyed, ClientRef: n.ClientRef,
	})
}

func (w *world) openPurse() {
	w.T.Helper()
	w.Exec(`CREATE TABLE test_purse (account_id BIGINT PRIMARY KEY, balance BIGINT NOT NULL CHECK (balance >= 0))`)
	w.Exec(`CREATE TABLE test_sales (service_id BIGINT NOT NULL, amount BIGINT NOT NULL, at BIGINT NOT NULL)`)
	w.Selling = purse{w}
}

// pay puts money into an account's purse and tells of it, as the wallet does.
func (w *world) pay(account int64, cents money.USDCents) {
	w.T.Helper()
	w.comes("wallet.topup_succeeded", account, cents)
}

// comes is pay for money of which an event of that type tells.
func (w *world) comes(event string, account int64, cents money.USDCents) {
	w.T.Helper()
	w.In(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO test_purse (account_id, balance) VALUES ($1, $2)
			ON CONFLICT (account_id) DO UPDATE SET balance = test_purse.balance + excluded.balance`, account, cents)
		if err != nil {
			return err
		}
		return w.Paid(ctx, tx, outbox.Stored{Type: event, AccountID: account})
	})
}

func TestAServiceThatIsNotPaidEndsStepByStepAndIsToldOfEach(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.openPurse()
		w.Keeper = &keeper{kept: true}
		w.Used.Paying = map[int64]bool{}
		id := w.active(servicestest.Ask("a.test"))
		end := *w.record(id).ExpiresAt
		w.live()
		if next := w.record(id).nextRenewalAttemptAt; next == nil || !next.Equal(end.Add(-3*day)) {
			t.Errorf("the renewal is tried at %v", next)
		}
		w.days(int(end.Sub(w.Clk.Now())/day) - 1)
		w.Same("before its end", Active, w.record(id).Status)
		w.days(2)
		w.Same("after its end", PastDue, w.record(id).Status)

		w.Used.Paying[1] = true // a payment is on its way when grace is over
		w.days(3)
		w.Same("while a payment is on its way", PastDue, w.record(id).Status)
		w.Used.Paying[1] = false
		w.days(1)
		r := w.record(id)
		w.Same("after grace", Suspended, r.Status)
		w.Same("because", Unpaid, *r.suspendReason)

		w.days(15)
		w.Same("after its suspension", Terminating, w.record(id).Status)
		var told []string
		for _, e := range w.Told(id) {
			if len(told) == 0 || told[len(told)-1] != e {
				told = append(told, e)
			}
		}
		w.Same("told", []string{
			"service.created", "service.updated", "service.provisioned", "service.renewal_upcoming", "service.renewal_failed", "service.renewal_upcoming",
			"service.renewal_failed", "service.renewal_upcoming", "service.renewal_failed", "service.past_due", "service.renewal_failed",
			"service.suspended", "service.renewal_failed",
			"service.termination_scheduled", "service.renewal_failed", "service.termination_scheduled", "service.renewal_failed",
			"service.termination_scheduled", "service.renewal_failed", "service.updated",
		}, told)
	})
}

func TestAPaymentThatNeverComesPreventsASuspensionForTwoWeeks(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.openPurse()
		w.Keeper = &keeper{kept: true}
		w.Used.Paying = map[int64]bool{1: true}
		id := w.active(servicestest.Ask("a.test"))
		grace := w.record(id).ExpiresAt.Add(3 * day)
		w.days(int(grace.Sub(w.Clk.Now())/day) + 13)
		w.Same("within two weeks", PastDue, w.record(id).Status)
		w.days(2)
		w.Same("after them", Suspended, w.record(id).Status)
	})
}

func TestMoneyThatComesInBringsServicesBackTheFirstDueFirst(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.openPurse()
		w.Keeper = &keeper{kept: true}
		first := w.active(servicestest.Ask("a.test"))
		w.Clk.Advance(time.Hour)
		second := w.active(servicestest.Ask("b.test"))
		w.days(36)
		w.Same("both", []Status{Suspended, Suspended}, []Status{w.record(first).Status, w.record(second).Status})

		w.pay(1, 600) // for one of them
		w.live()
		w.Same("one is back", []Status{Active, Suspended}, []Status{w.record(first).Status, w.record(second).Status})
		w.comes("order.refunded", 1, 400)
		w.live()
		w.Same("both are back", []Status{Active, Active}, []Status{w.record(first).Status, w.record(second).Status})
		w.Same("charges", []string{"499", "499"}, w.Texts(`SELECT CAST(amount AS TEXT) FROM test_sales`))
		if err := w.prov.FollowSuspension(t.Context(), first); err != nil || w.Panel.Made[servicestest.RefOf(first)].Status != "active" {
			t.Errorf("on the panel: %+v, %v", w.Panel.Made[servicestest.RefOf(first)], err)
		}
	})
}

// A period may be as long as what a service can be paid ahead.
func TestTenYearsAreRenewedBeforeTheyAreOver(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.openPurse()
		n := servicestest.Ask("a.test")
		n.PeriodMonths = 120
		id := w.active(n)
		end := *w.record(id).ExpiresAt
		w.Clk.Set(end.Add(-3 * day))
		w.pay(1, 499)
		w.live()
		w.Same("paid until", sale.AddMonths(end, 120), *w.record(id).ExpiresAt)
	})
}

// breaking is a till that fails for one service in a way that nobody foresaw.
type breaking struct {
	purse
	serviceID int64
}

func (b breaking) Sell(ctx context.Context, tx *db.Tx, all []sale.Sale) ([]sale.Sold, error) {
	for _, sold := range all {
		if sold.ServiceID == b.serviceID {
			return nil, errors.New("broken")
		}
	}
	return b.purse.Sell(ctx, tx, all)
}

func TestARenewalThatGoesOnFailingHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.openPurse()
		first, second := w.active(servicestest.Ask("first.test")), w.active(servicestest.Ask("second.test"))
		w.Exec(`UPDATE services SET expires_at = expires_at - 60000000 WHERE id = $1`, first)
		w.Selling = breaking{purse{w}, first}
		w.pay(1, 1_000_000)
		other := servicestest.Ask("other.test") // of another account, in the same share
		other.AccountID = 1 + Shares
		w.comes("wallet.topup_succeeded", other.AccountID, 1_000_000)
		third := w.active(other)
		w.Clk.Set(w.record(third).attemptAt(sale.DefaultTerms))
		sales := func() []string { return w.Texts(`SELECT CAST(service_id AS TEXT) FROM test_sales ORDER BY at`) }
		share := func() error {
			_, err := w.StepShare(t.Context(), shareOf(1))
			return err
		}
		if err := share(); err == nil || !strings.Contains(err.Error(), "broken") {
			t.Fatalf("a broken till: %v", err)
		}
		w.Same("sales while the first one was tried", []string{fmt.Sprint(third)}, sales())
		if err := share(); err != nil { // the first one is tried later
			t.Fatal(err)
		}
		if err := w.Step(t.Context(), first); err == nil || errors.Is(err, errNotYet) {
			t.Fatalf("a broken till: %v", err)
		}
		if err := w.Step(t.Context(), second); !errors.Is(err, errNotYet) {
			t.Fatalf("the second while the first is due: %v", err)
		}
		w.Clk.Advance(mostWait)
		if err := share(); err == nil {
			t.Error("the first one was not tried again")
		}
		w.Same("sales when the first one has failed for long", []string{fmt.Sprint(third), fmt.Sprint(second)}, sales())
		if err := share(); err != nil {
			t.Fatal(err)
		}
		w.Selling = purse{w}
		w.Clk.Advance(failedAgain)
		w.live()
		w.Same("sales when the till is mended", []string{fmt.Sprint(third), fmt.Sprint(second), fmt.Sprint(first)}, sales())
	})
}

// An owner renews what could not be renewed by itself. Money that comes in later buys no second period.
func TestARenewalByHandEndsWhatFailed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.openPurse()
		id := w.active(servicestest.Ask("a.test"))
		w.Clk.Set(w.record(id).ExpiresAt.Add(-2 * day))
		w.live()
		w.Exec(`INSERT INTO test_purse (account_id, balance) VALUES (1, 499)`)
		if err := w.renew(id); err != nil {
			t.Fatal(err)
		}
		w.pay(1, 10_000)
		w.live()
		w.Same("charges", []string{"499"}, w.Texts(`SELECT CAST(amount AS TEXT) FROM test_sales`))
	})
}

// renew pays the next period of a service of account 1.
func (w *world) renew(id int64) error {
	return w.DB.InTx(w.T.Context(), func(ctx context.Context, tx *db.Tx) error {
		r, err := w.Find(ctx, tx, 1, id)
		if err != nil {
			return err
		}
		leave, err := w.EnterTime(ctx, tx, r)
		if err != nil {
			return err
		}
		defer leave()
		refused, err := w.sold.RenewAll(ctx, tx, []Row{r})
		return errors.Join(append(refused, err)...)
	})
}

// renewedMeanwhile is a till that finds the wallet empty, because the owner has just renewed the service by hand.
type renewedMeanwhile struct {
	purse
	id    int64
	until time.Time
}

func (m renewedMeanwhile) Sell(context.Context, *db.Tx, []sale.Sale) ([]sale.Sold, error) {
	err := m.w.DB.InTx(m.w.T.Context(), func(ctx context.Context, tx *db.Tx) error {
		r, err := lock(ctx, tx, m.id)
		if err == nil {
			_, err = m.w.Prolong(ctx, tx, []Row{r}, []time.Time{m.until})
		}
		return err
	})
	return []sale.Sold{{Refusal: fault.InsufficientFunds.New()}}, err
}

// SQLite has one writer: there nothing happens meanwhile.
func TestARenewalByHandAtTheSameMomentIsNoFailure(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.Open(t, testkit.PostgresURL(t), clk), clk)
	w.openPurse()
	id := w.active(servicestest.Ask("a.test"))
	before := *w.record(id).ExpiresAt
	w.Selling = renewedMeanwhile{purse{w}, id, sale.AddMonths(before, 1)}
	w.Clk.Set(before.Add(-day))
	if err := w.Step(t.Context(), id); !errors.Is(err, errMoved) {
		t.Errorf("%v, want that it moved", err)
	}
	r := w.record(id)
	w.Same("the next attempt", sale.AddMonths(before, 1).Add(-3*day), *r.nextRenewalAttemptAt)
	if told := w.Told(id); slices.Contains(told, "service.renewal_failed") {
		t.Errorf("told %v", told)
	}
}

// paidMeanwhile is a till that finds the wallet empty just before money comes in.
type paidMeanwhile struct{ purse }

func (m paidMeanwhile) Sell(context.Context, *db.Tx, []sale.Sale) ([]sale.Sold, error) {
	m.w.pay(1, 10_000)
	return []sale.Sold{{Refusal: fault.InsufficientFunds.New()}}, nil
}

// SQLite has one writer: there nothing happens meanwhile.
func TestMoneyThatComesInWhileARenewalFailsIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.Open(t, testkit.PostgresURL(t), clk), clk)
	w.openPurse()
	id := w.active(servicestest.Ask("a.test"))
	w.Selling = paidMeanwhile{purse{w}}
	w.Clk.Set(w.record(id).ExpiresAt.Add(-day))
	if err := w.Step(t.Context(), id); !errors.Is(err, errMoved) {
		t.Errorf("%v, want that it moved", err)
	}
	w.Selling = purse{w}
	w.live()
	w.Same("charges", []string{"499"}, w.Texts(`SELECT CAST(amount AS TEXT) FROM test_sales`))
	if told := w.Told(id); slices.Contains(told, "service.renewal_failed") {
		t.Errorf("told %v", told)
	}
}

func TestASwitchedOffRenewalChargesNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.openPurse()
		w.Keeper = &keeper{kept: true}
		w.pay(1, 10_000)
		id := w.active(servicestest.Ask("a.test"))
		w.live()
		if status, answer := w.Call("own", "PATCH", fmt.Sprintf("/api/v1/services/%d", id), `{"auto_renew":false}`); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		w.days(33)
		w.Same("status", PastDue, w.record(id).Status)
		w.Same("charges", 0, len(w.Texts(`SELECT CAST(amount AS TEXT) FROM test_sales`)))
		if r := w.record(id); r.nextRenewalAttemptAt != nil {
			t.Errorf("an attempt is planned for %v", r.nextRenewalAttemptAt)
		}
		w.Call("own", "PATCH", fmt.Sprintf("/api/v1/services/%d", id), `{"auto_renew":true}`)
		w.live()
		w.Same("renewed", Active, w.record(id).Status)
	})
}

func TestAStepThatIsForgottenShows(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.openPurse()
		id := w.active(servicestest.Ask("a.test"))
		n := servicestest.Ask("b.test")
		n.AccountID = servicestest.SandboxAccount
		w.active(n) // is nobody's trouble
		w.Clk.Advance(11 * time.Minute)
		check := func(what string, want Health, problems ...Problem) []Unwell {
			t.Helper()
			h, err := w.Health(t.Context(), 10*time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			w.Same(what, want, h)
			all, err := w.Unwell(t.Context(), 10*time.Minute, page.Params{Page: 1, PerPage: 50})
			if err != nil {
				t.Fatal(err)
			}
			got := make([]Problem, len(all))
			for i, u := range all {
				if got[i] = u.Problem; u.ServiceID != id {
					t.Errorf("%s: %+v", what, u)
				}
			}
			w.Same(what, append([]Problem{}, problems...), got)
			return all
		}
		check("without an attempt", Health{NoAttempt: 1}, NoAttempt)
		for range 2 {
			if err := w.Steps(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.Same("jobs when asked twice", 2, w.Jobs("services.share"))
		w.live()
		check("after its step", Health{})

		w.Clk.Set(w.record(id).ExpiresAt.Add(-2 * day))
		w.live()
		w.Clk.Advance(time.Hour)
		failing := check("its renewal fails", Health{Failing: 1}, Failing)[0]
		if failing.FailureKey == nil || *failing.FailureKey != "insufficient_funds" || !failing.NextAttemptAt.Equal(failing.Since.Add(day)) {
			t.Errorf("%+v", failing)
		}
		w.pay(1, 499)
		w.live()
		check("it is paid", Health{})

		w.Clk.Set(w.record(id).ExpiresAt.Add(-4 * day))
		w.live()
		w.Clk.Set(w.record(id).ExpiresAt.Add(time.Hour))
		w.Exec(`UPDATE services SET step_at = NULL WHERE id = $1`, id) // as no code does
		check("it will never be looked at", Health{NoAttempt: 1}, NoAttempt)
		w.Exec(`UPDATE services SET step_at = expires_at * 2 WHERE id = $1`, id)
		check("it will be looked at too late", Health{NoAttempt: 1}, NoAttempt)

		w.Keeper = &keeper{}
		if err := w.ends(id, false); err != nil {
			t.Fatal(err)
		}
		w.Clk.Advance(10 * time.Minute)
		check("it has just begun to end", Health{})
		w.Clk.Advance(time.Second)
		if ending := check("its end takes long", Health{Ending: 1}, Ending)[0]; !ending.Since.Equal(w.Clk.Now().Add(-10*time.Minute - time.Second)) {
			t.Errorf("%+v", ending)
		}
	})
}
