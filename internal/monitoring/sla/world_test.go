package sla

import (
	"context"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

// sold is a service of a test.
type sold struct {
	account int64
	Subject
	paid    []Paid
	outages []Outage
	seenS   func(from, to time.Time) int64
}

// world is the section with all that it asks. Its wallet and its events are tables, so that they are rolled back with the rest.
type world struct {
	*Service
	t        *testing.T
	clk      *clock.Fake
	services map[int64]*sold
	promises map[int64]*Promise
	// maintenance is that of every service's location.
	maintenance []Span
}

func worlds(t *testing.T, f func(t *testing.T, w *world)) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := &world{t: t, clk: clk, services: map[int64]*sold{}, promises: map[int64]*Promise{}}
		w.Service = New(Config{DB: d, Clock: clk, Events: tables{}})
		about := asked{w}
		w.Connect(Needs{Services: about, Plans: about, Monitors: about, Announcements: about, Wallet: tables{}})
		usual := usual()
		w.promises[1] = &usual
		w.tx(func(ctx context.Context, tx *db.Tx) error {
			for _, table := range []string{
				`CREATE TABLE test_credits (id BIGINT PRIMARY KEY, account BIGINT NOT NULL, amount BIGINT NOT NULL)`,
				`CREATE TABLE test_events (kind TEXT NOT NULL, service BIGINT NOT NULL, month BIGINT NOT NULL, PRIMARY KEY (kind, service, month))`,
			} {
				if _, err := tx.Exec(ctx, table); err != nil {
					return err
				}
			}
			return nil
		})
		f(t, w)
	})
}

func (w *world) tx(f func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	if err := w.DB.InTx(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// tables are the wallet and the events. A second credit of a month, or a second event, is an error.
type tables struct{}

func (tables) Compensate(ctx context.Context, tx *db.Tx, a Assessment) error {
	_, err := tx.Exec(ctx, `INSERT INTO test_credits (id, account, amount) VALUES ($1, $2, $3)`, a.ID, a.AccountID, int64(a.Amount))
	return err
}

func (tables) Transaction(ctx context.Context, q db.Querier, id int64) (int64, bool, error) {
	var n int64
	err := q.QueryRow(ctx, `SELECT COUNT(*) FROM test_credits WHERE id = $1`, id).Scan(&n)
	return id + 1000, n == 1, err
}

func (tables) Emit(ctx context.Context, tx *db.Tx, e outbox.Event) error {
	_, err := tx.Exec(ctx, `INSERT INTO test_events (kind, service, month) VALUES ($1, $2, $3)`, e.Type, e.SubjectID, e.Data.(object).PeriodStart)
	return err
}

// asked answers what the section asks others.
type asked struct{ w *world }

func (a asked) Service(_ context.Context, _ db.Querier, accountID, id int64) (Subject, error) {
	s := a.w.services[id]
	if s == nil || s.account != accountID {
		return Subject{}, fault.NotFound.New()
	}
	return s.Subject, nil
}

func (a asked) Paid(_ context.Context, _ db.Querier, id int64, from, to time.Time) (all []Paid, err error) {
	for _, p := range a.w.services[id].paid {
		if p.Start.Before(to) && p.End.After(from) {
			all = append(all, p)
		}
	}
	return all, nil
}

func (a asked) Promise(_ context.Context, _ db.Querier, planID int64) (*Promise, error) {
	return a.w.promises[planID], nil
}

func (a asked) Watched(_ context.Context, _ db.Querier, id int64, from, to time.Time) (Watched, error) {
	s := a.w.services[id]
	seen := Watched{There: true, SeenS: s.seenS(from, to)}
	for _, o := range s.outages {
		if o.StartedAt.Before(to) && (o.EndedAt == nil || o.EndedAt.After(from)) {
			seen.Outages = append(seen.Outages, o)
		}
	}
	return seen, nil
}

func (a asked) Maintenance(context.Context, db.Querier, string, time.Time, time.Time) ([]Span, error) {
	return a.w.maintenance, nil
}

func (w *world) count(query string, args ...any) (n int64) {
	w.t.Helper()
	w.must(w.DB.QueryRow(w.t.Context(), query, args...).Scan(&n))
	return n
}

// sell makes a service that is paid from a time on, and tells the section of it.
func (w *world) sell(id int64, from time.Time, length time.Duration, amount money.USDCents) *sold {
	s := &sold{account: 1, Subject: Subject{PlanID: 1}, paid: []Paid{{Span{from, from.Add(length)}, amount}}}
	s.seenS = func(from, to time.Time) int64 { return int64(to.Sub(from) / time.Second) }
	w.services[id] = s
	w.follow(id, "service.provisioned", from)
	return s
}

func (w *world) follow(id int64, kind string, at time.Time) {
	w.t.Helper()
	w.tx(func(ctx context.Context, tx *db.Tx) error {
		return w.Follow(ctx, tx, outbox.Stored{Type: kind, AccountID: w.services[id].account, Subject: "service", SubjectID: id, CreatedAt: at})
	})
}

// down adds an outage of so many seconds.
func (s *sold) down(from time.Time, seconds int, cause string) {
	end := from.Add(time.Duration(seconds) * time.Second)
	s.outages = append(s.outages, Outage{StartedAt: from, EndedAt: &end, Cause: cause, Ours: cause != "http_status", Sure: cause == "connection_refused"})
}

// close closes and pays what is due at a time.
func (w *world) close(at time.Time) {
	w.t.Helper()
	w.clk.Set(at)
	w.must(w.Close(w.t.Context()))
	w.must(w.Pay(w.t.Context()))
}

// month is the row of a service's month.
func (w *world) month(id int64, m Month) Assessment {
	w.t.Helper()
	a, err := ofMonth(w.t.Context(), w.DB, w.services[id].account, id, m)
	if err != nil {
		w.t.Fatalf("service %d, %v: %v", id, m.Start, err)
	}
	return a
}
