package account

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/fault"
)

// pending signs anna in as far as the password goes.
func (w *world) pending(t *testing.T) string {
	t.Helper()
	out, err := w.SignIn(t.Context(), "anna@example.com", goodPassword, home)
	if err != nil || out.Pending == "" || out.Token != "" {
		t.Fatalf("%+v, %v", out, err)
	}
	return out.Pending
}

func TestASecondFactorCompletesTheSignIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		seed, _ := w.withTOTP(t, w.anna(t).Session)
		pending := w.pending(t)
		if w.alive(t, pending) {
			t.Fatal("the password alone is a session")
		}
		out, err := w.SecondFactor(t.Context(), pending, w.code(t, seed)[:3]+" "+w.code(t, seed)[3:], home)
		if err != nil || !w.alive(t, out.Token) || !out.Session.SecondFactor || !out.Session.Account.TwoFactor {
			t.Errorf("%+v, %v", out, err)
		}
		if _, err := w.SecondFactor(t.Context(), pending, w.code(t, seed), home); !errors.Is(err, ErrCeremony) {
			t.Errorf("the pending sign-in worked twice: %v", err)
		}
	})
}

func TestACodeWorksOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		seed, _ := w.withTOTP(t, w.anna(t).Session)
		before := w.code(t, seed)
		w.clk.Advance(totpPeriod)
		code := w.code(t, seed)
		if _, err := w.SecondFactor(t.Context(), w.pending(t), code, home); err != nil {
			t.Fatal(err)
		}
		for name, replayed := range map[string]string{"the same code": code, "the code of the step before": before} {
			if _, err := w.SecondFactor(t.Context(), w.pending(t), replayed, home); !errors.Is(err, ErrCode) {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.clk.Advance(totpPeriod)
		if _, err := w.SecondFactor(t.Context(), w.pending(t), w.code(t, seed), home); err != nil {
			t.Errorf("the next code: %v", err)
		}
	})
}

func TestOfManyWithTheSameCodeOneGetsIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		seed, _ := w.withTOTP(t, w.anna(t).Session)
		code := w.code(t, seed)
		var pendings []string
		for range 6 {
			pendings = append(pendings, w.pending(t))
		}
		var (
			wg sync.WaitGroup
			mu sync.Mutex
			in int
		)
		for _, p := range pendings {
			wg.Go(func() {
				_, err := w.SecondFactor(context.Background(), p, code, home)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					in++
				} else if !errors.Is(err, ErrCode) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if in != 1 {
			t.Errorf("%d got in", in)
		}
	})
}

func TestAFewWrongCodesEndTheSignIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		seed, _ := w.withTOTP(t, w.anna(t).Session)
		pending := w.pending(t)
		for range ceremonyAttempts {
			if _, err := w.SecondFactor(t.Context(), pending, "000000", home); !errors.Is(err, ErrCode) {
				t.Fatal(err)
			}
		}
		if _, err := w.SecondFactor(t.Context(), pending, w.code(t, seed), home); !errors.Is(err, ErrCeremony) {
			t.Errorf("%v", err)
		}
		// Beginning again does not help for ever: codes are counted per account and address.
		var err error
		for range 20 {
			if _, err = w.SecondFactor(t.Context(), w.pendingQuietly(t), "000000", home); errors.Is(err, fault.RateLimited) {
				return
			}
		}
		t.Errorf("codes are guessed without end: %v", err)
	})
}

// TestWhoKnowsThePasswordOnlyDoesNotKeepTheOwnerOut: somebody else tries codes from another place until they are limited.
func TestWhoKnowsThePasswordOnlyDoesNotKeepTheOwnerOut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		seed, codes := w.withTOTP(t, anna.Session)
		thief := Client{Address: netip.MustParseAddr("198.51.100.66")}
		try := func(code string, c Client) error {
			_, err := w.SecondFactor(t.Context(), w.pendingQuietly(t), code, c)
			return err
		}
		for range w.Limits.SecondFactorPair.Limit + w.Limits.SecondFactorSlow.Limit {
			if err := try("000000", thief); !errors.Is(err, ErrCode) {
				t.Fatal(err)
			}
		}
		err := try("000000", thief)
		if f := fault.From(err); f.Def != fault.RateLimited || f.Fields["retry_after"].(int) > 3601 {
			t.Errorf("the thief may go on: %v", err)
		}
		travelling := Client{Address: netip.MustParseAddr("192.0.2.99")}
		if err := try(w.code(t, seed), travelling); err != nil {
			t.Errorf("the owner, with a new browser at another place: %v", err)
		}
		w.clk.Advance(time.Minute)
		guesses := 0
		for i := range 30 {
			thief.Address = netip.AddrFrom4([4]byte{198, 51, 100, byte(100 + i)})
			for range w.Limits.SecondFactorPair.Limit {
				if err := try("000000", thief); errors.Is(err, ErrCode) {
					guesses++
				} else if !errors.Is(err, fault.RateLimited) {
					t.Fatal(err)
				}
			}
		}
		if most := w.Limits.SecondFactorAccount.Limit; guesses >= most {
			t.Errorf("thieves of many addresses guessed %d times, beside those of one", guesses)
		}
		if err := try(codes[0], Client{Address: netip.MustParseAddr("192.0.2.100")}); err != nil {
			t.Errorf("the owner, from nowhere known, with a recovery code: %v", err)
		}
		if err := try(w.code(t, seed), home); err != nil {
			t.Errorf("the owner, from where she signed in before: %v", err)
		}
		if _, err := w.Confirm(t.Context(), anna.Session, goodPassword, codes[1], home); err != nil {
			t.Errorf("the owner confirms: %v", err)
		}
	})
}

