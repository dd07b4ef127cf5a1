package webhooks

import (
	"slices"
	"testing"
)

func TestAGroupCoversItsTypes(t *testing.T) {
	for _, c := range []struct {
		wanted, typ string
		covers      bool
	}{
		{"*", "order.paid", true},
		{"order.paid", "order.paid", true},
		{"order.*", "order.paid", true},
		{"order.*", "orders.paid", false},
		{"order.*", "service.updated", false},
		{".*", "order.paid", false},
		{"order.p*", "order.paid", false},
	} {
		if got := (endpoint{events: []string{"nothing", c.wanted}}).wants(c.typ); got != c.covers {
			t.Errorf("%s of %s: %v", c.wanted, c.typ, got)
		}
	}
	if types := typesOf("wallet.*"); len(types) < 2 || slices.ContainsFunc(types, func(typ string) bool { return typ[:7] != "wallet." }) {
		t.Errorf("wallet.* is %v", types)
	}
}
