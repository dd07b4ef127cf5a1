//go:build !race

package app

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/money"
)

// What the resellers of the year do, each in the model too.

// credit puts money into the wallets of some, and of those that want to buy, and waits until all have heard. Some of
// those who are to be suspended soon begin to pay.
func (y *year) credit() {
	y.t.Helper()
	for _, r := range y.all {
		if r.busy {
			r.busy = false
			continue
		}
		if slices.ContainsFunc(r.all, func(s *modelService) bool {
			at, then := s.ends()
			return then == "suspended" && at.Before(r.now.Add(soon))
		}) && y.rng.IntN(3) > 0 {
			y.beginPayment(r)
			continue
		}
		var cents int64
		if y.rng.IntN(3) == 0 {
			cents = 1 + y.rng.Int64N(15_000)
		}
		for _, w := range r.wishes {
			cents += w.plan.prices[w.months]
		}
		if cents > 0 {
			y.App.credit(y.t, r.account, money.USDCents(cents))
			r.take(-cents)
		}
	}
	y.heard()
}

// beginPayment has the gateway work on a top-up.
func (y *year) beginPayment(r *yearReseller) {
	y.t.Helper()
	r.topup = 100 + y.rng.Int64N(15_000)
	var made struct {
		CheckoutURL string `json:"checkout_url"`
	}
	y.ask(r, http.StatusCreated, "POST", "/wallet/topups", fmt.Sprintf(`{"amount_usd_cents": %d, "gateway": "demo"}`, r.topup)).decode(y.t, &made)
	_, token, _ := strings.Cut(made.CheckoutURL, "/pay/")
	r.checkout, r.paying = "/pay/"+token, true
	if a := y.do(y.t, request{method: "GET", path: r.checkout}); a.status != http.StatusOK {
		y.t.Fatal(a)
	}
}

// endPayments lets the payments that are on their way succeed, or fail.
func (y *year) endPayments() {
	y.t.Helper()
	for _, r := range y.all {
		if !r.paying {
			continue
		}
		for _, s := range r.all {
			if at, then := s.ends(); then == "suspended" && at.Before(r.now) {
				y.seen["suspension put off"]++
			}
		}
		action := []string{"pay", "decline"}[y.rng.IntN(2)]
		a := y.do(y.t, request{method: "POST", path: r.checkout, body: "action=" + action, contentType: "application/x-www-form-urlencoded"})
		if a.status != http.StatusSeeOther {
			y.t.Fatal(a)
		}
		y.seen[action]++
		r.paying = false
		if action == "pay" {
			r.take(-r.topup)
		}
	}
	y.heard()
}

// wish has the reseller want one more service.
func (y *year) wish(r *yearReseller) {
	r.wishes = append(r.wishes, yearWish{y.sold[y.rng.IntN(len(y.sold))], []int{1, 3, 3, 12, 12, 12, 12, 12, 12, 12}[y.rng.IntN(10)]})
}

// buy orders what the reseller wants, as long as there is money for it: what was due took its part first.
func (y *year) buy(r *yearReseller) {
	y.t.Helper()
	for ; len(r.wishes) > 0; r.wishes = r.wishes[1:] {
		w := r.wishes[0]
		if r.balance < w.plan.prices[w.months] {
			return
		}
		y.bought++
		var made struct {
			ID int64 `json:"id"`
		}
		y.ask(r, http.StatusCreated, "POST", "/services", fmt.Sprintf(`{"plan_id": %d, "domain": "s%d.example", "period_months": %d, "client_ref": "c%[2]d"}`,
			y.plans[w.plan.name], y.bought, w.months)).decode(y.t, &made)
		s := &modelService{id: made.ID, months: w.months, auto: true}
		s.begin(r.modelReseller, w.plan)
		r.all = append(r.all, s)
	}
}

