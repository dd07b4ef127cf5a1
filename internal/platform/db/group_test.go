package db_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
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
		err := m.g.InTx(context.WithoutCancel(t.Context()), 1, -1, func(context.Context, *db.Tx) error {
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
		m.rest.Go(func() { m.ends[i] = m.g.InTx(t.Context(), 1, int64(i), f) })
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

// insertMany is insert for all who do it beside each other, and notes how many they are.
func insertMany(ctx context.Context, tx *db.Tx, name string, asked *[][]string) (int, error) {
	return db.Many(ctx, tx, "insert", name, func(ctx context.Context, tx *db.Tx, names []string) ([]int, error) {
		*asked = append(*asked, names)
		places := make([]int, len(names))
		for i, name := range names {
			if err := insert(ctx, tx, name); err != nil {
				return nil, err
			}
			places[i] = i
		}
		return places, nil
	})
}

func TestTransactionsThatMeetShareACommit(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		refusal := errors.New("refused")
		var (
			asked   [][]string
			places  []int
			endings []string
		)
		write := func(name string, err error) func(ctx context.Context, tx *db.Tx) error {
			return func(ctx context.Context, tx *db.Tx) error {
				db.Gather(tx, "names", name, func(ctx context.Context, names []string) error {
					endings = append(endings, fmt.Sprint(names))
					return insert(ctx, tx, "at the end")
				})
				if err != nil {
					return err
				}
				place, err := insertMany(ctx, tx, name, &asked)
				places = append(places, place)
				return err
			}
		}
		ends := meet(t, d, write("a", nil), write("b", refusal), write("c", nil)).end()
		if ends[0] != nil || !errors.Is(ends[1], refusal) || ends[2] != nil {
			t.Errorf("%v", ends)
		}
		if want := [][]string{{"a", "c"}}; !reflect.DeepEqual(asked, want) || !slices.Equal(places, []int{0, 1}) {
			t.Errorf("asked %v, answered %v; not once %v", asked, places, want)
		}
		if want := []string{"[a c]"}; !slices.Equal(endings, want) || count(t, d) != 3 {
			t.Errorf("at the end %v, not once %v; %d rows", endings, want, count(t, d))
		}
	})
}

func TestOneThatFailsAfterItHasWrittenLeavesNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		refusal := errors.New("refused")
		fine := func(ctx context.Context, tx *db.Tx) error { return insert(ctx, tx, "fine") }
		ends := meet(t, d, fine, func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(insert(ctx, tx, "undone"), refusal)
		}, func(ctx context.Context, tx *db.Tx) error {
			var asked [][]string
			_, err := insertMany(ctx, tx, "undone, too", &asked)
			return errors.Join(err, refusal)
		}, fine).end()
		if ends[0] != nil || !errors.Is(ends[1], refusal) || !errors.Is(ends[2], refusal) || ends[3] != nil || count(t, d) != 2 {
			t.Errorf("%v, %d rows", ends, count(t, d))
		}
	})
}

func TestASavepointOfOneAmongSeveralUndoesItsOwn(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		for _, late := range []bool{false, true} {
			before := count(t, d)
			refusal := errors.New("refused")
			saving := func(ctx context.Context, tx *db.Tx) error {
				err := tx.Savepoint(ctx, func(ctx context.Context) error {
					tx.AtEnd("undone", func(context.Context) error { return errors.New("it was not") })
					if late {
						return errors.Join(insert(ctx, tx, "undone"), refusal)
					}
					return refusal
				})
				if !errors.Is(err, refusal) {
					return err
				}
				return insert(ctx, tx, "what comes instead")
			}
			fine := func(ctx context.Context, tx *db.Tx) error { return insert(ctx, tx, "fine") }
			if err := errors.Join(meet(t, d, fine, saving, saving).end()...); err != nil {
				t.Errorf("late %v: %v", late, err)
			}
			if n := count(t, d) - before; n != 3 {
				t.Errorf("late %v: %d rows", late, n)
			}
		}
	})
}

