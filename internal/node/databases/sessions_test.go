package databases

import (
	"context"
	"fmt"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

// A plan may have any number of databases: however many there are, the account leaves sessions to the others.
func TestTheDatabasesOfAnAccountShareItsSessions(t *testing.T) {
	onEngines(t, func(t *testing.T, m *machine, e panel.DatabaseEngine) {
		m.account("ann")
		ctx := context.WithoutCancel(t.Context())
		took := 0
		take := func(d panel.Database, most int) {
			t.Helper()
			own := m.own(d)
			for range most {
				c, err := own.Conn(ctx)
				if err != nil {
					return
				}
				t.Cleanup(func() { _ = c.Close() })
				took++
			}
		}
		first := m.set("ann", "ann_first", e)
		early, err := m.own(first).Conn(ctx)
		m.must(err)
		defer early.Close()
		all := []panel.Database{first}
		for i := range 11 {
			all = append(all, m.set("ann", fmt.Sprintf("ann_%d", i), e))
		}
		if err := early.PingContext(ctx); err != nil {
			t.Errorf("a session was ended: %v", err)
		}
		for _, d := range all {
			take(d, 40)
		}
		if took < len(all)-1 || took > 50/4 {
			t.Errorf("%d sessions of 50", took)
		}
		m.account("bob")
		works(t, m.own(m.set("bob", "bob_shop", e)), "SELECT 1")
	})
}
