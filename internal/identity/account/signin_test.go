package account

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
)

func TestWhoRegistersIsSignedIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		out := w.anna(t)
		s, err := w.Authenticate(t.Context(), out.Token)
		if err != nil {
			t.Fatal(err)
		}
		if a := s.Account; a.Email != "anna@example.com" || a.Name != "Anna" || a.EmailVerified || a.Role != "" || a.Currency != "USD" || !a.Open() {
			t.Errorf("%+v", a)
		}
		if s.Address != "203.0.113.7" || s.Method != "password" || s.SecondFactor || !s.Recent(w.clk.Now()) {
			t.Errorf("%+v", s)
		}
	})
}

func TestAnAddressHasOneAccount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.anna(t)
		_, err := w.SignUp(t.Context(), Registration{Name: "Eve", Email: "ANNA@example.com", Password: goodPassword}, home)
		if f := fault.From(err); f.Def != fault.Validation || f.Invalid["email"] == nil {
			t.Errorf("%v", err)
		}
	})
}

func TestManyRegistrationsAtOnceMakeOneAccount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		var (
			wg   sync.WaitGroup
			mu   sync.Mutex
			made int
		)
		for range 6 {
			wg.Go(func() {
				_, err := w.SignUp(context.Background(), Registration{Name: "Anna", Email: "anna@example.com", Password: goodPassword}, home)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made++
				} else if !errors.Is(err, fault.Validation) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if made != 1 {
			t.Errorf("%d accounts", made)
		}
	})
}

func TestAWrongPasswordAndAnUnknownAddressLookTheSame(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.anna(t)
		for _, c := range [][2]string{{"anna@example.com", otherPassword}, {"eve@example.com", goodPassword}, {"nonsense", goodPassword}, {"anna@\x00example.com", goodPassword}, {"anna@example.com", ""}} {
			_, err := w.SignIn(t.Context(), c[0], c[1], home)
			if !errors.Is(err, ErrCredentials) {
				t.Errorf("%v: %v", c, err)
			}
		}
	})
}

func TestAnUnknownAddressCostsAsMuchAsAKnownOne(t *testing.T) {
	h := newHasher(2, argonParams)
	if params, _, _, err := decodeHash(h.dummy); err != nil || params != *argonParams {
		t.Errorf("the hash that is checked in vain is made with %+v, %v", params, err)
	}
	if ok, _, err := h.check(t.Context(), "", ""); ok || err != nil {
		t.Errorf("no password signs in to no account: %v, %v", ok, err)
	}
}

func TestTheRightPasswordSignsInWhateverTheKeyboardWrites(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		_, err := w.SignUp(t.Context(), Registration{Name: "Jo", Email: "jo@example.com", Password: "cafe\u0301 au lait"}, home)
		if err != nil {
			t.Fatal(err)
		}
		out, err := w.SignIn(t.Context(), "JO@example.com", "caf\u00e9 au lait", home)
		if err != nil || !w.alive(t, out.Token) {
			t.Errorf("%v", err)
		}
	})
}

func TestAttemptsAreSlowedDownPerAddress(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.anna(t)
		w.Limits.SignInPair.Limit, w.Limits.SignInAddress.Limit = 3, 6
		stranger := Client{Address: netip.MustParseAddr("198.51.100.66")}
		try := func(email, password string) error {
			_, err := w.SignIn(t.Context(), email, password, stranger)
			return err
		}
		for range 4 { // three, and the one that passes in a minute
			if err := try("anna@example.com", otherPassword); !errors.Is(err, ErrCredentials) {
				t.Fatal(err)
			}
		}
		err := try("ANNA@example.com", goodPassword)
		if f := fault.From(err); f.Def != fault.RateLimited || f.Fields["retry_after"].(int) > 61 {
			t.Errorf("%v", err)
		}
		w.clk.Advance(w.Limits.SignInSlow.Window)
		if err := try("anna@example.com", otherPassword); !errors.Is(err, ErrCredentials) {
			t.Errorf("after a minute: %v", err)
		}
		if err := try("anna@example.com", otherPassword); !errors.Is(err, fault.RateLimited) {
			t.Errorf("a second one in a minute: %v", err)
		}
		// The address as a whole is slowed down too, whatever accounts it tries.
		refused := 0
		for i := range 6 {
			if err := try(string(rune('a'+i))+"@example.com", otherPassword); errors.Is(err, fault.RateLimited) {
				refused++
			}
		}
		if refused < 4 {
			t.Errorf("%d of six accounts were refused", refused)
		}
	})
}

