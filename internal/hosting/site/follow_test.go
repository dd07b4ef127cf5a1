package site_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// thing is both the row and what the panel has: a name and a size.
type thing struct {
	site.Head
	size int
}

type fakePanel struct {
	things map[string]int
	calls  []string
	refuse map[string]error
	during func() // once, between reading and acting
}

func (p *fakePanel) call(what string, name string) error {
	if f := p.during; f != nil {
		p.during = nil
		f()
	}
	p.calls = append(p.calls, what+" "+name)
	return p.refuse[what+" "+name]
}

func (p *fakePanel) kind(serviceID int64, noted *[]string) site.Kind[thing, thing] {
	return site.Kind[thing, thing]{
		Rows: func(ctx context.Context, q db.Querier) ([]thing, error) {
			return db.Collect(ctx, q, func(row db.Row) (r thing, err error) {
				err = row.Scan(&r.ID, &r.Revision, &r.Name, &r.Status, &r.size)
				return r, err
			}, `SELECT id, revision, name, status, size FROM test_things WHERE service_id = $1 ORDER BY id`, serviceID)
		},
		Head: func(r thing) site.Head { return r.Head },
		Wish: func(_ context.Context, r thing) (thing, error) { return r, nil },
		Same: func(have, wish thing) bool { return have.size == wish.size },
		List: func(context.Context, string) (all []thing, err error) {
			for name, size := range p.things {
				all = append(all, thing{site.Head{Name: name}, size})
			}
			return all, p.refuse["list"]
		},
		Name: func(r thing) string { return r.Name },
		Set: func(_ context.Context, _ string, r thing) (thing, error) {
			if err := p.call("set", r.Name); err != nil {
				return thing{}, err
			}
			p.things[r.Name] = r.size
			return r, nil
		},
		Remove: func(_ context.Context, _, name string) error {
			if err := p.call("remove", name); err != nil {
				return err
			}
			delete(p.things, name)
			return nil
		},
		Note: func(ctx context.Context, tx *db.Tx, r thing, o site.Outcome[thing]) error {
			var err error
			switch {
			case o.Gone:
				_, err = tx.Exec(ctx, `DELETE FROM test_things WHERE id = $1 AND revision = $2`, o.ID, o.Revision)
			case o.Err != nil:
				_, err = tx.Exec(ctx, `UPDATE test_things SET status = 'failed' WHERE id = $1 AND revision = $2`, o.ID, o.Revision)
			default:
				_, err = tx.Exec(ctx, `UPDATE test_things SET status = 'active' WHERE id = $1 AND revision = $2`, o.ID, o.Revision)
			}
			*noted = append(*noted, r.Name)
			return err
		},
	}
}

