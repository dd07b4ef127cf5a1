package oauth_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

func (w *world) begin(a oauth.Application, pairs ...string) (device, user string) {
	w.t.Helper()
	got := w.form("/oauth/device_authorization", append([]string{"client_id", a.ClientID}, pairs...)...)
	if got.status != 200 || got.header.Get("Cache-Control") != "no-store" {
		w.t.Fatalf("a device begins: %d %v", got.status, got.body)
	}
	return got.str("device_code"), got.str("user_code")
}

func (w *world) poll(a oauth.Application, device string) answer {
	w.t.Helper()
	return w.form("/oauth/token", "grant_type", "urn:ietf:params:oauth:grant-type:device_code", "client_id", a.ClientID, "device_code", device)
}

func (w *world) polled(a oauth.Application, device, want string) {
	w.t.Helper()
	if got := w.poll(a, device); got.status != 400 || got.str("error") != want || got.str("error_description") == "" {
		w.t.Errorf("the poll answers %d %v, want %s", got.status, got.body, want)
	}
}

func TestADeviceWithoutABrowserIsSignedIn(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		got := w.form("/oauth/device_authorization", "client_id", app.ClientID, "scope", "profile wallet:read")
		user, device := got.str("user_code"), got.str("device_code")
		if !regexp.MustCompile(`^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$`).MatchString(user) || got.str("verification_uri") != base+"/oauth/device" ||
			got.str("verification_uri_complete") != base+"/oauth/device?user_code="+user || got.body["expires_in"] != 600.0 || got.body["interval"] != 5.0 {
			t.Fatalf("begun: %v", got.body)
		}
		var stored int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM oauth_device_codes WHERE hash = $1 OR user_hash = $2`, []byte(device), []byte(user)).Scan(&stored); err != nil || stored != 0 {
			t.Errorf("codes are stored as they are: %d, %v", stored, err)
		}

		w.polled(app, device, "authorization_pending")
		clk.Advance(4 * time.Second)
		w.polled(app, device, "slow_down")
		clk.Advance(9 * time.Second) // the interval is ten seconds now
		w.polled(app, device, "slow_down")
		clk.Advance(15 * time.Second)
		w.polled(app, device, "authorization_pending")

		ask, err := w.s.AskDevice(t.Context(), " "+strings.ToLower(strings.ReplaceAll(user, "-", " ")))
		if err != nil || ask.Application.ID != app.ID || ask.Scopes.String() != "profile wallet:read" || ask.UserCode != user {
			t.Fatalf("the user is asked %+v, %v", ask, err)
		}
		if err := w.s.DecideDevice(t.Context(), alice, user, true, false); err != nil {
			t.Fatal(err)
		}
		for _, allow := range []bool{true, false} {
			if err := w.s.DecideDevice(t.Context(), admin, user, allow, false); oauth.AsRefusal(err) == nil {
				t.Errorf("another decides afterwards: %v", err)
			}
		}
		other, _ := w.register()
		w.polled(other, device, "invalid_grant")
		clk.Advance(15 * time.Second)

		// Of many polls at once, one gets tokens; the others end them, for somebody else may have the code.
		var (
			polls  sync.WaitGroup
			mu     sync.Mutex
			tokens []string
		)
		for range 3 {
			polls.Go(func() {
				if a := w.poll(app, device); a.status == 200 {
					mu.Lock()
					defer mu.Unlock()
					tokens = append(tokens, a.str("access_token"))
				}
			})
		}
		polls.Wait()
		if len(tokens) != 1 {
			t.Fatalf("%d polls got tokens", len(tokens))
		}
		w.polled(app, device, "invalid_grant")
		if got := w.call("GET", "/api/v1/probe", tokens[0], ""); got.status != 401 {
			t.Errorf("a token of a code that was used twice: %d", got.status)
		}

		device, user = w.begin(app)
		if err := w.s.DecideDevice(t.Context(), alice, user, true, false); err != nil {
			t.Fatal(err)
		}
		ok := w.poll(app, device)
		if ok.status != 200 || ok.str("scope") != "profile" || ok.str("refresh_token") == "" {
			t.Fatalf("tokens: %d %v", ok.status, ok.body)
		}
		if got := w.call("GET", "/api/v1/probe", ok.str("access_token"), ""); got.status != 200 || got.body["account"] != float64(alice) {
			t.Errorf("the token: %d %v", got.status, got.body)
		}
		if got := w.form("/oauth/token", "grant_type", "refresh_token", "client_id", app.ClientID, "refresh_token", ok.str("refresh_token")); got.status != 200 {
			t.Errorf("refreshed: %d %v", got.status, got.body)
		}
	})
}

func TestADeviceIsRefused(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		app, _ := w.register()
		device, user := w.begin(app)
		if err := w.s.DecideDevice(t.Context(), alice, user, false, false); err != nil {
			t.Fatal(err)
		}
		w.polled(app, device, "access_denied")

		device, user = w.begin(app)
		clk.Advance(oauth.DeviceLife)
		w.polled(app, device, "expired_token")
		unknown := func(typed string) {
			t.Helper()
			if _, err := w.s.AskDevice(t.Context(), typed); oauth.AsRefusal(err) == nil {
				t.Errorf("%q: %v", typed, err)
			}
			if err := w.s.DecideDevice(t.Context(), alice, typed, true, false); oauth.AsRefusal(err) == nil {
				t.Errorf("%q is allowed: %v", typed, err)
			}
		}
		for _, typed := range []string{user, "", "BCDF-GHJK", "AAAA-AAAA", "' OR 1=1", strings.Repeat("B", 100), "BCDF\x00GHJK"} {
			unknown(typed)
		}
		w.polled(app, "std_nonsense", "invalid_grant")
		w.polled(app, "", "invalid_request")

		// It is not answered once the application may not do what was asked for, or only read where the user was told so.
		device, user = w.begin(app)
		if err := w.s.DecideDevice(t.Context(), alice, user, true, true); oauth.AsRefusal(err) == nil {
			t.Errorf("a page that said that it only reads: %v", err)
		}
		w.polled(app, device, "authorization_pending")
		if err := w.s.DeleteApplication(t.Context(), alice, app.ID); err != nil {
			t.Fatal(err)
		}
		unknown(user)
		w.polled(app, device, "invalid_client")

		if err := w.s.EnsurePanel(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, pairs := range map[string][]string{
			"invalid_client": {"client_id", "app_none"}, "unauthorized_client": {"client_id", oauth.PanelClientID}, "invalid_request": {"scope", "profile"},
		} {
			if got := w.form("/oauth/device_authorization", pairs...); got.status != 400 || got.str("error") != name {
				t.Errorf("%v begins: %d %v", pairs, got.status, got.body)
			}
		}
		private, _ := w.register(confidential)
		if got := w.form("/oauth/device_authorization", "client_id", private.ClientID); got.str("error") != "invalid_client" {
			t.Errorf("a confidential application without its secret: %v", got.body)
		}
		other, _ := w.register()
		if got := w.form("/oauth/device_authorization", "client_id", other.ClientID, "scope", "admin"); got.str("error") != "invalid_scope" {
			t.Errorf("admin: %v", got.body)
		}
		if got := w.form("/oauth/device_authorization", "client_id", other.ClientID, "resource", "https://other.example"); got.str("error") != "invalid_target" {
			t.Errorf("another resource: %v", got.body)
		}

		clk.Advance(2 * time.Hour)
		if err := w.s.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM oauth_device_codes`).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d codes are left, %v", left, err)
		}
	})
}