// TestNobodyKeepsAnOwnerOut: twenty wrong passwords from anywhere locked an account for 15 minutes.
func TestNobodyKeepsAnOwnerOut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		out := w.anna(t)
		w.Limits.SignInPair.Limit, w.Limits.SignInAccount.Limit, w.Limits.SignInAttacked.Limit = 5, 20, 2
		from := func(a, b byte) Client { return Client{Address: netip.AddrFrom4([4]byte{198, 51, a, b})} }
		for i := range 40 {
			_, _ = w.SignIn(t.Context(), "anna@example.com", otherPassword, from(1, byte(i)))
		}
		// While many try, an address has few attempts.
		guesses := 0
		for range 10 {
			if _, err := w.SignIn(t.Context(), "anna@example.com", otherPassword, from(2, 1)); errors.Is(err, ErrCredentials) {
				guesses++
			}
		}
		if guesses != w.Limits.SignInAttacked.Limit+1 {
			t.Errorf("%d guesses from one address of an attack", guesses)
		}
		if _, err := w.SignIn(t.Context(), "anna@example.com", goodPassword, from(3, 1)); err != nil {
			t.Errorf("the owner, on a new device elsewhere: %v", err)
		}
		// The device that has signed in before is not slowed down by its own address either, as behind a shared one.
		for range 10 {
			_, _ = w.SignIn(t.Context(), "anna@example.com", otherPassword, home)
		}
		mine := home
		mine.Device = out.Device
		if _, err := w.SignIn(t.Context(), "anna@example.com", goodPassword, mine); err != nil {
			t.Errorf("the owner, on a known device behind the address of an attacker: %v", err)
		}
		// It has a number of its own, for this account only.
		w.Limits.SignInDevice.Limit = 2
		var err error
		for range 4 {
			_, err = w.SignIn(t.Context(), "anna@example.com", otherPassword, mine)
		}
		if !errors.Is(err, fault.RateLimited) {
			t.Errorf("guesses on a known device: %v", err)
		}
		if _, err := w.Confirm(t.Context(), out.Session, goodPassword, "", home); err != nil {
			t.Errorf("the owner confirms: %v", err)
		}
	})
}

func TestADeviceIsKnownToTheAccountsThatSignedInOnIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		first := w.anna(t)
		on := home
		on.Device = first.Device
		second, err := w.SignUp(t.Context(), Registration{Name: "Eve", Email: "eve@example.com", Password: goodPassword}, on)
		if err != nil || second.Device != first.Device {
			t.Fatalf("%q, then %q, %v", first.Device, second.Device, err)
		}
		for email, c := range map[string]struct {
			device string
			want   bool
		}{
			"anna@example.com": {first.Device, true}, "eve@example.com": {first.Device, true}, "nobody@example.com": {first.Device, false},
			"ANNA@example.com": {"", false},
		} {
			if known, err := deviceOf(t.Context(), w.DB, strings.ToLower(email), Client{Device: c.device}); err != nil || known != c.want {
				t.Errorf("%s with %q: %v, %v", email, c.device, known, err)
			}
		}
		if planted := (Client{Device: "short"}).device(); planted == "short" || !strings.HasPrefix(planted, devicePrefix) {
			t.Errorf("a device calls itself %q", planted)
		}
	})
}

func TestTwoReplicasCountAttemptsTogether(t *testing.T) {
	t.Parallel()
	url := testkit.PostgresURL(t)
	clk := clock.NewFake(testkit.Start)
	one, two := newWorld(t, testkit.Open(t, url, clk), clk), newWorld(t, testkit.Open(t, url, clk), clk)
	one.Limits.SignInPair.Limit, two.Limits.SignInPair.Limit = 1, 1
	for i, w := range []*world{one, two, one} {
		_, err := w.SignIn(t.Context(), "anna@example.com", otherPassword, home)
		if i < 2 && !errors.Is(err, ErrCredentials) || i == 2 && !errors.Is(err, fault.RateLimited) {
			t.Errorf("attempt %d: %v", i, err)
		}
	}
}

func TestSessionsEndByTimeAndByDisuse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		used := w.anna(t).Token
		out, err := w.SignIn(t.Context(), "anna@example.com", goodPassword, home)
		if err != nil {
			t.Fatal(err)
		}
		unused := out.Token
		w.clk.Advance(sessionIdle / 2)
		if !w.alive(t, used) {
			t.Error("ended while it was used")
		}
		w.clk.Advance(sessionIdle/2 + time.Minute)
		if w.alive(t, unused) {
			t.Error("alive without use")
		}
		for range 3 {
			w.alive(t, used)
			w.clk.Advance(sessionIdle / 2)
		}
		if w.alive(t, used) {
			t.Error("alive beyond its life")
		}
	})
}

