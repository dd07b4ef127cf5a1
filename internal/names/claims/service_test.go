package claims

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

const anna, bob, play = 1, 2, 9

// notice is how long a holder has to prove control.
const notice = 24 * time.Hour

// world is the section between services and a DNS that the test writes.
type world struct {
	t   *testing.T
	clk *clock.Fake
	*Service
	names  *names
	lookup *lookup
}

// names are the services of the test: what each account uses, and what was done with it.
type names struct {
	mu       sync.Mutex
	used     map[int64][]string
	pointed  bool
	happened []string
	asked    map[string]func() // called once when it is known whether a domain is used, before the answer
}

func (n *names) note(format string, args ...any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.happened = append(n.happened, fmt.Sprintf(format, args...))
	return nil
}

func (n *names) Used(_ context.Context, _ db.Querier, accountID int64, domain string) (bool, error) {
	n.mu.Lock()
	used, asked := slices.Contains(n.used[accountID], domain), n.asked[domain]
	delete(n.asked, domain)
	n.mu.Unlock()
	if asked != nil {
		asked()
	}
	return used, nil
}

func (n *names) LeadHere(context.Context, db.Querier, int64, string) (bool, error) {
	return n.pointed, nil
}

func (n *names) OfService(_ context.Context, _ db.Querier, accountID, _ int64) ([]string, error) {
	return n.used[accountID], nil
}

func (n *names) Displace(_ context.Context, _ *db.Tx, accountID int64, domain string) error {
	return n.note("%d loses %s", accountID, domain)
}

func (n *names) Reinstate(_ context.Context, _ *db.Tx, accountID int64, domain string) error {
	return n.note("%d gets %s", accountID, domain)
}

func (n *names) Changed(context.Context, *db.Tx, int64, string) error { return nil }

func (n *names) Contested(_ context.Context, _ *db.Tx, accountID int64, domain string, _ time.Time) error {
	return n.note("%d is warned of %s", accountID, domain)
}

// lookup is the DNS.
type lookup struct {
	texts   map[string][]string
	servers map[string][]string
	down    bool
	silent  bool // the registry alone does not answer
}

func (l *lookup) Texts(_ context.Context, name string) ([]string, error) {
	if l.down {
		return nil, errors.New("no answer")
	}
	return l.texts[name], nil
}

func (l *lookup) Delegation(_ context.Context, domain string) ([]string, error) {
	if l.down || l.silent {
		return nil, errors.New("no answer")
	}
	return l.servers[domain], nil
}

type services struct{}

func (services) KeptFor(context.Context, db.Querier, int64) (time.Duration, error) {
	return 30 * 24 * time.Hour, nil
}

func (services) Sandbox(_ context.Context, _ db.Querier, accountID int64) (bool, error) {
	return accountID == play, nil
}

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake) *world {
	t.Helper()
	w := &world{t: t, clk: clk, names: &names{used: map[int64][]string{}}, lookup: &lookup{texts: map[string][]string{}, servers: map[string][]string{}}}
	w.Service = New(Config{
		DB: d, Clock: clk, Log: slog.New(slog.DiscardHandler), Lookup: w.lookup, Installation: "https://stead.test",
		Nameservers: []string{"ns1.stead.test", "ns2.stead.test"}, Protected: []string{"mybank.com"}, Notice: notice,
	})
	w.Connect(Needs{Names: w.names, Services: services{}, Worlds: services{}})
	return w
}

// take is an order of an account that is paid.
func (w *world) take(accountID int64, name string) error {
	return w.DB.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Take(ctx, tx, accountID, name) })
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// use is take, and a service answers to the name.
func (w *world) use(accountID int64, domain string) {
	w.t.Helper()
	w.must(w.take(accountID, domain))
	w.names.used[accountID] = append(w.names.used[accountID], domain)
}

// asks has an account ask to prove control.
func (w *world) asks(accountID int64, domain string) {
	w.t.Helper()
	w.must(w.DB.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return putClaim(ctx, tx, accountID, domain, tokenOf(w.Installation, accountID, domain))
	}))
}

