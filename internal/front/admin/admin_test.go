package admin_test

import (
	"testing"
	"time"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/platform/money"
)

func TestAmountsAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]money.USDCents{
		"25": 2500, "25.5": 2550, "25.00": 2500, "0.01": 1, "$12.34": 1234, "0": 0, "1000000": 100_000_000,
	} {
		if got, err := admin.ParseUSD(text); err != nil || got != want {
			t.Errorf("%q is %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", ".", "-5", "1.", "1.234", "1,50", "1e3", ".5", "12 34", "0x10", "twelve", "1.2.3", "99999999999999999999", "+1", "١",
	} {
		if got, err := admin.ParseUSD(text); err == nil {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
}

func TestMomentsAreDatesOrMoments(t *testing.T) {
	for text, want := range map[string]string{"2026-12-31": "2026-12-31T00:00:00Z", "2026-12-31T18:00:00+05:00": "2026-12-31T13:00:00Z"} {
		if got, err := admin.ParseMoment(text); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q is %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "31.12.2026", "2026-13-01", "tomorrow"} {
		if got, err := admin.ParseMoment(text); err == nil {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}

func TestPercentagesAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]int{"20": 2000, "12.5": 1250, "12.5%": 1250, "0": 0, "0.01": 1, "100": 10_000} {
		if got, err := admin.ParsePercent(text); err != nil || got != want {
			t.Errorf("%q is %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "-1", "100.01", "1.234", "1.", "a fifth", "20%%", "1e1"} {
		if got, err := admin.ParsePercent(text); err == nil {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
}
