package domains

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/registrar"
	"stead.dev/stead/internal/port/registrar/epp"
	"stead.dev/stead/internal/port/registrar/epp/epptest"
)

// onEPP is a world of which the registrar is a registry that speaks EPP.
func onEPP(t *testing.T, d *db.DB, clk *clock.Fake) (*world, *epptest.Server) {
	t.Helper()
	w := newWorld(t, d, clk)
	registry := epptest.New(t, clk)
	w.Registrars = registrars{known(t, registry, clk, epptest.User)}
	w.exec(`UPDATE test_purse SET balance = 100000000`)
	return w, registry
}

// known is a client of a registry that takes a name for ours there.
func known(t *testing.T, registry *epptest.Server, clk *clock.Fake, sponsor string) registrar.Registrar {
	t.Helper()
	c := epp.New(epp.Config{
		Address: registry.Address, User: epptest.User, Password: epptest.Password, Sponsor: sponsor, TLS: registry.Trust(), Clock: clk,
		Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// unanswered loses the answers to what is paid for.
type unanswered struct{ registrar.Registrar }

func (u unanswered) Register(ctx context.Context, in registrar.Registration) (registrar.Domain, error) {
	_, _ = u.Registrar.Register(ctx, in)
	return registrar.Domain{}, &registrar.Error{Kind: registrar.Unknown}
}

func (u unanswered) Renew(ctx context.Context, in registrar.Renewal) (registrar.Domain, error) {
	_, _ = u.Registrar.Renew(ctx, in)
	return registrar.Domain{}, &registrar.Error{Kind: registrar.Unknown}
}

// end works on the newest operation until it is decided.
func (w *world) end(what string) (money string) {
	w.t.Helper()
	op := w.op()
	for runs := 0; ; runs++ {
		err := w.Work(w.t.Context(), op)
		if err == nil {
			break
		}
		if runs > 5 || !errors.Is(err, errLater) {
			w.t.Fatalf("%s: %v", what, err)
		}
	}
	return w.text(`SELECT state FROM test_orders WHERE id = (SELECT order_id FROM domains_operations WHERE id = $1)`, op)
}

func (w *world) renew(id int64, restore bool) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return w.Renew(ctx, tx, 1, id, Renewal{Years: 1, Restore: restore})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// The connection to the registry is cut at each frame in turn of each operation, before the registry has done what it
// says and after. Nothing is paid for that the registry does not have, and nothing is done twice.
func TestTheRegistrysConnectionIsCutAtAnyFrame(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		const captured, released = "held captured", "held released"
		registered := func(name string) int64 {
			id := w.order(name, "")
			if money := w.end(name); money != captured {
				t.Fatalf("%s: %s", name, money)
			}
			return id
		}
		until := func(id int64) string { // as the row has it
			row, err := get(t.Context(), d, id)
			if err != nil || row.expiresAt == nil {
				return fmt.Sprint(err)
			}
			return row.expiresAt.Format(time.DateOnly)
		}
		year := func(n int) string { return clk.Now().AddDate(n, 0, 0).Format(time.DateOnly) }
		// expired has a domain in redemption restored, for which the registry has to be renewed so often.
		expired := func(renewals int) func(name string) (int64, func() error) {
			return func(name string) (int64, func() error) {
				id := registered(name)
				want := year(2)
				clk.Advance(366*24*time.Hour + epptest.GraceFor)
				if err := w.Step(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				registry.Bare = renewals > 0
				w.renew(id, true)
				return id, func() error {
					if n := registry.Renewed(name); n != renewals || until(id) != want {
						return fmt.Errorf("renewed %d times, until %s, want %s", n, until(id), want)
					}
					return nil
				}
			}
		}
		for _, c := range []struct {
			kind string
			// begin makes an operation, and says what is to come of it; checks are about the registry.
			begin func(name string) (id int64, check func() error)
			money string
			end   Status
		}{
			{"register", func(name string) (int64, func() error) {
				return w.order(name, `,"privacy":true`), func() error {
					if n := registry.Created(name); n != 1 || registry.Sponsor(name) != epptest.User {
						return fmt.Errorf("registered %d times, is %q's", n, registry.Sponsor(name))
					}
					return nil
				}
			}, captured, Active},
			{"refused", func(name string) (int64, func() error) {
				return w.order(name, ""), func() error {
					if registry.Created(name) != 0 {
						return errors.New("registered")
					}
					return nil
				}
			}, released, Failed},
			{"transfer", func(name string) (int64, func() error) {
				registry.AddOther(name, "secret-code", false)
				id := w.order(name, `,"operation":"transfer","auth_code":"secret-code"`)
				want := year(2)
				return id, func() error {
					if registry.Sponsor(name) != epptest.User || until(id) != want || registry.Contact(registry.Owner(name)) == "" {
						return fmt.Errorf("is %q's until %s, want %s, with the owner %q", registry.Sponsor(name), until(id), want, registry.Owner(name))
					}
					return nil
				}
			}, captured, Active},
			{"renew", func(name string) (int64, func() error) {
				id := registered(name)
				w.renew(id, false)
				return id, func() error {
					if n := registry.Renewed(name); n != 1 {
						return fmt.Errorf("renewed %d times", n)
					}
					return nil
				}
			}, captured, Active},
			{"restore", expired(0), captured, Active},
			{"bare", expired(1), captured, Active}, // of a registry that gives no year with a restore
		} {
			run := func(n int, moment epptest.Moment) (frames int) {
				name := fmt.Sprintf("%s-%d-%d.com", c.kind, n, moment)
				id, check := c.begin(name)
				before := w.number(`SELECT balance FROM test_purse`)
				registry.Cut(n, moment)
				money := w.end(name)
				frames = registry.Received()
				registry.Cut(0, 0)
				if err := check(); err != nil || money != c.money || w.status(id) != string(c.end) {
					t.Errorf("%s: %s, %s, %v", name, w.status(id), money, err)
				}
				if back := w.number(`SELECT balance FROM test_purse`) - before; c.money == captured && back != 0 || c.money == released && back == 0 {
					t.Errorf("%s: %d came back", name, back)
				}
				return frames
			}
			frames := run(0, 0)
			if frames < 3 {
				t.Fatalf("%s: %d frames", c.kind, frames)
			}
			every := 1
			if d.Shared() { // what the engine is matters little here, and it is the slower one
				every = 3
			}
			for n := 1; n <= frames; n += every {
				run(n, epptest.Unread)
				run(n, epptest.Unanswered)
			}
		}
	})
}

// A registry that restores a domain and refuses the year that it needs has done half of what was paid for: it is not given back.
func TestARestoreThatLacksItsYearIsNotRefunded(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		for _, code := range []int{2104, 2105, 2306} {
			name := fmt.Sprintf("shop%d.com", code)
			id := w.registered(name)
			until := *mustGet(t, d, id).expiresAt
			clk.Advance(until.Sub(clk.Now()) + epptest.GraceFor + 24*time.Hour)
			if err := w.Step(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			registry.Bare = true
			registry.Refuses["renew"] = code
			w.renew(id, true)
			for range 3 {
				if err := w.Work(t.Context(), w.op()); !errors.Is(err, errLater) {
					t.Fatalf("%d: %v", code, err)
				}
				clk.Advance(20 * time.Hour)
			}
			w.same("renewed", 0, registry.Renewed(name))
			registry.Refuses["renew"] = 0
			w.same("money", "held captured", w.end(name))
			w.same("status", Active, w.status(id))
			w.same("until", until.AddDate(1, 0, 0), *mustGet(t, d, id).expiresAt)
			w.same("renewed", 1, registry.Renewed(name))
		}
	})
}

// What the registry takes up and does not decide is neither paid for nor given back until it does.
func TestWhatTheRegistryHasNotDecidedWaits(t *testing.T) {
	t.Parallel()
	for _, want := range []struct {
		yes    bool
		waits  time.Duration // twenty hours: in all longer than an operation is tried that the registry does not do
		money  string
		status Status
	}{{true, 20 * time.Hour, "held captured", Active}, {false, 20 * time.Hour, "held released", Failed}, {false, time.Hour, "held released", Failed}} {
		testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
			w, registry := onEPP(t, d, clk)
			registry.Slow = true
			id := w.order("slow.com", "")
			op := w.op()
			for range 3 {
				if err := w.Work(t.Context(), op); !errors.Is(err, errLater) {
					t.Fatalf("%v", err)
				}
				clk.Advance(want.waits)
			}
			w.same("money", "held", w.text(`SELECT state FROM test_orders`))
			registry.Decide("slow.com", want.yes)
			w.same("money", want.money, w.end("slow.com"))
			w.same("status", want.status, w.status(id))
			w.same("registered", 1, registry.Created("slow.com"))
		})
	}
}

