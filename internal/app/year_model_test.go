//go:build !race

package app

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// What a year of a reseller's services comes to, computed from resources, section 1, and docs/services.md: no rows, no
// jobs, and nothing of the code that is judged by it.

type modelService struct {
	id                   int64
	months               int
	state                string // "stopped": suspended by its reseller
	since                time.Time
	auto                 bool      // renews by itself
	next                 *yearPlan // of the next renewal
	expires, retry, wait time.Time // retry: of a renewal that failed; wait: nothing worse happens before
	paid                 []modelPaid
	began                int      // day of the month on which it was made
	charges, moves       []string // the cents that were paid and the states that were reached, each with its time
}

// modelPaid is a time and what was paid for it; began is when its first month did.
type modelPaid struct {
	from, to, began time.Time
	plan            *yearPlan
	cents           int64
}

type modelReseller struct {
	now     time.Time
	balance int64
	paying  bool // a payment is on its way
	all     []*modelService
}

func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

// monthsOn is the same day so many months on, or the last one of a month that is too short.
func monthsOn(t time.Time, n int) time.Time {
	on := t.AddDate(0, n, 0)
	if on.Day() != t.Day() {
		on = on.AddDate(0, 0, -on.Day())
	}
	return on
}

// monthsAfter is monthsOn after a paid time that ends at t: where a short month has moved that to its last day, the next end is on the
// day of the month on which the service began.
func monthsAfter(t time.Time, n, began int) time.Time {
	end := monthsOn(t, n)
	for began > t.Day() && t.AddDate(0, 0, 1).Day() == 1 && end.Day() < began && end.AddDate(0, 0, 1).Month() == end.Month() {
		end = end.AddDate(0, 0, 1)
	}
	return end
}

// take takes money that is there. Less than nothing comes in: what failed is then tried again at once.
func (m *modelReseller) take(cents int64) bool {
	if m.balance < cents {
		return false
	}
	m.balance -= cents
	for _, s := range m.all {
		if cents < 0 && s.retry.After(m.now) {
			s.retry = m.now
		}
	}
	return true
}

func (s *modelService) charge(m *modelReseller, cents int64) bool {
	taken := m.take(cents)
	if taken && cents != 0 {
		s.charges = append(s.charges, modelNote(m.now, cents))
	}
	return taken
}

func (s *modelService) to(m *modelReseller, state string) {
	s.state, s.since = state, m.now
	s.moves = append(s.moves, modelNote(m.now, state))
}

func modelNote(at time.Time, what any) string {
	return fmt.Sprint(at.UTC().Format(time.RFC3339Nano), " ", what)
}

// plan is what was paid last.
func (s *modelService) plan() *yearPlan { return s.paid[len(s.paid)-1].plan }

// pay is one more period.
func (s *modelService) pay(m *modelReseller, plan *yearPlan, from time.Time) bool {
	if !s.charge(m, plan.prices[s.months]) {
		return false
	}
	end := monthsOn(from, s.months)
	if from.Equal(s.expires) {
		end = monthsAfter(from, s.months, s.began)
	}
	if s.began == 0 {
		s.began = from.Day()
	}
	s.expires, s.retry = end, time.Time{}
	s.paid = append(s.paid, modelPaid{from, s.expires, from, plan, plan.prices[s.months]})
	return true
}

// begin is a service that is bought, or comes back after its end: time that is left is not paid again.
func (s *modelService) begin(m *modelReseller, plan *yearPlan) bool {
	if !s.expires.After(m.now) {
		if !s.pay(m, plan, m.now) {
			return false
		}
		s.next = nil
	}
	s.retry = time.Time{}
	s.to(m, "provisioning")
	s.to(m, "active")
	return true
}

func (s *modelService) renewable() bool {
	return s.state == "active" || s.state == "past_due" || s.state == "suspended"
}

func (s *modelService) renew(m *modelReseller) bool {
	from := s.expires
	if !monthsAfter(from, s.months, s.began).After(m.now) {
		from = m.now
	}
	paid := s.pay(m, cmp.Or(s.next, s.plan()), from)
	if paid && s.state != "active" {
		s.to(m, "active")
	}
	return paid
}

// rest is what of it is for the time to come, rounded up or down.
func (p modelPaid) rest(now time.Time, up int64) int64 {
	left, whole := p.to.Sub(later(p.from, now)).Microseconds(), p.to.Sub(p.from).Microseconds()
	return (p.cents*max(0, left) + up*(whole-1)) / whole
}

// change moves to another plan now, for its price for the time to come less what was paid for that.
func (s *modelService) change(m *modelReseller, plan *yearPlan) bool {
	var cost, less int64
	var began time.Time
	for _, p := range slices.Backward(s.paid) {
		if less += p.rest(m.now, 0); p.to.After(m.now) {
			began = p.began
		}
	}
	for n, to := 1, s.expires; to.After(m.now); n++ {
		from := monthsOn(s.expires, -n*s.months)
		if began.After(from) && monthsOn(began, s.months).Equal(to) { // to is the end of a month that is too short
			from = began
		}
		cost += modelPaid{from: from, to: to, cents: plan.prices[s.months]}.rest(m.now, 1)
		to = from
	}
	if !s.charge(m, cost-less) {
		return false
	}
	s.paid, s.next = []modelPaid{{m.now, s.expires, began, plan, cost}}, nil
	return true
}

// ends is when the state of the service does by itself, and which one comes then.
func (s *modelService) ends() (at time.Time, then string) {
	switch s.state {
	case "active":
		return s.expires, "past_due"
	case "past_due":
		return later(s.expires.Add(days(s.plan().grace)), s.since.Add(days(1))), "suspended"
	case "suspended":
		return s.since.Add(days(s.plan().left)), "terminating"
	case "stopped": // nobody pays for it
		return s.expires.Add(days(s.plan().left)), "terminating"
	case "terminating":
		return s.since, "terminated"
	default:
		return s.since.AddDate(100, 0, 0), ""
	}
}

// due is what happens to the service next: a renewal before all else.
func (s *modelService) due(m *modelReseller) (at time.Time, do func()) {
	at, then := s.ends()
	at = later(m.now, later(at, s.wait))
	try := later(s.expires.Add(-days(s.plan().renewBefore)), s.retry)
	switch {
	case s.auto && s.renewable() && !try.After(at):
		return later(m.now, try), func() {
			if !s.renew(m) {
				s.retry, s.wait = m.now.Add(days(1)), m.now
			}
		}
	case m.paying && then == "suspended":
		return at, func() { s.wait = m.now.Add(10 * time.Minute) }
	default:
		return at, func() { s.to(m, then) }
	}
}

// advance lets the time go on. What is due at one moment is seen to in the order in which it expires.
func (m *modelReseller) advance(to time.Time) {
	for {
		var do func()
		at := to
		slices.SortFunc(m.all, func(a, b *modelService) int { return cmp.Or(b.expires.Compare(a.expires), cmp.Compare(b.id, a.id)) })
		for _, s := range m.all {
			if t, f := s.due(m); !t.After(at) {
				at, do = t, f
			}
		}
		if m.now = at; do == nil {
			return
		}
		do()
	}
}
