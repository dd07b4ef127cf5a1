package clocks

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/testkit"
)

// worlds: 2 and 4 are sandboxes.
type worlds struct{}

func (worlds) Sandbox(_ context.Context, _ db.Querier, id int64) (bool, error) { return id%2 == 0, nil }

// life is a list of what is to happen, and what happened at what time.
type life struct {
	mu     sync.Mutex
	clocks *Service
	todo   []time.Time
	did    []time.Time
	busy   int // how often it is busy
	broken error
}

func (l *life) Due(ctx context.Context, accountID int64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return false, l.broken
	}
	now, ahead, err := l.clocks.Now(ctx, l.clocks.DB, accountID)
	if err != nil || !ahead {
		return false, err
	}
	for len(l.todo) > 0 && !l.todo[0].After(now) {
		l.did, l.todo = append(l.did, now), l.todo[1:]
	}
	l.busy--
	return l.busy >= 0, nil
}

func (l *life) Next(_ context.Context, _ db.Querier, _ int64, t time.Time) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range l.todo {
		if at.After(t) {
			return at, nil
		}
	}
	return time.Time{}, nil
}

type world struct {
	t   *testing.T
	clk *clock.Fake
	*Service
	life *life
	edge http.Handler
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		q, err := jobs.New(d, jobs.Config{MaxWorkers: 1, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, clk: clk, Service: New(Config{DB: d, Clock: clk, Queue: q})}
		w.Register(q.Workers())
		w.life = &life{clocks: w.Service}
		w.Connect(Needs{Worlds: worlds{}, Lives: []Life{w.life}})
		w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
			"live": {AccountID: 1, KeyID: 1}, "sandbox": {AccountID: 2, KeyID: 2}, "reader": {AccountID: 2, KeyID: 3, ReadOnly: true},
		}, w.Operations())
		f(t, w)
	})
}

type object = map[string]any

func (w *world) call(key, method, path, body string) (int, object) {
	w.t.Helper()
	rec := apitest.Call(w.edge, key, method, "/api/v1/reseller/clock"+path, body)
	a := object{}
	if err := json.Unmarshal(rec.Body.Bytes(), &a); err != nil {
		w.t.Fatalf("%s: %v", rec.Body, err)
	}
	return rec.Code, a
}

// arrive moves the clock of account 2 as its jobs do.
func (w *world) arrive() {
	w.t.Helper()
	for range 1000 {
		again, pause, err := w.move(w.t.Context(), 2)
		if err != nil {
			w.t.Fatal(err)
		}
		if !again {
			return
		}
		w.clk.Advance(pause)
	}
	w.t.Fatal("the clock does not arrive")
}