// pendingQuietly is pending without its own limit in the way.
func (w *world) pendingQuietly(t *testing.T) string {
	t.Helper()
	w.Limits.SignInPair.Limit, w.Limits.SignInAccount.Limit, w.Limits.SignInAddress.Limit = 0, 0, 0
	return w.pending(t)
}

func TestAPendingSignInExpires(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		seed, _ := w.withTOTP(t, w.anna(t).Session)
		pending := w.pending(t)
		w.clk.Advance(ceremonyLife)
		if _, err := w.SecondFactor(t.Context(), pending, w.code(t, seed), home); !errors.Is(err, ErrCeremony) {
			t.Errorf("%v", err)
		}
	})
}

func TestARecoveryCodeWorksOnceAndIsTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		_, codes := w.withTOTP(t, anna.Session)
		if len(codes) != recoveryCodes {
			t.Fatalf("%d codes", len(codes))
		}
		if _, err := w.SecondFactor(t.Context(), w.pending(t), strings.ToUpper(codes[3]), home); err != nil {
			t.Fatal(err)
		}
		if _, err := w.SecondFactor(t.Context(), w.pending(t), codes[3], home); !errors.Is(err, ErrCode) {
			t.Errorf("%v", err)
		}
		if n, err := w.RecoveryCodesLeft(t.Context(), anna.Session.Account.ID); err != nil || n != recoveryCodes-1 {
			t.Errorf("%d left, %v", n, err)
		}
		w.work(t)
		if last := w.post.sent[len(w.post.sent)-1]; !strings.Contains(last.Subject, "recovery code") {
			t.Errorf("%+v", last)
		}
	})
}

func TestRenewedRecoveryCodesReplaceTheOldOnes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		_, old := w.withTOTP(t, anna.Session)
		fresh, err := w.RenewRecoveryCodes(t.Context(), anna.Session, home)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.SecondFactor(t.Context(), w.pending(t), old[0], home); !errors.Is(err, ErrCode) {
			t.Errorf("%v", err)
		}
		if _, err := w.SecondFactor(t.Context(), w.pending(t), fresh[0], home); err != nil {
			t.Errorf("%v", err)
		}
	})
}

func TestASeedCountsOnlyOnceItIsConfirmed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		first, err := w.EnrolTOTP(t.Context(), anna.Session)
		if err != nil {
			t.Fatal(err)
		}
		again, err := w.EnrolTOTP(t.Context(), anna.Session)
		if err != nil || again != first {
			t.Errorf("a page loaded twice shows %v, then %v (%v)", first, again, err)
		}
		if _, err := w.ConfirmTOTP(t.Context(), anna.Session, "000000", home); !errors.Is(err, ErrCode) {
			t.Errorf("%v", err)
		}
		out, err := w.SignIn(t.Context(), "anna@example.com", goodPassword, home)
		if err != nil || out.Token == "" {
			t.Errorf("an unconfirmed seed is asked for: %v", err)
		}
		if _, err := w.ConfirmTOTP(t.Context(), anna.Session, w.code(t, first.Key), home); err != nil {
			t.Fatal(err)
		}
		if w.alive(t, out.Token) || !w.alive(t, anna.Token) {
			t.Error("the sessions of before the second factor live on, or this one does not")
		}
		if _, err := w.EnrolTOTP(t.Context(), anna.Session); !errors.Is(err, ErrTwoFactorOn) {
			t.Errorf("%v", err)
		}
		w.clk.Advance(time.Minute)
		if err := w.DisableTOTP(t.Context(), anna.Session, home); err != nil {
			t.Fatal(err)
		}
		if err := w.DisableTOTP(t.Context(), anna.Session, home); !errors.Is(err, ErrTwoFactorOff) {
			t.Errorf("%v", err)
		}
	})
}

func TestASeedIsSealedForItsAccount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		seed, _ := w.withTOTP(t, anna.Session)
		row, err := readTOTP(t.Context(), w.DB, anna.Session.Account.ID)
		if err != nil || strings.Contains(string(row.sealed), seed) {
			t.Fatalf("stored in clear, or %v", err)
		}
		if _, err := w.Box.Open(row.sealed, totpAAD(99)); err == nil {
			t.Error("it opens for another account")
		}
	})
}

func TestConfirmingNeedsTheSecondFactorWhereItIsOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		_, codes := w.withTOTP(t, anna.Session)
		w.clk.Advance(recent)
		s, err := w.Authenticate(t.Context(), anna.Token)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range []string{"", "123456", "abcdefgh"} {
			if _, err := w.Confirm(t.Context(), s, goodPassword, wrong, home); !errors.Is(err, ErrCode) {
				t.Errorf("code %q: %v", wrong, err)
			}
		}
		if _, err := w.Confirm(t.Context(), s, otherPassword, codes[0], home); !errors.Is(err, fault.Validation) {
			t.Errorf("a code in the place of the password: %v", err)
		}
		token, err := w.Confirm(t.Context(), s, goodPassword, codes[0], home)
		if err != nil {
			t.Fatal(err)
		}
		if s, err = w.Authenticate(t.Context(), token); err != nil || !s.Recent(w.clk.Now()) {
			t.Errorf("%+v, %v", s, err)
		}
		if _, err := w.Confirm(t.Context(), s, goodPassword, codes[0], home); !errors.Is(err, ErrCode) {
			t.Errorf("a recovery code worked twice: %v", err)
		}
	})
}