// act has the reseller, or an operator, do something with one of its services. What makes something due at once is left
// for the last: when it is done is not for the test to say.
func (y *year) act(r *yearReseller, last bool) {
	y.t.Helper()
	pick := func(states ...string) *modelService {
		in := slices.DeleteFunc(slices.Clone(r.all), func(s *modelService) bool { return !slices.Contains(states, s.state) })
		if len(in) == 0 {
			return nil
		}
		return in[y.rng.IntN(len(in))]
	}
	call := func(s *modelService, did bool, what, body string) {
		y.t.Helper()
		status := http.StatusUnprocessableEntity
		if did {
			status = http.StatusOK
		}
		y.ask(r, status, "POST", fmt.Sprintf("/services/%d/%s", s.id, what), body)
	}
	switch y.rng.IntN(7) {
	case 0:
		if s := pick("active", "past_due", "suspended", "stopped"); s != nil {
			call(s, s.renewable() && s.renew(r.modelReseller), "renew", "{}")
		}
	case 1, 2: // a tariff, now or with the renewal
		if s := pick("active"); s != nil {
			y.tariff(r, s, last, call)
		}
	case 3: // offline for a reason of the reseller's, and back
		if s := pick("active", "suspended", "stopped"); s != nil && s.state == "active" {
			paid := s.expires.After(r.now) // else it was brought back after its time had run out
			call(s, paid, "suspend", `{"reason": "spring cleaning"}`)
			if paid {
				s.to(r.modelReseller, "suspended")
				s.state = "stopped"
			}
		} else if s != nil && last {
			back := s.state == "stopped"
			call(s, back, "unsuspend", "{}")
			if back {
				s.to(r.modelReseller, "active")
				r.busy = true
			}
		}
	case 4:
		if s := pick("active", "past_due", "suspended", "stopped"); s != nil && (s.auto || last) {
			s.auto = !s.auto
			y.ask(r, http.StatusOK, "PATCH", fmt.Sprintf("/services/%d", s.id), fmt.Sprintf(`{"auto_renew": %v}`, s.auto))
			if s.retry.After(r.now) {
				s.retry = r.now
			}
			r.busy = r.busy || s.auto
		}
	case 5:
		if s := pick("suspended", "stopped"); s != nil && y.rng.IntN(6) == 0 {
			if _, err := y.admin.TerminateService(y.t.Context(), s.id); err != nil {
				y.t.Fatal(err)
			}
			s.to(r.modelReseller, "terminating")
		}
	case 6: // one that has ended comes back; which plan it has whose next one was paid and came after its end, nobody says
		if s := pick("terminated"); s != nil && last && !s.paid[len(s.paid)-1].from.After(s.since) {
			back := s.begin(r.modelReseller, s.plan())
			call(s, back, "restore", "{}")
			if r.busy = back; back {
				y.seen["restored"]++
			}
		}
	}
}

// tariff moves an active service to the other plan of its product.
func (y *year) tariff(r *yearReseller, s *modelService, last bool, call func(s *modelService, did bool, what, body string)) {
	y.t.Helper()
	plan := s.plan()
	for _, p := range s.paid {
		if !p.from.After(r.now) {
			plan = p.plan
		}
	}
	if s.next != nil && s.next != plan {
		return // one is to come already
	}
	other := y.sold[slices.Index(y.sold, plan)^1]
	if y.rng.IntN(2) == 0 {
		call(s, true, "tariff", fmt.Sprintf(`{"plan_id": %d, "when": "renewal"}`, y.plans[other.name]))
		s.next = other
		return
	}
	trial, purse := *s, modelReseller{now: r.now, balance: r.balance}
	did := s.expires.After(r.now) && trial.change(&purse, other) // else it was brought back after its time had run out
	if purse.balance > r.balance && !last {
		return
	}
	call(s, did, "tariff", fmt.Sprintf(`{"plan_id": %d}`, y.plans[other.name]))
	if did {
		r.busy = r.busy || purse.balance > r.balance
		s.change(r.modelReseller, other)
	}
}
