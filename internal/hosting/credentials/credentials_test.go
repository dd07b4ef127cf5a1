package credentials

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
)

const (
	owner    = 1
	stranger = 2
)

type world struct {
	t   *testing.T
	db  *db.DB
	log *bytes.Buffer
	*Service
	replaced []int64 // subjects
	refuse   error
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, db: d, log: &bytes.Buffer{}}
		w.Service = New(Config{DB: d, Box: box, Log: slog.New(slog.NewTextHandler(w.log, nil))})
		w.Connect(Needs{Places: map[Kind]Places{}, Replaced: map[Kind]Replaced{"ftp": func(_ context.Context, _ *db.Tx, _, _, subject int64) error {
			w.replaced = append(w.replaced, subject)
			return w.refuse
		}}})
		f(t, w)
	})
}

func (w *world) tx(f func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	if err := w.db.InTx(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

// put makes a password of an FTP account of service 10 and answers its row.
func (w *world) put(subject int64) Credential {
	w.t.Helper()
	w.tx(func(ctx context.Context, tx *db.Tx) error {
		return w.Put(ctx, tx, owner, 10, "ftp", subject, fmt.Sprintf("u%d", subject))
	})
	all, err := w.List(w.t.Context(), owner, 10)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range all {
		if c.SubjectID == subject {
			return c
		}
	}
	w.t.Fatalf("no credential of %d in %+v", subject, all)
	return Credential{}
}

func (w *world) secret(subject int64) (password, version string) {
	w.t.Helper()
	password, version, err := w.Secret(w.t.Context(), w.db, "ftp", subject)
	if err != nil {
		w.t.Fatal(err)
	}
	return password, version
}

func TestAPasswordIsShownOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		c := w.put(7)
		if c.RevealedAt != nil || c.Label != "u7" || c.Kind != FTP {
			t.Fatalf("%+v", c)
		}
		told, version := w.secret(7)
		for account, want := range map[int64]string{owner: told, stranger: ""} {
			all, err := w.Passwords(t.Context(), account, 10)
			if err != nil || (want == "") != (len(all) == 0) || want != "" && all[0] != (Password{Kind: FTP, Value: want}) {
				t.Errorf("passwords for account %d: %+v, %v", account, all, err)
			}
		}
		if len(told) != length || version == "" {
			t.Fatalf("%d characters, version %q", len(told), version)
		}
		_, shown, err := w.Reveal(t.Context(), owner, 10, c.ID)
		if err != nil || shown != told {
			t.Fatalf("shown another password than the panel is told: %v", err)
		}
		if _, again, err := w.Reveal(t.Context(), owner, 10, c.ID); !errors.Is(err, fault.NotFound) || again != "" {
			t.Errorf("shown twice: %v", err)
		}
		if after := w.put(7); after.RevealedAt == nil {
			t.Error("nobody notes that it was shown")
		}
		if still, same := w.secret(7); still != told || same != version {
			t.Error("Put replaced the password of a subject that had one")
		}
		if strings.Contains(w.log.String(), told) || !strings.Contains(w.log.String(), "credential shown") {
			t.Errorf("log: %s", w.log)
		}
	})
}

func TestOfManyWhoAskAtOnceOneIsShownThePassword(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		c := w.put(7)
		var (
			wg    sync.WaitGroup
			mu    sync.Mutex
			shown int
		)
		for range 8 {
			wg.Go(func() {
				_, _, err := w.Reveal(t.Context(), owner, 10, c.ID)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					shown++
				case !errors.Is(err, fault.NotFound):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if shown != 1 {
			t.Errorf("%d were shown it", shown)
		}
	})
}

func TestANewPasswordTakesThePlaceOfTheOld(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		c := w.put(7)
		old, version := w.secret(7)
		if _, _, err := w.Reveal(t.Context(), owner, 10, c.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Reset(t.Context(), owner, 10, c.ID); err != nil {
			t.Fatal(err)
		}
		fresh, next := w.secret(7)
		if fresh == old || next == version {
			t.Error("the password is still the old one")
		}
		if len(w.replaced) != 1 || w.replaced[0] != 7 {
			t.Errorf("the section was told of %v", w.replaced)
		}
		if _, shown, err := w.Reveal(t.Context(), owner, 10, c.ID); err != nil || shown != fresh {
			t.Errorf("the new password is not shown: %v", err)
		}

		w.refuse = fault.ServiceSuspended.New()
		if _, err := w.Reset(t.Context(), owner, 10, c.ID); !errors.Is(err, fault.ServiceSuspended) {
			t.Errorf("a suspended service got a new password: %v", err)
		}
		if still, _ := w.secret(7); still != fresh {
			t.Error("a refused change changed the password")
		}
	})
}

func TestStrangersGetNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		c := w.put(7)
		before, _ := w.secret(7)
		for _, who := range []struct{ account, service int64 }{{stranger, 10}, {owner, 11}, {stranger, 11}} {
			if list, err := w.List(t.Context(), who.account, who.service); err != nil || len(list) != 0 {
				t.Errorf("%+v lists %+v, %v", who, list, err)
			}
			if _, shown, err := w.Reveal(t.Context(), who.account, who.service, c.ID); !errors.Is(err, fault.NotFound) || shown != "" {
				t.Errorf("%+v is shown it: %v", who, err)
			}
			if _, err := w.Reset(t.Context(), who.account, who.service, c.ID); !errors.Is(err, fault.NotFound) {
				t.Errorf("%+v resets it: %v", who, err)
			}
		}
		if after, _ := w.secret(7); after != before || len(w.replaced) != 0 {
			t.Error("strangers changed it")
		}
		if _, _, err := w.Reveal(t.Context(), owner, 10, c.ID); err != nil {
			t.Errorf("strangers used up the owner's one time: %v", err)
		}
	})
}

func TestSealedPasswordsOpenInTheirOwnRowOnly(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		a, b := w.put(7), w.put(8)
		if x, _ := w.secret(7); x == "" {
			t.Fatal("no password")
		}
		w.tx(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE credentials SET sealed = (SELECT sealed FROM credentials WHERE id = $1),
				version = (SELECT version FROM credentials WHERE id = $1) WHERE id = $2`, a.ID, b.ID)
			return err
		})
		if _, _, err := w.Secret(t.Context(), w.db, "ftp", 8); !errors.Is(err, secret.ErrNotAuthentic) {
			t.Errorf("a password opened in another row: %v", err)
		}
		if _, _, err := w.Reveal(t.Context(), owner, 10, b.ID); err == nil {
			t.Error("and was shown")
		}
	})
}

func TestPasswordsGoWithTheirSubject(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		first := w.put(7)
		_, version := w.secret(7)
		w.tx(func(ctx context.Context, tx *db.Tx) error { return w.Delete(ctx, tx, "ftp", 7) })
		if _, _, err := w.Secret(t.Context(), w.db, "ftp", 7); !errors.Is(err, fault.NotFound) {
			t.Error(err)
		}
		again := w.put(7)
		if _, next := w.secret(7); again.ID == first.ID || next == version {
			t.Error("a password that was deleted came back")
		}
	})
}

func TestQuestionsUseAnIndex(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		testkit.Indexed(t, w.db, func(q db.Querier) error {
			_, err := ofService(t.Context(), q, owner, 10)
			if err == nil {
				_, err = ofSubject(t.Context(), q, FTP, 7)
			}
			if errors.Is(err, fault.NotFound) {
				err = nil
			}
			return err
		})
	})
}
