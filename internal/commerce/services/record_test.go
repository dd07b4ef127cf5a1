package services

import (
	"errors"
	"testing"

	"stead.dev/stead/internal/platform/fault"
)

func TestALabelIsOneCleanLine(t *testing.T) {
	for given, want := range map[string]string{"  Mening saytim ": "Mening saytim", "Сайт": "Сайт"} {
		if got, err := cleanLabel(given); err != nil || got != want {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
	for _, bad := range []string{"", "   ", "two\nlines", "bell\a"} {
		if _, err := cleanLabel(bad); !errors.Is(err, fault.Validation) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
