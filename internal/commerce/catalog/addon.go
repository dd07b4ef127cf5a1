package catalog

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

// Addon is an extra that is attached to a service (resources, section 9).
type Addon struct {
	Key               string
	Name, Description i18n.Text
	AddonDetails
	OnSale bool
}

// AddonDetails are the members of an add-on that no statement reads; they are stored as JSON.
type AddonDetails struct {
	// Prices of one unit, the shortest period first; the first is that of a month.
	Prices []AddonPrice `json:"prices"`
	// Raises maps the limits of the plan that one unit raises to the amount.
	Raises map[string]int64 `json:"raises"`
	// MaxQuantity is how many units a service may have at the same time.
	MaxQuantity int `json:"max_quantity"`
	// Manual add-ons are made by an operator.
	Manual bool `json:"manual"`
}

// AddonPrice is what one add-on costs for a period.
type AddonPrice struct {
	PeriodMonths int            `json:"period_months"`
	Price        money.USDCents `json:"price"`
}

// Addons lists the add-ons for sale, in the operator's order. The list is not paged: an operator writes it by hand.
func (s *Service) Addons(ctx context.Context, q db.Querier) ([]Addon, error) {
	return db.Collect(ctx, q, scanAddon, selectAddon+` WHERE available ORDER BY position, id LIMIT $1`, noLimit)
}

// Addon finds an add-on by its key, whether it is on sale or not. It returns false when the key was never used.
func (s *Service) Addon(ctx context.Context, q db.Querier, key string) (Addon, bool, error) {
	a, err := scanAddon(q.QueryRow(ctx, selectAddon+` WHERE key = $1`, key))
	if errors.Is(err, db.ErrNoRows) {
		return a, false, nil
	}
	return a, err == nil, err
}

// PlanAddons are the keys of the add-ons that services of a plan may have.
func (s *Service) PlanAddons(ctx context.Context, q db.Querier, planID int64) ([]string, error) {
	p, err := scanPlan(q.QueryRow(ctx, selectPlan+` WHERE id = $1`, planID))
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil
	}
	return p.Addons, err
}

const selectAddon = `SELECT key, name, description, details, available FROM catalog_addons`

func scanAddon(r db.Row) (a Addon, err error) {
	err = r.Scan(&a.Key, asJSON{&a.Name}, asJSON{&a.Description}, asJSON{&a.AddonDetails}, &a.OnSale)
	return a, err
}

func putAddon(ctx context.Context, tx *db.Tx, a Addon, position int) error {
	_, err := tx.Exec(ctx, `INSERT INTO catalog_addons (key, name, description, details, position, available) VALUES ($1, $2, $3, $4, $5, TRUE)
		ON CONFLICT (key) DO UPDATE SET name = excluded.name, description = excluded.description, details = excluded.details,
			position = excluded.position, available = TRUE`,
		a.Key, encode(a.Name), encode(a.Description), encode(a.AddonDetails), position)
	return err
}

type fileAddon struct {
	Key         string           `yaml:"key"`
	Name        text             `yaml:"name"`
	Description text             `yaml:"description,omitempty"`
	Prices      []fileAddonPrice `yaml:"prices"`
	Raises      map[string]int64 `yaml:"raises,omitempty"`
	MaxQuantity int              `yaml:"max_quantity,omitempty"`
	Manual      bool             `yaml:"manual,omitempty"`
}

type fileAddonPrice struct {
	Months int   `yaml:"months"`
	Cents  int64 `yaml:"usd_cents"`
}

// maxAddonQuantity bounds the quantity that a catalog file may allow.
const maxAddonQuantity = 1000

var addonPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// checkAddons reports the problems of the add-ons in a file and returns their keys.
func (f file) checkAddons(problems *Problems) map[string]bool {
	keys := map[string]bool{}
	for i, a := range f.Addons {
		at := "addon " + a.Key
		switch {
		case !addonPattern.MatchString(a.Key):
			at = fmt.Sprintf("addons[%d]", i)
			problems.add("%s: key %q must be lower-case letters, digits and underscores, at most 64", at, a.Key)
		case keys[a.Key]:
			problems.add("%s: it is in the file twice", at)
		}
		keys[a.Key] = true
		a.check(problems, at)
	}
	return keys
}

func (a fileAddon) check(problems *Problems, at string) {
	checkText(problems, at+" name", a.Name, true)
	checkText(problems, at+" description", a.Description, false)
	if a.MaxQuantity < 0 || a.MaxQuantity > maxAddonQuantity {
		problems.add("%s: max_quantity is %d, must be from 1 to %d", at, a.MaxQuantity, maxAddonQuantity)
	}
	if a.Manual && len(a.Raises) > 0 {
		problems.add("%s: what an operator makes raises no limits", at)
	}
	known := map[string]bool{}
	Limits{}.each(func(name string, _ int64) { known[name] = name != monitorInterval })
	for name, by := range a.Raises {
		if !known[name] {
			problems.add("%s raises: %q is no limit of plans", at, name)
		}
		if by < 1 || by > 1<<40 {
			problems.add("%s raises: %s by %d, must be 1 or more", at, name, by)
		}
	}
	last := 0
	for _, p := range a.Prices {
		if p.Months < 1 || p.Months > 120 {
			problems.add("%s prices: months is %d, must be from 1 to 120", at, p.Months)
		}
		if p.Months <= last {
			problems.add("%s prices: %d months come after %d; the shortest period is first, and each is priced once", at, p.Months, last)
		}
		if p.Cents < 0 || p.Cents > maxCents {
			problems.add("%s prices: %d months: %d cents, must be from 0 to %d", at, p.Months, p.Cents, maxCents)
		}
		last = p.Months
	}
	if len(a.Prices) == 0 || a.Prices[0].Months != 1 {
		problems.add("%s prices: the price of one month is needed", at)
	}
}

func (a fileAddon) addon() Addon {
	out := Addon{Key: a.Key, Name: i18n.Text(a.Name), Description: i18n.Text(a.Description), AddonDetails: AddonDetails{
		Raises: a.Raises, MaxQuantity: max(1, a.MaxQuantity), Manual: a.Manual,
	}}
	for _, p := range a.Prices {
		out.Prices = append(out.Prices, AddonPrice{PeriodMonths: p.Months, Price: money.USDCents(p.Cents)})
	}
	return out
}

func exportAddon(a Addon) fileAddon {
	out := fileAddon{
		Key: a.Key, Name: text(a.Name), Description: text(a.Description), Raises: a.Raises, MaxQuantity: a.MaxQuantity, Manual: a.Manual,
	}
	for _, p := range a.Prices {
		out.Prices = append(out.Prices, fileAddonPrice{Months: p.PeriodMonths, Cents: int64(p.Price)})
	}
	return out
}
