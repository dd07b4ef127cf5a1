// Package money holds the one representation of money that Stead computes with: a whole number of US cents.
//
// Arithmetic is checked: a result that does not fit is an error, never a wrapped number. Other currencies exist
// for display only; they are computed from integers while an answer is encoded (see Rates) and never stored.
package money

import (
	"errors"
	"math"
	"math/bits"
)

// USDCents is an amount of US dollars in minor units, the only authoritative form of money. Negative amounts are
// debits.
type USDCents int64

// ErrOverflow says that a result does not fit in USDCents.
var ErrOverflow = errors.New("money: amount does not fit in 64 bits")

// ErrDivisor says that MulDiv was asked to divide by a number that is not positive.
var ErrDivisor = errors.New("money: divisor must be positive")

// Add returns c + d.
func (c USDCents) Add(d USDCents) (USDCents, error) {
	sum := c + d
	// An overflow has happened exactly when both operands have the sign that the sum has not.
	if (c > 0 && d > 0 && sum <= 0) || (c < 0 && d < 0 && sum >= 0) {
		return 0, ErrOverflow
	}
	return sum, nil
}

// Sub returns c - d.
func (c USDCents) Sub(d USDCents) (USDCents, error) {
	difference := c - d
	if (c >= 0 && d < 0 && difference < 0) || (c < 0 && d > 0 && difference >= 0) {
		return 0, ErrOverflow
	}
	return difference, nil
}

// Neg returns -c.
func (c USDCents) Neg() (USDCents, error) {
	if c == math.MinInt64 {
		return 0, ErrOverflow
	}
	return -c, nil
}

// Mul returns c × n: the price of n things.
func (c USDCents) Mul(n int64) (USDCents, error) {
	return c.MulDiv(n, 1)
}

// MulDiv returns c × num ÷ den, rounded half up: a half cent goes away from zero, so that the refund of an amount
// is exactly the negative of its charge. The product may be larger than 64 bits; only the result must fit.
// It serves proration (29 of 30 days), percentages (basis points of 10,000) and conversion.
func (c USDCents) MulDiv(num, den int64) (USDCents, error) {
	scaled, err := mulDiv(int64(c), num, den)
	return USDCents(scaled), err
}

// Sum adds amounts.
func Sum(amounts ...USDCents) (USDCents, error) {
	var total USDCents
	for _, amount := range amounts {
		var err error
		if total, err = total.Add(amount); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// String renders the amount in dollars, for logs and operators: "$12.50". Answers carry Money instead.
func (c USDCents) String() string {
	return Format(USD, int64(c))
}

func mulDiv(a, num, den int64) (int64, error) {
	if den <= 0 {
		return 0, ErrDivisor
	}
	negative := (a < 0) != (num < 0)
	high, low := bits.Mul64(magnitude(a), magnitude(num))
	divisor := uint64(den)
	if high >= divisor {
		return 0, ErrOverflow // the quotient needs more than 64 bits, and bits.Div64 would panic
	}
	quotient, remainder := bits.Div64(high, low, divisor)
	if remainder >= divisor-remainder { // 2×remainder ≥ divisor, without overflow
		quotient++
		if quotient == 0 {
			return 0, ErrOverflow
		}
	}
	switch {
	case !negative && quotient <= math.MaxInt64:
		return int64(quotient), nil
	case negative && quotient <= 1<<63:
		// 1<<63 becomes MinInt64, whose negative is itself, which is right.
		return -int64(quotient), nil //nolint:gosec // as said
	default:
		return 0, ErrOverflow
	}
}

// magnitude is |n|; it is also right for MinInt64, whose absolute value only uint64 holds.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n) //nolint:gosec // two's complement: exact for every negative number
	}
	return uint64(n)
}
