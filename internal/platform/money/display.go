package money

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Currency is the ISO 4217 code of a display currency.
type Currency string

// The display currencies that Stead knows how to write.
const (
	USD Currency = "USD"
	UZS Currency = "UZS"
	RUB Currency = "RUB"
	EUR Currency = "EUR"
	KZT Currency = "KZT"
)

// nbsp keeps a price on one line; it is the group separator of Uzbek, Russian and Kazakh typography.
const nbsp = "\u00a0"

// style says how amounts of one currency are written.
type style struct {
	decimals int // digits after the decimal mark; Money.amount counts units of that size
	group    string
	decimal  string
	prefix   string
	suffix   string
}

var styles = map[Currency]style{
	USD: {decimals: 2, group: ",", decimal: ".", prefix: "$"},
	UZS: {decimals: 0, group: nbsp, suffix: nbsp + "so\u02bbm"},
	RUB: {decimals: 2, group: nbsp, decimal: ",", suffix: nbsp + "₽"},
	EUR: {decimals: 2, group: nbsp, decimal: ",", suffix: nbsp + "€"},
	KZT: {decimals: 0, group: nbsp, suffix: nbsp + "₸"},
}

// Currencies lists every currency that Stead can display, in alphabetical order.
func Currencies() []Currency {
	known := make([]Currency, 0, len(styles))
	for currency := range styles {
		known = append(known, currency)
	}
	slices.Sort(known)
	return known
}

// ParseCurrency accepts the code of a known display currency in any letter case.
func ParseCurrency(code string) (Currency, bool) {
	currency := Currency(strings.ToUpper(code))
	_, known := styles[currency]
	return currency, known
}

// Decimals is the number of digits that amounts of the currency have after the decimal mark.
func (c Currency) Decimals() int {
	return styles[c].decimals
}

// Format writes an amount, counted in the currency's smallest displayed unit (cents for USD, whole soʻm for UZS),
// the way people write it: "$12.50", "158 750 soʻm", "1 234,50 ₽". The spaces are no-break spaces. It works on the
// digits of the integer, never on a float. A currency it does not know is written as "12.50 XXX".
func Format(currency Currency, amount int64) string {
	s, known := styles[currency]
	if !known {
		s = style{decimals: 2, decimal: ".", suffix: nbsp + string(currency)}
	}
	digits := strconv.FormatUint(magnitude(amount), 10)
	if missing := s.decimals + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	whole, fraction := digits[:len(digits)-s.decimals], digits[len(digits)-s.decimals:]

	var b strings.Builder
	if amount < 0 {
		b.WriteByte('-')
	}
	b.WriteString(s.prefix)
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteString(s.group)
		}
		b.WriteRune(digit)
	}
	if fraction != "" {
		b.WriteString(s.decimal)
		b.WriteString(fraction)
	}
	b.WriteString(s.suffix)
	return b.String()
}

// MicrosPerUnit is the fixed point of a Rate: a rate of 12,700 soʻm to the dollar is 12,700,000,000.
const MicrosPerUnit = 1_000_000

// Rate is how many millionths of a currency's main unit one US dollar buys.
type Rate int64

// String writes the rate as a decimal without trailing zeros: "12700", "0.92".
func (r Rate) String() string {
	whole, fraction := int64(r)/MicrosPerUnit, int64(r)%MicrosPerUnit
	text := strconv.FormatInt(whole, 10)
	if fraction != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%06d", fraction), "0")
	}
	return text
}

// Rates is an immutable table of display rates. USD is always in it, at one.
type Rates struct {
	rates map[Currency]Rate
}

