package account

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
)

func TestAForgottenPasswordIsReplacedByMail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		if err := w.RequestRecovery(t.Context(), "ANNA@example.com", home); err != nil {
			t.Fatal(err)
		}
		token := w.linkOf(t, "/recover/")
		if err := w.CheckRecovery(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		if err := w.CompleteRecovery(t.Context(), token, "short", home); !errors.Is(err, fault.Validation) {
			t.Errorf("%v", err)
		}
		if err := w.CompleteRecovery(t.Context(), token, otherPassword, home); err != nil {
			t.Fatal(err)
		}
		if w.alive(t, anna.Token) || w.ended[anna.Session.Account.ID] != 1 {
			t.Error("whoever knew the old password is still in")
		}
		out, err := w.SignIn(t.Context(), "anna@example.com", otherPassword, home)
		if err != nil || !out.Session.Account.EmailVerified {
			t.Errorf("%+v, %v", out, err)
		}
		for _, err := range []error{w.CheckRecovery(t.Context(), token), w.CompleteRecovery(t.Context(), token, goodPassword, home)} {
			if !errors.Is(err, ErrLink) {
				t.Errorf("the link worked twice: %v", err)
			}
		}
	})
}

func TestAnUnknownAddressIsAnsweredAlikeAndGetsNoMail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		if err := w.RequestRecovery(t.Context(), "nobody@example.com", home); err != nil {
			t.Fatal(err)
		}
		if len(w.queue.jobs) != 1 {
			t.Errorf("%d jobs: the work of the request differs", len(w.queue.jobs))
		}
		w.work(t)
		if len(w.post.sent) != 0 {
			t.Errorf("%d mails", len(w.post.sent))
		}
	})
}

func TestOfManyWithTheSameLinkOneSetsThePassword(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.anna(t)
		if err := w.RequestRecovery(t.Context(), "anna@example.com", home); err != nil {
			t.Fatal(err)
		}
		token := w.linkOf(t, "/recover/")
		var (
			wg   sync.WaitGroup
			mu   sync.Mutex
			done int
		)
		for range 5 {
			wg.Go(func() {
				err := w.CompleteRecovery(context.Background(), token, otherPassword, home)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					done++
				} else if !errors.Is(err, ErrLink) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if done != 1 {
			t.Errorf("%d set it", done)
		}
	})
}

func TestALinkWorksForAnHourAndForItsPurpose(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.anna(t)
		email := w.linkOf(t, "/email/")
		if err := w.CheckRecovery(t.Context(), email); !errors.Is(err, ErrLink) {
			t.Errorf("a link to verify an address recovers: %v", err)
		}
		if err := w.RequestRecovery(t.Context(), "anna@example.com", home); err != nil {
			t.Fatal(err)
		}
		token := w.linkOf(t, "/recover/")
		w.clk.Advance(linkLife)
		if err := w.CompleteRecovery(t.Context(), token, otherPassword, home); !errors.Is(err, ErrLink) {
			t.Errorf("%v", err)
		}
	})
}

func TestANewerLinkReplacesTheOlderOne(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.anna(t)
		var links []string
		for range 2 {
			if err := w.RequestRecovery(t.Context(), "anna@example.com", home); err != nil {
				t.Fatal(err)
			}
			links = append(links, w.linkOf(t, "/recover/"))
			w.clk.Advance(2 * freshFor)
		}
		if links[0] == links[1] || !errors.Is(w.CheckRecovery(t.Context(), links[0]), ErrLink) || w.CheckRecovery(t.Context(), links[1]) != nil {
			t.Errorf("%v", links)
		}
	})
}

func TestMailsToOneAddressAreLimited(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.anna(t)
		var err error
		for i := range w.Limits.MailAccount.Limit + 1 {
			err = w.RequestRecovery(t.Context(), "anna@example.com", Client{Address: netip.AddrFrom4([4]byte{198, 51, 100, byte(i)})})
		}
		if !errors.Is(err, fault.RateLimited) {
			t.Errorf("%v", err)
		}
	})
}

