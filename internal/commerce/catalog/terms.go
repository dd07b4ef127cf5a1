package catalog

import (
	"context"
	"fmt"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
)

// Terms are the lengths of the stages in the life of a product's services, in days. nil stands for the platform's default.
type Terms struct {
	RenewBefore *int `json:"renew_before,omitempty" yaml:"renew_before_days,omitempty"`
	Grace       *int `json:"grace,omitempty" yaml:"grace_days,omitempty"`
	Suspended   *int `json:"suspended,omitempty" yaml:"suspended_days,omitempty"`
	Kept        *int `json:"kept,omitempty" yaml:"kept_days,omitempty"`
}

const maxDays = 365

func (t Terms) check(problems *Problems, at string) {
	for _, x := range []struct {
		name  string
		days  *int
		least int
	}{
		{"renew_before_days", t.RenewBefore, 0}, {"grace_days", t.Grace, 0}, {"suspended_days", t.Suspended, 1}, {"kept_days", t.Kept, 0},
	} {
		if x.days != nil && (*x.days < x.least || *x.days > maxDays) {
			problems.add("%s terms: %s is %d, must be from %d to %d", at, x.name, *x.days, x.least, maxDays)
		}
	}
}

// orDefault returns the terms with the platform's defaults where the product names none.
func (t Terms) orDefault() sale.Terms {
	all := sale.DefaultTerms
	for _, x := range []struct{ own, to *int }{
		{t.RenewBefore, &all.RenewBefore}, {t.Grace, &all.Grace}, {t.Suspended, &all.Suspended}, {t.Kept, &all.Kept},
	} {
		if x.own != nil {
			*x.to = *x.own
		}
	}
	return all
}

// Terms returns those of the products of plans; the platform's own for a plan that does not exist.
func (s *Service) Terms(ctx context.Context, q db.Querier, planIDs []int64) (map[int64]sale.Terms, error) {
	found, err := termsOf(ctx, q, planIDs)
	if err != nil {
		return nil, fmt.Errorf("catalog: terms of plans %v: %w", planIDs, err)
	}
	all := make(map[int64]sale.Terms, len(planIDs))
	for _, id := range planIDs {
		all[id] = found[id].orDefault()
	}
	return all, nil
}
