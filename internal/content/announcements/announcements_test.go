package announcements

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

var errCrash = errors.New("the process dies")

// world is what the section has around it. Its jobs are done by the test, one after the other.
type world struct {
	t   *testing.T
	clk *clock.Fake
	*Service
	accounts []int64 // of everybody
	// holders are the accounts of the other audiences.
	holders map[Audience][]int64
	told    map[int64]int
	// crash is the number of the notifications after which the process dies once; 0: never.
	crash int
	jobs  []river.JobArgs
}

func (w *world) of(a Audience) []int64 {
	if a.Kind == Everybody {
		return w.accounts
	}
	return w.holders[a]
}

func (w *world) Check(_ context.Context, _ db.Querier, a Audience) error {
	if _, known := w.holders[a]; a.Kind == OnNode && !known {
		return fault.Invalid("audience_of", "announcement_node")
	}
	return nil
}

func (w *world) Count(_ context.Context, _ db.Querier, a Audience) (int, error) {
	return len(w.of(a)), nil
}

func (w *world) After(_ context.Context, _ db.Querier, a Audience, id int64, limit int) ([]int64, int64, error) {
	var behind []int64
	for _, one := range w.of(a) {
		if one > id && len(behind) < limit {
			behind = append(behind, one)
		}
	}
	if len(behind) < limit {
		return behind, 0, nil
	}
	return behind, behind[limit-1], nil
}

func (w *world) Belongs(_ context.Context, _ db.Querier, accountID int64) (all []Audience, err error) {
	for a, ids := range w.holders {
		if slices.Contains(ids, accountID) {
			all = append(all, a)
		}
	}
	return all, nil
}

// Notify counts what is committed, as the table of the notifications does.
func (w *world) Notify(_ context.Context, tx *db.Tx, _ Announcement, accounts []int64) (int, error) {
	for _, id := range accounts {
		if w.crash > 0 {
			if w.crash--; w.crash == 0 {
				return 0, errCrash
			}
		}
		tx.OnCommit(func() { w.told[id]++ })
	}
	return len(accounts), nil
}

func (*world) RecordAnnouncement(ctx context.Context, _ string, _ int64) context.Context { return ctx }

func (w *world) Enqueue(_ context.Context, tx *db.Tx, args river.JobArgs, _ *river.InsertOpts) error {
	tx.OnCommit(func() { w.jobs = append(w.jobs, args) })
	return nil
}

// work does all jobs, and those that they make, each twice. One that fails is tried again.
func (w *world) work() {
	w.t.Helper()
	for len(w.jobs) > 0 {
		a, ok := w.jobs[0].(spreadArgs)
		if !ok {
			w.t.Fatalf("an unknown job: %T", w.jobs[0])
		}
		err := w.spread(w.t.Context(), a.AnnouncementID)
		if errors.Is(err, errCrash) {
			continue
		}
		if err != nil {
			w.t.Fatal(err)
		}
		w.jobs = w.jobs[1:]
	}
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := &world{t: t, clk: clk, accounts: []int64{7, 8, 9}, holders: map[Audience][]int64{}, told: map[int64]int{}}
		w.Service = New(Config{DB: d, Clock: clk, Queue: w})
		w.Connect(Needs{Accounts: w, Notifier: w, Audit: w})
		f(t, w)
	})
}

func wish() Wish {
	return Wish{Title: i18n.Text{"en": "Disks", "ru": "Диски"}, Body: i18n.Text{"en": "Tonight.", "ru": "Ночью."}, Level: Info, Audience: Audience{Kind: Everybody}}
}

