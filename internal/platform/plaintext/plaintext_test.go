package plaintext_test

import (
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/plaintext"
)

func TestTextsFromElsewhereAreHarmless(t *testing.T) {
	for said, want := range map[string][2]string{ // storable, and on one line
		"disk full":                    {"disk full", "disk full"},
		"a\x00b":                       {"a\uFFFDb", "a\uFFFDb"},
		"a\xffb":                       {"a\uFFFDb", "a\uFFFDb"},
		"one\ntwo":                     {"one\ntwo", "one two"},
		"\x1b[2J":                      {"\x1b[2J", " [2J"},
		"a\u202Eb":                     {"a\u202Eb", "a b"},
		strings.Repeat("x", 21):        {strings.Repeat("x", 20) + "…", strings.Repeat("x", 20) + "…"},
		strings.Repeat("x", 19) + "oʻ": {strings.Repeat("x", 19) + "o…", strings.Repeat("x", 19) + "o…"},
		strings.Repeat("x", 19) + "ʻ":  {strings.Repeat("x", 19) + "…", strings.Repeat("x", 19) + "…"},
		strings.Repeat("\x00", 20):     {strings.Repeat("\uFFFD", 6) + "…", strings.Repeat("\uFFFD", 6) + "…"},
	} {
		if got := plaintext.Storable(said, 20); got != want[0] {
			t.Errorf("%q: %q is stored", said, got)
		}
		if got := plaintext.Line(said, 20); got != want[1] {
			t.Errorf("%q: %q is shown", said, got)
		}
	}
}
