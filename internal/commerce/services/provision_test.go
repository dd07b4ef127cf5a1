package services

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

// attempt makes the account as the queue would, for the nth time.
func (w *world) attempt(id int64, n int) error {
	return w.prov.Provision(w.t.Context(), id, n)
}

func (w *world) cleanUpTwice(id int64) {
	w.t.Helper()
	for range 2 {
		if err := w.prov.CleanUp(w.t.Context(), id); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) followTwice(id int64) {
	w.t.Helper()
	for range 2 {
		if err := w.prov.FollowSuspension(w.t.Context(), id); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestAPaidServiceBecomesActiveOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.provisioning(ask("shop.test"))
		w.same("jobs", 1, w.jobs("services.provision"))
		for n := range 3 {
			if err := w.attempt(id, n+1); err != nil {
				t.Fatal(err)
			}
		}
		r := w.record(id)
		w.same("status", Active, r.status)
		w.same("expiry", time.Date(2026, 4, 2, 9, 0, 0, 0, time.UTC), *r.expiresAt)
		w.same("accounts", 1, w.panel.accounts())
		w.same("requests to the panel", 1, w.panel.creates)
		w.same("the order", []string{"completed"}, w.outcomes())
		w.same("whose domain is served", []int64{id}, w.names.served)
		w.same("events", []string{"service.created", "service.updated", "service.provisioned"}, w.told(id))
		stored, err := w.events.Of(t.Context(), "service", id)
		if err != nil {
			t.Fatal(err)
		}
		w.same("previous", `{"status":"provisioning"}`, string(stored[2].Previous))
	})
}

// TestANewAccountSendsNoMailAsADomainThatIsNotProven: from its first moment.
func TestANewAccountSendsNoMailAsADomainThatIsNotProven(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		for domain, want := range map[string]bool{"shop.test": false, "unproven.test": true} {
			a := w.panel.made[fmt.Sprint(w.active(ask(domain)))]
			w.same(domain, []panel.Domain{{Name: domain, Primary: true, NoMail: want}}, a.Domains)
		}
	})
}

func TestTheQueueProvisionsWithinASecond(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		if err := w.queue.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := w.queue.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
		id := w.provisioning(ask("shop.test"))
		began := clock.System(0).Now()
		testkit.Eventually(t, time.Minute, func() bool { return w.record(id).status == Active }, "active service")
		t.Logf("active after %v", clock.System(0).Now().Sub(began))
	})
}

func TestACrashBetweenPanelAndCommitLeavesOneAccount(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.provisioning(ask("shop.test"))
		w.book.broken = errors.New("the process is killed here")
		if err := w.attempt(id, 1); !errors.Is(err, w.book.broken) {
			t.Fatalf("the crash was not simulated: %v", err)
		}
		w.same("after the crash", Provisioning, w.record(id).status)
		w.same("accounts", 1, w.panel.accounts())
		w.same("events", []string{"service.created", "service.updated"}, w.told(id))

		w.book.broken = nil
		if err := w.attempt(id, 2); err != nil {
			t.Fatal(err)
		}
		w.same("after the repetition", Active, w.record(id).status)
		w.same("accounts", 1, w.panel.accounts())
		w.same("the order", []string{"completed"}, w.outcomes())
	})
}

func TestAPanelThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		for kind, key := range map[panel.Kind]string{
			panel.ErrUnreachable: "panel_unreachable", panel.ErrBusy: "panel_busy", panel.ErrInternal: "internal_error",
		} {
			n := ask(string(kind[:4]) + ".test")
			id := w.provisioning(n)
			w.panel.fails = kind
			for attempt := 1; attempt < provisioning.Attempts; attempt++ {
				if err := w.attempt(id, attempt); !errors.Is(err, kind) {
					t.Fatalf("%s, attempt %d: %v", kind, attempt, err)
				}
				w.same("meanwhile", Provisioning, w.record(id).status)
			}
			if err := w.attempt(id, provisioning.Attempts); err != nil {
				t.Fatal(err)
			}
			w.same("in the end", Failed, w.record(id).status)
			w.same("the order", []string{"failed: " + key}, w.outcomes())
			w.same("events", []string{"service.created", "service.updated", "service.provision_failed"}, w.told(id))
			w.exec(`DELETE FROM test_book`)
		}
	})
}