// publish writes and publishes an announcement.
func (w *world) publish(x Wish) Announcement {
	w.t.Helper()
	a, err := w.Create(w.t.Context(), x)
	if err == nil {
		a, err = w.Publish(w.t.Context(), a.ID, a.Version)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// sees are the titles that an account is shown.
func (w *world) sees(accountID int64) (titles string) {
	w.t.Helper()
	all, err := w.Shown(w.t.Context(), accountID)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range all {
		titles += a.Title.In("en") + ";"
	}
	return titles
}

func TestAnAnnouncementIsShownFromItsBeginningToItsEndUntilItIsDismissed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		from, until := w.clk.Now().Add(time.Hour), w.clk.Now().Add(2*time.Hour)
		x := wish()
		x.StartsAt, x.EndsAt = &from, &until
		draft, err := w.Create(t.Context(), x)
		if err != nil || w.sees(7) != "" {
			t.Fatalf("a draft: %+v, %v", draft, err)
		}
		if _, err := w.Publish(t.Context(), draft.ID, 7); !errors.Is(err, fault.Conflict) {
			t.Errorf("another version is published: %v", err)
		}
		a, err := w.Publish(t.Context(), draft.ID, draft.Version)
		if err != nil || a.State(w.clk.Now()) != Scheduled || w.sees(7) != "" {
			t.Fatalf("before its beginning: %+v, %v", a, err)
		}
		if err := w.Dismiss(t.Context(), 7, a.ID); !errors.Is(err, fault.NotFound) {
			t.Errorf("dismissed before its beginning: %v", err)
		}
		w.clk.Advance(time.Hour)
		if w.sees(7) != "Disks;" {
			t.Error(w.sees(7))
		}
		for range 2 {
			if err := w.Dismiss(t.Context(), 7, a.ID); err != nil {
				t.Fatal(err)
			}
		}
		if w.sees(7) != "" || w.sees(8) != "Disks;" {
			t.Errorf("after it was dismissed by one: %q, %q", w.sees(7), w.sees(8))
		}
		w.clk.Advance(time.Hour)
		if w.sees(8) != "" {
			t.Error("it is shown after its end")
		}
		if _, err := w.Save(t.Context(), a.ID, a.Version, wish()); !errors.Is(err, errOver) {
			t.Errorf("what is over is changed: %v", err)
		}
		w.clk.Advance(keepDismissals + time.Hour)
		if err := w.clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := w.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM announcements_dismissals`).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d dismissals are left, %v", left, err)
		}
	})
}

func TestAnAnnouncementIsForItsAudience(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		node := Audience{OnNode, "web1"}
		w.holders[node] = []int64{8}
		w.holders[Audience{Kind: Resellers}] = []int64{9}
		w.publish(wish())
		x := wish()
		x.Title, x.Audience = i18n.Text{"en": "Web1", "ru": "Web1"}, node
		a := w.publish(x)
		x.Title, x.Audience = i18n.Text{"en": "Prices", "ru": "Цены"}, Audience{Resellers, "ignored"}
		w.clk.Advance(time.Second)
		w.publish(x)
		for id, want := range map[int64]string{7: "Disks;", 8: "Web1;Disks;", 9: "Prices;Disks;"} {
			if got := w.sees(id); got != want {
				t.Errorf("%d sees %q, want %q", id, got, want)
			}
		}
		if err := w.Dismiss(t.Context(), 7, a.ID); !errors.Is(err, fault.NotFound) {
			t.Errorf("somebody else's is dismissed: %v", err)
		}
		x.Audience = Audience{OnNode, "web2"}
		if _, err := w.Create(t.Context(), x); !errors.Is(err, fault.Validation) {
			t.Errorf("an unknown machine: %v", err)
		}
		if _, n, err := w.Preview(t.Context(), wish()); err != nil || n != 3 {
			t.Errorf("%d accounts, %v", n, err)
		}
		if all, total, err := w.List(t.Context(), page.Params{Page: 1, PerPage: 2}); err != nil || total != 3 || len(all) != 2 {
			t.Errorf("%d of %d, %v", len(all), total, err)
		}
	})
}

func TestWhatIsPublishedKeepsItsReach(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		a := w.publish(wish())
		x := a.Wish
		x.Title = i18n.Text{"en": "New disks"}
		x.Body = i18n.Text{"en": "Tomorrow."}
		a, err := w.Save(t.Context(), a.ID, a.Version, x)
		if err != nil || w.sees(7) != "New disks;" {
			t.Fatalf("a corrected text: %q, %v", w.sees(7), err)
		}
		for name, change := range map[string]func(*Wish){
			"audience":  func(x *Wish) { x.Audience = Audience{Kind: Resellers} },
			"beginning": func(x *Wish) { x.StartsAt = nil },
			"notify":    func(x *Wish) { x.Notify = true },
		} {
			y := x
			change(&y)
			if _, err := w.Save(t.Context(), a.ID, a.Version, y); !errors.Is(err, errPublished) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := w.Remove(t.Context(), a.ID); !errors.Is(err, errPublished) {
			t.Errorf("removed: %v", err)
		}
		if _, err := w.Withdraw(t.Context(), a.ID); err != nil || w.sees(7) != "" {
			t.Errorf("withdrawn: %q, %v", w.sees(7), err)
		}
		if _, err := w.Withdraw(t.Context(), a.ID); !errors.Is(err, errOver) {
			t.Errorf("withdrawn twice: %v", err)
		}
	})
}

func TestEveryAccountIsToldOnceThoughTheProcessDies(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.accounts = nil
		for id := range int64(2*batch + 3) {
			w.accounts = append(w.accounts, 10+2*id)
		}
		w.crash = batch + batch/2 // in the middle of the second batch
		x := wish()
		x.Notify = true
		a := w.publish(x)
		w.jobs = append(w.jobs, w.jobs...) // a job may run twice
		w.work()
		if len(w.told) != len(w.accounts) || slices.Max(slices.Collect(maps.Values(w.told))) != 1 {
			t.Errorf("%d of %d accounts are told, one %d times", len(w.told), len(w.accounts), slices.Max(slices.Collect(maps.Values(w.told))))
		}
		a, n, err := w.Get(t.Context(), a.ID)
		if err != nil || a.Told != int64(len(w.accounts)) || n != len(w.accounts) || a.FinishedAt == nil {
			t.Errorf("%d told of %d, finished %v, %v", a.Told, n, a.FinishedAt, err)
		}
	})
}

func TestNotificationsBeginWithTheAnnouncementAndEndWithIt(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		from := w.clk.Now().Add(time.Hour)
		x := wish()
		x.Notify, x.StartsAt = true, &from
		a := w.publish(x)
		for range 2 {
			if err := w.beginDue(t.Context()); err != nil || len(w.jobs) != 0 {
				t.Fatalf("before the beginning: %d jobs, %v", len(w.jobs), err)
			}
		}
		w.clk.Advance(time.Hour)
		for range 2 {
			if err := w.beginDue(t.Context()); err != nil || len(w.jobs) != 1 {
				t.Fatalf("at the beginning: %d jobs, %v", len(w.jobs), err)
			}
		}
		if _, err := w.Withdraw(t.Context(), a.ID); err != nil {
			t.Fatal(err)
		}
		w.work()
		if len(w.told) != 0 {
			t.Errorf("%v are told of what was withdrawn", w.told)
		}
	})
}

func TestWhatIsNoAnnouncementIsRefused(t *testing.T) {
	t.Parallel()
	now := time.Now()
	past, later := now.Add(-time.Hour), now.Add(time.Hour)
	for name, change := range map[string]func(*Wish){
		"nothing":           func(w *Wish) { w.Title, w.Body = nil, nil },
		"half a language":   func(w *Wish) { w.Body = i18n.Text{"en": "Tonight."} },
		"hidden letters":    func(w *Wish) { w.Title = i18n.Text{"en": "a\u202eb", "ru": "б"} },
		"two lines":         func(w *Wish) { w.Title = i18n.Text{"en": "a\nb", "ru": "б"} },
		"a long title":      func(w *Wish) { w.Title = i18n.Text{"en": strings.Repeat("a", maxTitle+1), "ru": "б"} },
		"another site":      func(w *Wish) { w.Link = "https://evil.example/" },
		"its short form":    func(w *Wish) { w.Link = "//evil.example/" },
		"as browsers do":    func(w *Wish) { w.Link = `/\evil.example/` },
		"a script":          func(w *Wish) { w.Link = "javascript:alert(1)" },
		"no machine":        func(w *Wish) { w.Audience = Audience{Kind: OnNode} },
		"an end in past":    func(w *Wish) { w.EndsAt = &past },
		"an end at the top": func(w *Wish) { w.StartsAt, w.EndsAt = &later, &later },
	} {
		x := wish()
		change(&x)
		if got, err := x.checked(now); !errors.Is(err, fault.Validation) {
			t.Errorf("%s is taken as %+v: %v", name, got, err)
		}
	}
}

func TestClientsOfResellersSeeNone(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.publish(wish())
		edge := apitest.NewEdge(t, w.DB, w.clk, apitest.Tokens{
			"client":   {AccountID: 7, OnlyService: 3, FirstParty: true, Scopes: []string{auth.ScopeServicesRead, auth.ScopeServicesWrite}},
			"customer": {AccountID: 7, Scopes: []string{auth.ScopeProfile}},
		}, w.operations())
		for token, want := range map[string]int{"client": http.StatusNotFound, "customer": http.StatusOK} {
			r := apitest.Call(edge, token, http.MethodGet, "/api/v1/announcements", "")
			if r.Code != want {
				t.Errorf("%s: %d %s", token, r.Code, r.Body)
			}
			if want == http.StatusOK && !strings.Contains(r.Body.String(), `"Диски"`) {
				t.Error(r.Body)
			}
		}
	})
}
