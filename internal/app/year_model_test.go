//go:build !race

package app

import (
	"cmp"
	"fmt"
	"time"
)

// What a year of a reseller's services comes to, computed from resources, section 1, and docs/services.md: no rows, no
// jobs, and nothing of the code that is judged by it.

type modelTariff struct {
	name                          string
	prices                        map[int]int64 // in cents, by months, as the reseller pays
	renewBefore, grace, suspended int           // days
}

type modelPaid struct {
	from, to time.Time
	cents    int64
}

// modelNote is a state that was reached, or cents that were paid.
type modelNote struct {
	What string
	At   time.Time
}

type modelService struct {
	id                int64
	tariff, next      *modelTariff
	nextAt            time.Time
	months            int
	price             int64
	auto, failed      bool // to be renewed by itself; and that did not go
	state, reason     string
	ending            bool      // its time is over while its reseller suspends it
	expires, try, end time.Time // try: when it is renewed; end: of the state
	paid              []modelPaid
	charges, moves    []modelNote
}

type modelReseller struct {
	now     time.Time
	balance int64
	all     []*modelService
}

func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// monthsOn is the same day so many months on, or the last one of a month that is too short.
func monthsOn(t time.Time, n int) time.Time {
	first := t.AddDate(0, 0, 1-t.Day()).AddDate(0, n, 0)
	return first.AddDate(0, 0, min(t.Day(), first.AddDate(0, 1, -1).Day())-1)
}

// begin is a service that is bought, paid and there.
func (m *modelReseller) begin(id int64, t *modelTariff, months int) {
	s := &modelService{id: id, tariff: t, months: months, price: t.prices[months], auto: true}
	m.all = append(m.all, s)
	s.to(m, "provisioning")
	s.to(m, "active")
	s.pay(m, s.price, m.now)
}

func (s *modelService) to(m *modelReseller, state string) {
	s.state = state
	s.moves = append(s.moves, modelNote{state, m.now})
}

func (s *modelService) charge(m *modelReseller, cents int64) {
	if m.balance -= cents; cents != 0 {
		s.charges = append(s.charges, modelNote{fmt.Sprint(cents), m.now})
	}
}

// pay is one more period.
func (s *modelService) pay(m *modelReseller, cents int64, from time.Time) {
	s.charge(m, cents)
	s.expires = monthsOn(from, s.months)
	s.paid = append(s.paid, modelPaid{from, s.expires, cents})
	s.try, s.failed = s.expires.Add(-days(s.tariff.renewBefore)), false
}

func (s *modelService) renewable() bool {
	return s.state == "active" || s.state == "past_due" || (s.state == "suspended" && s.reason == "unpaid")
}

// renew pays one more period, if the money is there.
func (s *modelService) renew(m *modelReseller) bool {
	price, from := s.price, s.expires
	if s.next != nil {
		price = s.next.prices[s.months]
	}
	if m.balance < price {
		return false
	}
	if !monthsOn(from, s.months).After(m.now) {
		from = m.now
	}
	s.pay(m, price, from)
	if s.reason = ""; s.state != "active" {
		s.to(m, "active")
	}
	return true
}

// change moves to another tariff now, for what the rest of the time costs more or less.
func (s *modelService) change(m *modelReseller, t *modelTariff) {
	part := func(cents int64, from, to time.Time) (int64, int64) { // of a period that is still to come, in cents × µs, and µs
		return cents * max(0, to.Sub(later(from, m.now))).Microseconds(), to.Sub(from).Microseconds()
	}
	var worth, cost int64
	for _, p := range s.paid {
		a, b := part(p.cents, p.from, p.to)
		worth += a / b
	}
	for to, n := s.expires, 1; to.After(m.now); n++ {
		from := monthsOn(s.expires, -n*s.months)
		a, b := part(t.prices[s.months], from, to)
		cost += (a + b - 1) / b
		to = from
	}
	s.charge(m, cost-worth)
	s.paid = []modelPaid{{m.now, s.expires, cost}}
	s.tariff, s.next, s.price = t, nil, t.prices[s.months]
}

// due is what happens to the service next, and when; of what is due at one moment the first here.
func (s *modelService) due(m *modelReseller) (at time.Time, do func()) {
	soonest := func(t time.Time, f func()) {
		if t = later(t, m.now); do == nil || t.Before(at) {
			at, do = t, f
		}
	}
	if s.next != nil && s.expires.After(later(s.nextAt, m.now)) && s.state != "terminating" && s.state != "terminated" {
		soonest(s.nextAt, func() { s.tariff, s.price, s.next = s.next, s.next.prices[s.months], nil })
	}
	if s.auto && s.renewable() {
		soonest(s.try, func() {
			if s.failed = !s.renew(m); s.failed {
				s.try = m.now.Add(days(1))
			}
		})
	}
	switch {
	case s.state == "active":
		soonest(s.expires, func() {
			s.end = later(s.expires.Add(days(s.tariff.grace)), m.now.Add(days(1)))
			s.to(m, "past_due")
		})
	case s.state == "past_due":
		soonest(s.end, func() {
			s.reason, s.end = "unpaid", m.now.Add(days(s.tariff.suspended))
			s.to(m, "suspended")
		})
	case s.state == "suspended" && s.reason == "manual" && !s.ending: // nobody pays for it
		soonest(s.expires, func() { s.ending, s.end = true, m.now.Add(days(s.tariff.suspended)) })
	case s.state == "suspended":
		soonest(s.end, func() { s.to(m, "terminating") })
	case s.state == "terminating":
		soonest(m.now, func() { s.to(m, "terminated") })
	}
	return at, do
}

// advance lets the time go on. What is due at one moment is seen to in the order in which it expires.
func (m *modelReseller) advance(to time.Time) {
	for {
		var next *modelService
		var first time.Time
		var do func()
		for _, s := range m.all {
			at, f := s.due(m)
			if f != nil && !at.After(to) &&
				(do == nil || cmp.Or(at.Compare(first), s.expires.Compare(next.expires), cmp.Compare(s.id, next.id)) < 0) {
				next, first, do = s, at, f
			}
		}
		if do == nil {
			m.now = to
			return
		}
		m.now = first
		do()
	}
}

// credit is money that comes in: what failed is tried again at once.
func (m *modelReseller) credit(cents int64) {
	m.balance += cents
	for _, s := range m.all {
		if s.failed && s.try.After(m.now) {
			s.try = m.now
		}
	}
}