func TestNoJobHoldsASecret(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.anna(t)
		if err := w.RequestRecovery(t.Context(), "anna@example.com", home); err != nil {
			t.Fatal(err)
		}
		token := w.linkOf(t, "/recover/")
		for _, j := range w.queue.jobs {
			b, err := json.Marshal(j)
			if err != nil || strings.Contains(string(b), token) || strings.Contains(string(b), "st_ln_") {
				t.Errorf("%s, %v", b, err)
			}
		}
		var sealed int
		if err := w.DB.QueryRow(t.Context(), `SELECT count(*) FROM account_tokens WHERE sealed_token IS NOT NULL`).Scan(&sealed); err != nil || sealed != 0 {
			t.Errorf("%d tokens are kept after their mail, %v", sealed, err)
		}
	})
}

func TestAMailThatFailsIsTriedAgainWithTheSameLink(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.anna(t)
		job, ok := w.queue.jobs[0].(mailArgs)
		if !ok {
			t.Fatalf("%T", w.queue.jobs[0])
		}
		w.post.broken = errors.New("the server is away")
		if err := w.sendMail(t.Context(), "account-1", job); err == nil {
			t.Fatal("the failure was swallowed")
		}
		w.post.broken = nil
		for range 2 {
			if err := w.sendMail(t.Context(), "account-1", job); err != nil {
				t.Fatal(err)
			}
		}
		if len(w.post.sent) != 1 || w.post.sent[0].ID != "account-1" {
			t.Errorf("%+v", w.post.sent)
		}
	})
}

func TestAnAddressIsVerifiedAndChangedByItsOwner(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		if err := w.ConfirmEmail(t.Context(), w.linkOf(t, "/email/"), Holder{Session: &anna.Session}, home); err != nil {
			t.Fatal(err)
		}
		if err := w.RequestEmail(t.Context(), anna.Session, "New@example.com"); err != nil {
			t.Fatal(err)
		}
		token := w.linkOf(t, "/email/")
		if email, id, err := w.CheckEmail(t.Context(), token); err != nil || email != "new@example.com" || id != anna.Session.Account.ID {
			t.Errorf("%q, %v", email, err)
		}
		if p, err := w.Profile(t.Context(), w.DB, anna.Session.Account.ID); err != nil || p.Email != "anna@example.com" || !p.EmailVerified {
			t.Errorf("before the link: %+v, %v", p, err)
		}
		if err := w.ConfirmEmail(t.Context(), token, Holder{Session: &anna.Session}, home); err != nil {
			t.Fatal(err)
		}
		if p, err := w.Profile(t.Context(), w.DB, anna.Session.Account.ID); err != nil || p.Email != "new@example.com" || !p.EmailVerified {
			t.Errorf("after the link: %+v, %v", p, err)
		}
		w.work(t)
		if last := w.post.sent[len(w.post.sent)-1]; last.To != "anna@example.com" || !strings.Contains(last.Subject, "was changed") {
			t.Errorf("the former address was not told: %+v", last)
		}
		if err := w.ConfirmEmail(t.Context(), token, Holder{Session: &anna.Session}, home); !errors.Is(err, ErrLink) {
			t.Errorf("%v", err)
		}
	})
}

func TestAnotherAccountsAddressCannotBeTaken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		if err := w.RequestEmail(t.Context(), anna.Session, "new@example.com"); err != nil {
			t.Fatal(err)
		}
		token := w.linkOf(t, "/email/")
		if _, err := w.SignUp(t.Context(), Registration{Name: "Eve", Email: "new@example.com", Password: goodPassword}, home); err != nil {
			t.Fatal(err)
		}
		if err := w.ConfirmEmail(t.Context(), token, Holder{Session: &anna.Session}, home); !errors.Is(err, fault.Validation) {
			t.Errorf("%v", err)
		}
		if err := w.RequestEmail(t.Context(), anna.Session, "new@example.com"); !errors.Is(err, fault.Validation) {
			t.Errorf("%v", err)
		}
	})
}

