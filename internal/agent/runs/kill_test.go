package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/port/llm"
)

// frozen stops whoever comes to a point, as a process does that is killed there: it goes on only when the test is over,
// when another process has long taken its place.
type frozen struct {
	reached chan struct{}
	thaw    chan struct{}
	once    sync.Once
}

func newFrozen() *frozen { return &frozen{reached: make(chan struct{}), thaw: make(chan struct{})} }

// stop stops the first who comes.
func (f *frozen) stop() {
	first := false
	f.once.Do(func() { first = true })
	if first {
		close(f.reached)
		<-f.thaw
	}
}

// dying is a model during whose n-th answer the process is killed.
type dying struct {
	llm.Client
	*frozen

	mu sync.Mutex
	in int
}

func (d *dying) Ask(ctx context.Context, r llm.Request, onText func(string)) (llm.Answer, error) {
	d.mu.Lock()
	d.in--
	now := d.in == 0
	d.mu.Unlock()
	if now {
		d.stop()
	}
	return d.Client.Ask(ctx, r, onText)
}

// TestAKilledProcessLeavesARunThatAnotherOneCompletes kills the process at the points where something of the outside world is
// under way. What lies between them is one commit each.
func TestAKilledProcessLeavesARunThatAnotherOneCompletes(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(w *world, point *frozen) llm.Client{
		"in the first answer": func(w *world, point *frozen) llm.Client {
			return &dying{Client: play(w.T, hours), frozen: point, in: 1}
		},
		"in the second answer": func(w *world, point *frozen) llm.Client {
			return &dying{Client: play(w.T, hours), frozen: point, in: 2}
		},
		"in the last answer": func(w *world, point *frozen) llm.Client {
			return &dying{Client: play(w.T, hours), frozen: point, in: 3}
		},
		"before a write": func(w *world, point *frozen) llm.Client {
			w.machine.hook(func(string, string) error { point.stop(); return nil }, nil)
			return play(w.T, hours)
		},
		"after a write": func(w *world, point *frozen) llm.Client {
			w.machine.hook(nil, func(string, string) { point.stop() })
			return play(w.T, hours)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines(t, hours, func(w *world) {
				point := newFrozen()
				dead := w.replica(at(w, point))
				w.enable(Autopilot, "")
				r := w.begin("Change the hours")
				stopDead := w.work(dead)
				<-point.reached
				w.Clock.Advance(leaseFor)
				w.work(w.Service)
				a := w.until(r.id, Completed)
				if w.file("/public_html/index.html") != changedPage || len(a.Changes) != 1 || a.Changes[0].Status != applied {
					w.T.Errorf("%+v, the page is %q", a, w.file("/public_html/index.html"))
				}
				w.whole()
				before := w.everything()
				close(point.thaw) // the killed one was only asleep: it writes nothing more
				stopDead()
				if after := w.everything(); after != before {
					w.T.Errorf("who has lost the lease has written:\n%s\n%s", before, after)
				}
				w.whole()
				if w.file("/public_html/index.html") != changedPage {
					w.T.Errorf("the page is %q", w.file("/public_html/index.html"))
				}
			})
		})
	}
}

func TestARunThatKillsEveryProcessIsGivenUp(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		w.enable(Autopilot, "")
		r := w.begin("Change the hours")
		var points []*frozen
		for range mostResume + 1 {
			point := newFrozen()
			points = append(points, point)
			w.work(w.replica(&dying{Client: play(w.T, hours), frozen: point, in: 1}))
			<-point.reached
			w.Clock.Advance(leaseFor)
		}
		w.work(w.Service)
		if a := w.until(r.id, Failed); a.EndReason != Interrupted {
			w.T.Errorf("%+v", a)
		}
		w.whole()
		for _, p := range points {
			close(p.thaw)
		}
	})
}

func TestAFileThatChangesUnderAKilledWriteIsLeftAlone(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		point := newFrozen()
		w.machine.hook(func(string, string) error { point.stop(); return nil }, nil)
		w.enable(Autopilot, "")
		r := w.begin("Change the hours")
		stopDead := w.work(w.replica(play(w.T, hours)))
		<-point.reached
		w.put("/public_html/index.html", "<p>Mine</p>")
		w.Clock.Advance(leaseFor)
		w.work(w.Service)
		a := w.until(r.id, Failed)
		if a.EndReason != ServiceChanged || w.file("/public_html/index.html") != "<p>Mine</p>" || a.Changes[0].Status != conflict {
			w.T.Errorf("%+v, the page is %q", a, w.file("/public_html/index.html"))
		}
		w.whole()
		close(point.thaw)
		stopDead()
		if w.file("/public_html/index.html") != "<p>Mine</p>" {
			w.T.Errorf("the page is %q", w.file("/public_html/index.html"))
		}
	})
}