func TestThoseWhoAreAheadWaitForTheOthers(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var first, second [][]string
		walk := func(name string, longer bool) func(ctx context.Context, tx *db.Tx) error {
			return func(ctx context.Context, tx *db.Tx) error {
				var err error
				if longer {
					_, err = insertMany(ctx, tx, name, &first)
				}
				_, err2 := db.Many(ctx, tx, "second", name, func(_ context.Context, _ *db.Tx, names []string) ([]error, error) {
					second = append(second, names)
					return make([]error, len(names)), nil
				})
				return errors.Join(err, err2)
			}
		}
		if err := errors.Join(meet(t, d, walk("a", true), walk("b", false), walk("c", true)).end()...); err != nil {
			t.Fatal(err)
		}
		if want := [][]string{{"a", "c"}}; !reflect.DeepEqual(first, want) {
			t.Errorf("first %v", first)
		}
		if want := [][]string{{"a", "b", "c"}}; !reflect.DeepEqual(second, want) {
			t.Errorf("second %v", second)
		}
	})
}

func TestNoTwoOfOneTransactionAreAboutTheSame(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		m := meet(t, d)
		for range 3 {
			before := m.g.Waiting(1)
			m.rest.Go(func() {
				err := m.g.InTx(t.Context(), 1, 7, func(ctx context.Context, tx *db.Tx) error {
					var found bool
					if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM signal_messages)`).Scan(&found); err != nil || found {
						return err
					}
					var asked [][]string
					_, err := insertMany(ctx, tx, "the one", &asked)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
			testkit.Eventually(t, time.Minute, func() bool { return m.g.Waiting(1) > before }, "it waits")
		}
		m.end()
		if n := count(t, d); n != 1 {
			t.Errorf("%d rows: they did not see each other", n)
		}
	})
}

func TestOneThatSpoilsTheCommitHurtsNobodyElse(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var recovered any
		g := func(ctx context.Context, tx *db.Tx) error { return insert(ctx, tx, "fine") }
		m := meet(t, d, g, g)
		gone, cancel := context.WithCancel(t.Context())
		cancelled := make(chan error, 1)
		m.rest.Go(func() {
			defer func() { recovered = recover() }()
			_ = m.g.InTx(t.Context(), 1, 10, func(ctx context.Context, tx *db.Tx) error {
				_ = insert(ctx, tx, "undone")
				panic("mine")
			})
		})
		m.rest.Go(func() { cancelled <- m.g.InTx(gone, 1, 11, g) })
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
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		var recovered any
		fine := func(ctx context.Context, tx *db.Tx) error { return insert(ctx, tx, "fine") }
		m := meet(t, d, fine, fine)
		m.rest.Go(func() {
			defer func() { recovered = recover() }()
			_ = m.g.InTx(t.Context(), 1, 10, func(_ context.Context, tx *db.Tx) error {
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
		if err := m.g.InTx(t.Context(), 1, 12, fine); err != nil { // who comes later does not wait for ever
			t.Error(err)
		}
	})
}

func TestAGroupIsNotEnteredFromATransaction(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		g := d.NewGroup()
		nothing := func(context.Context, *db.Tx) error { return nil }
		for name, in := range map[string]func(f func(ctx context.Context, tx *db.Tx) error) error{
			"a transaction": func(f func(ctx context.Context, tx *db.Tx) error) error { return d.InTx(t.Context(), f) },
			"its own":       func(f func(ctx context.Context, tx *db.Tx) error) error { return g.InTx(t.Context(), 1, 1, f) },
		} {
			err := in(func(ctx context.Context, _ *db.Tx) error { return g.InTx(ctx, 1, 2, nothing) })
			if err == nil {
				t.Errorf("from %s: no error", name)
			}
		}
	})
}

func TestManyTransactionsOfAGroupLoseNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		g := d.NewGroup()
		const each, callers = 5, 20
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() {
				for n := range each {
					err := g.InTx(t.Context(), int64(n), int64(caller), func(ctx context.Context, tx *db.Tx) error {
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