func TestARefusalOfThePanelFailsAtOnceAndCleansUp(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		for kind, key := range map[panel.Kind]string{
			panel.ErrInvalid: "domain_invalid", panel.ErrLimit: "limit_reached", panel.ErrExists: "domain_unavailable",
			panel.ErrDiskFull: "disk_full", panel.ErrUnsupported: "unsupported_operation",
		} {
			id := w.provisioning(ask("shop.test"))
			w.panel.fails = kind
			for n := range 2 { // the second time there is nothing left to do
				if err := w.attempt(id, n+1); err != nil {
					t.Fatal(err)
				}
			}
			w.same("status", Failed, w.record(id).status)
			w.same("the order", []string{"failed: " + key}, w.outcomes())
			w.same("clean-up jobs", 1, w.jobs("services.clean_up"))
			w.exec(`DELETE FROM test_book`)
			w.exec(`DELETE FROM river_job`)
		}
		w.panel.fails = nil
		w.active(ask("shop.test")) // the domain is free again
	})
}

// TestANameThatAPanelStillHasForSomebodyElseIsWaitedFor: its former user was displaced, and the panel has not followed.
func TestANameThatAPanelStillHasForSomebodyElseIsWaitedFor(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.provisioning(ask("shop.test"))
		w.panel.fails, w.names.leaving = panel.ErrExists, true
		if err := w.attempt(id, 1); !errors.Is(err, panel.ErrExists) {
			t.Errorf("while it leaves: %v", err)
		}
		w.same("meanwhile", Provisioning, w.record(id).status)
		w.panel.fails, w.names.leaving = nil, false
		if err := w.attempt(id, 2); err != nil {
			t.Fatal(err)
		}
		w.same("in the end", Active, w.record(id).status)
	})
}

func TestCleaningUpRemovesWhatWasHalfMade(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.provisioning(ask("shop.test"))
		w.book.broken = errors.New("killed")
		_ = w.attempt(id, 1) // the account exists, the service is not active
		w.book.broken = nil
		w.panel.fails = panel.ErrLimit
		if err := w.attempt(id, 2); err != nil {
			t.Fatal(err)
		}
		w.same("accounts before", 1, w.panel.accounts())
		w.cleanUpTwice(id)
		w.same("accounts after", 0, w.panel.accounts())

		w.panel.fails = nil
		live := w.active(ask("shop.test"))
		w.cleanUpTwice(live) // must not touch what is in use
		w.same("accounts", 1, w.panel.accounts())
	})
}

// TestAServiceThatComesBackKeepsItsNewAccount: what is left of an account is being removed when the service comes back. The
// new one has the same name, and is made when the other is gone.
func TestAServiceThatComesBackKeepsItsNewAccount(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Keeper = &keeper{kept: true}
		id := w.active(ask("shop.test"))
		if err := w.ends(id, false); err != nil {
			t.Fatal(err)
		}
		if _, err := w.prov.End(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		w.panel.deleting = func() { // while the panel is at it
			if err := w.comesBack(id); err != nil {
				t.Error(err)
			}
			if err := w.prov.Provision(t.Context(), id, provisioning.Attempts); !errors.Is(err, provisioning.ErrCleaning) {
				t.Errorf("the account is made while the other is removed: %v", err)
			}
			if err := w.prov.CleanUp(t.Context(), id); err != nil { // of a service that comes back
				t.Error(err)
			}
		}
		if err := w.prov.CleanUp(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if err := w.prov.Provision(t.Context(), id, 1); err != nil {
			t.Fatal(err)
		}
		w.same("status", Active, w.record(id).status)
		w.same("accounts", 1, w.panel.accounts())

		// A process that was killed meanwhile holds nothing up for long.
		w.exec(`UPDATE services SET status = 'provisioning', cleaning_until = $1 WHERE id = $2`, w.clk.Now().Add(cleaningTime), id)
		if err := w.prov.Provision(t.Context(), id, 1); !errors.Is(err, provisioning.ErrCleaning) {
			t.Errorf("%v", err)
		}
		w.clk.Advance(cleaningTime)
		if err := w.prov.Provision(t.Context(), id, 1); err != nil {
			t.Error(err)
		}
	})
}

// A run that had given up is overtaken by one whose panel answered late: the account
// must go, the refund stays.
func TestAnAccountThatComesTooLateIsRemoved(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.provisioning(ask("shop.test"))
		w.panel.after = func() {
			if err := w.Refused(t.Context(), id, "panel_unreachable"); err != nil {
				t.Error(err)
			}
		}
		if err := w.attempt(id, 1); err != nil {
			t.Fatal(err)
		}
		w.same("status", Failed, w.record(id).status)
		w.same("the order", []string{"failed: panel_unreachable"}, w.outcomes())
		w.same("clean-up jobs", 2, w.jobs("services.clean_up"))
		w.cleanUpTwice(id)
		w.same("accounts", 0, w.panel.accounts())
	})
}

