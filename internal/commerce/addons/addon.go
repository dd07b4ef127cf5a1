package addons

import (
	"encoding/json"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

// Status is the state of an add-on.
type Status string

// The states of resources, section 9. An active add-on is shown as suspended while its service is suspended.
const (
	Pending    Status = "pending" // an operator is to make it
	Active     Status = "active"
	Suspended  Status = "suspended"
	Cancelling Status = "cancelling" // until its paid time is over
	Cancelled  Status = "cancelled"
	Failed     Status = "failed"
)

// Product is an add-on as the catalogue sells it.
type Product struct {
	Key               string
	Name, Description i18n.Text
	// Prices of one unit, the shortest period first.
	Prices []Price
	// Raises maps the limits of the plan that one unit raises to the amount.
	Raises map[string]int64
	// MaxQuantity is how many units a service may have at the same time.
	MaxQuantity int
	Manual      bool // an operator makes it
	OnSale      bool
}

// Price is the price of one unit for a period.
type Price struct {
	PeriodMonths int
	Price        money.USDCents
}

// price returns the price of one unit for a period: the catalogue's price, or a multiple of the price of the longest period
// that divides the asked one. A month always has a price.
func (p Product) price(months int) (money.USDCents, error) {
	for i := len(p.Prices) - 1; i >= 0; i-- {
		if x := p.Prices[i]; months%x.PeriodMonths == 0 {
			return x.Price.Mul(int64(months / x.PeriodMonths))
		}
	}
	return 0, fmt.Errorf("addons: %s has no price for %d months", p.Key, months)
}

// addon is a row of the table addons.
type addon struct {
	id, accountID, serviceID, orderID int64
	key, name                         string
	quantity                          int
	unitPrice                         money.USDCents
	periodMonths                      int
	raises                            map[string]int64 // by one
	manual                            bool
	status                            Status
	value                             string
	failureKey                        *string
	withService                       bool
	paidUntil, createdAt              time.Time
	activatedAt, cancelledAt          *time.Time
}

// shown is the status as customers see it: an add-on of a suspended service is suspended, too.
func (a addon) shown(service string) Status {
	if a.status == Active && service == "suspended" {
		return Suspended
	}
	return a.status
}

// price returns the price of all units for the service's period.
func (a addon) price() (money.USDCents, error) { return a.unitPrice.Mul(int64(a.quantity)) }

// sums adds up what the add-ons of a service cost at its renewal and by how much they raise its limits. A cancelled add-on
// costs nothing more and raises limits until its paid time ends.
func sums(all []addon) (price money.USDCents, raises map[string]int64, err error) {
	raises = map[string]int64{}
	for _, a := range all {
		if a.status == Active {
			p, err := a.price()
			if err == nil {
				price, err = price.Add(p)
			}
			if err != nil {
				return 0, nil, fmt.Errorf("addons: price of %d: %w", a.id, err)
			}
		}
		if a.status == Active || a.status == Cancelling {
			for name, by := range a.raises {
				raises[name] += by * int64(a.quantity)
			}
		}
	}
	return price, raises, nil
}

// had counts the units of an add-on that a service has or has ordered.
func had(all []addon, key string) (n int) {
	for _, a := range all {
		if a.key != key {
			continue
		}
		switch a.status {
		case Pending, Active, Cancelling:
			n += a.quantity
		}
	}
	return n
}

const day = 24 * time.Hour

// begun returns the moment from which an add-on that is bought now is paid for. Days are counted back from the end of the
// service's paid time, and a day that has begun counts as a whole one, so a price holds for a day.
func begun(now, end time.Time) time.Time {
	left := end.Sub(now) + day - 1
	return end.Add(-left.Truncate(day))
}

func raisesText(raises map[string]int64) (string, error) {
	if raises == nil {
		raises = map[string]int64{}
	}
	text, err := json.Marshal(raises)
	return string(text), err
}