// proves puts the record of an account into the DNS, beside what is there.
func (w *world) proves(accountID int64, domain string) {
	r := recordOf(domain, tokenOf(w.Installation, accountID, domain))
	w.lookup.texts[r.Name] = append(w.lookup.texts[r.Name], " "+r.Value+" ")
}

// later lets time pass, and what is due be looked at.
func (w *world) later(by time.Duration) {
	w.t.Helper()
	w.clk.Advance(by)
	w.must(w.LookAll(w.t.Context()))
}

func (w *world) holder(domain string) int64 {
	w.t.Helper()
	h, _, err := situation(w.t.Context(), w.DB, 0, domain)
	w.must(err)
	if h == nil {
		return 0
	}
	return h.accountID
}

func (w *world) claim(accountID int64, domain string) claim {
	w.t.Helper()
	c, err := getDomain(w.t.Context(), w.DB, accountID, domain)
	w.must(err)
	return c
}

func (w *world) happened(want ...string) {
	w.t.Helper()
	if !slices.Equal(w.names.happened, want) {
		w.t.Errorf("happened: %q, want %q", w.names.happened, want)
	}
	w.names.happened = nil
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		t.Helper()
		f(t, newWorld(t, d, clk))
	})
}

func TestOfTwoOrdersAtOnceOneGetsTheDomain(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		for n := range 5 {
			name := fmt.Sprintf("race-%d.com", n)
			var group sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				group.Go(func() { errs[i] = w.take(int64(i+1), fmt.Sprintf("s%d.%s", i, name)) })
			}
			group.Wait()
			got := 0
			for _, err := range errs {
				if err == nil {
					got++
				} else if !errors.Is(err, fault.DomainVerificationRequired) {
					t.Error(err)
				}
			}
			if got != 1 {
				t.Errorf("%s: %d accounts have it", name, got)
			}
		}
	})
}

func TestAProofWinsOverAnUnprovenHolder(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		w.use(bob, "shop.com")
		if err := w.take(anna, "www.shop.com"); !errors.Is(err, fault.DomainVerificationRequired) {
			t.Fatal(err)
		}
		w.asks(anna, "shop.com")
		w.later(time.Minute)
		if w.holder("shop.com") != bob {
			t.Fatal("without a proof")
		}
		w.proves(anna, "shop.com")
		w.later(10 * time.Minute)
		w.happened("2 is warned of shop.com")
		w.later(notice)
		w.happened("2 loses shop.com", "1 gets shop.com")
		if c := w.claim(anna, "shop.com"); w.holder("shop.com") != anna || !c.cleared() || c.state() != Verified {
			t.Errorf("%+v", c)
		}
		w.must(w.take(anna, "www.shop.com"))
		if err := w.take(bob, "blog.shop.com"); !errors.Is(err, fault.DomainVerificationRequired) {
			t.Error(err)
		}
	})
}

// TestAHolderIsWarnedFirst: one without a proof has a time to prove control, and a short one where no visitors come here.
func TestAHolderIsWarnedFirst(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		for domain, pointed := range map[string]bool{"shop.com": true, "idle.com": false} {
			w.names.pointed = pointed
			w.use(bob, domain)
			w.later(time.Minute)
			if c := w.claim(bob, domain); c.cleared() || c.state() == Pointed != pointed { // one name says nothing of the others
				t.Fatalf("%+v", c)
			}
			w.asks(anna, domain)
			w.proves(anna, domain)
			w.later(time.Minute)
			has := notice
			if !pointed {
				has = idleNotice
			}
			at := w.clk.Now().Add(has)
			w.later(has - time.Minute)
			w.happened("2 is warned of " + domain)
			if c := w.claim(anna, domain); w.holder(domain) != bob || c.state() != Contested || c.takesAt == nil || !c.takesAt.Equal(at) {
				t.Fatalf("at once: %+v", c)
			}
			if c := w.claim(bob, domain); c.losesAt == nil || !c.losesAt.Equal(at) {
				t.Fatalf("the holder sees %+v", c)
			}
			if c := w.claim(anna, domain); c.losesAt != nil {
				t.Errorf("who takes it loses it at %v", c.losesAt)
			}
			w.later(time.Minute)
			w.happened("2 loses "+domain, "1 gets "+domain)
			if c := w.claim(anna, domain); c.state() != Verified || c.losesAt != nil {
				t.Errorf("the new holder sees %+v", c)
			}
		}
	})
}