func TestJobsAtOnceMakeOneAccountAndCompleteOneOrder(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.provisioning(ask("shop.test"))
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := w.attempt(id, 1); err != nil && !errors.Is(err, errMoved) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		w.same("status", Active, w.record(id).status)
		w.same("accounts", 1, w.panel.accounts())
		w.same("the order", []string{"completed"}, w.outcomes())
		w.same("events", []string{"service.created", "service.updated", "service.provisioned"}, w.told(id))
	})
}

func TestAServiceWithoutAJobIsFoundAndDriven(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		kept := w.provisioning(ask("kept.test"))
		var lost []int64
		for n := range 3 {
			lost = append(lost, w.provisioning(ask(fmt.Sprintf("lost%d.test", n))))
		}
		w.exec(`DELETE FROM river_job`)
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.prov.EnqueueProvision(ctx, tx, kept) })
		w.same("jobs left", 1, w.jobs("services.provision"))
		run := func() {
			t.Helper()
			if err := w.prov.Reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		run()
		w.same("jobs, too early", 1, w.jobs("services.provision"))
		clk.Advance(2*time.Minute + time.Second)
		run()
		run()
		w.same("jobs", 1+len(lost), w.jobs("services.provision"))
		for _, id := range lost {
			if err := w.attempt(id, 1); err != nil {
				t.Fatal(err)
			}
			w.same("status", Active, w.record(id).status)
		}
	})
}

func TestADomainIsServedOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		first, second := w.reserve(ask("shop.test")), w.reserve(ask("shop.test"))
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Provision(ctx, tx, second) })
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Provision(ctx, tx, first) })
		if !errors.Is(err, fault.DomainUnavailable) {
			t.Errorf("the second to pay: %v", err)
		}
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := w.Reserve(ctx, tx, ask("shop.test"))
			return err
		})
		if !errors.Is(err, fault.DomainUnavailable) {
			t.Errorf("a new order: %v", err)
		}
		w.same("jobs", 1, w.jobs("services.provision"))
	})
}

// Twenty orders for one name are paid at once: the index lets one through.
func TestOneOfManyAtOnceGetsTheDomain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		var (
			all         sync.WaitGroup
			got, missed atomic.Int64
			ids         []int64
		)
		for range 20 {
			ids = append(ids, w.reserve(ask("shop.test")))
		}
		for _, id := range ids {
			all.Go(func() {
				err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Provision(ctx, tx, id) })
				switch {
				case err == nil:
					got.Add(1)
				case errors.Is(err, fault.DomainUnavailable):
					missed.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		w.same("got it", int64(1), got.Load())
		w.same("missed it", int64(19), missed.Load())
	})
}

func TestNamesBelowAnothersDomainAreTaken(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		early := ask("early.shop.test")
		early.AccountID = 2
		earlyID := w.reserve(early)
		w.active(ask("shop.test"))
		w.active(ask("blog.shop.test")) // one's own
		for _, name := range []string{"shop.test", "www.shop.test", "a.b.shop.test"} {
			n := ask(name)
			n.AccountID = 2
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := w.Reserve(ctx, tx, n)
				return err
			})
			if !errors.Is(err, fault.DomainUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.names.taken = map[string]bool{"early.shop.test": true}
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Provision(ctx, tx, earlyID) })
		if !errors.Is(err, fault.DomainUnavailable) {
			t.Errorf("ordered before, paid after: %v", err)
		}
		other := ask("myshop.test")
		other.AccountID = 2
		w.active(other)
	})
}

func TestAMissingOrUnablePanelDoesNotLoseTheService(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.prov.Placer = provisioning.OnePanel("gone")
		id := w.provisioning(ask("gone.test"))
		if err := w.attempt(id, 1); !errors.Is(err, panel.ErrUnreachable) {
			t.Errorf("panel that is not configured: %v", err)
		}
		w.prov.Placer = provisioning.OnePanel("bare")
		bareID := w.provisioning(ask("bare.test"))
		if err := w.attempt(bareID, 1); err != nil {
			t.Fatal(err)
		}
		w.same("status", Failed, w.record(bareID).status)
		w.same("the order", []string{"failed: unsupported_operation"}, w.outcomes())
		w.cleanUpTwice(bareID)
	})
}

