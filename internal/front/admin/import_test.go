package admin

import (
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/money"
)

func TestAmountsOfOtherCurrenciesInCents(t *testing.T) {
	t.Parallel()
	m, err := ReadImportMap(strings.NewReader("rates: {UZS: 12650, EUR: 0.92}\nproducts: {3: start}\n"))
	if err != nil || m.Products[3] != "start" {
		t.Fatal(m, err)
	}
	for _, c := range []struct {
		amount, currency string
		want             money.USDCents
		refused          bool
	}{
		{"12.34", "USD", 1234, false},
		{" 0.005 ", "USD", 1, false},
		{"-0.005", "USD", -1, false},
		{"0.004", "USD", 0, false},
		{"126500.00", "UZS", 1000, false},
		{"63.25", "UZS", 1, false},
		{"63.24", "UZS", 0, false},
		{"9.20", "EUR", 1000, false},
		{"0.00", "RUB", 0, false},
		{"1", "RUB", 0, true},
		{"", "USD", 0, true},
		{"a lot", "USD", 0, true},
		{"99999999999999999999999", "USD", 0, true},
	} {
		got, err := m.cents(c.amount, c.currency)
		if got != c.want || (err != nil) != c.refused {
			t.Errorf("%s %s is %d, %v", c.amount, c.currency, got, err)
		}
	}
	if m, err := ReadImportMap(strings.NewReader("")); err != nil || len(m.Rates) != 0 {
		t.Errorf("an empty file: %v, %v", m, err)
	}
	for _, text := range []string{"rates: {UZS: 0}", "rates: {UZS: -1}", "rates: {UZS: x}", "other: 1", "products: {x: start}"} {
		if _, err := ReadImportMap(strings.NewReader(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
