package addons

import (
	"encoding/json"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

// Status is where an add-on is.
type Status string

// The states of resources, section 9. Suspended is shown of an active one while its service is.
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
	// Prices of one, the shortest period first.
	Prices []Price
	// Raises are the limits of a plan that one raises, by name.
	Raises map[string]int64
	// MaxQuantity is how many a service may have at once.
	MaxQuantity int
	Manual      bool // an operator makes it
	OnSale      bool
}

// Price is what one costs for a period.
type Price struct {
	PeriodMonths int
	Price        money.USDCents
}

// price of one for a period: that of the catalogue, or as often as it takes that of the longest priced period which
// the asked one is a multiple of. A month is always priced.
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

// price of all of it for the service's period.
func (a addon) price() (money.USDCents, error) { return a.unitPrice.Mul(int64(a.quantity)) }

// sums are what the add-ons of a service add to its renewal and to its limits. One that is cancelled is not renewed,
// and raises limits as long as it is paid for.
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

// had counts how many of a key a service has, or is to have.
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

// begun is the moment from which an add-on is paid for that is bought now: its days are counted back from the end of
// the service's paid time, and the day that has begun counts whole. A price is so the same for a day.
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