// A transfer takes days, and the domain then comes with the contacts of the registrar that it had.
func TestATransferThatTakesDaysGetsItsContact(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		registry.Slow = true
		registry.AddOther("slow.com", "secret-code", false)
		id := w.order("slow.com", `,"operation":"transfer","auth_code":"secret-code","privacy":true`)
		for range 3 {
			if err := w.Work(t.Context(), w.op()); !errors.Is(err, errLater) {
				t.Fatalf("%v", err)
			}
			clk.Advance(30 * time.Hour)
		}
		registry.Decide("slow.com", true)
		w.same("money", "held captured", w.end("slow.com"))
		w.same("status", Active, w.status(id))
		if got := registry.Contact(registry.Owner("slow.com")); got != "int|Anna||Tashkent|+998.901234567|anna@example.com" {
			t.Errorf("the owner is %q", got)
		}
		if _, body := w.call("own", "GET", fmt.Sprintf("/api/v1/domains/%d", id), ""); !strings.Contains(body, `"privacy":true`) {
			t.Error(body)
		}
	})
}

// The registry shows the last transfer of a domain. That it was rejected says nothing of the next one.
func TestARejectedTransferDoesNotEndTheNext(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		registry.Slow = true
		registry.AddOther("slow.com", "secret-code", false)
		ask := func() int64 { return w.order("slow.com", `,"operation":"transfer","auth_code":"secret-code"`) }
		wait := func() {
			t.Helper()
			if err := w.Work(t.Context(), w.op()); !errors.Is(err, errLater) {
				t.Fatal(err)
			}
		}
		first := ask()
		wait()
		registry.Decide("slow.com", false)
		w.same("the first", "held released", w.end("slow.com"))
		w.same("the first", Failed, w.status(first))
		clk.Advance(time.Hour)
		second := ask()
		registry.Refuses["transfer"] = 2400 // it fails, and may have done it
		wait()
		registry.Refuses["transfer"] = 0
		wait()
		wait()
		registry.Decide("slow.com", true)
		w.same("the second", "held captured", w.end("slow.com"))
		w.same("the second", Active, w.status(second))
	})
}

