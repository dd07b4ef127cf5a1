package admin

import (
	"context"
	"strings"
	"time"

	"stead.dev/stead/internal/content/currencies"
)

// CurrencyRate is what a US dollar is worth in a currency.
type CurrencyRate struct {
	Currency string `json:"currency"`
	Rate     string `json:"rate"`
	RatedOn  string `json:"rated_on"`
	Source   string `json:"source"`
	Shown    bool   `json:"shown"` // whether prices are shown by it: it is younger than a week
}

func (a *Admin) currencyRate(r currencies.Rate) CurrencyRate {
	return CurrencyRate{
		Currency: string(r.Currency), Rate: r.PerUSD.String(), RatedOn: r.On.Format(time.DateOnly), Source: r.Source,
		Shown: a.Clock.Now().Sub(r.On) < currencies.Fresh,
	}
}

// SetCurrencyRate stores a rate; the zero day is today.
func (a *Admin) SetCurrencyRate(ctx context.Context, currency, rate string, on time.Time) (CurrencyRate, error) {
	r, err := a.Currencies.Set(a.change(ctx, "currency.set", "", rateSubject(currency)), currency, rate, on)
	return a.currencyRate(r), err
}

// ListCurrencyRates lists the rates.
func (a *Admin) ListCurrencyRates(ctx context.Context) ([]CurrencyRate, error) {
	all, err := a.Currencies.List(ctx)
	list := make([]CurrencyRate, 0, len(all))
	for _, r := range all {
		list = append(list, a.currencyRate(r))
	}
	return list, err
}

// RemoveCurrencyRate forgets a rate.
func (a *Admin) RemoveCurrencyRate(ctx context.Context, currency string) error {
	return a.Currencies.Remove(a.change(ctx, "currency.remove", "", rateSubject(currency)), currency)
}

// FetchCurrencyRates asks the publisher of rates that is configured, and lists the rates.
func (a *Admin) FetchCurrencyRates(ctx context.Context) ([]CurrencyRate, error) {
	if err := a.Currencies.Fetch(a.change(ctx, "currency.fetch", "", subject{kind: "currency"})); err != nil {
		return nil, err
	}
	return a.ListCurrencyRates(ctx)
}

func rateSubject(currency string) subject {
	return rowOf("currency", "currencies_rates", "micros, rated_at, source", "currency", strings.ToUpper(currency))
}
