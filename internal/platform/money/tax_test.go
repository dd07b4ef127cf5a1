package money

import (
	"math"
	"testing"
)

func TestTaxIsAddedToAPriceOrAPartOfIt(t *testing.T) {
	for _, c := range []struct {
		price                  USDCents
		tax                    Tax
		added, contained       USDCents
		percent                string
		addedBasisPointsIsNone bool
	}{
		{1000, Tax{}, 0, 0, "0", true},
		{1000, Tax{BasisPoints: 1200}, 120, 0, "12", false},
		{1000, Tax{BasisPoints: 1200, Included: true}, 0, 107, "12", true},
		{1120, Tax{BasisPoints: 1200, Included: true}, 0, 120, "12", true},
		{5, Tax{BasisPoints: 1000}, 1, 0, "10", false}, // half a cent
		{4, Tax{BasisPoints: 1000}, 0, 0, "10", false},
		{999, Tax{BasisPoints: 750}, 75, 0, "7.5", false},
		{1, Tax{BasisPoints: 1205}, 0, 0, "12.05", false},
		{0, Tax{BasisPoints: 2000, Included: true}, 0, 0, "20", true},
	} {
		added, contained, err := c.tax.Of(c.price)
		if err != nil || added != c.added || contained != c.contained {
			t.Errorf("%+v of %d: %d, %d, %v; want %d, %d", c.tax, c.price, added, contained, err, c.added, c.contained)
		}
		if got := Percent(c.tax.BasisPoints); got != c.percent {
			t.Errorf("%d basis points are %s %%, want %s", c.tax.BasisPoints, got, c.percent)
		}
		if got := c.tax.AddedBasisPoints() == 0; got != c.addedBasisPointsIsNone {
			t.Errorf("%+v adds %d basis points", c.tax, c.tax.AddedBasisPoints())
		}
	}
	if _, _, err := (Tax{BasisPoints: 20_000}).Of(math.MaxInt64); err == nil {
		t.Error("twice the largest amount was an amount")
	}
}
