package services

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

func (w *world) fails(want *fault.Def, f func(ctx context.Context, tx *db.Tx) error) {
	w.T.Helper()
	if err := w.DB.InTx(w.T.Context(), f); !errors.Is(err, want) {
		w.T.Errorf("%v, want %s", err, want.Key)
	}
}

// sold is a service of a reseller with a price and a tag.
func sold(domain string, price money.USDCents, tag string) sale.Reservation {
	n := servicestest.Ask(domain)
	n.RenewPrice, n.FirstPrice = price, price
	if tag != "" {
		n.ClientRef = &tag
	}
	return n
}

func (w *world) ownedList(f Filter) (domains []string) {
	w.T.Helper()
	all, err := w.Owned(w.T.Context(), w.DB, 1, f, page.Params{PerPage: 50})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, o := range all {
		domains = append(domains, *o.Domain)
	}
	if n, err := w.CountOwned(w.T.Context(), w.DB, 1, f); err != nil || n != len(domains) {
		w.T.Errorf("%d rows of %d, %v", len(domains), n, err)
	}
	return domains
}

func TestAnOwnerListsItsServices(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		off := false
		first := w.active(sold("a.test", 200, "seven"))
		w.Clk.Advance(time.Hour)
		w.active(sold("b.test", 300, "eight"))
		w.Clk.Advance(time.Hour)
		w.active(sold("c.test", 1, "seven"))
		unrenewed := sold("d.test", 100_000, "")
		unrenewed.AutoRenew = &off
		w.active(unrenewed)
		others := sold("e.test", 100_000, "seven")
		others.AccountID = 2
		w.active(others)
		w.reserve(sold("f.test", 1, ""))
		seven := "seven"
		soon := w.record(first).ExpiresAt.Add(time.Minute)
		for name, c := range map[string]struct {
			f    Filter
			want []string
		}{
			"all":           {Filter{}, []string{"f.test", "d.test", "c.test", "b.test", "a.test"}},
			"tag":           {Filter{ClientRef: &seven}, []string{"c.test", "a.test"}},
			"state":         {Filter{Status: "pending"}, []string{"f.test"}},
			"plan":          {Filter{PlanID: 4}, nil},
			"renews before": {Filter{RenewsBefore: &soon}, []string{"a.test"}},
			"text":          {Filter{Query: "B.TE"}, []string{"b.test"}},
			"two":           {Filter{ClientRef: &seven, Query: "a.t"}, []string{"a.test"}},
		} {
			w.Same(name, c.want, w.ownedList(c.f))
		}
	})
}

// TestPagesOfAListJoin: every page has what comes after the one before.
func TestPagesOfAListJoin(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		for i := range 7 {
			w.reserve(servicestest.Ask(fmt.Sprintf("n%d.test", i)))
		}
		for _, f := range []Filter{{}, {Query: ".test"}, {Query: "n", Status: string(Pending)}} {
			for perPage := 1; perPage <= 8; perPage++ {
				var ids []int64
				for p := 1; p <= 9; p++ {
					rows, total, err := list(t.Context(), d, 1, f, page.Params{Page: p, PerPage: perPage})
					if err != nil || total != 7 || len(rows) != max(0, min(perPage, 7-(p-1)*perPage)) {
						t.Errorf("%+v, page %d of %d: %d rows of %d, %v", f, p, perPage, len(rows), total, err)
					}
					for _, r := range rows {
						ids = append(ids, r.ID)
					}
				}
				w.Same("ids", []int64{7, 6, 5, 4, 3, 2, 1}, ids)
			}
		}
		if rows, total, err := list(t.Context(), d, 1, Filter{Query: "nowhere"}, page.Params{}); len(rows) != 0 || total != 0 || err != nil {
			t.Errorf("%d rows of %d, %v", len(rows), total, err)
		}
	})
}