// A registry need not say when a domain expires: such a one is neither told of nor renewed.
func TestADomainOfWhichTheRegistrySaysNoEnd(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		registry.Undated = true
		id := w.registered("shop.com")
		for range 40 {
			clk.Advance(24 * time.Hour)
			if err := w.Step(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		w.same("status", Active, w.status(id))
		w.same("operations", 1, w.number(`SELECT count(*) FROM domains_operations`))
		w.same("told of its end", 0, w.told("domain.expiring")+w.told("domain.expired")+w.told("domain.renewal_failed"))
		path := fmt.Sprintf("/api/v1/domains/%d", id)
		if _, body := w.call("own", "GET", path, ""); !strings.Contains(body, `"expires_at":null`) {
			t.Error(body)
		}
		w.refused("own", "POST", path+"/renew", `{}`, "period_not_allowed")
		registry.Undated = false // it says so from now on
		if err := w.Step(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		until := *mustGet(t, d, id).expiresAt
		if !until.After(clk.Now()) {
			t.Fatalf("it expires %v", until)
		}
		registry.Undated = true // and leaves it out once
		if err := w.Step(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		w.same("expires", until, *mustGet(t, d, id).expiresAt)
		w.renew(id, false)
		if err := w.Work(t.Context(), w.op()); !errors.Is(err, errLater) {
			t.Errorf("renewing what has no date: %v", err)
		}
		registry.Undated = false
		w.same("money", "held captured", w.end("renewal"))
		w.same("renewals", 1, registry.Renewed("shop.com"))
	})
}

// Some registries show a domain to nobody but its registrar.
func TestADomainThatTheRegistryDoesNotShow(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		registry.Closed = true
		registry.AddOther("taken.com", "secret-code", false)
		taken := w.order("taken.com", "")
		w.same("money", "held released", w.end("a name that is taken"))
		w.same("status", Failed, w.status(taken))
		registry.Slow = true
		moved := w.order("taken.com", `,"operation":"transfer","auth_code":"secret-code"`)
		for range 3 {
			if err := w.Work(t.Context(), w.op()); !errors.Is(err, errLater) {
				t.Fatal(err)
			}
		}
		w.same("status", PendingTransferIn, w.status(moved))
		registry.Decide("taken.com", true)
		w.same("money", "held captured", w.end("a transfer"))
		w.same("status", Active, w.status(moved))
	})
}

