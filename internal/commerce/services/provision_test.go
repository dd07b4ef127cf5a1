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
	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

// attempt makes the account as the queue would, for the nth time.
func (w *world) attempt(id int64, n int) error {
	return w.prov.Provision(w.T.Context(), id, n)
}

func (w *world) cleanUpTwice(id int64) {
	w.T.Helper()
	for range 2 {
		if err := w.prov.CleanUp(w.T.Context(), id); err != nil {
			w.T.Fatal(err)
		}
	}
}

func (w *world) followTwice(id int64) {
	w.T.Helper()
	for range 2 {
		if err := w.prov.FollowSuspension(w.T.Context(), id); err != nil {
			w.T.Fatal(err)
		}
	}
}

func TestAPaidServiceBecomesActiveOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.provisioning(servicestest.Ask("shop.test"))
		w.Same("jobs", 1, w.Jobs("services.provision"))
		for n := range 3 {
			if err := w.attempt(id, n+1); err != nil {
				t.Fatal(err)
			}
		}
		r := w.record(id)
		w.Same("status", Active, r.Status)
		w.Same("expiry", time.Date(2026, 4, 2, 9, 0, 0, 0, time.UTC), *r.ExpiresAt)
		w.Same("accounts", 1, w.Panel.Accounts())
		w.Same("requests to the panel", 1, w.Panel.Creates)
		w.Same("the order", []string{"completed"}, w.Outcomes())
		w.Same("whose domain is served", []int64{id}, w.Names.Served)
		w.Same("events", []string{"service.created", "service.updated", "service.provisioned"}, w.Told(id))
		stored, err := w.Events.Of(t.Context(), "service", id)
		if err != nil {
			t.Fatal(err)
		}
		w.Same("previous", `{"expires_at":null,"provisioned_at":null,"status":"provisioning"}`, string(stored[2].Previous))
	})
}

// TestANewAccountSendsNoMailAsADomainThatIsNotProven: from its first moment.
func TestANewAccountSendsNoMailAsADomainThatIsNotProven(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		for domain, want := range map[string]bool{"shop.test": false, "unproven.test": true} {
			a := w.Panel.Made[fmt.Sprint(w.active(servicestest.Ask(domain)))]
			w.Same(domain, []panel.Domain{{Name: domain, Primary: true, NoMail: want}}, a.Domains)
		}
	})
}

func TestTheQueueProvisionsWithinASecond(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		if err := w.Queue.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := w.Queue.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
		id := w.provisioning(servicestest.Ask("shop.test"))
		began := clock.System(0).Now()
		testkit.Eventually(t, time.Minute, func() bool { return w.record(id).Status == Active }, "active service")
		t.Logf("active after %v", clock.System(0).Now().Sub(began))
	})
}

func TestACrashBetweenPanelAndCommitLeavesOneAccount(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.provisioning(servicestest.Ask("shop.test"))
		w.Broken = errors.New("the process is killed here")
		if err := w.attempt(id, 1); !errors.Is(err, w.Broken) {
			t.Fatalf("the crash was not simulated: %v", err)
		}
		w.Same("after the crash", Provisioning, w.record(id).Status)
		w.Same("accounts", 1, w.Panel.Accounts())
		w.Same("events", []string{"service.created", "service.updated"}, w.Told(id))

		w.Broken = nil
		if err := w.attempt(id, 2); err != nil {
			t.Fatal(err)
		}
		w.Same("after the repetition", Active, w.record(id).Status)
		w.Same("accounts", 1, w.Panel.Accounts())
		w.Same("the order", []string{"completed"}, w.Outcomes())
	})
}

func TestAPanelThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		for kind, key := range map[panel.Kind]string{
			panel.ErrUnreachable: "panel_unreachable", panel.ErrBusy: "panel_busy", panel.ErrInternal: "internal_error",
		} {
			n := servicestest.Ask(string(kind[:4]) + ".test")
			id := w.provisioning(n)
			w.Panel.Fails = kind
			for attempt := 1; attempt < provisioning.Attempts; attempt++ {
				if err := w.attempt(id, attempt); !errors.Is(err, kind) {
					t.Fatalf("%s, attempt %d: %v", kind, attempt, err)
				}
				w.Same("meanwhile", Provisioning, w.record(id).Status)
			}
			if err := w.attempt(id, provisioning.Attempts); err != nil {
				t.Fatal(err)
			}
			w.Same("in the end", Failed, w.record(id).Status)
			w.Same("the order", []string{"failed: " + key}, w.Outcomes())
			w.Same("events", []string{"service.created", "service.updated", "service.provision_failed"}, w.Told(id))
			w.Exec(`DELETE FROM test_book`)
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
			id := w.provisioning(servicestest.Ask("shop.test"))
			w.Panel.Fails = kind
			for n := range 2 { // the second time there is nothing left to do
				if err := w.attempt(id, n+1); err != nil {
					t.Fatal(err)
				}
			}
			w.Same("status", Failed, w.record(id).Status)
			w.Same("the order", []string{"failed: " + key}, w.Outcomes())
			w.Same("clean-up jobs", 1, w.Jobs("services.clean_up"))
			w.Exec(`DELETE FROM test_book`)
			w.Exec(`DELETE FROM river_job`)
		}
		w.Panel.Fails = nil
		w.active(servicestest.Ask("shop.test")) // the domain is free again
	})
}

// TestANameThatAPanelStillHasForSomebodyElseIsWaitedFor: its former user was displaced, and the panel has not followed.
func TestANameThatAPanelStillHasForSomebodyElseIsWaitedFor(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.provisioning(servicestest.Ask("shop.test"))
		w.Panel.Fails, w.Names.Held = panel.ErrExists, true
		if err := w.attempt(id, 1); !errors.Is(err, panel.ErrExists) {
			t.Errorf("while it leaves: %v", err)
		}
		w.Same("meanwhile", Provisioning, w.record(id).Status)
		w.Panel.Fails, w.Names.Held = nil, false
		if err := w.attempt(id, 2); err != nil {
			t.Fatal(err)
		}
		w.Same("in the end", Active, w.record(id).Status)
	})
}

func TestCleaningUpRemovesWhatWasHalfMade(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.provisioning(servicestest.Ask("shop.test"))
		w.Broken = errors.New("killed")
		_ = w.attempt(id, 1) // the account exists, the service is not active
		w.Broken = nil
		w.Panel.Fails = panel.ErrLimit
		if err := w.attempt(id, 2); err != nil {
			t.Fatal(err)
		}
		w.Same("accounts before", 1, w.Panel.Accounts())
		w.cleanUpTwice(id)
		w.Same("accounts after", 0, w.Panel.Accounts())

		w.Panel.Fails = nil
		live := w.active(servicestest.Ask("shop.test"))
		w.cleanUpTwice(live) // must not touch what is in use
		w.Same("accounts", 1, w.Panel.Accounts())
	})
}

// TestAServiceThatComesBackKeepsItsNewAccount: what is left of an account is being removed when the service comes back. The
// new one has the same name, and is made when the other is gone.
func TestAServiceThatComesBackKeepsItsNewAccount(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Keeper = &keeper{kept: true}
		id := w.active(servicestest.Ask("shop.test"))
		if err := w.ends(id, false); err != nil {
			t.Fatal(err)
		}
		if _, err := w.prov.End(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		w.Panel.Deleting = func() { // while the panel is at it
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
		w.Same("status", Active, w.record(id).Status)
		w.Same("accounts", 1, w.Panel.Accounts())

		// A process that was killed meanwhile holds nothing up for long.
		w.Exec(`UPDATE services SET status = 'provisioning', cleaning_until = $1 WHERE id = $2`, w.Clk.Now().Add(cleaningTime), id)
		if err := w.prov.Provision(t.Context(), id, 1); !errors.Is(err, provisioning.ErrCleaning) {
			t.Errorf("%v", err)
		}
		w.Clk.Advance(cleaningTime)
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
		id := w.provisioning(servicestest.Ask("shop.test"))
		w.Panel.After = func() {
			if err := w.Refused(t.Context(), id, "panel_unreachable"); err != nil {
				t.Error(err)
			}
		}
		if err := w.attempt(id, 1); err != nil {
			t.Fatal(err)
		}
		w.Same("status", Failed, w.record(id).Status)
		w.Same("the order", []string{"failed: panel_unreachable"}, w.Outcomes())
		w.Same("clean-up jobs", 2, w.Jobs("services.clean_up"))
		w.cleanUpTwice(id)
		w.Same("accounts", 0, w.Panel.Accounts())
	})
}

