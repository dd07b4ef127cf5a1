package idempotency_test

import (
	"errors"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/idempotency"
)

func TestParseKey(t *testing.T) {
	for header, want := range map[string]string{
		`abc`: "abc", `"abc"`: "abc", ` "a b" `: "a b", strings.Repeat("k", 255): strings.Repeat("k", 255), `"`: `"`,
	} {
		if got, err := idempotency.ParseKey(header); err != nil || got != want {
			t.Errorf("%q: %q, %v", header, got, err)
		}
	}
	for _, bad := range []string{"", `""`, "  ", strings.Repeat("k", 256), "a\x01b", "ключ"} {
		if _, err := idempotency.ParseKey(bad); !errors.Is(err, fault.IdempotencyKeyBad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add(`"abc"`)
	f.Fuzz(func(t *testing.T, header string) {
		key, err := idempotency.ParseKey(header)
		if err == nil && (key == "" || len(key) > 255) {
			t.Errorf("%q gave %q", header, key)
		}
	})
}
