package rates_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/port/rates"
)

// The publishers' formats, shortened.
const (
	cbu = `[{"id":69,"Code":"840","Ccy":"USD","CcyNm_RU":"Доллар США","Nominal":"1","Rate":"12650.50","Diff":"-3","Date":"24.11.2026"},
		{"id":21,"Code":"978","Ccy":"EUR","CcyNm_EN":"Euro","Nominal":"1","Rate":"13750.00","Date":"24.11.2026"},
		{"id":57,"Code":"643","Ccy":"RUB","Nominal":"1","Rate":"156.18","Date":"24.11.2026"},
		{"id":33,"Code":"398","Ccy":"KZT","Nominal":"10","Rate":"243.28","Date":"24.11.2026"},
		{"id":1,"Code":"360","Ccy":"IDR","Nominal":"10","Rate":"7.6","Date":"24.11.2026"}]`
	ecb = `<?xml version="1.0" encoding="UTF-8"?>
		<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
		<gesmes:subject>Reference rates</gesmes:subject><gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>
		<Cube><Cube time='2026-11-24'><Cube currency='USD' rate='1.0870'/><Cube currency='JPY' rate='163.10'/></Cube></Cube></gesmes:Envelope>`
)

// serve answers one body with one status.
func serve(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestRatesAreReadFromThePublishersFormats(t *testing.T) {
	t.Parallel()
	on := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		source rates.Source
		want   map[money.Currency]string
	}{
		{rates.CBU(serve(t, 200, cbu)), map[money.Currency]string{"UZS": "12650.5", "EUR": "0.920036", "RUB": "80.999488", "KZT": "519.997534"}},
		{rates.ECB(serve(t, 200, ecb)), map[money.Currency]string{"EUR": "0.919963"}},
	} {
		got, err := c.source.Fetch(t.Context())
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: %v, %v", c.source.Name(), got, err)
		}
		for _, r := range got {
			if r.PerUSD.String() != c.want[r.Currency] || !r.On.Equal(on) {
				t.Errorf("%s: a dollar is %s %s on %v, want %s", c.source.Name(), r.PerUSD, r.Currency, r.On, c.want[r.Currency])
			}
		}
	}
}

func TestABrokenPublisherIsAnError(t *testing.T) {
	t.Parallel()
	for _, newSource := range []func(string) rates.Source{rates.CBU, rates.ECB} {
		for name, address := range map[string]string{
			"down":      "http://127.0.0.1:1/",
			"error":     serve(t, 503, "busy"),
			"a page":    serve(t, 200, "<html><body>Maintenance"),
			"empty":     serve(t, 200, ""),
			"no dollar": serve(t, 200, strings.ReplaceAll(strings.ReplaceAll(cbu+ecb, "USD", "XXX"), "\n", "")),
			"zero":      serve(t, 200, strings.NewReplacer("12650.50", "0", "1.0870", "0").Replace(cbu)),
			"negative":  serve(t, 200, strings.NewReplacer("1.0870", "-1").Replace(ecb)),
			"huge":      serve(t, 200, strings.NewReplacer("1.0870", "1e999999999").Replace(ecb)),
		} {
			s := newSource(address)
			if got, err := s.Fetch(t.Context()); err == nil {
				t.Errorf("%s, %s: %v", s.Name(), name, got)
			}
		}
	}
	if _, err := rates.CBU(serve(t, 200, cbu)).Fetch(intx.Mark(context.Background())); err == nil {
		t.Error("rates are fetched within a transaction")
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"12650.5": "12650.5", "0.000001": "0.000001", "1": "1", "81.1234567": "81.123457"} {
		if got, ok := rates.Parse(text); !ok || got.String() != want {
			t.Errorf("%s: %s, %v", text, got, ok)
		}
	}
	for _, bad := range []string{"", "0", "-1", "1e9", "1,5", "1.2.3", "1/3", "0.0000001", "1000000001", "NaN"} {
		if got, ok := rates.Parse(bad); ok {
			t.Errorf("%q is %s", bad, got)
		}
	}
}