func TestASessionIsEndedByItsOwnerOnly(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		eve, err := w.SignUp(t.Context(), Registration{Name: "Eve", Email: "eve@example.com", Password: goodPassword}, home)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.EndSession(t.Context(), eve.Session.Account.ID, anna.Session.ID); !errors.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
		if !w.alive(t, anna.Token) {
			t.Error("a stranger ended it")
		}
		if err := w.EndSession(t.Context(), anna.Session.Account.ID, anna.Session.ID); err != nil {
			t.Fatal(err)
		}
		if w.alive(t, anna.Token) {
			t.Error("it lives on")
		}
		if list, err := w.Sessions(t.Context(), anna.Session.Account.ID, page.Params{}); err != nil || list.Meta.Total != 0 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

func TestAChangedPasswordEndsTheOtherSessions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		mine := w.anna(t)
		other, err := w.SignIn(t.Context(), "anna@example.com", goodPassword, home)
		if err != nil {
			t.Fatal(err)
		}
		err = w.ChangePassword(t.Context(), mine.Session, otherPassword, otherPassword, home)
		if f := fault.From(err); f.Invalid["current"] == nil {
			t.Errorf("a wrong current password: %v", err)
		}
		if err := w.ChangePassword(t.Context(), mine.Session, goodPassword, otherPassword, home); err != nil {
			t.Fatal(err)
		}
		if !w.alive(t, mine.Token) || w.alive(t, other.Token) {
			t.Error("the wrong sessions ended")
		}
		if id := mine.Session.Account.ID; w.ended[id] != 0 {
			t.Error("applications were disconnected unasked")
		} else if err := w.ChangePasswordEverywhere(t.Context(), mine.Session, otherPassword, otherPassword+"!", home); err != nil || w.ended[id] != 1 {
			t.Errorf("applications: %d, %v", w.ended[id], err)
		}
		if _, err := w.SignIn(t.Context(), "anna@example.com", goodPassword, home); !errors.Is(err, ErrCredentials) {
			t.Errorf("the old password: %v", err)
		}
		if len(*w.told) == 0 {
			t.Error("nobody was told")
		}
		w.work(t)
		if last := w.post.sent[len(w.post.sent)-1]; !strings.Contains(last.Subject, "password was changed") || strings.Contains(last.Text, otherPassword) {
			t.Errorf("mail %+v", last)
		}
	})
}

func TestANewDeviceIsToldOfAKnownOneIsNot(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		if err := w.ConfirmEmail(t.Context(), w.linkOf(t, "/email/"), Holder{Session: &anna.Session}, home); err != nil {
			t.Fatal(err)
		}
		for _, c := range []Client{home, {Address: netip.MustParseAddr("198.51.100.1"), UserAgent: "Chrome"}, {Address: netip.MustParseAddr("198.51.100.1"), UserAgent: "Chrome"}} {
			if _, err := w.SignIn(t.Context(), "anna@example.com", goodPassword, c); err != nil {
				t.Fatal(err)
			}
		}
		w.work(t)
		var notices int
		for _, m := range w.post.sent {
			if strings.Contains(m.Subject, "new device") {
				notices++
				if !strings.Contains(m.Text, "198.51.100.1") || !strings.Contains(m.Text, "Chrome") {
					t.Errorf("%s", m.Text)
				}
			}
		}
		if notices != 2 { // each job runs twice here
			t.Errorf("%d notices", notices)
		}
	})
}

func TestSuspensionEndsSessionsAtOnceAndIsSignalled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		id := anna.Session.Account.ID
		if err := w.Suspend(t.Context(), id, "abuse"); err != nil {
			t.Fatal(err)
		}
		if w.alive(t, anna.Token) {
			t.Error("the session lives on")
		}
		if _, err := w.SignIn(t.Context(), "anna@example.com", goodPassword, home); !errors.Is(err, fault.AccountSuspended) {
			t.Errorf("%v", err)
		}
		// Only who knows the password learns of the suspension.
		if _, err := w.SignIn(t.Context(), "anna@example.com", otherPassword, home); !errors.Is(err, ErrCredentials) {
			t.Errorf("%v", err)
		}
		if !slices.Contains(*w.told, "1") {
			t.Errorf("signals %v", *w.told)
		}
		if err := w.Unsuspend(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if _, err := w.SignIn(t.Context(), "anna@example.com", goodPassword, home); err != nil {
			t.Errorf("%v", err)
		}
	})
}

