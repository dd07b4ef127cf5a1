package sla

import (
	"math/rand/v2"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/money"
)

// usual is the promise of most hosts.
func usual() Promise {
	return Promise{Uptime: 999_000, Tiers: []Tier{{999_000, 10}, {990_000, 30}, {950_000, 100}}, Most: 100}
}

func at(month time.Time, second int) time.Time { return month.Add(time.Duration(second) * time.Second) }

// TestTheMonthOfTheDecision is the example that the rule was made with.
func TestTheMonthOfTheDecision(t *testing.T) {
	m := monthOf(time.Date(2026, 11, 9, 0, 0, 0, 0, time.UTC))
	year := Span{m.Start.AddDate(0, -2, 0), m.Start.AddDate(0, -2, 365)}
	r, err := assess(Facts{
		Month: m, Until: m.End, Paid: []Paid{{year, 6000}},
		Maintenance: []Span{{at(m.Start, 100_000), at(m.Start, 107_200)}},
		Outages:     []Span{{at(m.Start, 200_000), at(m.Start, 205_400)}, {at(m.Start, 99_400), at(m.Start, 100_600)}},
	}, usual())
	if err != nil || r.ServedS != 2_584_800 || r.DownS != 6000 || r.Uptime != 997_678 || r.Percent != 10 || r.Base != 493 || r.Amount != 49 || !r.Breached || r.Doubtful {
		t.Errorf("%v %+v", err, r)
	}
}

func TestWhatCountsOfAMonth(t *testing.T) {
	m := monthOf(time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC))
	all := Span(m)
	for name, c := range map[string]struct {
		f       Facts
		percent int64
		amount  money.USDCents
		doubt   bool
	}{
		"no outage":            {Facts{Paid: []Paid{{all, 1000}}}, 0, 0, false},
		"exactly as promised":  {Facts{Paid: []Paid{{all, 1000}}, Outages: []Span{{m.Start, at(m.Start, 2592)}}}, 0, 0, false},
		"a second more":        {Facts{Paid: []Paid{{all, 1000}}, Outages: []Span{{m.Start, at(m.Start, 2593)}}}, 10, 100, false},
		"below 99":             {Facts{Paid: []Paid{{all, 1000}}, Outages: []Span{{m.Start, at(m.Start, 25_921)}}}, 30, 300, false},
		"below 95":             {Facts{Paid: []Paid{{all, 1000}}, Outages: []Span{{m.Start, at(m.Start, 129_601)}}}, 100, 1000, false},
		"overlapping":          {Facts{Paid: []Paid{{all, 1000}}, Outages: []Span{{m.Start, at(m.Start, 2000)}, {at(m.Start, 500), at(m.Start, 2592)}}}, 0, 0, false},
		"all is maintenance":   {Facts{Paid: []Paid{{all, 1000}}, Maintenance: []Span{all}, Outages: []Span{all}}, 0, 0, false},
		"not paid":             {Facts{Outages: []Span{all}}, 0, 0, false},
		"outage before it was": {Facts{Paid: []Paid{{Span{at(m.Start, 1_000_000), m.End}, 1000}}, Outages: []Span{{m.Start, at(m.Start, 1_000_000)}}}, 0, 0, false},
		"unknown":              {Facts{Paid: []Paid{{all, 1000}}, UnknownS: 129_601}, 0, 0, true},
	} {
		c.f.Month, c.f.Until = m, m.End
		r, err := assess(c.f, usual())
		if err != nil || r.Percent != c.percent || r.Amount != c.amount || r.Doubtful != c.doubt {
			t.Errorf("%s: %v %+v", name, err, r)
		}
	}
}

// TestAQuarterOfOutagesIsThatOfAnIndependentModel paints each second of the months in an array, and compares.
func TestAQuarterOfOutagesIsThatOfAnIndependentModel(t *testing.T) {
	const (
		isPaid = 1 << iota
		isMaintenance
		isDown
	)
	random := rand.New(rand.NewPCG(12, 2026))
	first := monthOf(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC))
	for service := range 20 {
		for i, m := 0, first; i < 3; i, m = i+1, monthOf(m.End) {
			length := int(m.End.Sub(m.Start) / time.Second)
			painted := make([]byte, length)
			spans := func(n, longest int, color byte) (all []Span) {
				for range n {
					from := random.IntN(length)
					to := from + random.IntN(longest) + 1
					all = append(all, Span{at(m.Start, from), at(m.Start, to)})
					for s := from; s < min(to, length); s++ {
						painted[s] |= color
					}
				}
				return all
			}
			paid := spans(1+random.IntN(2), 2*length, isPaid)
			f := Facts{
				Month: m, Until: m.End, Maintenance: spans(random.IntN(4), 20_000, isMaintenance), Outages: spans(random.IntN(9), 1+random.IntN(60_000), isDown),
			}
			for _, s := range paid {
				f.Paid = append(f.Paid, Paid{s, 5000})
			}
			served, down := 0, 0
			for _, color := range painted {
				if color&isPaid != 0 && color&isMaintenance == 0 {
					served++
					if color&isDown != 0 {
						down++
					}
				}
			}
			r, err := assess(f, usual())
			want := int64(0) // percent, by fractions instead of products
			if served > 0 {
				switch lost := float64(down) / float64(served); {
				case lost > 0.05:
					want = 100
				case lost > 0.01:
					want = 30
				case lost > 0.001:
					want = 10
				}
			}
			if err != nil || int(r.ServedS) != served || int(r.DownS) != down || r.Percent != want || r.Amount != r.Base*money.USDCents(want)/100 {
				t.Fatalf("service %d, %s: %v %+v, want %d of %d, %d %%", service, m.Start.Format("2006-01"), err, r, down, served, want)
			}
		}
	}
}
