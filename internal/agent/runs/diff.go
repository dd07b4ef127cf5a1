package runs

import (
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"stead.dev/stead/internal/platform/redact"
)

// mostDiff bounds the differences that are kept for people, in bytes.
const mostDiff = 64 << 10

// diffOf shows a change of a file to people, without secrets.
func diffOf(mask *redact.Masker, path, before, after string) string {
	return shorten(plain(udiff.Unified(path, path, mask.Mask(path, before), mask.Mask(path, after))), mostDiff)
}

// secretsIn are the tokens of the secrets in a file, in their order. What is masked must stay, and must stay masked.
func secretsIn(known issued, path, content string) string {
	var fresh redact.Masker
	known.teach(&fresh)
	var tokens []string
	for rest := fresh.Mask(path, content); ; {
		from := strings.Index(rest, "⟦")
		if from < 0 {
			return strings.Join(tokens, "")
		}
		to := strings.Index(rest[from:], "⟧")
		if to < 0 {
			return strings.Join(tokens, "")
		}
		tokens = append(tokens, rest[from:from+to])
		rest = rest[from+to:]
	}
}
