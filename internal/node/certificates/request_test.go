package certificates

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/port/panel"
)

// request asks for a certificate with the key, or one of its own.
func request(t *testing.T, key crypto.Signer, names ...string) panel.CertificateRequest {
	t.Helper()
	if key == nil {
		made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		key = made
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: names}, key)
	if err != nil {
		t.Fatal(err)
	}
	return panel.CertificateRequest{Names: names, CSR: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))}
}

// issued is a certificate of the authority and its key.
func issued(t *testing.T, authority *Simulated, names ...string) (chain, key string) {
	t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if chain, err = authority.IssueCertificate(t.Context(), "1", request(t, signer, names...)); err != nil {
		t.Fatal(err)
	}
	if key, err = certificate.EncodeKey(signer); err != nil {
		t.Fatal(err)
	}
	return chain, key
}
