//go:build !race

package app

import (
	"cmp"
	"math/big"
	"slices"
	"time"
)

// What a year of a reseller's services comes to, computed from resources, section 1, and docs/services.md: no rows, no
// jobs, and nothing of the code that is judged by it.

type modelTariff struct {
	name             string
	prices           map[int]int64 // in cents, by months, as the reseller pays
	renewBefore      int           // days
	grace, suspended int
}

type modelMove struct {
	to string
	at time.Time
}

type modelCharge struct {
	cents int64 // below zero: given back
	at    time.Time
}

type modelPaid struct {
	from, to time.Time
	cents    int64
}

type modelService struct {
	id                    int64
	tariff, next          *modelTariff
	nextAt                time.Time
	months                int
	price                 int64
	auto, failed          bool
	state, reason         string
	expires, try, deadEnd time.Time
	paid                  []modelPaid
	charges               []modelCharge
	moves                 []modelMove
}

type modelReseller struct {
	now     time.Time
	balance int64
	all     []*modelService
}

const modelDay = 24 * time.Hour

func inDays(n int) time.Duration { return time.Duration(n) * modelDay }

// monthsOn is the same day so many months on, or the last one of a month that is too short.
func monthsOn(t time.Time, n int) time.Time {
	first := time.Date(t.Year(), t.Month(), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC).AddDate(0, n, 0)
	return first.AddDate(0, 0, min(t.Day(), first.AddDate(0, 1, -1).Day())-1)
}

// portion is cents × part ÷ whole, rounded down or up.
func portion(cents int64, part, whole time.Duration, up bool) int64 {
	r := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(cents), big.NewInt(int64(part))), big.NewInt(int64(whole)))
	q, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if up && rest.Sign() > 0 {
		return q.Int64() + 1
	}
	return q.Int64()
}

func (s *modelService) to(state string, at time.Time) {
	s.state = state
	s.moves = append(s.moves, modelMove{state, at})
}

func (s *modelService) renewable() bool {
	return s.state == "active" || s.state == "past_due" || (s.state == "suspended" && s.reason == "unpaid")
}

func (s *modelService) lives() bool {
	return s.state == "active" || s.state == "past_due" || s.state == "suspended"
}

// begin is a service that is bought, paid and there.
func (m *modelReseller) begin(id int64, t *modelTariff, months int) *modelService {
	s := &modelService{id: id, tariff: t, months: months, price: t.prices[months], auto: true, expires: monthsOn(m.now, months)}
	s.charge(m, s.price)
	s.paid = []modelPaid{{m.now, s.expires, s.price}}
	s.try = s.expires.Add(-inDays(t.renewBefore))
	s.to("provisioning", m.now)
	s.to("active", m.now)
	m.all = append(m.all, s)
	return s
}

func (s *modelService) charge(m *modelReseller, cents int64) {
	if m.balance -= cents; cents != 0 {
		s.charges = append(s.charges, modelCharge{cents, m.now})
	}
}

// renew pays one more period, if the money is there.
func (s *modelService) renew(m *modelReseller) bool {
	price := s.price
	if s.next != nil {
		price = s.next.prices[s.months]
	}
	if m.balance < price {
		return false
	}
	s.charge(m, price)
	from := s.expires
	if s.expires = monthsOn(from, s.months); !s.expires.After(m.now) {
		from, s.expires = m.now, monthsOn(m.now, s.months)
	}
	s.paid = append(s.paid, modelPaid{from, s.expires, price})
	s.try, s.failed, s.reason = s.expires.Add(-inDays(s.tariff.renewBefore)), false, ""
	if s.state != "active" {
		s.to("active", m.now)
	}
	return true
}

// change moves to another tariff now, for what the rest of the time costs more or less.
func (s *modelService) change(m *modelReseller, t *modelTariff) {
	var worth, cost int64
	for _, p := range s.paid {
		if from := latest(p.from, m.now); p.to.After(from) {
			worth += portion(p.cents, p.to.Sub(from), p.to.Sub(p.from), false)
		}
	}
	for end, n := s.expires, 1; end.After(m.now); n++ {
		begin := monthsOn(s.expires, -n*s.months)
		cost += portion(t.prices[s.months], end.Sub(latest(begin, m.now)), end.Sub(begin), true)
		end = begin
	}
	s.charge(m, cost-worth)
	s.paid = []modelPaid{{m.now, s.expires, cost}}
	s.tariff, s.next, s.price = t, nil, t.prices[s.months]
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// due is when something happens to the service next, whatever time it is; false when nothing does.
func (s *modelService) due() (at time.Time, ok bool) {
	soonest := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	if s.auto && s.renewable() {
		soonest(s.try)
	}
	switch {
	case s.state == "active":
		soonest(s.expires)
	case s.state == "past_due", s.state == "suspended" && s.reason == "unpaid", s.state == "terminating":
		soonest(s.deadEnd)
	}
	if s.next != nil && s.expires.After(s.nextAt) && s.lives() {
		soonest(s.nextAt)
	}
	return at, ok
}

// happen does one thing that is due.
func (s *modelService) happen(m *modelReseller) {
	switch {
	case s.next != nil && s.expires.After(s.nextAt) && !m.now.Before(s.nextAt) && s.expires.After(m.now):
		s.tariff, s.next, s.price = s.next, nil, s.next.prices[s.months]
	case s.auto && s.renewable() && !m.now.Before(s.try):
		if s.failed = !s.renew(m); s.failed {
			s.try = m.now.Add(modelDay)
		}
	case s.state == "active":
		s.deadEnd = latest(s.expires.Add(inDays(s.tariff.grace)), m.now.Add(modelDay))
		s.to("past_due", m.now)
	case s.state == "past_due":
		s.reason, s.deadEnd = "unpaid", m.now.Add(inDays(s.tariff.suspended))
		s.to("suspended", m.now)
	case s.state == "suspended":
		s.deadEnd = m.now
		s.to("terminating", m.now)
	case s.state == "terminating":
		s.to("terminated", m.now)
	}
}

// advance lets the time go on.
func (m *modelReseller) advance(to time.Time) {
	for {
		var next *modelService
		var at time.Time
		for _, s := range m.all {
			t, ok := s.due()
			t = latest(t, m.now)
			if !ok || t.After(to) {
				continue
			}
			if next == nil || cmp.Or(t.Compare(at), s.before(next)) < 0 {
				next, at = s, t
			}
		}
		if next == nil {
			m.now = to
			return
		}
		m.now = at
		next.happen(m)
	}
}

// before is the order in which services of one account are seen to that are due at one moment.
func (s *modelService) before(o *modelService) int {
	return cmp.Or(s.expires.Compare(o.expires), cmp.Compare(s.id, o.id))
}

// pay is money that comes in: what failed is tried again at once.
func (m *modelReseller) pay(cents int64) {
	m.balance += cents
	for _, s := range m.all {
		if s.auto && s.failed && s.lives() && s.try.After(m.now) {
			s.try = m.now
		}
	}
}

func (m *modelReseller) in(states ...string) []*modelService {
	return slices.DeleteFunc(slices.Clone(m.all), func(s *modelService) bool { return !slices.Contains(states, s.state) })
}