// A domain of ours that such a registry no longer shows has gone when somebody has asked for it, or when it shows another
// one of the zone: without either it may be that we may see nothing there.
func TestADomainThatTheRegistryNoLongerShowsIsGone(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		registry.Closed = true
		ask := func(id int64, name string) {
			t.Helper()
			code, err := w.AuthCode(t.Context(), 1, id, "the test")
			if err == nil {
				err = registry.RequestTransferOut(name, code)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		asked := w.registered("asked.com")
		ask(asked, "asked.com")
		if err := w.Step(t.Context(), asked); err != nil {
			t.Fatal(err)
		}
		if status, body := w.call("first", "POST", fmt.Sprintf("/api/v1/domains/%d/transfer-out", asked), `{"approve":true}`); status != 200 || !strings.Contains(body, `"status":"transferred_out"`) {
			t.Errorf("%d %s", status, body)
		}
		first := w.registered("first.com")
		w.registered("first.example")
		ask(first, "first.com")
		registry.Decide("first.com", true) // before we have seen that it was asked for
		if err := w.Step(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		w.same("nobody knows", Active, w.status(first))
		w.same("asked again", 1, w.number(`SELECT count(*) FROM domains WHERE id = $1 AND step_at = $2`, first, clk.Now().Add(24*time.Hour)))
		w.registered("second.com")
		if err := w.Step(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		w.same("gone", TransferredOut, w.status(first))
		w.same("told", 2, w.told("domain.transferred_out"))
	})
}

// With a wrong name of ours, or at another registry, such as one for tests, no domain is shown as ours. None is lost by that, and
// what was paid for stays paid.
func TestAWrongSettingLosesNoDomain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		right := w.Registrars
		first, second, third := w.registered("first.com"), w.registered("second.com"), w.registered("third.example")
		w.Registrars = registrars{unanswered{known(t, registry, clk, epptest.User)}}
		w.renew(first, false)
		renewal := w.op()
		fourth := w.order("fourth.com", "")
		registration := w.op()
		work := func(what string) {
			t.Helper()
			for _, op := range []int64{renewal, registration} {
				if err := w.Work(t.Context(), op); !errors.Is(err, errLater) {
					t.Fatalf("%s, operation %d: %v", what, op, err)
				}
			}
			w.same(what+": money", 2, w.number(`SELECT count(*) FROM test_orders WHERE state = 'held'`))
		}
		work("without an answer")
		for what, wrong := range map[string]registrar.Registrar{
			"another name": known(t, registry, clk, "somebody"), "another registry": known(t, epptest.New(t, clk), clk, epptest.User),
		} {
			w.Registrars = registrars{wrong}
			for range 20 {
				clk.Advance(24 * time.Hour)
				for _, id := range []int64{first, second, third} {
					if err := w.Step(t.Context(), id); err != nil {
						t.Fatal(err)
					}
				}
			}
			work(what)
			for _, id := range []int64{first, second, third} {
				w.same(what, Active, w.status(id))
			}
		}
		w.Registrars = right
		for _, op := range []int64{renewal, registration} {
			if err := w.Work(t.Context(), op); err != nil {
				t.Fatal(err)
			}
		}
		w.same("money", 0, w.number(`SELECT count(*) FROM test_orders WHERE state <> 'held captured'`))
		w.same("registered", 1, registry.Created("fourth.com"))
		w.same("renewed", 1, registry.Renewed("first.com"))
		for _, id := range []int64{first, second, third, fourth} {
			if err := w.Step(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			w.same("at last", Active, w.status(id))
			if since := mustGet(t, d, id).registry.Missing; since != nil {
				t.Errorf("domain %d is missing since %v", id, since)
			}
		}
		w.same("told", 0, w.told("domain.transferred_out")+w.told("domain.deleted")+w.told("domain.renewal_failed"))
	})
}

