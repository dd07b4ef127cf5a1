package money

// wholeBasisPoints is 100 percent, in hundredths of a percent.
const wholeBasisPoints = 10_000

// Less is a price less a discount in basis points (hundredths of a percent, from 0 to 10,000), rounded up to a cent:
// the discount is never more than was promised.
func (c USDCents) Less(basisPoints int) USDCents {
	left := USDCents(wholeBasisPoints - basisPoints)
	// Two steps, so that the product fits for every price.
	rest := c % wholeBasisPoints * left
	up := rest / wholeBasisPoints
	if rest%wholeBasisPoints > 0 {
		up++
	}
	return c/wholeBasisPoints*left + up
}
