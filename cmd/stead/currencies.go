package main

import (
	"context"
	"io"
	"time"

	"stead.dev/stead/internal/front/admin"
)

// currenciesCmd has the commands for rates of currencies.
type currenciesCmd struct {
	Set    currenciesSet    `cmd:"" help:"Say what a US dollar is worth in a currency. Nothing is billed by it."`
	List   currenciesList   `cmd:"" help:"List the rates, and whether prices are shown by them."`
	Remove currenciesRemove `cmd:"" help:"Forget a rate: prices are shown by the publisher's, or in dollars."`
	Fetch  currenciesFetch  `cmd:"" help:"Ask the publisher that STEAD_RATES_SOURCE names now; servers do it by themselves."`
}

type currenciesSet struct {
	Currency string    `arg:"" help:"Its code, such as UZS."`
	Rate     string    `arg:"" help:"What a US dollar is worth, such as 12650.5."`
	On       time.Time `help:"The day of the rate, such as 2026-11-24; today when left out. It is used for a week." format:"2006-01-02"`
}

// Run stores a rate.
func (c *currenciesSet) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		r, err := a.SetCurrencyRate(e.ctx, c.Currency, c.Rate, c.On)
		if err != nil {
			return err
		}
		return e.show(r, func(w io.Writer) { printRates(w, r) })
	})
}

type currenciesList struct{}

// Run lists the rates.
func (currenciesList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return showRates(e, a.ListCurrencyRates) })
}

type currenciesRemove struct {
	Currency string `arg:"" help:"Its code, such as UZS."`
}

// Run forgets a rate.
func (c *currenciesRemove) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		if err := a.RemoveCurrencyRate(e.ctx, c.Currency); err != nil {
			return err
		}
		return showRates(e, a.ListCurrencyRates)
	})
}

type currenciesFetch struct{}

// Run asks the publisher.
func (currenciesFetch) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return showRates(e, a.FetchCurrencyRates) })
}

// showRates prints a list of rates.
func showRates(e *environment, read func(context.Context) ([]admin.CurrencyRate, error)) error {
	list, err := read(e.ctx)
	if err != nil {
		return err
	}
	return e.show(map[string]any{"data": list}, func(w io.Writer) { printRates(w, list...) })
}

func printRates(w io.Writer, list ...admin.CurrencyRate) {
	row(w, "CURRENCY", "FOR A DOLLAR", "ON", "SOURCE", "SHOWN")
	for _, r := range list {
		row(w, r.Currency, r.Rate, r.RatedOn, r.Source, r.Shown)
	}
}
