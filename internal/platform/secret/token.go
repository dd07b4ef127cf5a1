package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
)

// base62 makes a token one word: a double click selects it, and it needs no escaping anywhere.
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Token returns prefix followed by random letters and digits worth at least nbytes bytes of entropy. The prefix
// ("st_at_") tells people and secret scanners what they have found.
func Token(prefix string, nbytes int) string {
	// A base-62 digit carries log2(62) = 5.954 bits; the last one is rounded up.
	digits := (nbytes*8000 + 5953) / 5954

	var token strings.Builder
	token.Grow(len(prefix) + digits)
	token.WriteString(prefix)
	random := make([]byte, digits)
	for drawn := 0; drawn < digits; {
		_, _ = rand.Read(random) // never fails: the runtime ends the process when the system has no randomness
		for _, b := range random {
			// 248 = 4×62: larger bytes would make the first digits of the alphabet more likely.
			if b < 248 && drawn < digits {
				token.WriteByte(base62[b%62])
				drawn++
			}
		}
	}
	return token.String()
}

// Hash is the stored form of a token. Tokens are random and long, so a plain SHA-256 cannot be reversed by guessing;
// passwords are neither, and have their own hash.
func Hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// Equal compares secrets, or hashes of them, in constant time.
func Equal(a, b []byte) bool {
	return subtle.ConstantTimeCompare(a, b) == 1
}
