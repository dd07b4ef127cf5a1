package llm

import (
	"strings"

	"stead.dev/stead/internal/platform/i18n"
)

// PlainText is what a model wrote as people may see it: without control characters but line breaks, and of at most so many bytes.
func PlainText(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r != '\n' && i18n.Unprintable(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.TrimSpace(text)
}
