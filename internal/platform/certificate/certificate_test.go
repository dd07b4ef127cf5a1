package certificate_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/certificate"
)

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func selfSigned(t *testing.T, key crypto.Signer, names ...string) string {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names, NotBefore: time.Unix(1e9, 0), NotAfter: time.Unix(2e9, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return block("CERTIFICATE", der)
}

func TestKeysAreReadInEveryFormThatIsInUse(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	old, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	sec1, _ := x509.MarshalECPrivateKey(curve)
	pkcs8, _ := x509.MarshalPKCS8PrivateKey(curve)
	parameters := block("EC PARAMETERS", []byte{6, 5, 43, 129, 4, 0, 34})
	for name, c := range map[string]struct {
		text string
		key  crypto.Signer
	}{
		"SEC 1": {block("EC PRIVATE KEY", sec1), curve}, "with parameters": {parameters + block("EC PRIVATE KEY", sec1), curve},
		"PKCS #8": {"\r\n" + block("PRIVATE KEY", pkcs8), curve}, "PKCS #1": {block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(old)), old},
	} {
		b, err := certificate.Parse(c.text, selfSigned(t, c.key, "a.example"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := b.KeyPEM()
		if again, parseErr := certificate.Parse(text, b.ChainPEM()); errors.Join(err, parseErr) != nil || !again.Leaf().Equal(b.Leaf()) {
			t.Errorf("%s: written and read again: %v %v", name, err, parseErr)
		}
	}
	encrypted := "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n"
	for text, want := range map[string]certificate.Reason{
		"": certificate.KeyNotPEM, parameters: certificate.KeyNotPEM, block("PRIVATE KEY", []byte("no key")): certificate.KeyNotPEM,
		encrypted: certificate.KeyEncrypted,
	} {
		if _, err := certificate.ParseKey(text); certificate.ReasonOf(err) != want || strings.Contains(fmt.Sprint(err), "no key") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestChainsAreReadWhole(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	one, two := selfSigned(t, key, "a.example"), selfSigned(t, key, "b.example")
	for text, want := range map[string]int{one: 1, "Subject: a\n" + one + "\nSubject: b\n" + two: 2, one + one: 1} {
		if chain, err := certificate.ParseChain(text); err != nil || len(chain) != want {
			t.Errorf("%d certificates, want %d (%v)", len(chain), want, err)
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "a key": block("PRIVATE KEY", []byte("x")), "damaged": block("CERTIFICATE", []byte("x")), "cut off": one + two[:100],
		"too many": strings.Repeat(one, 1) + many(t, key),
	} {
		if _, err := certificate.ParseChain(text); certificate.ReasonOf(err) != certificate.NotPEM {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func many(t *testing.T, key crypto.Signer) string {
	t.Helper()
	var all strings.Builder
	for i := range 12 {
		all.WriteString(selfSigned(t, key, fmt.Sprintf("n%d.example", i)))
	}
	return all.String()
}

func TestNamesAreCoveredAsBrowsersSee(t *testing.T) {
	names := []string{"A.example", "*.b.example", "*.example."}
	for name, want := range map[string]bool{
		"a.example": true, "b.example": false, "x.b.example": true, "x.y.b.example": false, "*.b.example": true, "x.a.example": false,
		"example": false, "": false, "*.example": true, "*.a.example": false,
	} {
		if got := certificate.Covers(names, name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