func TestJobsAtOnceMakeOneAccountAndCompleteOneOrder(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.provisioning(servicestest.Ask("shop.test"))
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := w.attempt(id, 1); err != nil && !errors.Is(err, errMoved) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		w.Same("status", Active, w.record(id).Status)
		w.Same("accounts", 1, w.Panel.Accounts())
		w.Same("the order", []string{"completed"}, w.Outcomes())
		w.Same("events", []string{"service.created", "service.updated", "service.provisioned"}, w.Told(id))
	})
}

func TestAServiceWithoutAJobIsFoundAndDriven(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		kept := w.provisioning(servicestest.Ask("kept.test"))
		var lost []int64
		for n := range 3 {
			lost = append(lost, w.provisioning(servicestest.Ask(fmt.Sprintf("lost%d.test", n))))
		}
		w.Exec(`DELETE FROM river_job`)
		w.In(func(ctx context.Context, tx *db.Tx) error { return w.prov.EnqueueProvision(ctx, tx, kept) })
		w.Same("jobs left", 1, w.Jobs("services.provision"))
		run := func() {
			t.Helper()
			if err := w.prov.Reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		run()
		w.Same("jobs, too early", 1, w.Jobs("services.provision"))
		clk.Advance(2*time.Minute + time.Second)
		run()
		run()
		w.Same("jobs", 1+len(lost), w.Jobs("services.provision"))
		for _, id := range lost {
			if err := w.attempt(id, 1); err != nil {
				t.Fatal(err)
			}
			w.Same("status", Active, w.record(id).Status)
		}
	})
}

func TestADomainIsServedOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		first, second := w.reserve(servicestest.Ask("shop.test")), w.reserve(servicestest.Ask("shop.test"))
		w.In(func(ctx context.Context, tx *db.Tx) error { return w.Provision(ctx, tx, second) })
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Provision(ctx, tx, first) })
		if !errors.Is(err, fault.DomainUnavailable) {
			t.Errorf("the second to pay: %v", err)
		}
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := w.Reserve(ctx, tx, servicestest.Ask("shop.test"))
			return err
		})
		if !errors.Is(err, fault.DomainUnavailable) {
			t.Errorf("a new order: %v", err)
		}
		w.Same("jobs", 1, w.Jobs("services.provision"))
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
			ids = append(ids, w.reserve(servicestest.Ask("shop.test")))
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
		w.Same("got it", int64(1), got.Load())
		w.Same("missed it", int64(19), missed.Load())
	})
}

func TestNamesBelowAnothersDomainAreTaken(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		early := servicestest.Ask("early.shop.test")
		early.AccountID = 2
		earlyID := w.reserve(early)
		w.active(servicestest.Ask("shop.test"))
		w.active(servicestest.Ask("blog.shop.test")) // one's own
		for _, name := range []string{"shop.test", "www.shop.test", "a.b.shop.test"} {
			n := servicestest.Ask(name)
			n.AccountID = 2
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := w.Reserve(ctx, tx, n)
				return err
			})
			if !errors.Is(err, fault.DomainUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.Names.Taken = map[string]bool{"early.shop.test": true}
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Provision(ctx, tx, earlyID) })
		if !errors.Is(err, fault.DomainUnavailable) {
			t.Errorf("ordered before, paid after: %v", err)
		}
		other := servicestest.Ask("myshop.test")
		other.AccountID = 2
		w.active(other)
	})
}

func TestAMissingOrUnablePanelDoesNotLoseTheService(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.prov.Placer = provisioning.OnePanel("gone")
		id := w.provisioning(servicestest.Ask("gone.test"))
		if err := w.attempt(id, 1); !errors.Is(err, panel.ErrUnreachable) {
			t.Errorf("panel that is not configured: %v", err)
		}
		w.prov.Placer = provisioning.OnePanel("bare")
		bareID := w.provisioning(servicestest.Ask("bare.test"))
		if err := w.attempt(bareID, 1); err != nil {
			t.Fatal(err)
		}
		w.Same("status", Failed, w.record(bareID).Status)
		w.Same("the order", []string{"failed: unsupported_operation"}, w.Outcomes())
		w.cleanUpTwice(bareID)
	})
}

