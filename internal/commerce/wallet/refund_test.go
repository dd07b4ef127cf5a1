package wallet

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
)

func TestAPartOfWhatWasPaidIsGivenBackOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.credit(1, 1000)
		if err := w.charge(1, 800, 7); err != nil {
			t.Fatal(err)
		}
		w.must(func(ctx context.Context, tx *db.Tx) error { return w.Capture(ctx, tx, order(7)) })

		refund := func(c sale.Charge) error {
			return w.do(func(ctx context.Context, tx *db.Tx) error { return w.Refund(ctx, tx, c) })
		}
		for range 2 { // the second time does nothing
			if err := refund(sale.Charge{AccountID: 1, Amount: 300, Reference: order(8), Description: "ORD-8"}); err != nil {
				t.Fatal(err)
			}
			w.has(1, Balance{Spendable: 500})
		}
		for _, c := range []struct {
			sale.Charge
			want error
		}{
			{sale.Charge{AccountID: 1, Amount: 301, Reference: order(8)}, ErrReferenceReused},
			{sale.Charge{AccountID: 2, Amount: 300, Reference: order(8)}, ErrReferenceReused},
			{sale.Charge{AccountID: 1, Amount: 0, Reference: order(9)}, ErrBadAmount},
			{sale.Charge{AccountID: 1, Amount: -1, Reference: order(9)}, ErrBadAmount},
		} {
			if err := refund(c.Charge); !errors.Is(err, c.want) {
				t.Errorf("%+v: %v, want %v", c.Charge, err, c.want)
			}
		}
		if err := refund(sale.Charge{AccountID: 1, Amount: 1}); err == nil {
			t.Error("a refund about nothing was given")
		}
		w.has(1, Balance{Spendable: 500})
		w.sound()
	})
}