// TestNothingIsTakenByAnOldLook: when the time of the holder is over, the DNS of that moment decides.
func TestNothingIsTakenByAnOldLook(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		w.names.pointed = true
		contest := func(domain string) {
			t.Helper()
			w.use(bob, domain)
			w.later(time.Minute) // visitors come here
			w.asks(anna, domain)
			w.proves(anna, domain)
			w.later(time.Minute)
			w.later(notice - 2*time.Minute)
			w.happened("2 is warned of " + domain)
		}
		contest("quiet.com")
		w.lookup.down = true
		w.later(time.Hour)
		w.later(longestPause)
		if w.holder("quiet.com") != bob {
			t.Error("taken while the DNS does not answer")
		}
		w.lookup.down, w.lookup.silent = false, true // the registry knows nothing of either
		w.later(longestPause)
		w.lookup.silent = false
		w.happened("2 loses quiet.com", "1 gets quiet.com")

		contest("gone.com")
		w.lookup.texts = map[string][]string{}
		w.later(time.Hour)
		if c := w.claim(anna, "gone.com"); w.holder("gone.com") != bob || c.proof != NoProof || c.takesAt != nil {
			t.Errorf("taken without the record: %+v", c)
		}
		w.happened()

		// The holder proves control in the last minute, and no look of its own has seen that.
		contest("late.com")
		w.proves(bob, "late.com")
		w.must(w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE claims_domains SET check_at = $1 WHERE account_id = $2`, tx.Now.Add(longestPause), bob)
			return err
		}))
		w.later(2 * time.Minute)
		if c := w.claim(bob, "late.com"); w.holder("late.com") != bob || c.proof != ByTXT || c.state() != Verified {
			t.Errorf("the holder has proven control: %+v", c)
		}
		w.happened()
		if c := w.claim(anna, "late.com"); c.state() != Contested || c.takesAt != nil {
			t.Errorf("the other waits for nothing: %+v", c)
		}
		// Its record goes with the domain, which is sold: it is warned once more.
		delete(w.lookup.texts, "_stead-verify.late.com")
		w.proves(anna, "late.com")
		w.later(settlePause)
		w.happened("2 is warned of late.com")
		w.later(notice)
		w.happened("2 loses late.com", "1 gets late.com")
	})
}

// TestAWarnedHolderWhoProvesControlStays sees its own proof end the contest, not the end of the time.
func TestAWarnedHolderWhoProvesControlStays(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		w.use(bob, "shop.com")
		w.later(time.Minute)
		w.asks(anna, "shop.com")
		w.proves(anna, "shop.com")
		w.later(time.Minute)
		w.proves(bob, "shop.com")
		w.must(w.Look(t.Context(), w.claim(bob, "shop.com").id))
		w.later(time.Minute)
		if c := w.claim(bob, "shop.com"); c.state() != Verified || c.losesAt != nil {
			t.Errorf("the holder sees %+v", c)
		}
		w.later(notice)
		w.later(longestPause)
		w.happened("2 is warned of shop.com")
		if w.holder("shop.com") != bob {
			t.Error("the holder has proven control too")
		}
	})
}

func TestARegistrationDecidesAndEnds(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		w.use(bob, "shop.com")
		w.proves(bob, "shop.com")
		w.later(time.Minute)
		tx := func(f func(ctx context.Context, tx *db.Tx) error) { t.Helper(); w.must(w.DB.InTx(t.Context(), f)) }
		tx(func(ctx context.Context, tx *db.Tx) error { return w.Registered(ctx, tx, anna, "shop.com") })
		w.happened("2 loses shop.com", "1 gets shop.com")
		w.later(25 * time.Hour)
		if err := w.take(bob, "shop.com"); !errors.Is(err, fault.DomainUnavailable) {
			t.Errorf("of a registered domain: %v", err)
		}
		tx(func(ctx context.Context, tx *db.Tx) error { return w.Unregistered(ctx, tx, anna, "shop.com") })
		w.later(time.Minute) // nothing uses it
		if h := w.holder("shop.com"); h != 0 {
			t.Errorf("%d holds a domain that is gone", h)
		}
		// A name below which others register says nothing of the rest.
		tx(func(ctx context.Context, tx *db.Tx) error { return w.Registered(ctx, tx, anna, "a.shop.net") })
		if h := w.holder("shop.net"); h != 0 {
			t.Error("all of a zone that others register in")
		}
	})
}

func TestADelegationWithTheTokenProvesControl(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		w.use(bob, "shop.com")
		w.lookup.servers["shop.com"] = []string{"ns1.stead.test", "ns2.stead.test"}
		w.later(time.Minute)
		if c := w.claim(bob, "shop.com"); c.proof != NoProof || !c.cleared() {
			t.Errorf("delegated here without a token: %+v", c)
		}
		token := tokenOf(w.Installation, anna, "shop.com")
		w.lookup.servers["shop.com"] = []string{token + ".ns1.stead.test", token + ".ns2.stead.test"}
		w.asks(anna, "shop.com")
		w.later(time.Minute)
		w.later(notice)
		if c := w.claim(anna, "shop.com"); c.proof != ByDelegation || w.holder("shop.com") != anna {
			t.Errorf("with one: %+v", c)
		}
	})
}

// TestARecordInOurOwnZoneProvesNothing: who holds a domain that is merely delegated here edits its zone.
func TestARecordInOurOwnZoneProvesNothing(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		w.use(bob, "shop.com")
		w.lookup.servers["shop.com"] = []string{"ns1.stead.test", "ns2.stead.test"}
		w.later(time.Minute)
		w.proves(bob, "shop.com")
		w.later(time.Hour)
		if c := w.claim(bob, "shop.com"); c.proof != NoProof || !c.cleared() {
			t.Errorf("by a record in the zone that it edits here: %+v", c)
		}
		w.lookup.silent = true
		w.later(longestPause)
		if c := w.claim(bob, "shop.com"); c.proof != NoProof {
			t.Errorf("while the registry does not answer: %+v", c)
		}
		w.lookup.silent = false
		// Resolvers remember the record after the owner has left.
		w.lookup.servers["shop.com"] = []string{"ns1.elsewhere.test"}
		w.later(longestPause)
		if c := w.claim(bob, "shop.com"); c.proof != NoProof {
			t.Errorf("by a record that is remembered: %+v", c)
		}
		// Who held it so before this rule has a proof, and the owner's is stronger.
		w.must(w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return setProof(ctx, tx, bob, "shop.com", ByTXT) }))
		w.lookup.servers["shop.com"] = []string{tokenOf(w.Installation, anna, "shop.com") + ".ns1.stead.test"}
		w.asks(anna, "shop.com")
		w.later(time.Minute)
		w.later(notice)
		if c := w.claim(anna, "shop.com"); c.proof != ByDelegation || w.holder("shop.com") != anna {
			t.Errorf("the owner delegates it with the token: %+v", c)
		}
	})
}

func TestNothingServesADomainThatLeadsElsewhere(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		w.use(bob, "shop.com")
		w.lookup.servers["shop.com"] = []string{"ns1.elsewhere.test", "ns1.stead.test"}
		w.later(time.Minute)
		if w.claim(bob, "shop.com").cleared() {
			t.Error("half of it is elsewhere")
		}
		w.lookup.servers["shop.com"] = []string{"ns1.stead.test"}
		w.later(time.Hour)
		w.lookup.down = true
		w.later(30 * 24 * time.Hour)
		if !w.claim(bob, "shop.com").cleared() {
			t.Error("nothing is known of a DNS that does not answer")
		}
		w.lookup.down, w.lookup.servers["shop.com"] = false, []string{"ns1.elsewhere.test"}
		w.later(24 * time.Hour)
		if w.claim(bob, "shop.com").cleared() {
			t.Error("it has led elsewhere for a month")
		}
	})
}

func TestADomainIsHeldWhileItsServiceCanComeBack(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		w.use(anna, "shop.com")
		data, err := json.Marshal(map[string]string{"domain": "www.shop.com"})
		w.must(err)
		w.must(w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return w.Follow(ctx, tx, outbox.Stored{Type: "service.terminated", AccountID: anna, SubjectID: 7, Data: data})
		}))
		w.names.used[anna] = nil
		w.later(24 * time.Hour)
		if err := w.take(bob, "shop.com"); !errors.Is(err, fault.DomainVerificationRequired) {
			t.Errorf("while it can be restored: %v", err)
		}
		w.must(w.take(anna, "shop.com"))
		w.later(30 * 24 * time.Hour)
		w.must(w.take(bob, "shop.com"))
	})
}

func TestAPopularDomainNeedsAProof(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		for _, name := range []string{"google.com", "www.mybank.com"} {
			if err := w.take(anna, name); !errors.Is(err, fault.DomainVerificationRequired) {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.asks(anna, "mybank.com")
		w.proves(anna, "mybank.com")
		w.later(time.Minute)
		w.must(w.take(anna, "www.mybank.com"))
		w.later(unused + 24*time.Hour) // nothing uses it
		if w.holder("mybank.com") != 0 {
			t.Error("it is held although nothing uses it")
		}
		if err := w.take(anna, "www.mybank.com"); !errors.Is(err, fault.DomainVerificationRequired) {
			t.Errorf("with an old proof: %v", err)
		}
	})
}

func TestAnAbandonedWishEnds(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		w.asks(anna, "shop.com")
		w.later(abandoned + time.Hour)
		if _, err := getDomain(t.Context(), w.DB, anna, "shop.com"); !errors.Is(err, fault.NotFound) {
			t.Error(err)
		}
	})
}

// TestAnOrderKeepsTheDomainWhoseClaimEnds at the same moment: held by the account and no longer used, or only wanted by it.
func TestAnOrderKeepsTheDomainWhoseClaimEnds(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		const blocked = 300 * time.Millisecond // so long what waits for a lock is given to come through
		for name, begin := range map[string]func(domain string){
			"held": func(domain string) { w.must(w.take(anna, domain)) }, "wanted": func(domain string) { w.asks(anna, domain) },
		} {
			use := func(domain string) {
				w.names.mu.Lock()
				defer w.names.mu.Unlock()
				w.names.used[anna] = append(w.names.used[anna], domain)
			}
			check := func(of, domain string) {
				t.Helper()
				if h := w.holder(domain); h != anna || w.claim(anna, domain).accountID != anna {
					t.Errorf("%s, %s: %d holds the domain", name, of, h)
				}
			}
			// The order comes when the look knows that nothing uses the domain.
			domain := name + "-before.com"
			begin(domain)
			ordered := make(chan error, 1)
			w.names.asked = map[string]func(){domain: func() {
				use(domain)
				go func() { ordered <- w.take(anna, domain) }()
				select {
				case err := <-ordered:
					ordered <- err
				case <-time.After(blocked):
				}
			}}
			w.later(abandoned + time.Hour)
			w.must(<-ordered)
			check("the look first", domain)

			// The look comes when the order is not committed yet.
			domain = name + "-after.com"
			begin(domain)
			w.clk.Advance(abandoned + time.Hour)
			looked := make(chan error, 1)
			w.must(w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				err := errors.Join(w.Take(ctx, tx, anna, domain), tx.Flush(ctx))
				go func() { looked <- w.LookAll(context.WithoutCancel(t.Context())) }()
				time.Sleep(blocked) // sleeps: the look waits for a lock, or goes on without one
				use(domain)
				return err
			}))
			w.must(<-looked)
			check("the order first", domain)
		}
	})
}