// A domain that goes while a renewal of it waits gets the money back, and is not read any more.
func TestADomainThatEndsDuringARenewalIsNotReadAgain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		id := w.registered("shop.com")
		w.registered("other.com") // shows that the registry is the right one
		code, err := w.AuthCode(t.Context(), 1, id, "the test")
		if err == nil {
			err = registry.RequestTransferOut("shop.com", code)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.renew(id, false)
		registry.Decide("shop.com", true)
		if err := w.Step(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		w.same("status", TransferredOut, w.status(id))
		w.same("money", "held released", w.end("the renewal"))
		w.same("to be read or renewed", 0, w.number(`SELECT count(*) FROM domains WHERE id = $1 AND (step_at IS NOT NULL OR renew_at IS NOT NULL)`, id))
		w.exec(`UPDATE domains SET step_at = $1`, clk.Now()) // as before this was so
		ids, err := due(t.Context(), d, clk.Now(), stepBatch)
		if err != nil || len(ids) != 1 || ids[0] == id {
			t.Errorf("due: %v %v", ids, err)
		}
	})
}

// The only domain here that goes away without anybody having seen the request has gone when the registry has said so for two weeks.
func TestTheOnlyDomainMayGo(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		id := w.registered("only.com")
		code, err := w.AuthCode(t.Context(), 1, id, "the test")
		if err == nil {
			err = registry.RequestTransferOut("only.com", code)
		}
		if err != nil {
			t.Fatal(err)
		}
		registry.Decide("only.com", true)
		for day := range 15 {
			w.same(fmt.Sprintf("on day %d", day), Active, w.status(id))
			if err := w.Step(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			clk.Advance(24 * time.Hour)
		}
		w.same("in the end", TransferredOut, w.status(id))
	})
}

// What a registry renews by itself and nobody has paid for is given back to it when the grace ends, and can be restored.
func TestWhatNobodyHasPaidForIsGivenBack(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		registry.Renews = true
		free, glued, paid, byHand := w.registered("free.com"), w.registered("glued.com"), w.registered("paid.com"), w.registered("hand.com")
		w.put("PUT", glued, "/nameservers", `{"nameservers":["ns1.glued.com","ns.host.example"],"glue_hosts":[{"name":"ns1.glued.com","addresses":["203.0.113.1"]}]}`, "ns1.glued.com")
		w.exec(`UPDATE domains SET auto_renew = (id = $1)`, paid)
		w.exec(`UPDATE test_purse SET balance = 0`)
		until := *mustGet(t, d, free).expiresAt
		all := []int64{free, glued, paid, byHand}
		step := func() {
			t.Helper()
			for _, id := range all {
				if err := w.Step(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
		}
		clk.Advance(until.Sub(clk.Now()) + time.Hour)
		step()
		clk.Advance(29 * 24 * time.Hour)
		step()
		for _, id := range all {
			w.same("in grace", Grace, w.status(id))
		}
		r, _ := w.Registrars.Registrar(false)
		if _, err := r.Renew(t.Context(), registrar.Renewal{Name: "hand.com", Years: 1, ExpiresAt: until.AddDate(1, 0, 0)}); err != nil {
			t.Fatal(err)
		}
		clk.Advance(22 * time.Hour)
		w.exec(`UPDATE test_purse SET balance = 1400`) // less than a day after the last try
		if err := w.Step(t.Context(), free); err != nil {
			t.Fatal(err)
		}
		w.same("an hour before the end", Grace, w.status(free))
		clk.Advance(time.Hour)
		registry.Cut(4, epptest.Unanswered) // after a hello, the domain and its contact
		if err := w.Step(t.Context(), free); registrar.KindOf(err) != registrar.Unknown {
			t.Errorf("deleted without an answer: %v", err)
		}
		w.same("asked for", PendingDelete, w.status(free))
		w.refused("own", "POST", fmt.Sprintf("/api/v1/domains/%d/renew", free), `{}`, "domain_not_active")
		step()
		w.same("told", 1, w.told("domain.redemption"))
		w.same("free until", until, *mustGet(t, d, free).expiresAt)
		w.same("what the registry does not take back", Grace, w.status(glued))
		w.same("what somebody has renewed by hand", Grace, w.status(byHand))
		w.same("what is paid at last", "held captured", w.end("paid.com"))
		w.same("paid until", until.AddDate(1, 0, 0), *mustGet(t, d, paid).expiresAt)
		w.same("renewals", 0, registry.Renewed("paid.com"))
		w.exec(`UPDATE test_purse SET balance = 100000`)
		w.renew(free, true)
		w.same("restored", "held captured", w.end("free.com"))
		w.same("active", Active, w.status(free))
		w.same("restored until", until.AddDate(1, 0, 0), *mustGet(t, d, free).expiresAt)
		step()
		w.same("stays", Active, w.status(free))
	})
}