func TestMailsAreInTheOwnersLanguage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for lang, word := range map[string]string{"en": "Welcome", "ru": "Добро пожаловать", "uz": "xush kelibsiz"} {
			_, err := w.SignUp(t.Context(), Registration{Name: "Anna", Email: lang + "@example.com", Password: goodPassword, Locale: lang}, home)
			if err != nil {
				t.Fatal(err)
			}
			w.work(t)
			m := w.post.sent[len(w.post.sent)-1]
			if !strings.Contains(m.Subject, word) || strings.Contains(m.Text, "account.mail") || strings.Contains(m.Text, "<no value>") {
				t.Errorf("%s: %+v", lang, m)
			}
			if err := m.Check(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestWhatHasExpiredIsRemoved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.anna(t)
		w.clk.Advance(sessionLife + time.Hour)
		if err := w.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		count := func(table string) (n int) {
			if err := w.DB.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if count("account_tokens") != 0 || count("account_sessions") != 1 {
			t.Errorf("%d links, %d sessions", count("account_tokens"), count("account_sessions"))
		}
		w.clk.Advance(keepEnded)
		if err := w.Clean(t.Context()); err != nil || count("account_sessions") != 0 {
			t.Errorf("%d sessions, %v", count("account_sessions"), err)
		}
	})
}

// TestALinkThatAThiefAskedForEndsWithItsSession: it would give the account to the thief's address within the hour.
func TestALinkThatAThiefAskedForEndsWithItsSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, w *world, anna, thief Session) error{
		"the password is recovered": func(t *testing.T, w *world, _, _ Session) error {
			if err := w.RequestRecovery(t.Context(), "anna@example.com", home); err != nil {
				return err
			}
			return w.CompleteRecovery(t.Context(), w.linkOf(t, "/recover/"), otherPassword, home)
		},
		"the password is changed": func(t *testing.T, w *world, anna, _ Session) error {
			return w.ChangePassword(t.Context(), anna, goodPassword, otherPassword, home)
		},
		"an operator sets a password": func(t *testing.T, w *world, anna, _ Session) error {
			return w.SetPassword(t.Context(), anna.Account.ID, otherPassword)
		},
		"all other sessions are ended": func(t *testing.T, w *world, anna, _ Session) error {
			return w.EndOtherSessions(t.Context(), anna)
		},
		"its session is ended": func(t *testing.T, w *world, anna, thief Session) error {
			return w.EndSession(t.Context(), anna.Account.ID, thief.ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				anna := w.anna(t).Session
				thief, err := w.SignIn(t.Context(), "anna@example.com", goodPassword, home)
				if err != nil {
					t.Fatal(err)
				}
				if err := w.RequestEmail(t.Context(), thief.Session, "thief@example.com"); err != nil {
					t.Fatal(err)
				}
				link := w.linkOf(t, "/email/")
				if err := end(t, w, anna, thief.Session); err != nil {
					t.Fatal(err)
				}
				if err := w.ConfirmEmail(t.Context(), link, Holder{Session: &thief.Session}, home); !errors.Is(err, ErrLink) {
					t.Errorf("the thief's link: %v", err)
				}
				if p, err := w.Profile(t.Context(), w.DB, anna.Account.ID); err != nil || p.Email != "anna@example.com" {
					t.Errorf("%+v, %v", p, err)
				}
			})
		})
	}
}

func TestTheLinkThatVerifiesTheOwnAddressOutlivesSessions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		link := w.linkOf(t, "/email/")
		if err := w.ChangePassword(t.Context(), anna.Session, goodPassword, otherPassword, home); err != nil {
			t.Fatal(err)
		}
		if err := w.ConfirmEmail(t.Context(), link, Holder{Session: &anna.Session}, home); err != nil {
			t.Errorf("%v", err)
		}
	})
}