func (w *world) jobs() (n int) {
	w.t.Helper()
	if err := w.DB.QueryRow(w.t.Context(), `SELECT COUNT(*) FROM river_job WHERE kind = 'clocks.move'`).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestAClockGoesFromOneDueMomentToTheNext(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		began := w.clk.Now()
		days := func(n int) time.Time { return began.AddDate(0, 0, n) }
		w.life.todo = []time.Time{days(1), days(20), days(20), days(29), days(31)}
		if status, a := w.call("sandbox", "GET", "", ""); status != 200 || a["status"] != "real" || a["target"] != nil {
			t.Errorf("before: %d %v", status, a)
		}
		if status, a := w.call("sandbox", "POST", "/advance", `{"days": 30}`); status != 202 || a["status"] != "advancing" ||
			a["target"] != days(30).Format(time.RFC3339) {
			t.Errorf("on its way: %d %v", status, a)
		}
		if status, a := w.call("sandbox", "POST", "/advance", `{"days": 1}`); status != 409 || a["error"] != "conflict" {
			t.Errorf("twice: %d %v", status, a)
		}
		if n := w.jobs(); n != 1 {
			t.Errorf("%d jobs", n)
		}
		w.arrive()
		if !slices.EqualFunc(w.life.did, []time.Time{days(1), days(20), days(20), days(29)}, time.Time.Equal) {
			t.Errorf("it happened at %v", w.life.did)
		}
		if status, a := w.call("sandbox", "GET", "", ""); status != 200 || a["status"] != "ready" || a["now"] != days(30).Format(time.RFC3339) {
			t.Errorf("there: %d %v", status, a)
		}
		ahead, err := w.Ahead(t.Context(), w.DB)
		if err != nil || len(ahead) != 1 || !ahead[2].Equal(days(30)) {
			t.Errorf("ahead: %v, %v", ahead, err)
		}
		err = w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			everybodys := tx.Now
			for id, at := range map[int64]time.Time{1: everybodys, 2: days(30), 4: everybodys} {
				leave, err := w.Enter(ctx, tx, id)
				if err != nil || !tx.Now.Equal(at) {
					t.Errorf("entered the time of %d: %v, %v", id, tx.Now, err)
				}
				if leave(); !tx.Now.Equal(everybodys) {
					t.Errorf("left the time of %d: %v", id, tx.Now)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		w.clk.Set(days(40)) // the real time has overtaken it
		if now, ahead, err := w.Now(t.Context(), w.DB, 2); err != nil || ahead {
			t.Errorf("behind the real time: %v, %v, %v", now, ahead, err)
		}
		if status, a := w.call("sandbox", "GET", "", ""); status != 200 || a["status"] != "real" || a["now"] != days(40).Format(time.RFC3339) {
			t.Errorf("overtaken: %d %v", status, a)
		}
	})
}

func TestTheLiveWorldsTimeCannotBeMoved(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for path, body := range map[string]string{"/advance": `{"days": 30}`, "/reset": ""} {
			if status, a := w.call("live", "POST", path, body); status != 422 || a["error"] != "sandbox_only" {
				t.Errorf("%s: %d %v", path, status, a)
			}
			if status, a := w.call("reader", "POST", path, body); status != 403 || a["error"] != "read_only_key" {
				t.Errorf("%s with a key for reading: %d %v", path, status, a)
			}
		}
		if _, err := w.Advance(t.Context(), 1, w.clk.Now().Add(time.Hour)); !errors.Is(err, ErrNotSandbox) {
			t.Errorf("by an operator: %v", err)
		}
		if status, a := w.call("live", "GET", "", ""); status != 200 || a["status"] != "real" {
			t.Errorf("%d %v", status, a)
		}
		var n int
		if err := w.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM clocks_accounts`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d clocks, %v", n, err)
		}
	})
}

func TestWhereAClockCannotGo(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for _, body := range []string{
			`{}`, `{"days": 1, "to": "2027-01-01T00:00:00Z"}`, `{"to": "2020-01-01T00:00:00Z"}`, `{"to": "2040-01-01T00:00:00Z"}`, `{"days": 0}`,
			`{"days": -1}`, `{"to": "tomorrow"}`,
		} {
			if status, a := w.call("sandbox", "POST", "/advance", body); status != 422 || a["error"] != "validation_failed" {
				t.Errorf("%s: %d %v", body, status, a)
			}
		}
		if n := w.jobs(); n != 0 {
			t.Errorf("%d jobs", n)
		}
	})
}

func TestTheTimeStandsStillForWorkButNotForEver(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		began := w.clk.Now()
		w.life.todo, w.life.busy = []time.Time{began.AddDate(0, 0, 1)}, 3
		if _, err := w.Advance(t.Context(), 2, began.AddDate(0, 0, 2)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if again, pause, err := w.move(t.Context(), 2); err != nil || !again || pause != lookAgain {
				t.Fatalf("while something is worked on: %v, %v, %v", again, pause, err)
			}
			w.clk.Advance(lookAgain)
		}
		w.arrive()
		if len(w.life.did) != 1 {
			t.Errorf("it happened at %v", w.life.did)
		}

		w.life.busy = 1 << 30 // what never ends
		was, _, err := w.Now(t.Context(), w.DB, 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Advance(t.Context(), 2, was.AddDate(0, 0, 2)); err != nil {
			t.Fatal(err)
		}
		waiting := w.clk.Now()
		w.arrive()
		if waited := w.clk.Now().Sub(waiting); waited < patience || waited > 2*patience {
			t.Errorf("it waited %v", waited)
		}
	})
}

func TestAClockWhoseJobDiedIsTakenOn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		began := w.clk.Now()
		w.life.todo = []time.Time{began.AddDate(0, 0, 1)}
		if _, err := w.Advance(t.Context(), 2, began.AddDate(0, 0, 2)); err != nil {
			t.Fatal(err)
		}
		w.life.broken = errors.New("the database is away")
		if _, _, err := w.move(t.Context(), 2); !errors.Is(err, w.life.broken) {
			t.Errorf("a broken life: %v", err)
		}
		w.life.broken = nil
		err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM river_job`)
			return err
		})
		for range 2 {
			err = errors.Join(err, w.Resume(t.Context()))
		}
		if err != nil || w.jobs() != 1 {
			t.Errorf("%d jobs, %v", w.jobs(), err)
		}
		w.arrive()
		if len(w.life.did) != 1 {
			t.Errorf("it happened at %v", w.life.did)
		}
		if err := w.Resume(t.Context()); err != nil || w.jobs() != 1 {
			t.Errorf("when it has arrived: %d jobs, %v", w.jobs(), err)
		}
	})
}

func TestAResetStopsAClock(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.life.todo = []time.Time{w.clk.Now().AddDate(0, 0, 1)}
		if _, err := w.Advance(t.Context(), 2, w.clk.Now().AddDate(0, 0, 2)); err != nil {
			t.Fatal(err)
		}
		if status, a := w.call("sandbox", "POST", "/reset", ""); status != 200 || a["status"] != "real" {
			t.Errorf("%d %v", status, a)
		}
		if again, _, err := w.move(t.Context(), 2); again || err != nil {
			t.Errorf("its job: %v, %v", again, err)
		}
		if len(w.life.did) != 0 {
			t.Errorf("it happened at %v", w.life.did)
		}
	})
}