func TestAPanelThatHangsIsUnreachable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.provisioning(ask("shop.test"))
		w.panel.fails = context.DeadlineExceeded
		if err := w.attempt(id, 1); !errors.Is(err, panel.ErrUnreachable) {
			t.Errorf("the first time: %v", err)
		}
		if err := w.attempt(id, provisioning.Attempts); err != nil {
			t.Fatal(err)
		}
		w.same("the order", []string{"failed: panel_unreachable"}, w.outcomes())
	})
}

// The sandbox is a node that serves nobody and fails on request.
func TestServicesOnTheSandboxPanel(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk)
	p, err := sandbox.Open(t.Context(), t.TempDir(), clk.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	w.prov.Panels = panels{"node": p}
	r := w.record(w.active(ask("shop.test")))
	w.same("origin", "http://sandbox.invalid", r.place.originURL)
	w.same("user", "s1", r.place.username)
	refused := w.provisioning(ask("limit.test"))
	if err := w.attempt(refused, 1); err != nil {
		t.Fatal(err)
	}
	w.same("refused", "limit_reached", *w.record(refused).failureKey)
	w.cleanUpTwice(refused)
	w.in(func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, r.id, Manual) })
	w.followTwice(r.id)
	account, err := p.Account(t.Context(), r.panelRef)
	if err != nil {
		t.Fatal(err)
	}
	w.same("on the panel", panel.AccountSuspended, account.Status)
}

func TestSuspendingIsFollowedByThePanel(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.active(ask("shop.test"))
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, id, Abuse) })
		w.followTwice(id)
		r := w.record(id)
		w.same("status", Suspended, r.status)
		w.same("reason", Abuse, *r.suspendReason)
		w.same("since", clk.Now(), *r.suspendedAt)
		account, err := w.panel.Account(t.Context(), r.panelRef)
		if err != nil {
			t.Fatal(err)
		}
		w.same("on the panel", panel.AccountSuspended, account.Status)
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, id, Manual) })
		if !errors.Is(err, ErrAlreadySuspended) {
			t.Errorf("suspended twice: %v", err)
		}

		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Unsuspend(ctx, tx, id) })
		w.followTwice(id)
		r = w.record(id)
		w.same("status", Active, r.status)
		if r.suspendReason != nil || r.suspendedAt != nil {
			t.Error("an active service has a reason of suspension")
		}
		if account, err = w.panel.Account(t.Context(), r.panelRef); err != nil {
			t.Fatal(err)
		}
		w.same("on the panel", panel.AccountActive, account.Status)
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Unsuspend(ctx, tx, id) })
		if !errors.Is(err, ErrNotSuspended) {
			t.Errorf("unsuspended twice: %v", err)
		}
		w.same("events", []string{"service.created", "service.updated", "service.provisioned", "service.suspended", "service.unsuspended"}, w.told(id))

		pending := w.reserve(ask("later.test"))
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, pending, Manual) })
		if !errors.Is(err, fault.ServiceNotActive) {
			t.Errorf("a pending service suspended: %v", err)
		}
	})
}

func TestAnUnpaidServiceEndsCancelled(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		dropped, live := w.reserve(ask("dropped.test")), w.active(ask("live.test"))
		for _, id := range []int64{dropped, dropped, live} {
			w.in(func(ctx context.Context, tx *db.Tx) error { return w.CancelPending(ctx, tx, id) })
		}
		w.same("unpaid", Cancelled, w.record(dropped).status)
		w.same("live", Active, w.record(live).status)
	})
}

// TestAServiceIsWhereItsMachineSays: the machine's operator changes its address and the domain of previews.
func TestAServiceIsWhereItsMachineSays(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.active(ask("shop.test"))
		before := w.record(id)
		told := len(w.told(id))
		follow := func() {
			t.Helper()
			if err := w.prov.Apply(t.Context(), before.accountID, id); err != nil {
				t.Fatal(err)
			}
		}
		follow()
		w.same("told where nothing has changed", told, len(w.told(id)))
		for ref := range w.panel.made {
			if err := w.panel.set(ref, func(a *panel.Account) {
				a.IPv4, a.OriginURL, a.Nameservers = "192.0.2.9", "http://s1.preview.test", []string{"ns1.new.test"}
			}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			follow()
		}
		now := w.record(id)
		w.same("address", "192.0.2.9", now.place.ipv4)
		w.same("preview", "http://s1.preview.test", now.place.originURL)
		w.same("name servers", []string{"ns1.new.test"}, now.place.nameservers)
		w.same("status", before.status, now.status)
		w.same("told once", append(w.told(id)[:told:told], "service.updated"), w.told(id))
	})
}
