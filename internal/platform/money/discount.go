package money

// wholeBasisPoints is all of an amount, in hundredths of a percent.
const wholeBasisPoints = 10_000

// Less is a price less a part of it in basis points (hundredths of a percent, from 0 to 10,000), rounded up to
// a cent: a discount is never more than was promised to be given.
func (c USDCents) Less(basisPoints int) USDCents {
	left := USDCents(wholeBasisPoints - basisPoints)
	// In two parts, so that the product fits whatever the price.
	rest := c % wholeBasisPoints * left
	up := rest / wholeBasisPoints
	if rest%wholeBasisPoints > 0 {
		up++
	}
	return c/wholeBasisPoints*left + up
}
