package db_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// meeting has transactions of one key come while another is under way, so that they are one.
type meeting struct {
	g       *db.Group
	release chan struct{}
	first   sync.WaitGroup
	rest    sync.WaitGroup
	ends    []error
}

// meet starts a transaction that stays open, and those that wait for it.
func meet(t *testing.T, d *db.DB, fs ...func(ctx context.Context, tx *db.Tx) error) *meeting {
	t.Helper()
	m := &meeting{g: d.NewGroup(), release: make(chan struct{}), ends: make([]error, len(fs))}
	open := make(chan struct{})
	m.first.Go(func() {
		err := m.g.InTx(context.WithoutCancel(t.Context()), 1, func(context.Context, *db.Tx) error {
			close(open)
			<-m.release
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-open
	for i, f := range fs {
		before := m.g.Waiting(1)
		m.rest.Go(func() { m.ends[i] = m.g.InTx(t.Context(), 1, f) })
		testkit.Eventually(t, time.Minute, func() bool { return m.g.Waiting(1) > before }, "it waits")
	}
	return m
}

// end lets all go on, and answers how each ended.
func (m *meeting) end() []error {
	close(m.release)
	m.first.Wait()
	m.rest.Wait()
	return m.ends
}

func TestTransactionsThatMeetShareACommitAndFailByThemselves(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		refusal := errors.New("refused")
		var (
			seen    []*db.Tx
			endings []string
		)
		write := func(name string, err error) func(ctx context.Context, tx *db.Tx) error {
			return func(ctx context.Context, tx *db.Tx) error {
				seen = append(seen, tx)
				db.Gather(tx, "names", name, func(_ context.Context, names []string) error {
					endings = append(endings, fmt.Sprint(names))
					return nil
				})
				return errors.Join(insert(ctx, tx, name), err)
			}
		}
		m := meet(t, d, write("a", nil), write("b", refusal), write("c", nil))
		ends := m.end()
		if ends[0] != nil || !errors.Is(ends[1], refusal) || ends[2] != nil {
			t.Errorf("%v", ends)
		}
		if len(seen) != 3 || seen[0] != seen[1] || seen[1] != seen[2] {
			t.Errorf("%d transactions, not one of all", len(slices.Compact(seen)))
		}
		if n := count(t, d); n != 2 {
			t.Errorf("%d rows, not those of the two that went well", n)
		}
		if want := []string{"[a c]"}; !slices.Equal(endings, want) {
			t.Errorf("at the end %v, not once %v", endings, want)
		}
	})
}

func TestOneThatSpoilsTheCommitHurtsNobodyElse(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		spoilt := errors.New("spoilt at the end")
		m := meet(t, d,
			func(ctx context.Context, tx *db.Tx) error { return insert(ctx, tx, "a") },
			func(ctx context.Context, tx *db.Tx) error {
				tx.AtEnd("spoil", func(context.Context) error { return spoilt })
				return insert(ctx, tx, "b")
			},
			func(ctx context.Context, tx *db.Tx) error { return insert(ctx, tx, "c") })
		ends := m.end()
		if ends[0] != nil || !errors.Is(ends[1], spoilt) || ends[2] != nil || count(t, d) != 2 {
			t.Errorf("%v, %d rows", ends, count(t, d))
		}
	})
}

func TestAPanicAndAnEndedContextAreTheirOwners(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var recovered any
		g := func(ctx context.Context, tx *db.Tx) error { return insert(ctx, tx, "fine") }
		m := meet(t, d, g, g)
		gone, cancel := context.WithCancel(t.Context())
		cancelled := make(chan error, 1)
		m.rest.Go(func() {
			defer func() { recovered = recover() }()
			_ = m.g.InTx(t.Context(), 1, func(ctx context.Context, tx *db.Tx) error {
				_ = insert(ctx, tx, "undone")
				panic("mine")
			})
		})
		m.rest.Go(func() { cancelled <- m.g.InTx(gone, 1, g) })
		testkit.Eventually(t, time.Minute, func() bool { return m.g.Waiting(1) == 4 }, "all wait")
		cancel()
		ends := m.end()
		if err := errors.Join(ends...); err != nil {
			t.Error(err)
		}
		if err := <-cancelled; !errors.Is(err, context.Canceled) {
			t.Errorf("its context had ended: %v", err)
		}
		if recovered != "mine" || count(t, d) != 2 {
			t.Errorf("recovered %v, %d rows", recovered, count(t, d))
		}
	})
}

func TestAPanicAtTheEndIsItsOwners(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var recovered any
		fine := func(ctx context.Context, tx *db.Tx) error { return insert(ctx, tx, "fine") }
		m := meet(t, d, fine, fine)
		m.rest.Go(func() {
			defer func() { recovered = recover() }()
			_ = m.g.InTx(t.Context(), 1, func(_ context.Context, tx *db.Tx) error {
				tx.AtEnd("panic", func(context.Context) error { panic("mine") })
				return nil
			})
		})
		testkit.Eventually(t, time.Minute, func() bool { return m.g.Waiting(1) == 3 }, "all wait")
		if err := errors.Join(m.end()...); err != nil {
			t.Error(err)
		}
		if recovered != "mine" || count(t, d) != 2 {
			t.Errorf("recovered %v, %d rows", recovered, count(t, d))
		}
		if err := m.g.InTx(t.Context(), 1, fine); err != nil { // who comes later does not wait for ever
			t.Error(err)
		}
	})
}

func TestAGroupIsNotEnteredFromATransaction(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		g := d.NewGroup()
		nothing := func(context.Context, *db.Tx) error { return nil }
		for name, in := range map[string]func(f func(ctx context.Context, tx *db.Tx) error) error{
			"a transaction": func(f func(ctx context.Context, tx *db.Tx) error) error { return d.InTx(t.Context(), f) },
			"its own":       func(f func(ctx context.Context, tx *db.Tx) error) error { return g.InTx(t.Context(), 1, f) },
		} {
			err := in(func(ctx context.Context, _ *db.Tx) error { return g.InTx(ctx, 1, nothing) })
			if err == nil {
				t.Errorf("from %s: no error", name)
			}
		}
	})
}

func TestManyTransactionsOfAGroupLoseNothing(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		g := d.NewGroup()
		const each, callers = 5, 20
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() {
				for n := range each {
					err := g.InTx(t.Context(), int64(n), func(ctx context.Context, tx *db.Tx) error {
						return insert(ctx, tx, fmt.Sprintf("%d of %d", n, caller))
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if n := count(t, d); n != each*callers {
			t.Errorf("%d rows, want %d", n, each*callers)
		}
	})
}
