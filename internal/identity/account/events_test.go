package account

import (
	"bytes"
	"log/slog"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/page"
)

func (w *world) events(t *testing.T, account int64) (kinds []string, all []Event) {
	t.Helper()
	w.writeFailures(t.Context())
	list, err := w.Events(t.Context(), account, page.Params{Page: 1, PerPage: 50})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Data {
		kinds = append(kinds, string(e.Kind))
	}
	return kinds, list.Data
}

func TestTheSecurityLogTellsWhatHappenedAndFromWhere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		id := anna.Session.Account.ID
		_, codes := w.withTOTP(t, anna.Session)
		thief := Client{Address: netip.MustParseAddr("198.51.100.66"), UserAgent: "curl"}
		for range 3 {
			w.clk.Advance(time.Second)
			_, _ = w.SignIn(t.Context(), "anna@example.com", otherPassword, thief)
		}
		w.clk.Advance(time.Second)
		if _, err := w.SecondFactor(t.Context(), w.pending(t), "000000", thief); err == nil {
			t.Fatal("a guessed code")
		}
		w.clk.Advance(time.Second)
		if _, err := w.SecondFactor(t.Context(), w.pending(t), codes[0], home); err != nil {
			t.Fatal(err)
		}
		w.clk.Advance(time.Second)
		if err := w.ChangePassword(t.Context(), anna.Session, goodPassword, otherPassword, home); err != nil {
			t.Fatal(err)
		}
		kinds, all := w.events(t, id)
		want := []string{"password_changed", "signed_in", "recovery_code_used", "code_failed", "sign_in_failed", "two_factor_on", "signed_in"}
		if !slices.Equal(kinds, want) {
			t.Fatalf("%v, want %v", kinds, want)
		}
		if e := all[4]; e.Times != 3 || e.Address != "198.51.100.66" || e.UserAgent != "curl" || e.LastAt.Sub(e.CreatedAt) != 2*time.Second {
			t.Errorf("three wrong passwords: %+v", e)
		}
		// More of them within the hour are the same entry, and later ones are another.
		for _, after := range []time.Duration{time.Minute, 2 * time.Hour} {
			w.clk.Advance(after)
			_, _ = w.SignIn(t.Context(), "anna@example.com", goodPassword, thief)
			kinds, all = w.events(t, id)
		}
		if kinds[0] != "sign_in_failed" || all[0].Times != 1 || all[1].Times != 4 {
			t.Errorf("%+v", all[:2])
		}
		if _, others := w.events(t, id+1); len(others) != 0 {
			t.Errorf("a stranger sees %+v", others)
		}
		w.clk.Advance(keepEvents)
		if err := w.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		if kinds, _ := w.events(t, id); len(kinds) > 1 {
			t.Errorf("%v is kept", kinds)
		}
	})
}

// TestFailuresOfWhoIsKnownAreInTheSecurityLog, and each is a line for fail2ban.
func TestFailuresOfWhoIsKnownAreInTheSecurityLog(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		id := anna.Session.Account.ID
		link := w.linkOf(t, "/email/")
		w.withTOTP(t, anna.Session)
		key := w.withPasskey(t, anna.Session)
		key.origin = "https://evil.example"
		session, err := w.Authenticate(t.Context(), anna.Token)
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			try  func(c Client) error
			kind EventKind
		}{
			"a wrong password in the panel": {func(c Client) error {
				_, err := w.Confirm(t.Context(), session, otherPassword, "", c)
				return err
			}, EventSignInFailed},
			"a wrong code in the panel": {func(c Client) error {
				_, err := w.Confirm(t.Context(), session, goodPassword, "000000", c)
				return err
			}, EventCodeFailed},
			"a wrong password before a new one": {func(c Client) error {
				return w.ChangePassword(t.Context(), session, otherPassword, goodPassword, c)
			}, EventSignInFailed},
			"a wrong password with the link of a mail": {func(c Client) error {
				return w.ConfirmEmail(t.Context(), link, Holder{Password: otherPassword}, c)
			}, EventSignInFailed},
			"a wrong passkey in the panel": {func(c Client) error {
				ch, err := w.BeginProof(t.Context(), session)
				if err != nil {
					t.Fatal(err)
				}
				_, err = w.FinishProof(t.Context(), session, ch.Token, key.get(ch.Options), c)
				return err
			}, EventPasskeyFailed},
			"a wrong passkey after the password": {func(c Client) error {
				pending := w.pending(t)
				ch := w.ask(t, pending)
				_, err := w.FinishPasskeySignIn(t.Context(), ch.Token, pending, key.get(ch.Options), c)
				return err
			}, EventPasskeyFailed},
		} {
			var out bytes.Buffer
			w.Log = slog.New(slog.NewJSONHandler(&out, nil))
			thief := Client{Address: netip.MustParseAddr("198.51.100.66"), UserAgent: name}
			if err := c.try(thief); err == nil {
				t.Fatalf("%s: it is accepted", name)
			}
			_, all := w.events(t, id)
			at := slices.IndexFunc(all, func(e Event) bool { return e.UserAgent == name })
			if at < 0 || all[at].Kind != c.kind || all[at].Address != "198.51.100.66" {
				t.Errorf("%s: %+v", name, all)
			}
			if line := out.String(); !strings.Contains(line, `"msg":"sign-in failed","address":"198.51.100.66"`) || strings.Contains(line, otherPassword) {
				t.Errorf("%s: the log has %q", name, line)
			}
		}
		// The address was never confirmed, so recovery removes what could keep its owner out.
		if err := w.RequestRecovery(t.Context(), "anna@example.com", home); err != nil {
			t.Fatal(err)
		}
		token := w.linkOf(t, "/recover/")
		w.clk.Advance(time.Minute)
		if err := w.CompleteRecovery(t.Context(), token, otherPassword, home); err != nil {
			t.Fatal(err)
		}
		kinds, _ := w.events(t, id)
		if want := []string{"password_changed", "address_confirmed", "passkey_removed", "two_factor_off"}; !slices.Equal(kinds[:4], want) {
			t.Errorf("after recovery: %v, want %v", kinds[:4], want)
		}
	})
}

