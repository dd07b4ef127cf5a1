package sla

import (
	"context"
	"errors"
	"math/big"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

// march is a month of a test, of 2,678,400 seconds.
var march = monthOf(testkit.Start)

const (
	refused = "connection_refused"
	year    = 365 * 24 * time.Hour
)

// TestAQuarterClosesAsAnIndependentModelSays: random outages and maintenance of many services over three months, closed and
// paid by the jobs; the model paints each second in an array and reckons in fractions.
func TestAQuarterClosesAsAnIndependentModelSays(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		random := rand.New(rand.NewPCG(370, 12))
		const services, days = 12, 92
		start := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
		painted := map[int64][]byte{}
		maintained := make([]bool, days*86_400)
		for range 4 {
			from, length := random.IntN(days*86_400-20_000), 1+random.IntN(20_000)
			w.maintenance = append(w.maintenance, Span{at(start, from), at(start, from+length)})
			for s := from; s < from+length; s++ {
				maintained[s] = true
			}
		}
		for id := int64(1); id <= services; id++ {
			s := w.sell(id, start.AddDate(0, -2, 0), year, 12_345)
			painted[id] = make([]byte, days*86_400)
			for range random.IntN(12) {
				from, length := random.IntN(days*86_400), 1+random.IntN(40_000)
				s.down(at(start, from), length, refused)
				for x := from; x < min(from+length, days*86_400); x++ {
					painted[id][x] = 1
				}
			}
		}
		for m := monthOf(start.AddDate(0, -2, 0)); m.Start.Before(start); m = monthOf(m.End) {
			w.close(m.End.Add(pays)) // the months before the quarter
		}
		w.must(w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM test_credits`)
			return err
		}))
		credited := int64(0)
		for m := monthOf(start); m.Start.Before(start.AddDate(0, 3, 0)); m = monthOf(m.End) {
			w.close(m.closesAt().Add(-time.Minute))
			if n := w.count(`SELECT COUNT(*) FROM sla_months WHERE month = $1`, m.Start); n != 0 {
				t.Fatalf("%v: %d months were closed too early", m.Start, n)
			}
			w.close(m.closesAt())
			if n := w.count(`SELECT COUNT(*) FROM sla_months WHERE month = $1 AND status = 'credited'`, m.Start); n != 0 {
				t.Fatalf("%v: %d months were paid too early", m.Start, n)
			}
			w.close(m.End.Add(pays))
			first, length := int(m.Start.Sub(start)/time.Second), int(m.End.Sub(m.Start)/time.Second)
			for id := int64(1); id <= services; id++ {
				served, down := int64(0), int64(0)
				for x := first; x < first+length; x++ {
					if !maintained[x] {
						served++
						down += int64(painted[id][x])
					}
				}
				lost, share := big.NewRat(down, served), int64(0)
				for _, tier := range []struct{ above, share int64 }{{1, 10}, {10, 30}, {50, 100}} {
					if lost.Cmp(big.NewRat(tier.above, 1000)) > 0 {
						share = tier.share
					}
				}
				base := 12_345 * int64(length) / int64(year/time.Second)
				want, status := base*share/100, None
				if want > 0 {
					status = Credited
				}
				a := w.month(id, m)
				if a.ServedS != served || a.DownS != down || int64(a.Base) != base || int64(a.Amount) != want || a.Status != status {
					t.Fatalf("service %d, %v: %+v, want %d of %d s, %d of %d cents, %s", id, m.Start, a, down, served, want, base, status)
				}
				credited += want
			}
		}
		if sum := w.count(`SELECT COALESCE(SUM(amount), 0) FROM test_credits`); sum != credited || credited == 0 {
			t.Errorf("%d cents were credited, want %d", sum, credited)
		}
		breached := w.count(`SELECT COUNT(*) FROM sla_months WHERE breached`)
		paid := w.count(`SELECT COUNT(*) FROM test_credits`)
		if n := w.count(`SELECT COUNT(*) FROM test_events WHERE kind = 'sla.breached'`); n != breached {
			t.Errorf("%d breaches are told, there are %d", n, breached)
		}
		if n := w.count(`SELECT COUNT(*) FROM test_events WHERE kind = 'sla.compensated'`); n != paid {
			t.Errorf("%d credits are told, there are %d", n, paid)
		}
	})
}

// consistent checks what holds after every kill: a month that is credited has its money and its event, all others have none.
func (w *world) consistent() {
	w.t.Helper()
	// One statement sees one moment: of a process that dies while it commits, the commit may arrive between two.
	var credited, credits, money, compensated, breached, told, again int64
	err := w.DB.QueryRow(w.t.Context(), `SELECT
		(SELECT COUNT(*) FROM sla_months WHERE status = 'credited'),
		(SELECT COUNT(*) FROM test_credits c JOIN sla_months m ON m.id = c.id AND m.amount = c.amount WHERE m.status = 'credited'),
		(SELECT COUNT(*) FROM test_credits),
		(SELECT COUNT(*) FROM test_events WHERE kind = 'sla.compensated'),
		(SELECT COUNT(*) FROM sla_months WHERE breached),
		(SELECT COUNT(*) FROM test_events WHERE kind = 'sla.breached'),
		(SELECT COUNT(*) FROM sla_services s JOIN sla_months m ON m.service_id = s.service_id AND m.month >= s.month)`).
		Scan(&credited, &credits, &money, &compensated, &breached, &told, &again)
	w.must(err)
	for what, n := range map[string]int64{"credits": credits, "all money": money, "events": compensated} {
		if n != credited {
			w.t.Fatalf("%s: %d, but %d months are credited", what, n, credited)
		}
	}
	if told != breached {
		w.t.Fatalf("%d breaches are told, there are %d", told, breached)
	}
	if again != 0 {
		w.t.Fatalf("%d months are closed and are to be closed again", again)
	}
}

// dying is the context of a process that is killed after a number of steps: each statement asks it whether it goes on.
type dying struct {
	context.Context
	steps *atomic.Int64
	dead  chan struct{} // one for all who ask: those who wait since earlier steps die, too
}

func dyingAfter(ctx context.Context, steps int64) dying {
	d := dying{ctx, new(atomic.Int64), make(chan struct{})}
	d.steps.Store(steps)
	return d
}

func (d dying) Done() <-chan struct{} {
	if d.steps.Add(-1) == -1 {
		close(d.dead)
	}
	return d.dead
}

func (d dying) Err() error {
	if d.steps.Load() < 0 {
		return context.Canceled
	}
	return d.Context.Err()
}

// TestKilledAnywhereNothingIsLostOrDoubled: the process dies after the first step, after the second, and so on, until it does
// not die any more.
func TestKilledAnywhereNothingIsLostOrDoubled(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		for id := int64(1); id <= 3; id++ {
			w.sell(id, march.Start, year, 12_000).down(at(march.Start, 1000), 40_000, refused)
		}
		deaths := 0
		run := func(f func(context.Context) error, done func() bool) {
			t.Helper()
			for steps := int64(0); !done(); steps++ {
				if steps > 5000 {
					t.Fatal("it never comes to its end")
				}
				if err := f(dyingAfter(t.Context(), steps)); err != nil {
					deaths++
				}
				w.consistent()
			}
		}
		w.clk.Set(march.closesAt())
		run(w.Close, func() bool { return w.count(`SELECT COUNT(*) FROM sla_months`) == 3 })
		w.clk.Set(march.End.Add(pays))
		run(w.Pay, func() bool { return w.count(`SELECT COUNT(*) FROM sla_months WHERE status = 'credited'`) == 3 })
		if sum := w.count(`SELECT SUM(amount) FROM test_credits`); sum != 3*(12_000*31/365*30/100) || deaths < 10 {
			t.Errorf("%d cents after %d deaths", sum, deaths)
		}
	})
}

// failing fails where it is told to.
type failing struct {
	tables
	event error
}

func (f failing) Emit(ctx context.Context, tx *db.Tx, e outbox.Event) error {
	return errors.Join(f.tables.Emit(ctx, tx, e), f.event)
}

// TestAnEventThatFailsTakesTheMoneyBack: the credit, its state and its event are one commit.
func TestAnEventThatFailsTakesTheMoneyBack(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		broken := errors.New("no room")
		w.sell(1, march.Start, year, 12_000).down(march.Start, 40_000, refused)
		w.sell(2, march.Start, year, 12_000)
		w.clk.Set(march.closesAt())
		w.Events = failing{event: broken}
		if err := w.Close(t.Context()); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		w.consistent()
		if a := w.month(2, march); a.Status != None { // one that fails holds up no other
			t.Errorf("%+v", a)
		}
		w.Events = tables{}
		w.must(w.Close(t.Context()))
		w.clk.Set(march.End.Add(pays))
		w.Events = failing{event: broken}
		if err := w.Pay(t.Context()); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		w.consistent()
		if a := w.month(1, march); a.Status != Proposed {
			t.Errorf("%+v", a)
		}
		w.Events = tables{}
		w.must(w.Pay(t.Context()))
		w.consistent()
		if a := w.month(1, march); a.Status != Credited {
			t.Errorf("%+v", a)
		}
	})
}

func TestClosingTwiceAndAtOnceCreditsOnce(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		for id := int64(1); id <= 5; id++ {
			w.sell(id, march.Start, year, 12_000).down(march.Start, 40_000, refused)
		}
		atOnce := func() {
			var all sync.WaitGroup
			for range 6 {
				all.Go(func() {
					if err := errors.Join(w.Close(t.Context()), w.Pay(t.Context())); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			w.consistent()
		}
		w.clk.Set(march.End.Add(pays))
		atOnce()
		atOnce()
		if n := w.count(`SELECT COUNT(*) FROM test_credits`); n != 5 {
			t.Errorf("%d credits", n)
		}
		if n := w.count(`SELECT COUNT(*) FROM sla_months`); n != 5 {
			t.Errorf("%d months", n)
		}
	})
}

// TestStaffDecide: what is held is not paid by itself; what is decided stays decided.
func TestStaffDecide(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ids := map[int64]int64{}
		for id := int64(1); id <= 4; id++ {
			w.sell(id, march.Start, year, 12_000).down(march.Start, 40_000, refused)
		}
		w.close(march.closesAt())
		for id := int64(1); id <= 4; id++ {
			ids[id] = w.month(id, march).ID
		}
		hold := func(id int64) {
			t.Helper()
			if a, err := w.Hold(t.Context(), ids[id], " a  strange outage "); err != nil || !a.Held || a.Note != "a strange outage" || a.Status != Proposed {
				t.Fatalf("%v %+v", err, a)
			}
		}
		hold(1)
		hold(2)
		if _, err := w.Reject(t.Context(), ids[3], "\n"); !errors.Is(err, fault.Validation) {
			t.Errorf("without a reason: %v", err)
		}
		if a, err := w.Reject(t.Context(), ids[3], "it was a test of yours"); err != nil || a.Status != Rejected {
			t.Errorf("%v %+v", err, a)
		}
		w.close(march.End.Add(pays))
		w.consistent()
		for id, want := range map[int64]Status{1: Proposed, 2: Proposed, 3: Rejected, 4: Credited} {
			if a := w.month(id, march); a.Status != want {
				t.Errorf("service %d: %+v, want %s", id, a, want)
			}
		}
		if a, err := w.Approve(t.Context(), ids[1]); err != nil || a.Status != Credited || a.Held || a.DecidedAt == nil {
			t.Errorf("%v %+v", err, a)
		}
		w.consistent()
		for id := int64(1); id <= 4; id++ {
			_, approved := w.Approve(t.Context(), ids[id])
			if (approved == nil) != (id == 2) || approved != nil && !errors.Is(approved, fault.Conflict) {
				t.Errorf("approve %d: %v", id, approved)
			}
			_, held := w.Hold(t.Context(), ids[id], "late")
			_, rejected := w.Reject(t.Context(), ids[id], "late")
			if !errors.Is(held, fault.Conflict) || !errors.Is(rejected, fault.Conflict) {
				t.Errorf("decided: %v, %v", held, rejected)
			}
		}
		if _, err := w.Approve(t.Context(), 999); !errors.Is(err, fault.NotFound) {
			t.Error(err)
		}
		w.consistent()
		if all, total, err := w.List(t.Context(), Credited, page.Params{}); err != nil || total != 3 || len(all) != 3 || all[0].ServiceID != 4 {
			t.Errorf("%v %d %+v", err, total, all)
		}
		if _, _, err := w.List(t.Context(), "odd", page.Params{}); !errors.Is(err, fault.Validation) {
			t.Error(err)
		}
	})
}

// TestWhatIsNotSureWaitsForAPerson: what a customer can bring about pays nothing by itself.
func TestWhatIsNotSureWaitsForAPerson(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		w.sell(1, march.Start, year, 12_000).down(march.Start, 40_000, "timeout")
		s := w.sell(2, march.Start, year, 12_000) // sure for the second tier, and a little more that changes nothing
		s.down(march.Start, 40_000, refused)
		s.down(at(march.Start, 50_000), 10, "timeout")
		w.sell(3, march.Start, year, 12_000).down(march.Start, 40_000, "http_status")
		unknown := w.sell(4, march.Start, year, 12_000)
		unknown.down(march.Start, 40_000, refused)
		unknown.seenS = func(from, to time.Time) int64 { return int64(to.Sub(from)/time.Second) * 94 / 100 }
		w.sell(5, march.Start, year, 12_000).down(march.Start, 40_000, refused)
		w.services[5].PlanID = 7 // which promises nothing; but the plan of the beginning counts
		free := w.sell(6, march.Start, year, 0)
		free.down(march.Start, 40_000, refused)
		w.sell(7, march.Start, year, 12_000).outages = []Outage{{StartedAt: at(march.Start, 1000), Cause: refused, Ours: true, Sure: true}} // it goes on
		w.close(march.End.Add(pays))
		w.consistent()
		type result struct {
			status Status
			held   bool
			note   string
			share  int64
		}
		for id, want := range map[int64]result{
			1: {Proposed, true, noteCause, 30}, 2: {Credited, false, "", 30}, 3: {None, false, "", 0}, 4: {Proposed, true, noteUnknown, 30},
			5: {Credited, false, "", 30}, 6: {None, false, "", 30}, 7: {Credited, false, "", 100},
		} {
			if a := w.month(id, march); (result{a.Status, a.Held, a.Note, a.Percent}) != want {
				t.Errorf("service %d: %+v, want %+v", id, a, want)
			}
		}
	})
}

// TestThePlanOfTheBeginningCounts: a plan that promises more, taken after an outage, earns nothing.
func TestThePlanOfTheBeginningCounts(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		s := w.sell(1, march.Start.AddDate(0, 0, 3), year, 36_500)
		s.PlanID = 9 // promises nothing
		w.follow(1, "service.tariff_changed", march.Start.AddDate(0, 0, 20))
		april, may := monthOf(march.End), monthOf(monthOf(march.End).End)
		for _, m := range []Month{march, april, may} {
			s.down(m.Start.AddDate(0, 0, 10), 40_000, refused)
		}
		s.PlanID = 1
		w.follow(1, "service.tariff_changed", april.End.Add(time.Hour)) // before April is closed
		w.follow(1, "service.tariff_changed", april.End.Add(time.Hour)) // told twice
		for m := march; !m.Start.After(may.Start); m = monthOf(m.End) {
			w.close(m.End.Add(pays))
		}
		for m, want := range map[Month]Status{march: Credited, april: None, may: None} {
			if a := w.month(1, m); a.Status != want {
				t.Errorf("%v: %+v, want %s", m.Start, a, want)
			}
		}
		june := monthOf(may.End)
		s.down(june.Start.AddDate(0, 0, 10), 40_000, refused)
		w.close(june.End.Add(pays))
		if a := w.month(1, june); a.Status != Credited {
			t.Errorf("June: %+v", a)
		}
		if n := w.count(`SELECT COUNT(*) FROM sla_plans`); n != 1 {
			t.Errorf("%d plans are kept", n)
		}
	})
}

func TestWhoIsFollowedAndUntilWhen(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		s := w.sell(1, march.Start, 40*24*time.Hour, 4_000) // until 10 April
		w.services[2] = &sold{account: 1, Subject: Subject{PlanID: 1, Sandbox: true}}
		w.follow(2, "service.provisioned", march.Start)
		w.sell(3, march.Start, year, 12_000).down(march.Start, 40_000, refused)
		if n := w.count(`SELECT COUNT(*) FROM sla_services`); n != 2 {
			t.Fatalf("%d services are followed", n)
		}
		w.close(march.closesAt())
		s.Ended = true
		w.tx(func(ctx context.Context, tx *db.Tx) error { return w.Closed(ctx, tx, 2) }) // another account
		if a := w.month(3, march); a.Status != Proposed {
			t.Errorf("%+v", a)
		}
		april := monthOf(march.End)
		w.close(april.closesAt())
		if a := w.month(1, april); a.ServedS != 9*86_400 {
			t.Errorf("%+v", a)
		}
		w.close(monthOf(april.End).closesAt())
		if n := w.count(`SELECT COUNT(*) FROM sla_services`); n != 1 {
			t.Errorf("%d services are followed after one has ended", n)
		}
		w.sell(4, april.Start, year, 12_000).down(april.Start, 40_000, refused)
		w.clk.Set(april.closesAt())
		w.must(w.Close(t.Context()))
		w.tx(func(ctx context.Context, tx *db.Tx) error { return w.Closed(ctx, tx, 1) })
		w.close(april.End.Add(pays))
		if a := w.month(4, april); a.Status != Rejected || a.Note != noteClosed {
			t.Errorf("%+v", a)
		}
		if n := w.count(`SELECT COUNT(*) FROM sla_services`) + w.count(`SELECT COUNT(*) FROM sla_plans`); n != 0 {
			t.Errorf("%d rows of a closed account are left", n)
		}
		w.consistent()
	})
}

func TestUptimeOfAMonth(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		s := w.sell(1, march.Start, year, 12_000)
		w.services[2] = &sold{account: 2}
		s.down(march.Start, 40_000, refused)
		s.down(at(march.Start, 50_000), 100, "http_status")
		w.clk.Set(at(march.Start, 100_000))
		for _, c := range []struct {
			account, id int64
			month       string
			want        *fault.Def
		}{
			{1, 2, "", fault.NotFound},
			{2, 1, "", fault.NotFound},
			{1, 1, "2026-04", fault.Validation},
			{1, 1, "2026-3", fault.Validation},
			{1, 1, "march", fault.Validation},
			{1, 1, "", nil},
			{1, 1, "2026-03", nil},
			{1, 1, "2026-02", nil},
			{1, 1, "0001-01", nil},
		} {
			_, err := w.Uptime(t.Context(), c.account, c.id, c.month)
			if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		r, err := w.Uptime(t.Context(), 1, 1, "")
		if err != nil || r.ServedS != 100_000 || r.DownS != 40_000 || r.Uptime != 600_000 || r.Percent != 100 || r.Status != None || r.ID != 0 ||
			len(r.Outages) != 2 || r.Outages[1].Ours {
			t.Errorf("%v %+v", err, r)
		}
		w.close(march.closesAt())
		if r, err = w.Uptime(t.Context(), 1, 1, "2026-03"); err != nil || r.Status != Proposed || r.ID == 0 || r.TransactionID != nil {
			t.Errorf("%v %+v", err, r)
		}
		w.close(march.End.Add(pays))
		if r, err = w.Uptime(t.Context(), 1, 1, "2026-03"); err != nil || r.Status != Credited || r.TransactionID == nil || *r.TransactionID != r.ID+1000 {
			t.Errorf("%v %+v", err, r)
		}
	})
}

func TestListsAreReadByAnIndex(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		testkit.Indexed(t, w.DB, func(q db.Querier) error {
			_, first := dueServices(t.Context(), q, march.End, due{}, batch)
			_, second := dueCredits(t.Context(), q, march.End, due{}, batch)
			_, _, third := list(t.Context(), q, Proposed, page.Params{})
			_, _, fourth := planAt(t.Context(), q, 1, march.Start)
			_, fifth := ofMonth(t.Context(), q, 1, 1, march)
			if errors.Is(fifth, db.ErrNoRows) {
				fifth = nil
			}
			return errors.Join(first, second, third, fourth, fifth)
		})
	})
}