func TestAClosedAccountKeepsItsNumberAndNothingElse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		w.withTOTP(t, anna.Session)
		id := anna.Session.Account.ID
		if err := w.Close(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		p, err := w.Find(t.Context(), "1")
		if err != nil || p.ClosedAt == nil || p.Name != "" || strings.Contains(p.Email, "anna") || p.TwoFactor {
			t.Errorf("%+v, %v", p, err)
		}
		if w.alive(t, anna.Token) || w.ended[id] != 1 {
			t.Error("something of it lives on")
		}
		for _, err := range []error{
			w.Suspend(t.Context(), id, ""), w.SetRole(t.Context(), id, auth.Owner), w.SetPassword(t.Context(), 99, goodPassword),
		} {
			if !errors.Is(err, fault.NotFound) {
				t.Errorf("%v", err)
			}
		}
		w.anna(t) // the address is free again
	})
}

func TestAdministratorsMakeAccountsWithoutAPassword(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		p, err := w.Create(t.Context(), NewAccount{Email: "op@example.com", Name: "Op", Role: auth.Owner, Verified: true})
		if err != nil || p.Role != auth.Owner || !p.EmailVerified {
			t.Fatalf("%+v, %v", p, err)
		}
		if _, err := w.SignIn(t.Context(), "op@example.com", "", home); !errors.Is(err, ErrCredentials) {
			t.Errorf("%v", err)
		}
		if err := w.SetPassword(t.Context(), p.ID, goodPassword); err != nil {
			t.Fatal(err)
		}
		if _, err := w.SignIn(t.Context(), "op@example.com", goodPassword, home); err != nil {
			t.Errorf("%v", err)
		}
		list, err := w.List(t.Context(), page.Params{})
		if err != nil || list.Meta.Total != 1 || list.Data[0].ID != p.ID {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

func TestChangesOfCredentialsNeedARecentSignIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		w.clk.Advance(recent)
		s, err := w.Authenticate(t.Context(), anna.Token)
		if err != nil {
			t.Fatal(err)
		}
		_, enrol := w.EnrolTOTP(t.Context(), s)
		_, passkey := w.BeginPasskey(t.Context(), s)
		for _, err := range []error{enrol, passkey, w.RequestEmail(t.Context(), s, "new@example.com"), w.DisableTOTP(t.Context(), s, home)} {
			if !errors.Is(err, fault.ReauthenticationRequired) {
				t.Errorf("%v", err)
			}
		}
		if _, err := w.Confirm(t.Context(), s, otherPassword, "", home); !errors.Is(err, fault.Validation) {
			t.Errorf("%v", err)
		}
		token, err := w.Confirm(t.Context(), s, goodPassword, "", home)
		if err != nil {
			t.Fatal(err)
		}
		if w.alive(t, anna.Token) {
			t.Error("the token from before the confirmation has its rights")
		}
		in := func() bool {
			t.Helper()
			_, err := w.AuthenticateAgain(t.Context(), s)
			if err != nil && !errors.Is(err, fault.Unauthenticated) {
				t.Fatal(err)
			}
			return err == nil
		}
		if !in() {
			t.Error("what the session has open ends with the confirmation")
		}
		if s, err = w.Authenticate(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		if _, err := w.EnrolTOTP(t.Context(), s); err != nil {
			t.Errorf("%v", err)
		}
		if err := w.Suspend(t.Context(), s.Account.ID, "abuse"); err != nil {
			t.Fatal(err)
		}
		if in() {
			t.Error("what the session has open outlives it")
		}
	})
}

func TestNoTokenIsStoredAsItIs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		out := w.anna(t)
		var n int
		err := w.DB.QueryRow(t.Context(), `SELECT count(*) FROM account_sessions WHERE token_hash = $1`, secret.Hash(out.Token)).Scan(&n)
		if err != nil || n != 1 {
			t.Errorf("%d, %v", n, err)
		}
		hash, err := passwordOfID(t.Context(), w.DB, out.Session.Account.ID)
		if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$") {
			t.Errorf("%q, %v", hash, err)
		}
	})
}

func TestAnOutdatedHashIsReplacedAtTheNextSignIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		id := w.anna(t).Session.Account.ID
		weak := weakHash(t, goodPassword)
		err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return setPassword(ctx, tx, id, weak) })
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := w.SignIn(t.Context(), "anna@example.com", goodPassword, home); err != nil {
				t.Fatal(err)
			}
		}
		if hash, err := passwordOfID(t.Context(), w.DB, id); err != nil || hash == weak {
			t.Errorf("%q, %v", hash, err)
		}
	})
}
