package services

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// meanwhile is a till for whose wallet a renewal waits, while something else is committed.
type meanwhile struct {
	purse
	do func()
}

func (m meanwhile) Sell(ctx context.Context, tx *db.Tx, all []sale.Sale) ([]sale.Sold, error) {
	m.do()
	return m.purse.Sell(ctx, tx, all)
}

// SQLite has one writer: there nothing happens meanwhile.
func TestARenewalThatItsOwnerEndsWhileItWaitsIsNotCharged(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]func(w *world, id int64){
		"renewal switched off": func(w *world, id int64) {
			if status, answer := w.Call("own", http.MethodPatch, fmt.Sprintf("/api/v1/services/%d", id), `{"auto_renew":false}`); status != http.StatusOK {
				w.T.Errorf("%d %s", status, answer)
			}
		},
		"end ordered": func(w *world, id int64) {
			if err := w.ends(id, true); err != nil {
				w.T.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := clock.NewFake(testkit.Start)
			w := newWorld(t, testkit.Open(t, testkit.PostgresURL(t), clk), clk)
			w.openPurse()
			w.pay(1, 10_000)
			id := w.active(servicestest.Ask("a.test"))
			end := *w.record(id).ExpiresAt
			var ordered Row
			w.Selling = meanwhile{purse{w}, func() {
				order(w, id)
				ordered = w.record(id)
			}}
			w.Clk.Set(end.Add(-day))
			if err := w.Step(t.Context(), id); !errors.Is(err, errMoved) {
				t.Errorf("%v, want that it moved", err)
			}
			w.Selling = purse{w}
			w.live()
			w.Same("charges", 0, len(w.Texts(`SELECT CAST(amount AS TEXT) FROM test_sales`)))
			if r := w.record(id); !r.ExpiresAt.Equal(end) || r.autoRenew || r.endsAtExpiry != ordered.endsAtExpiry {
				t.Errorf("%+v", r)
			}
		})
	}
}
