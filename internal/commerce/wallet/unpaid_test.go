package wallet

import (
	"testing"
	"time"
)

// TestUnpaidTopUpsAreBounded: they cost nothing and are kept. Giving one up makes no room for another at once.
func TestUnpaidTopUpsAreBounded(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		all := make([]topupAnswer, maxUnpaid)
		for i := range all {
			all[i] = w.topup("anna", "demo", 500, "")
		}
		again := func(token, what, want string) {
			t.Helper()
			if x := w.topup(token, "demo", 500, ""); x.Error != want {
				t.Errorf("%s: %+v", what, x)
			}
		}
		again("anna", "one more", "limit_reached")
		again("boris", "of another account", "")
		w.visit(all[0].CheckoutURL)
		w.press(all[0].CheckoutURL, "cancel")
		w.visit(all[1].CheckoutURL)
		w.press(all[1].CheckoutURL, "decline")
		again("anna", "instead of those that were given up", "limit_reached")
		w.visit(all[2].CheckoutURL)
		w.press(all[2].CheckoutURL, "pay")
		again("anna", "when one is paid", "")
		again("anna", "and one more", "limit_reached")
		w.clk.Advance(25 * time.Hour)
		if _, err := w.ExpireDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		again("anna", "a day later", "")
	})
}