// What the next renewal is sold as is another plan: its price is the one that counts.
func TestAPlanThatComesWithTheRenewalIsCovered(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) { // account 1 has 500
		id := w.active(servicestest.Ask("a.test"))
		w.In(func(ctx context.Context, tx *db.Tx) error {
			_, err := w.sold.Extend(ctx, tx, id, 1, nil)
			return err
		})
		covered := func(what string, plan int, want bool, cost money.USDCents) {
			t.Helper()
			if status, answer := w.Post("own", id, "tariff", fmt.Sprintf(`{"plan_id": %d, "when": "renewal"}`, plan)); status != 200 {
				t.Fatal(answer)
			}
			one, err := w.OwnedOne(t.Context(), w.DB, 1, id)
			if err != nil {
				t.Fatal(err)
			}
			due, err := w.sold.DueRenewals(t.Context(), w.DB, 1, 365)
			if err != nil {
				t.Fatal(err)
			}
			_, has, err := w.get(t.Context(), 1, id)
			if err != nil {
				t.Fatal(err)
			}
			shown := wire(t.Context(), w.record(id), has)
			w.Same(what, []any{want, cost, cost, cost}, []any{shown.RenewalCovered, shown.RenewPrice.USDCents, one.NextPrice, due})
		}
		covered("a dearer one", 4, false, 1001)
		covered("a cheaper one", 5, true, 101)
		covered("none", 3, true, 500)
		off := false
		if err := w.Note(t.Context(), 1, id, Notes{AutoRenew: &off}); err != nil {
			t.Fatal(err)
		}
		if wire(t.Context(), w.record(id), sale.Funds{Balance: 10_000}).RenewalCovered {
			t.Error("what does not renew by itself is covered")
		}
	})
}

func TestWhatHasEndedIsNotListedAsRenewingBefore(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		off, later := false, w.Clk.Now().AddDate(1, 0, 0)
		byHand := sold("hand.test", 1, "")
		byHand.AutoRenew = &off
		w.active(byHand)
		w.active(sold("a.test", 1, ""))
		if err := w.ends(w.active(sold("ended.test", 1, "")), false); err != nil {
			t.Fatal(err)
		}
		got := w.ownedList(Filter{RenewsBefore: &later})
		w.Same("renews before", []string{"a.test", "hand.test"}, got)
	})
}

func TestWhatAResellerNotes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		n := sold("a.test", 200, "seven")
		n.Metadata = map[string]string{"crm": "17"}
		id := w.active(n)
		note := func(n Notes) Owned {
			t.Helper()
			if err := w.Note(t.Context(), 1, id, n); err != nil {
				t.Fatal(err)
			}
			s, err := w.OwnedOne(t.Context(), w.DB, 1, id)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if s := note(Notes{}); *s.ClientRef != "seven" || s.Metadata["crm"] != "17" || s.FirstPrice != 200 || s.NextPrice != 200 {
			t.Errorf("%+v", s)
		}
		before := len(w.Told(id))
		eight, none := "восемь", ""
		if s := note(Notes{ClientRef: &eight}); *s.ClientRef != eight || s.Metadata["crm"] != "17" {
			t.Errorf("%+v", s)
		}
		if s := note(Notes{ClientRef: &none, Metadata: map[string]string{}}); s.ClientRef != nil || len(s.Metadata) != 0 {
			t.Errorf("%+v", s)
		}
		note(Notes{ClientRef: &none, Metadata: map[string]string{}}) // nothing changes, nothing is told
		if n := len(w.Told(id)) - before; n != 2 {
			t.Errorf("%d events", n)
		}

		many, long := map[string]string{}, strings.Repeat("ж", 65)
		for i := range 21 {
			many[fmt.Sprint(i)] = ""
		}
		if err := w.Note(t.Context(), 1, id, Notes{ClientRef: &long}); !errors.Is(err, ErrClientRefTooLong) {
			t.Errorf("a tag of 65 characters: %v", err)
		}
		for _, bad := range []map[string]string{many, {"": "x"}, {strings.Repeat("k", 41): "x"}, {"k": strings.Repeat("v", 501)}, {"k": "a\x00"}} {
			if err := w.Note(t.Context(), 1, id, Notes{Metadata: bad}); !errors.Is(err, fault.Validation) {
				t.Errorf("%d members: %v", len(bad), err)
			}
		}
		if err := w.Note(t.Context(), 2, id, Notes{ClientRef: &eight}); !errors.Is(err, fault.NotFound) {
			t.Errorf("of another: %v", err)
		}
		tooLong := sold("b.test", 1, long)
		w.fails(ErrClientRefTooLong, func(ctx context.Context, tx *db.Tx) error {
			_, err := w.Reserve(ctx, tx, tooLong)
			return err
		})
	})
}

