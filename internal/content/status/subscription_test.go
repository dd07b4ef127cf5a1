package status

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/mailer"
)

// subscribed is a section whose jobs a test does by hand, and whose mails it reads.
type subscribed struct {
	*world
	t    *testing.T
	jobs []river.JobArgs
	sent []mailer.Message
}

func (w *subscribed) Enqueue(_ context.Context, tx *db.Tx, args river.JobArgs, _ *river.InsertOpts) error {
	tx.OnCommit(func() { w.jobs = append(w.jobs, args) })
	return nil
}

func (w *subscribed) Send(_ context.Context, m mailer.Message) error {
	if err := m.Check(); err != nil {
		return err
	}
	w.sent = append(w.sent, m)
	return nil
}

func newSubscribed(t *testing.T, d *db.DB, clk clock.Clock) *subscribed {
	t.Helper()
	box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	w := &subscribed{world: newWorld(d, clk), t: t}
	c := w.Config
	c.Queue, c.Mailer, c.Box, c.Limiter, c.Limits = w, w, box, throttle.New(d, clk), DefaultLimits()
	c.BaseURL, c.Brand = "https://shop.example", brand.Fixed(brand.Brand{Name: "Shop"})
	c.Letters = &mailer.Writer{Brand: c.Brand, BaseURL: c.BaseURL}
	w.Service = New(c)
	return w
}

// work does all jobs, and those that they make, and returns the mails that were sent.
func (w *subscribed) work() []mailer.Message {
	w.t.Helper()
	w.sent = nil
	for len(w.jobs) > 0 {
		job := w.jobs[0]
		w.jobs = w.jobs[1:]
		var err error
		switch a := job.(type) {
		case askArgs:
			err = w.ask(w.t.Context(), a)
		case spreadArgs:
			if err = w.spread(w.t.Context(), a.NoticeID); err == nil {
				err = w.spread(w.t.Context(), a.NoticeID) // a job may run twice
			}
		case mailArgs:
			err = w.mail(w.t.Context(), a.NoticeID, a.SubscriberID)
		}
		if err != nil {
			w.t.Fatalf("%T: %v", job, err)
		}
	}
	return w.sent
}

var home = netip.MustParseAddr("203.0.113.5")

// token is that of the link in a mail.
func (w *subscribed) token(m mailer.Message, path string) string {
	w.t.Helper()
	_, rest, ok := strings.Cut(m.Text, "https://shop.example"+path)
	if !ok {
		w.t.Fatalf("no link to %s: %s", path, m.Text)
	}
	return strings.Fields(rest)[0]
}

// join subscribes an address and confirms it.
func (w *subscribed) join(email, lang string) (token string) {
	w.t.Helper()
	if err := w.Subscribe(w.t.Context(), email, lang, home); err != nil {
		w.t.Fatal(err)
	}
	token = w.token(w.work()[0], "/status/subscription/")
	if err := w.Confirm(w.t.Context(), token); err != nil {
		w.t.Fatal(err)
	}
	return token
}

