package money

import (
	"fmt"
	"strconv"
	"strings"
)

// Tax is the tax of a buyer's purchases. The zero Tax is none.
type Tax struct {
	// Name as it stands on invoices, such as "VAT".
	Name string
	// BasisPoints is the rate, in hundredths of a percent.
	BasisPoints int
	// Included says that prices contain the tax; otherwise it is added to them.
	Included bool
	// Note explains the rate, such as reverse_charge; empty when no explanation is needed.
	Note string
}

// Of is the tax on a price after its discount: added comes on top, contained is a part of the price. At least one of
// them is zero. A half cent is rounded up.
func (t Tax) Of(price USDCents) (added, contained USDCents, err error) {
	if t.Included {
		contained, err = price.MulDiv(int64(t.BasisPoints), int64(wholeBasisPoints+t.BasisPoints))
	} else {
		added, err = price.MulDiv(int64(t.BasisPoints), wholeBasisPoints)
	}
	return added, contained, err
}

// AddedBasisPoints is the rate that is added to prices.
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
