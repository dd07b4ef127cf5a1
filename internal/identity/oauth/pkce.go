package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"stead.dev/stead/internal/platform/secret"
)

// checkChallenge reports whether s can be a challenge of method S256: the base64url of 32 bytes, without padding (RFC
// 7636, section 4.2).
func checkChallenge(s string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(b) == sha256.Size
}

// checkVerifier reports whether s has the syntax of a verifier (RFC 7636, section 4.1).
func checkVerifier(s string) bool {
	if len(s) < 43 || len(s) > 128 {
		return false
	}
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~") == ""
}

// proves reports whether the challenge was made from the verifier.
func proves(verifier, challenge string) bool {
	sum := sha256.Sum256([]byte(verifier))
	made := base64.RawURLEncoding.EncodeToString(sum[:])
	return secret.Equal([]byte(made), []byte(challenge))
}