func TestSubscribersAreToldOnceAndCanGo(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newSubscribed(t, d, clk)
		anna := w.join("anna@example.com", "ru")
		w.join("bobur@example.com", "en")
		if err := w.Subscribe(t.Context(), "silent@example.com", "en", home); err != nil { // and never confirms
			t.Fatal(err)
		}
		if sent := w.work(); len(sent) != 1 || sent[0].To != "silent@example.com" || sent[0].Unsubscribe != "" {
			t.Fatalf("%+v", sent)
		}
		n, err := w.Open(t.Context(), Incident{Title: slow, Impact: Major, Stage: Investigating}, i18n.Text{"en": "We look."})
		if err != nil {
			t.Fatal(err)
		}
		sent := w.work()
		if len(sent) != 2 || sent[0].ID == sent[1].ID || sent[0].To != "anna@example.com" || sent[0].Subject != "Shop: Медленно (Выясняем причину)" ||
			!strings.Contains(sent[1].Text, "We look.") || sent[0].Unsubscribe != "https://shop.example/status/unsubscribe/"+anna {
			t.Fatalf("%+v", sent)
		}
		if err := w.Unsubscribe(t.Context(), anna); err != nil {
			t.Fatal(err)
		}
		if err := w.Unsubscribe(t.Context(), anna); err != nil {
			t.Errorf("again: %v", err)
		}
		if _, err := w.Subscription(t.Context(), anna); !errors.Is(err, fault.NotFound) {
			t.Errorf("the address is still there: %v", err)
		}
		if _, err := w.Resolve(t.Context(), n.ID, i18n.Text{"en": "Mended."}); err != nil {
			t.Fatal(err)
		}
		if sent := w.work(); len(sent) != 1 || sent[0].Subject != "Shop: Slow (Resolved)" {
			t.Errorf("%+v", sent)
		}
		p, err := w.Schedule(t.Context(), Planned{Title: slow, StartsAt: clk.Now().Add(time.Hour), EndsAt: clk.Now().Add(2 * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		if sent := w.work(); len(sent) != 1 || !strings.HasPrefix(sent[0].Subject, "Shop: maintenance on ") {
			t.Errorf("%+v", sent)
		}
		if _, err := w.Cancel(t.Context(), p.ID); err != nil {
			t.Fatal(err)
		}
		if sent := w.work(); len(sent) != 1 || !strings.HasPrefix(sent[0].Subject, "Shop: no maintenance on ") {
			t.Errorf("%+v", sent)
		}
		clk.Advance(49 * time.Hour)
		if err := w.Record(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, err := db.Collect(t.Context(), d, func(r db.Row) (email string, err error) { err = r.Scan(&email); return email, err }, `SELECT email FROM status_subscribers`)
		if err != nil || len(left) != 1 || left[0] != "bobur@example.com" {
			t.Errorf("%v %v", left, err)
		}
	})
}

func TestTheFormDoesNotFillAMailbox(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newSubscribed(t, d, clk)
		w.join("anna@example.com", "en")
		var mails []mailer.Message
		for range 9 {
			if err := w.Subscribe(t.Context(), "anna@example.com", "ru", home); err != nil {
				t.Fatal(err)
			}
			mails = append(mails, w.work()...)
		}
		if len(mails) != 2 || mails[0].Subject != "Shop: you are subscribed already" {
			t.Errorf("%+v", mails)
		}
		if err := w.Subscribe(t.Context(), "other@example.com", "en", home); !errors.Is(err, fault.RateLimited) {
			t.Errorf("the eleventh: %v", err)
		}
		if err := w.Confirm(t.Context(), "guess"); !errors.Is(err, fault.NotFound) {
			t.Errorf("a guess: %v", err)
		}
	})
	if a, b := network(netip.MustParseAddr("2001:db8::1")), network(netip.MustParseAddr("2001:db8::2:1")); a != b {
		t.Errorf("one network is two visitors: %s %s", a, b)
	}
}

// TestANoticeReachesMoreSubscribersThanABatch: each has one job, in several commits.
func TestANoticeReachesMoreSubscribersThanABatch(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	d := testkit.SQLite(t, clk)
	w := newSubscribed(t, d, clk)
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
			INSERT INTO status_subscribers (email, language, token_hash, token_sealed, created_at, asked_at, confirmed_at)
			SELECT 'a' || i, 'en', CAST('h' || i AS BLOB), 'x', 0, 0, 0 FROM n`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Open(t.Context(), Incident{Title: slow, Impact: Minor, Stage: Investigating}, slow); err != nil {
		t.Fatal(err)
	}
	told := map[int64]int{}
	for len(w.jobs) > 0 {
		job := w.jobs[0]
		w.jobs = w.jobs[1:]
		switch a := job.(type) {
		case spreadArgs:
			for range 2 {
				if err := w.spread(t.Context(), a.NoticeID); err != nil {
					t.Fatal(err)
				}
			}
		case mailArgs:
			told[a.SubscriberID]++
		}
	}
	for id, n := range told {
		if n != 1 {
			t.Errorf("%d has %d jobs", id, n)
		}
	}
	if len(told) != 1200 {
		t.Errorf("%d have one", len(told))
	}
}
