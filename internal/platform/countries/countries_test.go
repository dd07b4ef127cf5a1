package countries_test

import (
	"testing"

	"stead.dev/stead/internal/platform/countries"
)

func TestOnlyCodesOfCountriesAreKnown(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"UZ": true, "DE": true, "GB": true,
		"uz": false, "UK": false, "XX": false, "ZZ": false, "EU": false, "UZB": false, "860": false, "": false, "U": false,
	} {
		if got := countries.Known(code); got != want {
			t.Errorf("%q: %t", code, got)
		}
	}
}