// A renewal gives the years that were paid, also where the registry has added more by itself.
func TestARenewalGivesTheYearsThatWerePaid(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		id := w.registered("shop.com")
		until := *mustGet(t, d, id).expiresAt
		r, _ := w.Registrars.Registrar(false)
		if _, err := r.Renew(t.Context(), registrar.Renewal{Name: "shop.com", Years: 2, ExpiresAt: until}); err != nil {
			t.Fatal(err)
		}
		for years := range 3 {
			if err := w.Step(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			w.same(fmt.Sprintf("after %d paid years", years), until.AddDate(years, 0, 0), *mustGet(t, d, id).expiresAt)
			w.same("status", Active, w.status(id))
			w.same("renewals at the registry", 1, registry.Renewed("shop.com"))
			w.renew(id, false)
			w.same("money", "held captured", w.end("shop.com"))
			w.same(fmt.Sprintf("after payment %d", years+1), until.AddDate(years+1, 0, 0), *mustGet(t, d, id).expiresAt)
		}
		w.same("the third year is asked for", 2, registry.Renewed("shop.com"))
	})
}

// What an owner changes is at the registry; the domain then goes to another registrar.
func TestWhatAnOwnerChangesOverEPP(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		id := w.registered("shop.com")
		const ds = `{"ds_records":[{"key_tag":7,"algorithm":13,"digest_type":2,"digest":"abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"}]}`
		for range 2 { // the second time nothing changes
			w.put("PATCH", id, "", `{"locked":true,"privacy":true}`, `"locked":true`, `"privacy":true`)
			w.put("PUT", id, "/nameservers", `{"nameservers":["ns1.shop.com","ns.host.example"],"glue_hosts":[{"name":"ns1.shop.com","addresses":["203.0.113.1","2001:db8::1"]}]}`,
				`"ns1.shop.com"`, `"ns.host.example"`, `"203.0.113.1"`, `"2001:db8::1"`)
			w.put("PUT", id, "/dnssec", ds, `"enabled":true`, `"key_tag":7`, "ABCDEF")
			w.put("PUT", id, "/contacts", `{"admin":`+anna+`}`, `"contacts":{`)
		}
		w.put("PUT", id, "/contacts", `{"owner":`+anna+`}`, `"privacy":true`) // nobody sees the new owner either
		w.put("PUT", id, "/nameservers", `{"nameservers":["ns1.host.example","ns2.host.example"],"glue_hosts":[]}`, `"glue_hosts":[]`, "ns2.host.example")
		w.put("PUT", id, "/dnssec", `{"ds_records":[]}`, `"enabled":false`)
		path := fmt.Sprintf("/api/v1/domains/%d", id)
		w.refused("first", "POST", path+"/auth-code", "", "domain_locked")
		w.put("PATCH", id, "", `{"locked":false,"privacy":false}`, `"locked":false`, `"privacy":false`)
		status, answer := w.call("first", "POST", path+"/auth-code", "")
		var code struct {
			Code string `json:"auth_code"`
		}
		if err := json.Unmarshal([]byte(answer), &code); err != nil || status != 200 || len(code.Code) < 8 {
			t.Fatalf("the code: %d, %v", status, err)
		}
		if err := registry.RequestTransferOut("shop.com", code.Code); err != nil {
			t.Fatal(err)
		}
		if err := w.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.Step(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		w.same("told", 1, w.told("domain.transfer_out_requested"))
		if status, body := w.call("first", "POST", path+"/transfer-out", `{"approve":true}`); status != 200 || !strings.Contains(body, `"status":"transferred_out"`) {
			t.Errorf("%d %s", status, body)
		}
		if registry.Sponsor("shop.com") == epptest.User {
			t.Error("the domain is still here")
		}
	})
}