func exec(t *testing.T, d *db.DB, query string, args ...any) {
	t.Helper()
	err := d.InTx(context.Background(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func rows(t *testing.T, d *db.DB) []string {
	t.Helper()
	all, err := db.Collect(t.Context(), d, func(row db.Row) (s string, err error) {
		var name, status string
		err = row.Scan(&name, &status)
		return name + " " + status, err
	}, `SELECT name, status FROM test_things ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestThePanelFollowsTheRows(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		exec(t, d, `CREATE TABLE test_things (id BIGINT, revision BIGINT, service_id BIGINT, name TEXT, status TEXT, size BIGINT)`)
		exec(t, d, `INSERT INTO test_things VALUES (1, 1, 7, 'new', 'pending', 1), (2, 3, 7, 'changed', 'pending', 2),
			(3, 1, 7, 'same', 'active', 3), (4, 2, 7, 'going', 'removing', 4), (5, 1, 7, 'refused', 'pending', 5), (6, 1, 8, 'foreign', 'pending', 6)`)
		p := &fakePanel{
			things: map[string]int{"changed": 1, "same": 3, "going": 4, "stray": 9},
			refuse: map[string]error{"set refused": panel.Wrap("set", "7", panel.ErrExists)},
		}
		var noted []string
		follow := func() error { return site.Follow(t.Context(), d, p.kind(7, &noted)) }
		if err := follow(); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(p.things), "map[changed:2 new:1 same:3]"; got != want {
			t.Errorf("the panel has %s, want %s", got, want)
		}
		want := []string{"new active", "changed active", "same active", "refused failed", "foreign pending"}
		if got := rows(t, d); !slices.Equal(got, want) {
			t.Errorf("rows = %v, want %v", got, want)
		}
		if slices.Contains(p.calls, "set same") {
			t.Error("what was as it should be was set")
		}

		// A change that comes while the panel is at work is not lost.
		exec(t, d, `UPDATE test_things SET revision = 2, size = 10, status = 'pending' WHERE id = 1`)
		p.during = func() { exec(t, d, `UPDATE test_things SET revision = 3, size = 11, status = 'pending' WHERE id = 1`) }
		if err := follow(); err != nil {
			t.Fatal(err)
		}
		if p.things["new"] != 11 || rows(t, d)[0] != "new active" {
			t.Errorf("panel %v, rows %v", p.things, rows(t, d))
		}

		// What may go better next time is an error, and the rest is done all the same.
		exec(t, d, `UPDATE test_things SET revision = 4, size = 12, status = 'pending' WHERE id IN (1, 2)`)
		p.refuse["set new"] = panel.Wrap("set", "7", panel.ErrUnreachable)
		if err := follow(); !errors.Is(err, panel.ErrUnreachable) {
			t.Errorf("error = %v", err)
		}
		if got := rows(t, d)[:2]; !slices.Equal(got, []string{"new pending", "changed active"}) {
			t.Errorf("rows = %v", got)
		}

		// A name that is to go and one of the same name that is to come: the newer wish stands.
		p.refuse = nil
		exec(t, d, `UPDATE test_things SET status = 'removing', revision = 9 WHERE id = 3`)
		exec(t, d, `INSERT INTO test_things VALUES (9, 1, 7, 'same', 'pending', 33)`)
		if err := follow(); err != nil {
			t.Fatal(err)
		}
		if p.things["same"] != 33 || slices.Contains(rows(t, d), "same removing") {
			t.Errorf("panel %v, rows %v", p.things, rows(t, d))
		}

		p.refuse = map[string]error{"list": panel.Wrap("list", "7", panel.ErrBusy)}
		if err := follow(); !errors.Is(err, panel.ErrBusy) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestLimitsRefuseGrowthBeyondThem(t *testing.T) {
	l, err := site.ParseLimits(7, []byte(`{"databases":2,"mailboxes":-1}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name          string
		before, after int64
		refused       bool
	}{
		{"databases", 1, 2, false},
		{"databases", 2, 3, true},
		{"databases", 5, 4, false},
		{"databases", 4, 4, false},
		{"mailboxes", 9, 10, false},
		{"unknown", 0, 1, false},
	} {
		if got := l.Refuse(c.name, c.before, c.after) != nil; got != c.refused {
			t.Errorf("%s from %d to %d: refused = %v", c.name, c.before, c.after, got)
		}
	}
}

func TestAServiceThatHasComeBackKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		services := sitetest.New(t, d)
		services.Add(t, site.Site{ServiceID: 7, AccountID: 1, Status: "terminated"})
		calls := 0
		end := func(accountID int64) error {
			return site.End(t.Context(), d, services, accountID, 7, func(context.Context, *db.Tx, int64) error { calls++; return nil })
		}
		if err := end(1); err != nil || calls != 1 {
			t.Errorf("terminated: %v, %d calls", err, calls)
		}
		if err := end(2); !errors.Is(err, fault.NotFound) || calls != 1 {
			t.Errorf("a stranger's: %v, %d calls", err, calls)
		}
		for _, status := range []string{"provisioning", "active", "suspended"} {
			services.SetStatus(t, 7, status)
			if err := end(1); err != nil || calls != 1 {
				t.Errorf("%s: %v, %d calls", status, err, calls)
			}
		}
	})
}

func TestFailuresHavePublicKeys(t *testing.T) {
	known := map[string]bool{"disk_full": true} // defined by the section files
	for _, d := range fault.Defs() {
		known[d.Key] = true
	}
	for _, kind := range []panel.Kind{
		panel.ErrExists, panel.ErrInvalid, panel.ErrLimit, panel.ErrPathNotAllowed, panel.ErrDiskFull, panel.ErrUnsupported, panel.ErrInUse,
	} {
		if key, forGood := site.FailureKey(kind), site.ForGood(kind); !forGood || !known[key] {
			t.Errorf("%s becomes %q, for good %v", kind, key, forGood)
		}
	}
	for _, kind := range []panel.Kind{panel.ErrUnreachable, panel.ErrBusy, panel.ErrInternal, panel.ErrSuspended, panel.ErrNotFound} {
		if site.ForGood(kind) {
			t.Errorf("%s is not tried again", kind)
		}
	}
}

func TestTheMainRowIsSetFirstAndItsPredecessorGoesLast(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		exec(t, d, `CREATE TABLE test_things (id BIGINT, revision BIGINT, service_id BIGINT, name TEXT, status TEXT, size BIGINT)`)
		exec(t, d, `INSERT INTO test_things VALUES (1, 1, 7, 'other', 'pending', 1), (2, 1, 7, 'main', 'pending', 2), (3, 2, 7, 'former', 'removing', 3)`)
		p := &fakePanel{things: map[string]int{"former": 3, "stray": 9}}
		var noted []string
		k := p.kind(7, &noted)
		k.Main = func(r thing) bool { return r.Name == "main" }
		k.Last = func(r thing) bool { return r.Name == "former" }
		if err := site.Follow(t.Context(), d, k); err != nil {
			t.Fatal(err)
		}
		if want := []string{"remove stray", "set main", "set other", "remove former"}; !slices.Equal(p.calls, want) {
			t.Errorf("calls = %v, want %v", p.calls, want)
		}
		if got, want := rows(t, d), []string{"other active", "main active"}; !slices.Equal(got, want) {
			t.Errorf("rows = %v, want %v", got, want)
		}

		exec(t, d, `DELETE FROM test_things WHERE name = 'main'`)
		p.calls = nil
		if err := site.Follow(t.Context(), d, k); err == nil || p.calls != nil {
			t.Errorf("without a main row: %v after %v", err, p.calls)
		}
	})
}