func TestAnUndoThatIsKilledIsCompleted(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		stop := w.work(w.Service)
		w.enable(Autopilot, "")
		a := w.task("Change the hours")
		stop()
		point := newFrozen()
		w.machine.hook(nil, func(string, string) { point.stop() })
		undo, err := w.undoRun(w.T.Context(), 1, mine, a.ID, false)
		w.Must(err)
		stopDead := w.work(w.replica(play(w.T, hours)))
		<-point.reached
		w.Clock.Advance(leaseFor)
		w.work(w.Service)
		w.until(undo.id, Completed)
		if w.file("/public_html/index.html") != homePage {
			w.T.Errorf("the page is %q", w.file("/public_html/index.html"))
		}
		close(point.thaw)
		stopDead()
	})
}

func TestAServerThatDoesNotAnswerForAWhile(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		failing := true
		w.machine.hook(func(string, string) error {
			if failing {
				failing = false
				return errUnreachable
			}
			return nil
		}, nil)
		w.enable(Autopilot, "")
		r := w.begin("Change the hours")
		leased, err := w.take(w.T.Context())
		w.Must(err)
		if err := w.perform(w.T.Context(), leased); err == nil {
			w.T.Fatal("the failure of the server is lost")
		}
		if _, err := w.take(w.T.Context()); err == nil {
			w.T.Fatal("the run is tried again at once")
		}
		w.Clock.Advance(retryAfter)
		w.work(w.Service)
		w.until(r.id, Completed)
		if w.file("/public_html/index.html") != changedPage {
			w.T.Errorf("the page is %q", w.file("/public_html/index.html"))
		}
		w.whole()
	})
}

func TestACancelledRunEndsAndWhatItUsedIsCharged(t *testing.T) {
	t.Parallel()
	cancel := func(w *world, id int64) {
		w.Read(200, "POST", fmt.Sprintf("/%d/ai/runs/%d/cancel", mine, id), "", &answer{})
	}
	engines(t, hours, func(w *world) { // while it waits for a person
		w.work(w.Service)
		w.enable(AskBeforeWrite, "")
		a := w.task("Change the hours")
		q := w.question()
		cancel(w, a.ID)
		if got := w.until(a.ID, Cancelled); got.EndReason != Stopped {
			w.T.Errorf("%+v", got)
		}
		cancel(w, a.ID) // again
		if r := w.decides(q.ID, true); r.Key() != "ai_approval_decided" {
			w.T.Error(r)
		}
		w.whole()
		if w.purse.revenue() != 1 || w.file("/public_html/index.html") != homePage {
			w.T.Errorf("charged %d, the page is %q", w.purse.revenue(), w.file("/public_html/index.html"))
		}
	})
	engines(t, hours, func(w *world) { // while a model thinks
		w.enable(Autopilot, "")
		r := w.begin("Change the hours")
		thinking := make(chan struct{})
		w.work(w.replica(waits{thinking}))
		<-thinking
		cancel(w, r.id)
		w.until(r.id, Cancelled)
		w.whole()
	})
	engines(t, hours, func(w *world) { // before anybody works on it
		w.enable(Autopilot, "")
		r := w.begin("Change the hours")
		cancel(w, r.id)
		w.work(w.Service)
		if a := w.until(r.id, Cancelled); a.Steps != 0 {
			w.T.Errorf("%+v", a)
		}
		w.whole()
	})
}

// waits is a model that answers when nobody wants to hear it any more.
type waits struct{ began chan struct{} }

func (m waits) Ask(ctx context.Context, _ llm.Request, _ func(string)) (llm.Answer, error) {
	close(m.began)
	<-ctx.Done()
	return llm.Answer{}, ctx.Err()
}

func TestTheTimeOfARunIsItsWorkAndNotThatOfPeople(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		w.work(w.Service)
		w.enable(AskBeforeWrite, "")
		a := w.task("Change the hours")
		w.Clock.Advance(approvalTime - time.Minute)
		if r := w.decides(w.question().ID, true); r.Code != 200 {
			w.T.Fatal(r)
		}
		w.until(a.ID, Completed)
	})
	engines(t, hours, func(w *world) {
		w.enable(Autopilot, "")
		r := w.begin("Change the hours")
		leased, err := w.take(w.T.Context())
		w.Must(err)
		w.Clock.Advance(workTime)
		if err := w.perform(w.T.Context(), leased); err != nil && !errors.Is(err, errLost) {
			w.T.Fatal(err)
		}
		if a := w.until(r.id, Failed); a.EndReason != TimeLimit {
			w.T.Errorf("%+v", a)
		}
		w.whole()
	})
}

func TestASuspendedServiceEndsItsRun(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		w.work(w.Service)
		w.enable(AskBeforeWrite, "")
		a := w.task("Change the hours")
		w.Services.SetStatus(w.T, mine, "suspended")
		if r := w.decides(w.question().ID, true); r.Code != 200 { // the event of the suspension is still under way
			w.T.Fatal(r)
		}
		if got := w.until(a.ID, Failed); got.EndReason != ServiceChanged {
			w.T.Errorf("%+v", got)
		}
		w.whole()
		if strings.Contains(w.file("/public_html/index.html"), "9-19") {
			w.T.Error("the page was changed")
		}
	})
}
