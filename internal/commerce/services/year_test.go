package services

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// model computes, for one account, what a year of its services charges: no rows, no
// jobs, hour by hour.
type model struct {
	balance money.USDCents
	all     []*modelService
}

type modelService struct {
	id      int64
	expires time.Time
	months  int
	price   money.USDCents
	attempt time.Time
	state   Status
	until   time.Time // of grace, or of the suspension
	charges []string
}

func (m *model) tick(now time.Time) {
	slices.SortFunc(m.all, func(a, b *modelService) int {
		if c := a.expires.Compare(b.expires); c != 0 {
			return c
		}
		return int(a.id - b.id)
	})
	for _, s := range slices.Clone(m.all) {
		for s.state != Terminating {
			if !now.Before(s.attempt) {
				if m.balance >= s.price {
					m.balance -= s.price
					s.charges = append(s.charges, fmt.Sprintf("%d@%s", s.price, now.Format("01-02 15")))
					if s.expires = sale.AddMonths(s.expires, s.months); !s.expires.After(now) {
						s.expires = sale.AddMonths(now, s.months)
					}
					s.attempt, s.state = s.expires.Add(-3*day), Active
					continue
				}
				s.attempt = now.Add(day)
			}
			switch {
			case s.state == Active && !now.Before(s.expires):
				s.state, s.until = PastDue, s.expires.Add(3*day)
				if least := now.Add(day); s.until.Before(least) {
					s.until = least
				}
				continue
			case s.state == PastDue && !now.Before(s.until):
				s.state, s.until = Suspended, now.Add(14*day)
				continue
			case s.state == Suspended && !now.Before(s.until):
				s.state = Terminating
			}
			break
		}
	}
}

// paid is money that comes in: what failed is tried again.
func (m *model) paid(now time.Time, cents money.USDCents) {
	m.balance += cents
	for _, s := range m.all {
		if s.attempt.After(now) && s.attempt.After(s.expires.Add(-3*day)) && s.state != Terminating {
			s.attempt = now
		}
	}
}

// A year of many services of several accounts that pay now and then: each has exactly
// the charges and the end that the model has, and each state is told of once.
func TestAYearIsChargedAsTheModelSays(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.openPurse()
		w.Keeper = &keeper{}
		rng := rand.New(rand.NewPCG(7, 11))
		models := map[int64]*model{}
		for account := int64(1); account <= 4; account++ {
			models[account] = &model{}
			w.Exec(`INSERT INTO test_purse (account_id, balance) VALUES ($1, 0)`, account)
		}
		for n := range 24 {
			w.Clk.Advance(time.Duration(rng.IntN(30)) * time.Hour)
			account := int64(n%4) + 1
			a := servicestest.Ask(fmt.Sprintf("s%d.test", n))
			a.AccountID, a.PeriodMonths, a.RenewPrice = account, []int{1, 1, 3, 12}[rng.IntN(4)], money.USDCents(200+rng.IntN(900))
			id := w.active(a)
			e := *w.record(id).ExpiresAt
			m := models[account]
			m.all = append(m.all, &modelService{id: id, expires: e, months: a.PeriodMonths, price: a.RenewPrice, attempt: e.Add(-3 * day), state: Active})
			w.live()
			m.tick(w.Clk.Now())
		}
		for range 380 {
			w.Clk.Advance(24 * time.Hour)
			for account := int64(1); account <= 4; account++ {
				m := models[account]
				if account < 4 && rng.IntN(12) == 0 { // the last one never pays
					cents := money.USDCents(rng.IntN(3000))
					w.pay(account, cents)
					m.paid(w.Clk.Now(), cents)
				}
			}
			w.live()
			for _, m := range models {
				m.tick(w.Clk.Now())
			}
		}
		ended := 0
		for account, m := range models {
			var left int64
			if err := w.DB.QueryRow(t.Context(), `SELECT balance FROM test_purse WHERE account_id = $1`, account).Scan(&left); err != nil {
				t.Fatal(err)
			}
			w.Same(fmt.Sprint("balance of ", account), m.balance, money.USDCents(left))
			for _, s := range m.all {
				got, err := db.Collect(t.Context(), w.DB, func(row db.Row) (string, error) {
					var amount int64
					var when time.Time
					err := row.Scan(&amount, &when)
					return fmt.Sprintf("%d@%s", amount, when.Format("01-02 15")), err
				}, `SELECT amount, at FROM test_sales WHERE service_id = $1 ORDER BY at`, s.id)
				if err != nil {
					t.Fatal(err)
				}
				w.Same(fmt.Sprint("charges of ", s.id), strings.Join(s.charges, " "), strings.Join(got, " "))
				w.Same(fmt.Sprint("state of ", s.id), s.state, w.record(s.id).Status)
				if s.state == Terminating {
					ended++
				}
				w.sameStates(s.id)
			}
		}
		if ended == 0 {
			t.Error("no service ended: the year is too kind to say anything")
		}
	})
}

// sameStates wants an event of every change of state, each once: an event says where
// the state came from, and so they form a chain.
func (w *world) sameStates(id int64) {
	w.T.Helper()
	events, err := w.Events.Of(w.T.Context(), "service", id)
	if err != nil {
		w.T.Fatal(err)
	}
	status := ""
	for _, e := range events {
		var data, previous struct{ Status string }
		if err := json.Unmarshal(e.Data, &data); err != nil {
			w.T.Fatal(err)
		}
		if err := json.Unmarshal(e.Previous, &previous); err != nil {
			w.T.Fatal(err)
		}
		if previous.Status != "" && previous.Status != status {
			w.T.Errorf("service %d: %s goes from %q, but it was %q", id, e.Type, previous.Status, status)
		}
		status = data.Status
	}
	if now := string(w.record(id).Status); status != now {
		w.T.Errorf("service %d: the events end in %q, it is %q", id, status, now)
	}
}
