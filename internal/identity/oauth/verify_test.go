package oauth_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
)

func TestVerifyAnswersFromMemory(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	app, _ := w.register()
	access, _ := w.tokens(app)
	for range 3 {
		if !w.good(access) {
			t.Fatal("the token is not good")
		}
	}
	before := w.people.reads()
	for range 100 {
		if !w.good(access) {
			t.Fatal("the token is not good")
		}
	}
	if n := w.people.reads() - before; n != 0 {
		t.Errorf("100 verifications read the database %d times", n)
	}
}

// Without news of revocations nothing remembered is trusted.
func TestAReplicaThatHearsNothingReadsTheDatabase(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	app, _ := w.register()
	access, _ := w.tokens(app)
	w.good(access)
	before := w.people.reads()
	w.clk.Advance(2 * time.Second) // nobody runs the hub
	for range 3 {
		if !w.good(access) {
			t.Fatal("the token is not good")
		}
	}
	if n := w.people.reads() - before; n != 3 {
		t.Errorf("3 verifications read the database %d times", n)
	}
}

func TestWhatEndsATokenEndsItAtOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		for name, tc := range map[string]struct {
			end  func(a oauth.Application, access, refresh string)
			want *fault.Def
		}{
			"revoked": {func(a oauth.Application, access, _ string) {
				w.form("/oauth/revoke", "client_id", a.ClientID, "token", access)
			}, fault.TokenRevoked},
			"refresh token revoked": {func(a oauth.Application, _, refresh string) {
				w.form("/oauth/revoke", "client_id", a.ClientID, "token", refresh, "token_type_hint", "access_token")
			}, fault.TokenRevoked},
			"disconnected": {func(a oauth.Application, _, _ string) {
				if err := w.s.Disconnect(t.Context(), alice, a.ID); err != nil {
					t.Fatal(err)
				}
			}, fault.TokenRevoked},
			"application deleted": {func(a oauth.Application, _, _ string) {
				if err := w.s.DeleteApplication(t.Context(), alice, a.ID); err != nil {
					t.Fatal(err)
				}
			}, fault.TokenRevoked},
			"application disabled": {func(a oauth.Application, _, _ string) {
				w.tx(func(ctx context.Context, tx *db.Tx) error {
					_, err := w.s.SetDisabled(ctx, tx, a.ClientID, true)
					return err
				})
			}, fault.TokenRevoked},
			"account's grants ended": {func(oauth.Application, string, string) {
				w.tx(func(ctx context.Context, tx *db.Tx) error { return w.s.EndAll(ctx, tx, alice) })
			}, fault.TokenRevoked},
			"account suspended": {func(oauth.Application, string, string) {
				w.people.set(alice, oauth.Holder{Suspended: true})
				w.signalAccount(alice)
			}, fault.AccountSuspended},
			"account gone": {func(oauth.Application, string, string) {
				w.people.mu.Lock()
				delete(w.people.m, alice)
				w.people.mu.Unlock()
				w.signalAccount(alice)
			}, fault.TokenRevoked},
		} {
			t.Run(name, func(t *testing.T) {
				w.people.set(alice, oauth.Holder{})
				w.signalAccount(alice)
				app, _ := w.register()
				access, refresh := w.tokens(app)
				if !w.good(access) {
					t.Fatal("the token is not good")
				}
				tc.end(app, access, refresh)
				w.wantVerify(access, tc.want)
				if name == "revoked" {
					return // the access token alone
				}
				if got := w.refresh(app, refresh); got.status == http.StatusOK {
					t.Error("it can still be refreshed")
				}
			})
		}
		w.people.set(alice, oauth.Holder{})
	})
}

func TestChangedPreferencesAreSeenAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t)
	app, _ := w.register()
	access, _ := w.tokens(app)
	w.good(access)
	w.people.set(alice, oauth.Holder{Locale: "uz", Currency: "EUR"})
	w.signalAccount(alice)
	if p, err := w.s.Verify(t.Context(), access); err != nil || p.Locale != "uz" || p.Currency != "EUR" {
		t.Errorf("the principal is %+v, error %v", p, err)
	}
}

