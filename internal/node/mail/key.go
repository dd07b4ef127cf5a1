package mail

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
)

// key signs a domain's outgoing mail (RFC 6376). Every verifier accepts 2048 bits, which fit into a TXT record; RFC
// 8301 recommends them.
type key struct {
	Selector string `json:"selector"`
	Private  string `json:"private"` // PKCS #1 in PEM
	Public   string `json:"public"`  // SubjectPublicKeyInfo in DER, base64
}

const keyBits = 2048

func newKey() (key, error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return key{}, fmt.Errorf("DKIM key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		return key{}, fmt.Errorf("DKIM key: %w", err)
	}
	// The selector is derived from the key, so that no other key has its name in the DNS.
	sum := sha256.Sum256(public)
	return key{
		Selector: "stead-" + hex.EncodeToString(sum[:4]),
		Private:  string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})),
		Public:   base64.StdEncoding.EncodeToString(public),
	}, nil
}

// newSecret is a password for programs.
func newSecret() string { return rand.Text() }

// hashSecret hashes a secret of 128 random bits, for which a fast hash is as good as a slow one.
func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