// TestFailuresAreInTheLogAsTheDocsSay: the filter of the docs finds each failed sign-in with its address, whether there is an
// account or not.
func TestFailuresAreInTheLogAsTheDocsSay(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/sign-in.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^failregex = (.*)$`).FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/sign-in.md has no filter")
	}
	filter := regexp.MustCompile(strings.ReplaceAll(string(found[1]), "<HOST>", `(?P<host>[0-9a-f.:]+)`))
	each(t, func(t *testing.T, w *world) {
		var out bytes.Buffer
		w.Log = slog.New(slog.NewJSONHandler(&out, nil))
		w.anna(t)
		for _, email := range []string{"anna@example.com", "nobody@example.com"} {
			out.Reset()
			_, _ = w.SignIn(t.Context(), email, otherPassword, home)
			hit := filter.FindStringSubmatch(out.String())
			if len(hit) < 2 || hit[1] != "203.0.113.7" || strings.Contains(out.String(), email) {
				t.Errorf("%s: %q finds %q", email, out.String(), hit)
			}
		}
	})
}

// TestAMailToAnUnverifiedAddressCarriesNoMessage: anybody may register with an address of somebody else.
func TestAMailToAnUnverifiedAddressCarriesNoMessage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		const lure = "You have won, call +1 555 0100"
		spam := Client{Address: netip.MustParseAddr("198.51.100.66"), UserAgent: lure}
		out, err := w.SignUp(t.Context(), Registration{Name: lure, Email: "victim@example.com", Password: goodPassword, Locale: "en"}, spam)
		if err != nil {
			t.Fatal(err)
		}
		other := spam
		other.UserAgent = lure + "!"
		if _, err := w.SignIn(t.Context(), "victim@example.com", goodPassword, other); err != nil {
			t.Fatal(err)
		}
		link := w.linkOf(t, "/email/")
		check := func(to string) {
			t.Helper()
			w.work(t)
			for _, m := range w.post.sent {
				if m.To == to && strings.Contains(m.Subject+m.Text, "won") {
					t.Errorf("%s", m.Text)
				}
			}
		}
		check("victim@example.com")
		if err := w.ConfirmEmail(t.Context(), link, Holder{Session: &out.Session}, spam); err != nil {
			t.Fatal(err)
		}
		if out.Session, err = w.Authenticate(t.Context(), out.Token); err != nil {
			t.Fatal(err)
		}
		// A verified account that asks for the address of somebody else.
		if err := w.RequestEmail(t.Context(), out.Session, "second@example.com"); err != nil {
			t.Fatal(err)
		}
		check("second@example.com")
		w.post.sent = nil
		if err := w.ChangePassword(t.Context(), out.Session, goodPassword, otherPassword, home); err != nil {
			t.Fatal(err)
		}
		w.work(t)
		if len(w.post.sent) == 0 || !strings.Contains(w.post.sent[0].Text, "Hello, You have won") {
			t.Errorf("a verified account is not greeted by its name: %+v", w.post.sent)
		}
	})
}

func TestCommonPasswordsAreRefused(t *testing.T) {
	t.Parallel()
	if n := len(common()); n != 100_000 || !slices.IsSorted(common()) {
		t.Fatalf("%d passwords, or not sorted", n)
	}
	s := &Service{Config: Config{Brand: brand.Fixed(brand.Brand{Name: "Stead Hosting"})}}
	for password, good := range map[string]bool{
		"qwertyuiop": false, "Basketball2024": false, "!!understanding": false, "пароль12345": false,
		"my anna.k password": false, "12anna.k@example.com": false, "stead hosting 7q": false, "xsteadhostingx": false,
		"correct horse battery": true, "monkey83746152": true, "basketball and chess": true,
	} {
		if err := s.checkPassword("password", password, "anna.k@example.com", "Anna"); (err == nil) != good {
			t.Errorf("%q: %v", password, err)
		}
	}
	for _, password := range []string{"bob@acme.uz", "12Bob@Acme.uz"} { // its local part is too short to be looked for
		if err := s.checkPassword("password", password, "bob@acme.uz", "Robert"); err == nil {
			t.Errorf("%q is taken for bob@acme.uz", password)
		}
	}
}