// deletions are the contacts that jobs are to delete.
type deletions struct {
	jobs.Enqueuer
	handles []string
}

func (q *deletions) Enqueue(ctx context.Context, tx *db.Tx, args river.JobArgs, opts *river.InsertOpts) error {
	if forget, ok := args.(forgetArgs); ok {
		q.handles = append(q.handles, forget.Handle)
	}
	return q.Enqueuer.Enqueue(ctx, tx, args, opts)
}

// run deletes them.
func (q *deletions) run(w *world) {
	w.t.Helper()
	for _, handle := range q.handles {
		if err := w.ForgetContact(w.t.Context(), false, handle); err != nil {
			w.t.Fatal(err)
		}
	}
	q.handles = nil
}

// A new owner whom the ASCII form of the former owner's contact cannot hold gets another contact, and the former one is deleted.
func TestNothingOfAFormerOwnerStays(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		q := &deletions{Enqueuer: w.Queue}
		w.Queue = q
		id := w.registered("shop.com")
		former := ""
		for i, name := range []string{"Anna", "Бек", "Шахноза", "Vera", "Галина"} {
			w.put("PUT", id, "/contacts", `{"owner":`+strings.Replace(anna, "Anna", name, 1)+`}`, `"contacts":{`)
			owner := registry.Owner("shop.com")
			if got := registry.Contact(owner); !strings.Contains(got, "|"+name+"|") || strings.Contains(got, "\n") {
				t.Errorf("the owner is %q, want %s", got, name)
			}
			q.run(w)
			if got := registry.Contact(former); i > 0 && former != owner && got != "" {
				t.Errorf("after %s there is still %q", name, got)
			}
			former = owner
		}
	})
}

// A registration that fails leaves nothing of its registrant at the registry.
func TestContactOfAFailedRegistrationIsDeleted(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		id := w.order("refused-shop.com", "")
		w.same("money", "held released", w.end("a name that the registry refuses"))
		handle := mustGet(t, d, id).contact("")
		if registry.Contact(handle) == "" {
			t.Fatalf("the registry never had the contact %s", handle)
		}
		w.same("jobs", 1, w.number(`SELECT count(*) FROM river_job WHERE kind = 'domains.forget_contact'`))
		for range 2 { // a job may run twice
			if err := w.ForgetContact(t.Context(), false, handle); err != nil {
				t.Fatal(err)
			}
		}
		w.same("contact", "", registry.Contact(handle))
	})
}

// A registry that chooses the handles of contacts has one contact of a registration, and none of one that fails.
func TestARegistryThatChoosesHandlesGetsOneContact(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w, registry := onEPP(t, d, clk)
		q := &deletions{Enqueuer: w.Queue}
		w.Queue = q
		registry.Chooses = true
		wait := func(verb string, times int) {
			t.Helper()
			registry.Refuses[verb] = 2400 // it fails, and may have done it
			for range times {
				if err := w.Work(t.Context(), w.op()); !errors.Is(err, errLater) {
					t.Fatal(err)
				}
			}
			registry.Refuses[verb] = 0
		}
		w.order("failed.com", "")
		wait("create", 3)
		w.same("contacts", 1, registry.Contacts())
		clk.Advance(25 * time.Hour)
		w.same("money", "held released", w.end("failed.com"))
		q.run(w)
		w.same("contacts after the failure", 0, registry.Contacts())
		id := w.order("shop.com", "")
		wait("create", 2)
		w.same("money", "held captured", w.end("shop.com"))
		w.same("status", Active, w.status(id))
		w.same("contacts", 1, registry.Contacts())
		registry.Slow = true
		registry.AddOther("moved.com", "secret-code", false)
		w.order("moved.com", `,"operation":"transfer","auth_code":"secret-code"`)
		wait("info", 1)
		wait("update", 1) // the transfer waits
		registry.Decide("moved.com", true)
		wait("update", 2)
		w.same("money", "held captured", w.end("moved.com"))
		w.same("contacts", 2, registry.Contacts())
		w.same("the owner", registry.Contact(registry.Owner("shop.com")), registry.Contact(registry.Owner("moved.com")))
	})
}
