package money

import (
	"math"
	"math/big"
	"testing"
)

func TestADiscountIsRoundedUpToACent(t *testing.T) {
	for _, c := range []struct {
		price USDCents
		less  int
		want  USDCents
	}{
		{500, 2000, 400},
		{999, 2000, 800},
		{999, 3333, 667},
		{1, 9999, 1},
		{1, 10_000, 0},
		{0, 2000, 0},
		{101, 0, 101},
		{10_000, 1, 9999},
		{9999, 1, 9999},
		{12_345, 1250, 10_802},
		{math.MaxInt64, 0, math.MaxInt64},
		{math.MaxInt64, 10_000, 0},
	} {
		if got := c.price.Less(c.less); got != c.want {
			t.Errorf("%d less %d is %d, want %d", c.price, c.less, got, c.want)
		}
	}
}

func FuzzADiscountIsExact(f *testing.F) {
	f.Add(int64(999), uint16(3333))
	f.Add(int64(math.MaxInt64), uint16(1))
	f.Fuzz(func(t *testing.T, price int64, less uint16) {
		if price < 0 || less > 10_000 {
			return
		}
		whole := new(big.Int).Mul(big.NewInt(price), big.NewInt(10_000-int64(less)))
		want, rest := new(big.Int).QuoRem(whole, big.NewInt(10_000), new(big.Int))
		if rest.Sign() > 0 {
			want.Add(want, big.NewInt(1))
		}
		if got := USDCents(price).Less(int(less)); big.NewInt(int64(got)).Cmp(want) != 0 {
			t.Errorf("%d less %d is %d, want %s", price, less, got, want)
		}
	})
}
