package catalog

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/outbox/outboxtest"
	"stead.dev/stead/internal/platform/testkit"
)

// audience is whom a test's events are told to.
type audience []int64

func (a audience) Audience(context.Context, db.Querier) ([]int64, error) { return a, nil }

// newService is the section, whose events a test keeps.
func newService(d *db.DB) *Service {
	s := New(Config{DB: d, Events: &outboxtest.Recorder{}})
	s.Connect(Needs{Audience: audience{}, Rates: sale.Retail{}, Worlds: worlds{}})
	return s
}

func TestAnotherPriceIsToldOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		told := &outboxtest.Recorder{}
		s := New(Config{DB: d, Events: told})
		s.Connect(Needs{Audience: audience{7, 9}, Rates: sale.Retail{}, Worlds: worlds{}})
		imported(t, d, s, small)
		one := planID(t, d, "one")
		dearer := strings.NewReplacer("usd_cents: 500,", "usd_cents: 650,", "setup_usd_cents: 50}", "setup_usd_cents: 60}, {months: 6, usd_cents: 2000}").Replace(small)
		imported(t, d, s, dearer)
		imported(t, d, s, dearer)
		// A plan that comes back at another price has another price too.
		imported(t, d, s, dearer[:strings.Index(dearer, "      - slug: two")])
		imported(t, d, s, strings.Replace(dearer, "usd_cents: 900", "usd_cents: 800", 1))
		var got []string
		for _, e := range told.Events {
			got = append(got, event(t, e))
		}
		want := []string{}
		for _, c := range []string{
			`catalog.price_changed of plan one {"plan_id":ONE,"period_months":1,"price":{"usd_cents":650,"currency":"USD","amount":650,"display":"$6.50"}} was {"price":{"usd_cents":500,"currency":"USD","amount":500,"display":"$5.00"}}`,
			`catalog.price_changed of plan two {"plan_id":TWO,"period_months":1,"price":{"usd_cents":800,"currency":"USD","amount":800,"display":"$8.00"}} was {"price":{"usd_cents":900,"currency":"USD","amount":900,"display":"$9.00"}}`,
		} {
			c = strings.NewReplacer("ONE", id(one), "TWO", id(planID(t, d, "two")), "plan one", "plan "+id(one), "plan two", "plan "+id(planID(t, d, "two"))).Replace(c)
			want = append(want, "7 "+c, "9 "+c)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func event(t *testing.T, e outbox.Event) string {
	t.Helper()
	data, err := json.Marshal(e.Data)
	if err != nil {
		t.Fatal(err)
	}
	previous, err := json.Marshal(e.Previous)
	if err != nil {
		t.Fatal(err)
	}
	return id(e.AccountID) + " " + e.Type + " of " + e.Subject + " " + id(e.SubjectID) + " " + string(data) + " was " + string(previous)
}

func id(n int64) string { return strconv.FormatInt(n, 10) }
