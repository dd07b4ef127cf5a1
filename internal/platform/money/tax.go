package money

import (
	"fmt"
	"strconv"
	"strings"
)

// Tax is what a buyer's purchases are taxed by. The zero Tax is none.
type Tax struct {
	// Name as it stands on invoices, such as "VAT".
	Name string
	// BasisPoints is the rate, in hundredths of a percent.
	BasisPoints int
	// Included tells that prices contain the tax; else it is added to them.
	Included bool
	// Note names why the rate is what it is, such as reverse_charge; empty when there is nothing to say.
	Note string
}

// Of is what of a price, after its discount, is tax: added comes on top, contained is a part of the price. At
// least one of them is zero. A half cent is rounded up.
func (t Tax) Of(price USDCents) (added, contained USDCents, err error) {
	if t.Included {
		contained, err = price.MulDiv(int64(t.BasisPoints), int64(wholeBasisPoints+t.BasisPoints))
	} else {
		added, err = price.MulDiv(int64(t.BasisPoints), wholeBasisPoints)
	}
	return added, contained, err
}

// AddedBasisPoints is the rate of what comes on top of prices.
func (t Tax) AddedBasisPoints() int {
	if t.Included {
		return 0
	}
	return t.BasisPoints
}

// Percent writes a rate as people do: "12", "7.5".
func Percent(basisPoints int) string {
	whole, part := basisPoints/100, basisPoints%100
	if part == 0 {
		return strconv.Itoa(whole)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%02d", whole, part), "0")
}
