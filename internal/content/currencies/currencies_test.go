package currencies_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/content/currencies"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/rates"
)

// bank is a publisher that answers what it is told.
type bank struct {
	rates []rates.Rate
	err   error
}

func (*bank) Name() string                                  { return "bank" }
func (b *bank) Fetch(context.Context) ([]rates.Rate, error) { return b.rates, b.err }
func (b *bank) gives(c money.Currency, r int64, on time.Time) {
	b.rates = []rates.Rate{{Currency: c, PerUSD: money.Rate(r * money.MicrosPerUnit), On: on}}
}

// newService makes two replicas on one database.
func newService(t *testing.T, d *db.DB, clk *clock.Fake, b *bank) (one, two *currencies.Service) {
	t.Helper()
	for _, s := range []**currencies.Service{&one, &two} {
		hub := signal.NewHub(d, clk, slog.New(slog.DiscardHandler))
		*s = currencies.New(currencies.Config{DB: d, Clock: clk, Signals: hub, Log: slog.New(slog.DiscardHandler), Sources: []rates.Source{b}})
		if err := (*s).Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		go hub.Run(t.Context())
	}
	return one, two
}

// shown is how ten dollars are shown in a currency.
func shown(s *currencies.Service, c money.Currency) string {
	return strings.ReplaceAll(s.Current().Money(1000, c).Display, "\u00a0", " ")
}

func TestPricesAreShownByFreshRates(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		b := &bank{}
		one, two := newService(t, d, clk, b)
		eventually := func(want, what string) {
			t.Helper()
			testkit.Eventually(t, time.Minute, func() bool { return shown(one, "UZS") == want && shown(two, "UZS") == want }, what)
		}
		if got := shown(one, "UZS"); got != "$10.00" {
			t.Errorf("without a rate: %s", got)
		}
		today := clk.Now().UTC().Truncate(24 * time.Hour)
		b.gives("UZS", 12_500, today)
		must(t, one.Fetch(t.Context()))
		eventually("125 000 so\u02bbm", "all replicas use the bank's rate")

		if _, err := one.Set(t.Context(), "uzs", "12700", time.Time{}); err != nil {
			t.Fatal(err)
		}
		must(t, two.Fetch(t.Context()))
		eventually("127 000 so\u02bbm", "the operator's rate is not replaced")

		clk.Advance(currencies.Fresh)
		eventually("$10.00", "a rate of a week ago is not used")
		b.gives("UZS", 12_900, clk.Now().UTC().Truncate(24*time.Hour))
		must(t, two.Fetch(t.Context()))
		eventually("129 000 so\u02bbm", "the bank's rate replaces an operator's old one")
		b.gives("UZS", 1, today)
		must(t, two.Fetch(t.Context()))
		b.gives("UZS", 2, clk.Now().Add(48*time.Hour))
		must(t, two.Fetch(t.Context()))
		must(t, one.Remove(t.Context(), "UZS"))
		eventually("$10.00", "neither an older rate nor one of the future was taken, and it was removed")
		if err := one.Remove(t.Context(), "UZS"); !errors.Is(err, fault.NotFound) {
			t.Errorf("removed twice: %v", err)
		}
		b.err = errors.New("down")
		if err := one.Fetch(t.Context()); err == nil {
			t.Error("a publisher that is down is no error")
		}
	})
}

func TestAPublisherThatFailsKeepsNoOtherFromBeingAsked(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		failed := errors.New("no answer")
		s, _ := newService(t, d, clk, &bank{err: failed})
		second := &bank{}
		second.gives("UZS", 12700, clk.Now())
		s.Sources = append(s.Sources, second)
		if err := s.Fetch(t.Context()); !errors.Is(err, failed) {
			t.Errorf("the failure is not told: %v", err)
		}
		if all, err := s.List(t.Context()); err != nil || len(all) != 1 || all[0].Currency != "UZS" {
			t.Errorf("%v, %v", all, err)
		}
	})
}

func TestARateThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		s, _ := newService(t, d, clk, &bank{})
		for what, c := range map[string]struct {
			code, rate string
			on         time.Time
		}{
			"dollar":  {"USD", "1", time.Time{}},
			"unknown": {"XAU", "1", time.Time{}},
			"zero":    {"UZS", "0", time.Time{}},
			"a word":  {"UZS", "much", time.Time{}},
			"old":     {"UZS", "12700", clk.Now().Add(-8 * 24 * time.Hour)},
			"to come": {"UZS", "12700", clk.Now().Add(24 * time.Hour)},
		} {
			if _, err := s.Set(t.Context(), c.code, c.rate, c.on); !errors.Is(err, fault.Validation) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if all, err := s.List(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("%v, %v", all, err)
		}
	})
}

func TestCurrenciesAreListedWithTheirRates(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	d := testkit.SQLite(t, clk)
	s, _ := newService(t, d, clk, &bank{})
	if _, err := s.Set(t.Context(), "KZT", "519.5", time.Time{}); err != nil {
		t.Fatal(err)
	}
	edge := apitest.NewEdge(t, d, clk, apitest.Tokens{}, s.Operations())
	list := func(query string) (l struct {
		Data []struct {
			Code, Name string
			Rate       float64
			RatedOn    *string `json:"rated_on"`
			Shown      bool
		}
		Meta struct{ Total int }
	},
	) {
		t.Helper()
		r := apitest.Call(edge, "", http.MethodGet, "/api/v1/currencies"+query, "")
		if err := json.Unmarshal(r.Body.Bytes(), &l); err != nil || r.Code != http.StatusOK {
			t.Fatal(r.Code, r.Body, err)
		}
		return l
	}
	testkit.Eventually(t, time.Minute, func() bool { return list("").Meta.Total == 2 }, "the rate is known")
	got := list("?lang=uz")
	if got.Data[0].Code != "USD" || got.Data[0].Rate != 1 || got.Data[0].RatedOn != nil || got.Data[1].Rate != 519.5 || !got.Data[1].Shown ||
		got.Data[1].Name != "Qozogʻiston tengesi" || *got.Data[1].RatedOn != testkit.Start.Format(time.DateOnly) {
		t.Errorf("%+v", got)
	}
	if got := list("?per_page=1&page=2"); len(got.Data) != 1 || got.Data[0].Code != "KZT" {
		t.Errorf("%+v", got)
	}
	clk.Advance(currencies.Fresh)
	if got := list(""); got.Data[1].Shown {
		t.Errorf("of a week ago: %+v", got)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
