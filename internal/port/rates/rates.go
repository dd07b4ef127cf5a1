// Package rates is the port to publishers of exchange rates, with adapters for the public formats of two central banks.
// Rates are for display: Stead bills in US dollars.
package rates

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/platform/money"
)

// Rate is what a US dollar is worth in a currency.
type Rate struct {
	Currency money.Currency
	PerUSD   money.Rate
	// On is the day for which the publisher gave it, at its beginning in UTC.
	On time.Time
}

// Source publishes rates.
type Source interface {
	// Name is short and stays the same: it is stored with each rate.
	Name() string
	// Fetch reads the newest rates of the currencies that Stead can display. It may be slow, and fails when the answer
	// lacks the dollar.
	Fetch(ctx context.Context) ([]Rate, error)
}

// Addresses of the publishers.
const (
	CBUAddress = "https://cbu.uz/uz/arkhiv-kursov-valyut/json/"
	ECBAddress = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"
)

// maxAnswer bounds an answer in bytes; both publishers' have less than 64 KiB.
const maxAnswer = 1 << 20

// CBU reads the Central Bank of Uzbekistan, which gives soʻm for a number of units of each currency.
func CBU(address string) Source { return &publisher{name: "cbu", address: address, read: readCBU} }

// ECB reads the European Central Bank, which gives units of each currency for a euro.
func ECB(address string) Source { return &publisher{name: "ecb", address: address, read: readECB} }

type publisher struct {
	name, address string
	read          func(body []byte) ([]Rate, error)
}

func (p *publisher) Name() string { return p.name }

var client = &http.Client{Timeout: 20 * time.Second, Transport: intx.Transport{Next: http.DefaultTransport}}

func (p *publisher) Fetch(ctx context.Context) ([]Rate, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.address, nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("rates: %s: %w", p.name, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("rates: %s answers %s", p.name, res.Status)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("rates: %s: %w", p.name, err)
	}
	found, err := p.read(body)
	if err != nil {
		return nil, fmt.Errorf("rates: %s: %w", p.name, err)
	}
	return found, nil
}

var errNoDollar = errors.New("the answer has no rate of the dollar")

// readCBU reads the bank's list: [{"Ccy": "USD", "Nominal": "1", "Rate": "12650.50", "Date": "24.11.2026"}, …].
func readCBU(body []byte) ([]Rate, error) {
	var rows []struct{ Ccy, Nominal, Rate, Date string }
	if err := json.Unmarshal(body, &rows); err != nil {
		return nil, err
	}
	inSom := map[money.Currency]*big.Rat{money.UZS: big.NewRat(1, 1)}
	var on time.Time
	for _, r := range rows {
		c, known := money.ParseCurrency(r.Ccy)
		if !known {
			continue
		}
		rate, okRate := positive(r.Rate)
		nominal, okNominal := positive(r.Nominal)
		day, err := time.Parse("02.01.2006", r.Date)
		if !okRate || !okNominal || err != nil {
			return nil, fmt.Errorf("the row of %s is malformed", r.Ccy)
		}
		inSom[c] = rate.Quo(rate, nominal)
		if c == money.USD {
			on = day
		}
	}
	return perDollar(inSom, on, func(dollar, other *big.Rat) *big.Rat { return new(big.Rat).Quo(dollar, other) })
}

// readECB reads the bank's list, in which a Cube with a time holds a Cube for each currency.
func readECB(body []byte) ([]Rate, error) {
	var doc struct {
		Day struct {
			Time  string `xml:"time,attr"`
			Rates []struct {
				Currency string `xml:"currency,attr"`
				Rate     string `xml:"rate,attr"`
			} `xml:"Cube"`
		} `xml:"Cube>Cube"`
	}
	if err := xml.Unmarshal(body, &doc); err != nil {
		return nil, err
	}
	on, err := time.Parse(time.DateOnly, doc.Day.Time)
	if err != nil {
		return nil, err
	}
	forEuro := map[money.Currency]*big.Rat{money.EUR: big.NewRat(1, 1)}
	for _, r := range doc.Day.Rates {
		c, known := money.ParseCurrency(r.Currency)
		if !known {
			continue
		}
		rate, ok := positive(r.Rate)
		if !ok {
			return nil, fmt.Errorf("the rate of %s is malformed", r.Currency)
		}
		forEuro[c] = rate
	}
	return perDollar(forEuro, on, func(dollar, other *big.Rat) *big.Rat { return new(big.Rat).Quo(other, dollar) })
}

// perDollar converts a table to what a dollar is worth.
func perDollar(table map[money.Currency]*big.Rat, on time.Time, convert func(dollar, other *big.Rat) *big.Rat) ([]Rate, error) {
	dollar := table[money.USD]
	if dollar == nil {
		return nil, errNoDollar
	}
	var found []Rate
	for _, c := range money.Currencies() {
		if other := table[c]; other != nil && c != money.USD {
			micros, ok := microsOf(convert(dollar, other))
			if !ok {
				return nil, fmt.Errorf("the rate of %s is out of range", c)
			}
			found = append(found, Rate{Currency: c, PerUSD: micros, On: on})
		}
	}
	return found, nil
}

// Parse reads a rate as people write it, such as 12650.5: positive, with at most six decimals that count.
func Parse(text string) (money.Rate, bool) {
	r, ok := positive(text)
	if !ok {
		return 0, false
	}
	return microsOf(r)
}

func positive(text string) (*big.Rat, bool) {
	if len(text) > 32 {
		return nil, false // such as 1e999999999, which takes all memory
	}
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' {
			return nil, false
		}
	}
	r, ok := new(big.Rat).SetString(text)
	return r, ok && r.Sign() > 0
}

// maxRate keeps products of amounts and rates far from overflow: a billion units for a dollar.
const maxRate = 1_000_000_000 * money.MicrosPerUnit

// microsOf rounds to a whole number of millionths, which is at least one.
func microsOf(r *big.Rat) (money.Rate, bool) {
	scaled := new(big.Rat).Mul(r, big.NewRat(money.MicrosPerUnit, 1))
	scaled.Add(scaled, big.NewRat(1, 2))
	n := new(big.Int).Quo(scaled.Num(), scaled.Denom())
	return money.Rate(n.Int64()), n.IsInt64() && n.Sign() > 0 && n.Int64() <= maxRate
}