func TestAPanelThatHangsIsUnreachable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.provisioning(servicestest.Ask("shop.test"))
		w.Panel.Fails = context.DeadlineExceeded
		if err := w.attempt(id, 1); !errors.Is(err, panel.ErrUnreachable) {
			t.Errorf("the first time: %v", err)
		}
		if err := w.attempt(id, provisioning.Attempts); err != nil {
			t.Fatal(err)
		}
		w.Same("the order", []string{"failed: panel_unreachable"}, w.Outcomes())
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
	w.prov.Panels = servicestest.Panels{"node": p}
	r := w.record(w.active(servicestest.Ask("shop.test")))
	w.Same("origin", "http://sandbox.invalid", r.place.originURL)
	w.Same("user", "s1", r.place.username)
	refused := w.provisioning(servicestest.Ask("limit.test"))
	if err := w.attempt(refused, 1); err != nil {
		t.Fatal(err)
	}
	w.Same("refused", "limit_reached", *w.record(refused).failureKey)
	w.cleanUpTwice(refused)
	w.In(func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, r.ID, Manual) })
	w.followTwice(r.ID)
	account, err := p.Account(t.Context(), r.panelRef)
	if err != nil {
		t.Fatal(err)
	}
	w.Same("on the panel", panel.AccountSuspended, account.Status)
}

func TestSuspendingIsFollowedByThePanel(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.active(servicestest.Ask("shop.test"))
		w.In(func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, id, Abuse) })
		w.followTwice(id)
		r := w.record(id)
		w.Same("status", Suspended, r.Status)
		w.Same("reason", Abuse, *r.suspendReason)
		w.Same("since", clk.Now(), *r.suspendedAt)
		account, err := w.Panel.Account(t.Context(), r.panelRef)
		if err != nil {
			t.Fatal(err)
		}
		w.Same("on the panel", panel.AccountSuspended, account.Status)
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, id, Manual) })
		if !errors.Is(err, ErrAlreadySuspended) {
			t.Errorf("suspended twice: %v", err)
		}

		w.In(func(ctx context.Context, tx *db.Tx) error { return w.Unsuspend(ctx, tx, id) })
		w.followTwice(id)
		r = w.record(id)
		w.Same("status", Active, r.Status)
		if r.suspendReason != nil || r.suspendedAt != nil {
			t.Error("an active service has a reason of suspension")
		}
		if account, err = w.Panel.Account(t.Context(), r.panelRef); err != nil {
			t.Fatal(err)
		}
		w.Same("on the panel", panel.AccountActive, account.Status)
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Unsuspend(ctx, tx, id) })
		if !errors.Is(err, ErrNotSuspended) {
			t.Errorf("unsuspended twice: %v", err)
		}
		w.Same("events", []string{"service.created", "service.updated", "service.provisioned", "service.suspended", "service.unsuspended"}, w.Told(id))

		pending := w.reserve(servicestest.Ask("later.test"))
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
		dropped, live := w.reserve(servicestest.Ask("dropped.test")), w.active(servicestest.Ask("live.test"))
		for _, id := range []int64{dropped, dropped, live} {
			w.In(func(ctx context.Context, tx *db.Tx) error { return w.CancelPending(ctx, tx, id) })
		}
		w.Same("unpaid", Cancelled, w.record(dropped).Status)
		w.Same("live", Active, w.record(live).Status)
	})
}

// TestAServiceIsWhereItsMachineSays: the machine's operator changes its address and the domain of previews.
func TestAServiceIsWhereItsMachineSays(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.active(servicestest.Ask("shop.test"))
		before := w.record(id)
		told := len(w.Told(id))
		follow := func() {
			t.Helper()
			if err := w.prov.Apply(t.Context(), before.AccountID, id); err != nil {
				t.Fatal(err)
			}
		}
		follow()
		w.Same("told where nothing has changed", told, len(w.Told(id)))
		for ref := range w.Panel.Made {
			if err := w.Panel.Set(ref, func(a *panel.Account) {
				a.IPv4, a.OriginURL, a.Nameservers = "192.0.2.9", "http://s1.preview.test", []string{"ns1.new.test"}
			}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			follow()
		}
		now := w.record(id)
		w.Same("address", "192.0.2.9", now.place.ipv4)
		w.Same("preview", "http://s1.preview.test", now.place.originURL)
		w.Same("name servers", []string{"ns1.new.test"}, now.place.nameservers)
		w.Same("status", before.Status, now.Status)
		w.Same("told once", append(w.Told(id)[:told:told], "service.updated"), w.Told(id))
	})
}
