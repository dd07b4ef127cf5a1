// Package plaintext makes texts harmless that come from elsewhere, such as the errors of hosting machines and the answers of servers:
// databases store them, and terminals show them.
package plaintext

import (
	"strings"

	"stead.dev/stead/internal/platform/i18n"
)

// Storable returns s as both databases store it: valid UTF-8 without NUL, at most so many bytes of it. "…" follows what was cut.
func Storable(s string, most int) string {
	text := s[:min(len(s), most)] // before all else: s may be huge
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
	if len(s) > most || len(text) > most {
		text = strings.ToValidUTF8(text[:min(len(text), most)], "") + "…"
	}
	return text
}

// Line returns s as Storable does, on one line, with spaces in the place of what is not seen (i18n.Unprintable).
func Line(s string, most int) string {
	return strings.Map(func(r rune) rune {
		if i18n.Unprintable(r) {
			return ' '
		}
		return r
	}, Storable(s, most))
}