// NewRates checks and copies a table. Every problem is reported at once.
func NewRates(table map[Currency]Rate) (*Rates, error) {
	rates := map[Currency]Rate{USD: MicrosPerUnit}
	var problems []error
	for currency, rate := range table {
		if _, known := styles[currency]; !known {
			problems = append(problems, fmt.Errorf("money: currency %q is not known", string(currency)))
		}
		if rate <= 0 {
			problems = append(problems, fmt.Errorf("money: rate of %s must be positive", currency))
		}
		if currency == USD && rate != MicrosPerUnit {
			problems = append(problems, errors.New("money: rate of USD is one by definition"))
		}
		rates[currency] = rate
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return &Rates{rates: rates}, nil
}

var dollarsOnly = &Rates{rates: map[Currency]Rate{USD: MicrosPerUnit}}

// DollarsOnly is the table of who knows no rates: all amounts are shown in dollars. It applies when the context has
// no other.
func DollarsOnly() *Rates { return dollarsOnly }

// Of returns the rate of a currency, and whether the table has one.
func (r *Rates) Of(currency Currency) (Rate, bool) {
	rate, ok := r.rates[currency]
	return rate, ok
}

// Currencies lists the currencies of the table in alphabetical order.
func (r *Rates) Currencies() []Currency {
	listed := make([]Currency, 0, len(r.rates))
	for currency := range r.rates {
		listed = append(listed, currency)
	}
	slices.Sort(listed)
	return listed
}

// Money renders cents in a display currency. Where the table has no rate for it, or the converted amount would not
// fit, the amount is shown in dollars: a wrong price is never shown.
func (r *Rates) Money(cents USDCents, currency Currency) Money {
	amount, ok := r.convert(cents, currency)
	if !ok {
		currency, amount = USD, int64(cents)
	}
	return Money{USDCents: cents, Currency: currency, Amount: amount, Display: Format(currency, amount)}
}

func (r *Rates) convert(cents USDCents, currency Currency) (int64, bool) {
	rate, ok := r.rates[currency]
	if !ok {
		return 0, false
	}
	// cents/100 dollars × rate/10⁶ units × 10^decimals, as one rounded division: ÷ 10^(8−decimals).
	divisor := int64(100 * MicrosPerUnit)
	for range currency.Decimals() {
		divisor /= 10
	}
	amount, err := mulDiv(int64(cents), int64(rate), divisor)
	return amount, err == nil
}

// Money is the Money object of the specification ("Resources and their fields"). Build it with Wire.
type Money struct {
	USDCents USDCents `json:"usd_cents" doc:"USD minor units (cents); the only authoritative field" example:"1250"`
	Currency Currency `json:"currency" doc:"Display currency, ISO 4217" example:"USD"`
	Amount   int64    `json:"amount" doc:"Display amount in the currency's smallest displayed unit" example:"1250"`
	Display  string   `json:"display" doc:"Display text" example:"$12.50"`
}

type contextKey struct{}

// display is how a context shows money.
type display struct {
	currency Currency
	rates    *Rates
}

func displayOf(ctx context.Context) display {
	d, ok := ctx.Value(contextKey{}).(display)
	if !ok {
		return display{currency: USD, rates: dollarsOnly}
	}
	return d
}

// WithCurrency makes amounts of this context be shown in the given currency: the caller's choice in their profile.
func WithCurrency(ctx context.Context, currency Currency) context.Context {
	d := displayOf(ctx)
	d.currency = currency
	return context.WithValue(ctx, contextKey{}, d)
}

// WithRates makes amounts of this context be converted with the operator's table.
func WithRates(ctx context.Context, rates *Rates) context.Context {
	d := displayOf(ctx)
	d.rates = rates
	return context.WithValue(ctx, contextKey{}, d)
}

// CurrencyOf returns the display currency of the context; USD where none was chosen.
func CurrencyOf(ctx context.Context) Currency {
	return displayOf(ctx).currency
}

// Wire renders cents for the caller of ctx.
func Wire(ctx context.Context, cents USDCents) Money {
	d := displayOf(ctx)
	return d.rates.Money(cents, d.currency)
}

// WireOptional is Wire for an amount that may be absent; it renders as JSON null.
func WireOptional(ctx context.Context, cents *USDCents) *Money {
	if cents == nil {
		return nil
	}
	wire := Wire(ctx, *cents)
	return &wire
}