func TestAResellerLiftsItsOwnSuspensionsOnly(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(sold("a.test", 200, ""))
		suspend := func(ctx context.Context, tx *db.Tx) error { return w.SuspendOwn(ctx, tx, 1, id, "did not pay us") }
		unsuspend := func(ctx context.Context, tx *db.Tx) error { return w.UnsuspendOwn(ctx, tx, 1, id) }
		abuse := func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, id, Abuse) }
		lift := func(ctx context.Context, tx *db.Tx) error { return w.Unsuspend(ctx, tx, id) }

		w.fails(ErrNotSuspended, unsuspend)
		w.In(suspend)
		s, err := w.OwnedOne(t.Context(), w.DB, 1, id)
		if err != nil || s.Status != Suspended || *s.SuspendReason != Manual || s.SuspendNote == nil || *s.SuspendNote != "did not pay us" {
			t.Errorf("%+v, %v", s, err)
		}
		w.fails(ErrAlreadySuspended, suspend)
		w.In(unsuspend)
		if r := w.record(id); r.Status != Active {
			t.Errorf("it is %s", r.Status)
		}

		// What an operator suspends stays, also when the reseller had suspended it before.
		w.In(abuse)
		w.fails(fault.ServiceSuspended, unsuspend)
		w.In(lift)
		w.In(suspend)
		w.Clk.Advance(time.Second)
		w.In(abuse)
		w.fails(fault.ServiceSuspended, unsuspend)
		w.fails(ErrAlreadySuspended, suspend)
		w.fails(ErrAlreadySuspended, abuse)
		if s, err := w.OwnedOne(t.Context(), w.DB, 1, id); err != nil || *s.SuspendReason != Abuse || s.SuspendNote != nil {
			t.Errorf("%+v, %v", s, err)
		}
		w.In(lift)

		w.Exec(`UPDATE services SET status = 'past_due', grace_until = 1 WHERE id = $1`, id)
		w.fails(fault.ServiceNotActive, suspend) // or its grace would never be over
		w.fails(fault.NotFound, func(ctx context.Context, tx *db.Tx) error { return w.SuspendOwn(ctx, tx, 2, id, "") })
		w.fails(fault.NotFound, func(ctx context.Context, tx *db.Tx) error { return w.UnsuspendOwn(ctx, tx, 2, id) })
	})
}

// TestAServiceThatItsOwnerSuspendedEndsAfterItsPaidTime: it took room for ever, unpaid.
func TestAServiceThatItsOwnerSuspendedEndsAfterItsPaidTime(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Keeper = &keeper{kept: true}
		suspend := func(id int64) func(ctx context.Context, tx *db.Tx) error {
			return func(ctx context.Context, tx *db.Tx) error { return w.SuspendOwn(ctx, tx, 1, id, "does not pay us") }
		}
		unsuspend := func(id int64) func(ctx context.Context, tx *db.Tx) error {
			return func(ctx context.Context, tx *db.Tx) error { return w.UnsuspendOwn(ctx, tx, 1, id) }
		}
		off := false
		unrenewed := sold("b.test", 200, "")
		unrenewed.AutoRenew = &off
		ended, back, taken := w.active(sold("a.test", 200, "")), w.active(unrenewed), w.active(sold("c.test", 200, ""))
		until := *w.record(ended).ExpiresAt
		for _, id := range []int64{ended, back, taken} {
			w.In(suspend(id))
		}
		w.live()
		before := len(w.Told(ended))
		w.Clk.Advance(until.Sub(w.Clk.Now()) - time.Second)
		w.live()
		w.Same("told before its paid time is over", before, len(w.Told(ended)))
		w.Clk.Advance(time.Second)
		w.live()
		r := w.record(ended)
		w.Same("status", Suspended, r.Status)
		w.Same("reason", Manual, *r.suspendReason)
		if r.terminatesAt == nil || !r.terminatesAt.Equal(until.Add(14*day)) {
			t.Errorf("it ends at %v", r.terminatesAt)
		}
		// Brought back without being paid for, it has what one has that is past due, and cannot be put aside again.
		w.In(unsuspend(back))
		w.fails(fault.ServiceNotActive, suspend(back))
		w.live()
		if r := w.record(back); r.Status != PastDue || r.terminatesAt != nil {
			t.Errorf("brought back: %s, ends at %v", r.Status, r.terminatesAt)
		}
		w.fails(fault.ServiceNotActive, suspend(back))
		// What an operator has taken out of the owner's hands is the operator's to end.
		w.In(func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, taken, Abuse) })

		w.days(15)
		w.Same("after that time", Terminating, w.record(ended).Status)
		w.Same("told", []string{
			"service.termination_scheduled", "service.termination_scheduled", "service.termination_scheduled",
			"service.termination_scheduled", "service.updated",
		}, w.Told(ended)[before:])
		w.Same("the operator's", Suspended, w.record(taken).Status)
		w.Same("steps", []string{"expire", "terminate", "warn", "warn", "warn"},
			w.Texts(`SELECT did FROM services_steps WHERE service_id = $1 AND did <> 'remind' ORDER BY did`, ended))
	})
}
