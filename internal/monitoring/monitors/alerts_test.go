package monitors

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/probe"
	"stead.dev/stead/internal/platform/testkit"
)

// hook receives the alerts of a channel.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	code   string
	ids    []string
	kinds  []string
	status int
	took   func() // called when an alert has come, before it is answered
}

func newHook(t *testing.T) *hook {
	h := &hook{status: http.StatusOK, took: func() {}}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct{ ID, Type, Code string }
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if m.Code != "" {
			h.code = m.Code
			return
		}
		h.took()
		if w.WriteHeader(h.status); h.status == http.StatusOK {
			h.ids, h.kinds = append(h.ids, m.ID), append(h.kinds, m.Type)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// channel is a verified channel of account 1 that leads to the hook.
func (h *hook) channel(t *testing.T, s *Service) int64 {
	t.Helper()
	c, _, err := s.addChannel(t.Context(), 1, byWebhook, address{Target: h.URL}, channelWish{})
	if err == nil {
		_, err = s.verifyChannel(t.Context(), 1, c.id, h.code)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.id
}

// TestAlertsArriveInOrderThroughKills: the sender dies before it sends, and after it has sent but before it has noted that.
// Whatever was written arrives, in order, and what arrives twice comes again before anything newer, with the same id.
func TestAlertsArriveInOrderThroughKills(t *testing.T) {
	databases(t, func(t *testing.T, in database) {
		random := rand.New(rand.NewPCG(8, 12))
		clk := clock.NewFake(testkit.Start)
		h := newHook(t)
		s := in.replica(t, clk, nil)
		channel := h.channel(t, s)
		m, err := s.create(t.Context(), 1, wish{settings: func(set *settings) {
			set.Target.Type, set.IntervalS, set.RetryIntervalS, set.Channels = probe.Heartbeat, 3600, 3600, []int64{channel}
		}})
		if err != nil {
			t.Fatal(err)
		}
		token, err := s.Box.Open(m.push, sealedAt(m.id, "push_token"))
		if err != nil {
			t.Fatal(err)
		}
		dies := func() {
			_ = s.DB.Close()
			s = in.replica(t, clk, nil)
		}
		var want []string
		kills := 0
		for turn := range 24 {
			clk.Advance(time.Hour) // so that nothing flaps
			if _, err := s.Beat(t.Context(), string(token), turn%2); err != nil {
				t.Fatal(err)
			}
			if kind := []string{"monitor.up", "monitor.down"}[turn%2]; turn > 0 {
				want = append(want, kind)
			}
			if random.IntN(3) == 0 {
				continue // alerts gather
			}
			switch random.IntN(3) {
			case 0: // it dies when it has taken the alert
				if _, _, _, err := s.takeAlert(t.Context(), channel, "a lease"); err != nil {
					t.Fatal(err)
				}
				dies()
				kills++
			case 1: // it dies when the alert has arrived
				dying := s
				h.took = func() { _ = dying.DB.Close() }
				if err := dying.Deliver(t.Context(), channel); err == nil {
					t.Error("it has noted what it sent although it was dead")
				}
				h.took = func() {}
				dies()
				kills++
			default: // the receiver is ill
				h.status = http.StatusBadGateway
				if err := s.Deliver(t.Context(), channel); err != nil {
					t.Error(err)
				}
				h.status = http.StatusOK
			}
			before := len(h.ids)
			if err := s.Deliver(t.Context(), channel); err != nil || len(h.ids) != before {
				t.Errorf("something was sent while another may be sending, or too soon after a failure: %v", err)
			}
			clk.Advance(alertLease + time.Second)
			if err := s.Deliver(t.Context(), channel); err != nil {
				t.Error(err)
			}
		}
		clk.Advance(alertLease + time.Second)
		if err := s.Deliver(t.Context(), channel); err != nil {
			t.Error(err)
		}
		repeated := len(h.ids) - len(slices.Compact(slices.Clone(h.ids)))
		distinct, kinds := []string{}, []string{}
		for i, id := range h.ids {
			if i > 0 && h.ids[i-1] == id {
				continue
			}
			if slices.Contains(distinct, id) {
				t.Errorf("%s came again after something newer", id)
			}
			distinct, kinds = append(distinct, id), append(kinds, h.kinds[i])
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("arrived %v\nwant %v", kinds, want)
		}
		if repeated == 0 || kills < 6 {
			t.Errorf("%d arrived twice, %d kills: the test tests nothing", repeated, kills)
		}
		states, err := db.Collect(t.Context(), s.DB, func(row db.Row) (state string, err error) {
			err = row.Scan(&state)
			return state, err
		}, `SELECT state FROM monitors_alerts GROUP BY state`)
		if err != nil || fmt.Sprint(states) != "[sent]" {
			t.Errorf("%v, %v", states, err)
		}
	})
}

// TestNobodyIsToldOfWhatIsPausedOrDeleted: an alert waits, or its reminder does, when its monitor is paused or deleted.
func TestNobodyIsToldOfWhatIsPausedOrDeleted(t *testing.T) {
	databases(t, func(t *testing.T, in database) {
		clk := clock.NewFake(testkit.Start)
		h := newHook(t)
		s := in.replica(t, clk, nil)
		channel := h.channel(t, s)
		paused := true
		ends := map[string]func(id int64) error{
			"paused": func(id int64) error {
				_, err := s.update(t.Context(), 1, id, wish{paused: &paused})
				return err
			},
			"deleted": func(id int64) error { return s.remove(t.Context(), 1, id) },
			"paused by a release that cancelled nothing": func(id int64) error {
				return s.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
					_, err := tx.Exec(ctx, `UPDATE monitors SET paused = TRUE WHERE id = $1`, id)
					return err
				})
			},
			"service ended": func(id int64) error {
				return s.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
					if _, err := tx.Exec(ctx, `UPDATE monitors SET service_id = 7 WHERE id = $1`, id); err != nil {
						return err
					}
					s.Services = endedService{}
					defer func() { s.Services = unlimited{} }()
					return s.Follow(ctx, tx, outbox.Stored{AccountID: 1, SubjectID: 7})
				})
			},
		}
		for name, ends := range ends {
			for _, reminded := range []bool{false, true} {
				m, err := s.create(t.Context(), 1, wish{settings: func(set *settings) {
					set.Target.Type, set.IntervalS, set.Channels = probe.Heartbeat, 3600, []int64{channel}
					if set.AlertAfterS = 3600; reminded {
						set.AlertAfterS, set.ReminderS = 0, 3600
					}
				}})
				if err != nil {
					t.Fatal(err)
				}
				token, err := s.Box.Open(m.push, sealedAt(m.id, "push_token"))
				if err == nil {
					_, err = s.Beat(t.Context(), string(token), 1)
				}
				if err == nil {
					err = s.Deliver(t.Context(), channel)
				}
				if err != nil {
					t.Fatal(err)
				}
				h.kinds = nil
				clk.Advance(5 * time.Minute)
				if err := ends(m.id); err != nil {
					t.Fatal(err)
				}
				clk.Advance(2 * time.Hour)
				if err := s.Deliver(t.Context(), channel); err != nil || len(h.kinds) != 0 {
					t.Errorf("%s, reminded: %v: %v was sent, %v", name, reminded, h.kinds, err)
				}
			}
		}
	})
}

// endedService is unlimited, with services that have ended.
type endedService struct{ unlimited }

func (endedService) Hosted(context.Context, db.Querier, int64, int64) (Hosted, error) {
	return Hosted{Ended: true}, nil
}