// Two replicas on one database, each with its own memory: what one revokes the
// other refuses within a second.
func TestARevocationIsSeenByTheOtherReplicaWithinASecond(t *testing.T) {
	t.Parallel()
	url := testkit.PostgresURL(t)
	box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := &people{m: map[int64]oauth.Holder{alice: {}}}
	var replicas [2]*world
	var ended [2]chan struct{}
	for i := range replicas {
		clk := clock.System(0)
		d := testkit.Open(t, url, clk)
		w := replica(t, d, clk, box, p)
		replicas[i], ended[i] = w, make(chan struct{})
		go func() { w.hub.Run(ctx); close(ended[i]) }()
	}
	defer func() {
		cancel()
		<-ended[0]
		<-ended[1]
	}()
	here, there := replicas[0], replicas[1]
	app, _ := here.register()
	for name, end := range map[string]func(access, refresh string){
		"the token": func(access, _ string) { here.form("/oauth/revoke", "client_id", app.ClientID, "token", access) },
		"the family": func(_, refresh string) {
			first := here.refresh(app, refresh)
			here.refresh(app, first.str("refresh_token"))
			wantRefused(t, here.refresh(app, refresh), "invalid_grant")
		},
		"the connection": func(_, _ string) {
			if err := here.s.Disconnect(t.Context(), alice, app.ID); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			access, refresh := here.tokens(app)
			testkit.Eventually(t, time.Minute, there.hub.Fresh, "the other replica hears")
			for range 3 {
				if !there.good(access) {
					t.Fatal("the token is not good at the other replica")
				}
			}
			reads := p.reads()
			if !there.good(access) || p.reads() != reads {
				t.Fatal("the other replica does not answer from memory")
			}
			end(access, refresh)
			testkit.Eventually(t, time.Minute, func() bool {
				_, err := there.s.Verify(t.Context(), access)
				return errors.Is(err, fault.TokenRevoked)
			}, "the other replica refuses the token")
		})
	}
}

func TestUsesAreWrittenDownCoarsely(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		access, _ := w.tokens(app)
		clk.Advance(2 * time.Minute)
		for range 5 {
			w.good(access)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w.s.Run(ctx) // writes once more when it ends
		list, total, err := w.s.ListConnections(t.Context(), alice, 10, 0)
		if err != nil || total != 1 || list[0].LastUsedAt == nil || !list[0].LastUsedAt.Equal(clk.Now()) {
			t.Errorf("connections are %+v (%d), error %v", list, total, err)
		}
	})
}

// TestOurOwnApplicationsAreSignedOutWithTheSession, and applications of others are not: a person sees these, and ends them.
func TestOurOwnApplicationsAreSignedOutWithTheSession(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		panel := w.panel()
		other, _ := w.register()
		in := func(account, session int64, a oauth.Application) string {
			ask, err := w.s.Ask(t.Context(), query(a))
			if err != nil {
				t.Fatal(err)
			}
			ask.Session = session
			to, err := w.s.Approve(t.Context(), account, ask, true)
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(to)
			if err != nil {
				t.Fatal(err)
			}
			return w.exchange(a, u.Query().Get("code")).str("access_token")
		}
		want := func(good bool, tokens ...string) {
			t.Helper()
			for i, token := range tokens {
				if w.good(token) != good {
					t.Errorf("token %d is good: %v", i, !good)
				}
			}
		}
		first, second, third := in(alice, 1, panel), in(alice, 2, panel), in(alice, 3, panel)
		foreign, elsewhere, none := in(alice, 1, other), in(admin, 1, panel), in(alice, 0, panel)
		want(true, first, second, third, foreign, elsewhere, none)
		w.tx(func(ctx context.Context, tx *db.Tx) error { return w.s.EndSession(ctx, tx, alice, 1) })
		want(false, first)
		want(true, second, third, foreign, elsewhere, none)
		w.tx(func(ctx context.Context, tx *db.Tx) error { return w.s.EndOtherSessions(ctx, tx, alice, 2) })
		want(false, third)
		want(true, second, foreign, elsewhere, none)
		w.tx(func(ctx context.Context, tx *db.Tx) error { return w.s.EndOtherSessions(ctx, tx, alice, 0) })
		want(false, second)
		want(true, foreign, elsewhere, none)
	})
}

// TestATokenLivesNoLongerThanItsSession: who signs in to one of Stead's own applications is asked nothing, so what they get is the
// session's.
func TestATokenLivesNoLongerThanItsSession(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		panel := w.panel()
		ends := clk.Now().Add(time.Hour)
		w.people.session(1, ends)
		approve := func() (url.Values, error) {
			ask, err := w.s.Ask(t.Context(), query(panel))
			if err != nil {
				t.Fatal(err)
			}
			ask.Session = 1
			to, err := w.s.Approve(t.Context(), alice, ask, true)
			if err != nil {
				return nil, err
			}
			u, err := url.Parse(to)
			return u.Query(), err
		}
		given, err := approve()
		if err != nil {
			t.Fatal(err)
		}
		late, err := approve()
		if err != nil {
			t.Fatal(err)
		}
		got := w.exchange(panel, given.Get("code"))
		if got.status != http.StatusOK || got.body["expires_in"] != float64(3600) {
			t.Fatalf("exchange: %d %v", got.status, got.body)
		}
		access := got.str("access_token")
		w.wantVerify(access, nil)
		w.people.session(1, clk.Now()) // it was not used for too long
		clk.Advance(6 * time.Minute)   // what is known of a token is asked anew after five
		w.wantVerify(access, fault.TokenRevoked)
		wantRefused(t, w.refresh(panel, got.str("refresh_token")), "invalid_grant")
		wantRefused(t, w.exchange(panel, late.Get("code")), "invalid_grant")
		if _, err := approve(); oauth.AsRefusal(err) == nil || oauth.AsRefusal(err).Def != oauth.ErrLoginRequired {
			t.Errorf("a session that has ended approves: %v", err)
		}
	})
}