// TestALinkForAnAddressThatIsBeingChangedIsNotMade: it would work at the former address.
func TestALinkForAnAddressThatIsBeingChangedIsNotMade(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t).Session.Account.ID
		made, began := make(chan error, 1), make(chan struct{})
		err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { // what ConfirmEmail does
			if err := lockUser(ctx, tx, anna); err != nil {
				return err
			}
			go func() {
				close(began)
				made <- w.startRecovery(context.WithoutCancel(t.Context()), "anna@example.com")
			}()
			<-began
			if w.DB.Engine() == "postgres" { // SQLite's other writers wait before they read
				testkit.Eventually(t, time.Minute, func() bool {
					var waiting bool
					err := w.DB.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_stat_activity
						WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waiting)
					return err == nil && waiting
				}, "the job waits for the account")
			}
			return setEmail(ctx, tx, anna, "new@example.com")
		})
		if err := errors.Join(err, <-made); err != nil {
			t.Fatal(err)
		}
		w.work(t)
		for _, m := range w.post.sent {
			if strings.Contains(m.Text, "/recover/") {
				t.Errorf("a link was mailed to %s", m.To)
			}
		}
	})
}

// TestWhoRegisteredWithAnothersAddressHasNoWayBackIn, and who has proved to own the address keeps all factors.
func TestWhoRegisteredWithAnothersAddressHasNoWayBackIn(t *testing.T) {
	t.Parallel()
	for name, verified := range map[string]bool{"a stranger": false, "the owner": true} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				anna := w.anna(t)
				if verified {
					if err := w.ConfirmEmail(t.Context(), w.linkOf(t, "/email/"), Holder{Session: &anna.Session}, home); err != nil {
						t.Fatal(err)
					}
				}
				w.withPasskey(t, anna.Session)
				w.withTOTP(t, anna.Session)
				if err := w.RequestRecovery(t.Context(), "anna@example.com", home); err != nil {
					t.Fatal(err)
				}
				if err := w.CompleteRecovery(t.Context(), w.linkOf(t, "/recover/"), otherPassword, home); err != nil {
					t.Fatal(err)
				}
				left, err := w.Passkeys(t.Context(), anna.Session.Account.ID)
				if err != nil || (len(left) == 1) != verified {
					t.Errorf("%d passkeys are left, %v", len(left), err)
				}
				codes, err := w.RecoveryCodesLeft(t.Context(), anna.Session.Account.ID)
				if err != nil || (codes > 0) != verified {
					t.Errorf("%d recovery codes are left, %v", codes, err)
				}
				out, err := w.SignIn(t.Context(), "anna@example.com", otherPassword, home)
				if err != nil || (out.Pending != "") != verified {
					t.Errorf("signing in: %+v, %v", out, err)
				}
			})
		})
	}
}

// TestALinkDoesNotVerifyTheAddressOfAStrangersAccount: whoever gets the mail without having asked for it cannot be made to
// keep the stranger's factors by a click.
func TestALinkDoesNotVerifyTheAddressOfAStrangersAccount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		stranger := w.anna(t)
		w.withTOTP(t, stranger.Session)
		victim, err := w.SignUp(t.Context(), Registration{Name: "Eve", Email: "eve@example.com", Password: goodPassword}, home)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.ConfirmEmail(t.Context(), w.linkOf(t, "/email/"), Holder{Password: goodPassword}, home); err != nil {
			t.Fatal(err)
		}
		// The account of a stranger asks for an address of somebody else.
		if err := w.RequestEmail(t.Context(), stranger.Session, "victim@example.com"); err != nil {
			t.Fatal(err)
		}
		link := w.linkOf(t, "/email/")
		for name, holder := range map[string]Holder{
			"nobody": {}, "a wrong password": {Password: otherPassword}, "another account": {Session: &victim.Session},
		} {
			if f := fault.From(w.ConfirmEmail(t.Context(), link, holder, home)); f.Invalid["password"] == nil {
				t.Errorf("%s: %v", name, f)
			}
		}
		if p, err := w.Profile(t.Context(), w.DB, stranger.Session.Account.ID); err != nil || p.EmailVerified || p.Email != "anna@example.com" {
			t.Errorf("%+v, %v", p, err)
		}
		for range w.Limits.SecondFactor.Limit {
			err = w.ConfirmEmail(t.Context(), link, Holder{Password: otherPassword}, home)
		}
		if !errors.Is(err, fault.RateLimited) {
			t.Errorf("a password may be guessed by a link: %v", err)
		}
	})
}
