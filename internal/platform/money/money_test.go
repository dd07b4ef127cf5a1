package money_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stead.dev/stead/internal/platform/money"
)

// exact compares a checked operation with the same one on unbounded integers: equal when the result fits,
// ErrOverflow when it does not.
func exact(t *rapid.T, what string, got money.USDCents, err error, want *big.Int) {
	t.Helper()
	if !want.IsInt64() {
		if !errors.Is(err, money.ErrOverflow) {
			t.Fatalf("%s = %v: got %d, %v, want ErrOverflow", what, want, got, err)
		}
		return
	}
	if err != nil || int64(got) != want.Int64() {
		t.Fatalf("%s: got %d, %v, want %v", what, got, err, want)
	}
}

func TestArithmeticIsExactOrRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		bigA, bigB := big.NewInt(a), big.NewInt(b)
		c, d := money.USDCents(a), money.USDCents(b)

		sum, err := c.Add(d)
		exact(t, "Add", sum, err, new(big.Int).Add(bigA, bigB))
		difference, err := c.Sub(d)
		exact(t, "Sub", difference, err, new(big.Int).Sub(bigA, bigB))
		negative, err := c.Neg()
		exact(t, "Neg", negative, err, new(big.Int).Neg(bigA))
		product, err := c.Mul(b)
		exact(t, "Mul", product, err, new(big.Int).Mul(bigA, bigB))
	})
}

func TestArithmeticAtTheEdges(t *testing.T) {
	const low, high = money.USDCents(math.MinInt64), money.USDCents(math.MaxInt64)
	refused := map[string]func() (money.USDCents, error){
		"high + 1":  func() (money.USDCents, error) { return high.Add(1) },
		"low + -1":  func() (money.USDCents, error) { return low.Add(-1) },
		"low - 1":   func() (money.USDCents, error) { return low.Sub(1) },
		"0 - low":   func() (money.USDCents, error) { return money.USDCents(0).Sub(low) },
		"-low":      func() (money.USDCents, error) { return low.Neg() },
		"low × -1":  func() (money.USDCents, error) { return low.Mul(-1) },
		"low × low": func() (money.USDCents, error) { return low.Mul(math.MinInt64) },
		"sum":       func() (money.USDCents, error) { return money.Sum(high, 1) },
	}
	for name, operation := range refused {
		if got, err := operation(); !errors.Is(err, money.ErrOverflow) {
			t.Errorf("%s = %d, %v, want ErrOverflow", name, got, err)
		}
	}
	if got, err := low.Mul(1); got != low || err != nil {
		t.Errorf("low × 1 = %d, %v", got, err)
	}
	if got, err := money.USDCents(-1).Sub(low); got != high || err != nil {
		t.Errorf("-1 - low = %d, %v", got, err)
	}
	if got, err := money.Sum(1, 2, -4); got != -1 || err != nil {
		t.Errorf("1 + 2 - 4 = %d, %v", got, err)
	}
}

func TestMulDivRoundsHalfUpAndRefundsWhatItCharged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64().Draw(t, "amount")
		num := rapid.Int64().Draw(t, "num")
		den := rapid.Int64Range(1, math.MaxInt64).Draw(t, "den")

		// The nearest integer, halves away from zero: (2·|a·n| + d) / 2d, with the sign put back.
		product := new(big.Int).Mul(big.NewInt(amount), big.NewInt(num))
		want := new(big.Int).Abs(product)
		want.Lsh(want, 1).Add(want, big.NewInt(den))
		want.Quo(want, new(big.Int).Lsh(big.NewInt(den), 1))
		if product.Sign() < 0 {
			want.Neg(want)
		}

		got, err := money.USDCents(amount).MulDiv(num, den)
		exact(t, "MulDiv", got, err, want)
	})

	for _, c := range []struct {
		amount   money.USDCents
		num, den int64
		want     money.USDCents
	}{
		{1000, 29, 30, 967}, {999, 15, 30, 500}, {-999, 15, 30, -500}, {1, 1, 3, 0}, {0, 5, 7, 0},
	} {
		if got, err := c.amount.MulDiv(c.num, c.den); got != c.want || err != nil {
			t.Errorf("%d × %d ÷ %d = %d, %v, want %d", c.amount, c.num, c.den, got, err, c.want)
		}
	}
	for _, den := range []int64{0, -3} {
		if _, err := money.USDCents(1).MulDiv(1, den); !errors.Is(err, money.ErrDivisor) {
			t.Errorf("division by %d: %v, want ErrDivisor", den, err)
		}
	}
}

// spaced writes the no-break spaces of an expectation as ~, to be seen in the source.
func spaced(s string) string { return strings.ReplaceAll(s, "~", "\u00a0") }

func TestAmountsAreWrittenTheWayPeopleWriteThem(t *testing.T) {
	for _, c := range []struct {
		currency money.Currency
		amount   int64
		want     string
	}{
		{money.USD, 1250, "$12.50"},
		{money.USD, 0, "$0.00"},
		{money.USD, 5, "$0.05"},
		{money.USD, -5, "-$0.05"},
		{money.USD, 123456789, "$1,234,567.89"},
		{money.USD, 100000, "$1,000.00"},
		{money.UZS, 158750, "158~750~so\u02bbm"},
		{money.UZS, 999, "999~so\u02bbm"},
		{money.UZS, -1000, "-1~000~so\u02bbm"},
		{money.RUB, 123450, "1~234,50~₽"},
		{money.EUR, 1088, "10,88~€"},
		{money.KZT, 6562, "6~562~₸"},
		{money.USD, math.MinInt64, "-$92,233,720,368,547,758.08"},
		{"XAU", 150, "1.50~XAU"},
	} {
		if got := money.Format(c.currency, c.amount); got != spaced(c.want) {
			t.Errorf("%s %d is written %q, want %q", c.currency, c.amount, got, spaced(c.want))
		}
	}
}

func TestEveryDigitOfAnAmountIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		currency := rapid.SampledFrom(money.Currencies()).Draw(t, "currency")
		amount := rapid.Int64().Draw(t, "amount")
		digits := strings.Map(func(r rune) rune {
			if (r >= '0' && r <= '9') || r == '-' {
				return r
			}
			return -1
		}, money.Format(currency, amount))
		back, ok := new(big.Int).SetString(digits, 10)
		if !ok || back.Cmp(big.NewInt(amount)) != 0 {
			t.Fatalf("%s %d is written %q", currency, amount, money.Format(currency, amount))
		}
	})
}

func TestWireShowsTheCallersCurrencyAndKeepsTheCents(t *testing.T) {
	rates, err := money.NewRates(map[money.Currency]money.Rate{
		money.UZS: 12_700 * money.MicrosPerUnit,
		money.EUR: 915_500,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := money.WithRates(context.Background(), rates)

	for _, c := range []struct {
		currency money.Currency
		cents    money.USDCents
		want     money.Money
	}{
		{money.USD, 1250, money.Money{USDCents: 1250, Currency: money.USD, Amount: 1250, Display: "$12.50"}},
		{money.UZS, 1250, money.Money{USDCents: 1250, Currency: money.UZS, Amount: 158_750, Display: spaced("158~750~so\u02bbm")}},
		{money.EUR, 1000, money.Money{USDCents: 1000, Currency: money.EUR, Amount: 916, Display: spaced("9,16~€")}},
		{money.EUR, -1000, money.Money{USDCents: -1000, Currency: money.EUR, Amount: -916, Display: spaced("-9,16~€")}},
		// No rate, or no room: dollars, never a wrong price.
		{money.RUB, 1250, money.Money{USDCents: 1250, Currency: money.USD, Amount: 1250, Display: "$12.50"}},
		{money.UZS, math.MaxInt64, money.Money{
			USDCents: math.MaxInt64, Currency: money.USD, Amount: math.MaxInt64,
			Display: "$92,233,720,368,547,758.07",
		}},
	} {
		if got := money.Wire(money.WithCurrency(ctx, c.currency), c.cents); got != c.want {
			t.Errorf("%d in %s is %+v, want %+v", c.cents, c.currency, got, c.want)
		}
	}
}

func TestWithoutAChoiceMoneyIsShownInDollars(t *testing.T) {
	ctx := context.Background()
	encoded, err := json.Marshal(money.Wire(ctx, 1250))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"usd_cents":1250,"currency":"USD","amount":1250,"display":"$12.50"}`; string(encoded) != want {
		t.Errorf("encoded %s, want %s", encoded, want)
	}
	if money.CurrencyOf(ctx) != money.USD {
		t.Error("an empty context must mean dollars")
	}
	if money.WireOptional(ctx, nil) != nil {
		t.Error("an absent amount must stay absent")
	}
	cents := money.USDCents(7)
	if got := money.WireOptional(ctx, &cents); got == nil || got.Display != "$0.07" {
		t.Errorf("an optional amount of 7 is %+v", got)
	}
}

func TestTheCurrencyOfTheContextSurvivesItsRates(t *testing.T) {
	rates, err := money.NewRates(map[money.Currency]money.Rate{money.KZT: 525 * money.MicrosPerUnit})
	if err != nil {
		t.Fatal(err)
	}
	ctx := money.WithRates(money.WithCurrency(context.Background(), money.KZT), rates)
	if got := money.Wire(ctx, 1250).Amount; got != 6563 {
		t.Errorf("$12.50 at 525 is %d tenge, want 6563 (6562.5 rounded half up)", got)
	}
}

func TestRatesRefuseWhatTheyCannotShow(t *testing.T) {
	_, err := money.NewRates(map[money.Currency]money.Rate{"XAU": 1, money.UZS: 0, money.USD: 5})
	if err == nil {
		t.Fatal("a bad table was accepted")
	}
	for _, part := range []string{"XAU", "UZS must be positive", "USD is one"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not mention %q: %v", part, err)
		}
	}
}

func TestWithoutRatesEverythingIsShownInDollars(t *testing.T) {
	for _, currency := range money.Currencies() {
		ctx := money.WithCurrency(context.Background(), currency)
		if got := money.Wire(ctx, 1250); got.Currency != money.USD || got.Display != "$12.50" {
			t.Errorf("in %s: %+v", currency, got)
		}
	}
	if listed := money.DollarsOnly().Currencies(); len(listed) != 1 || listed[0] != money.USD {
		t.Errorf("the table lists %v", listed)
	}
}

func TestRatesAndCodesReadAsText(t *testing.T) {
	for rate, want := range map[money.Rate]string{
		12_700 * money.MicrosPerUnit: "12700", 915_500: "0.9155", 1_000_001: "1.000001", 90_500_000: "90.5",
	} {
		if got := rate.String(); got != want {
			t.Errorf("rate %d is written %q, want %q", int64(rate), got, want)
		}
	}
	if got, ok := money.ParseCurrency("uzs"); !ok || got != money.UZS {
		t.Errorf("uzs parses as %q, %v", got, ok)
	}
	if _, ok := money.ParseCurrency("BTC"); ok {
		t.Error("BTC is not a display currency")
	}
}
