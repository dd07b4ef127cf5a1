// Package certificate parses certificates with their keys, as customers and authorities provide them, and explains what
// is wrong with them.
package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reason is why a certificate cannot be used. It is an error; its text for people is the caller's.
type Reason string

// The reasons.
const (
	NotPEM         Reason = "not_pem"        // no certificate in PEM, or an unexpected block
	KeyNotPEM      Reason = "key_not_pem"    // no private key in PEM
	KeyEncrypted   Reason = "key_encrypted"  // the key needs a passphrase
	KeyMismatch    Reason = "key_mismatch"   // the key belongs to another certificate
	WeakKey        Reason = "weak_key"       // RSA of less than 2048 bits, a small curve, or a kind that browsers do not accept
	LargeKey       Reason = "large_key"      // RSA of more than 4096 bits
	WeakSignature  Reason = "weak_signature" // signed by MD5 or SHA-1
	ChainOrder     Reason = "chain_order"    // a certificate was not signed by the next one
	Authority      Reason = "is_authority"   // the first certificate is an authority's, not a server's
	Purpose        Reason = "purpose"        // not for servers
	NotYetValid    Reason = "not_yet_valid"
	Expired        Reason = "expired"
	NameNotCovered Reason = "name_not_covered" // it is not valid for a name
)

func (r Reason) Error() string { return "certificate: " + string(r) }

// ReasonOf is the reason within an error; empty when it has none.
func ReasonOf(err error) Reason {
	var r Reason
	_ = errors.As(err, &r)
	return r
}

// Bundle is a certificate with those that sign it and its key.
type Bundle struct {
	Chain []*x509.Certificate // the server's first; never empty
	Key   crypto.Signer
}

// maxRSA is the largest RSA key in bits, the largest that public authorities sign. The cost of a handshake grows with
// the third power: a key of 16384 bits keeps a shared web server busy for a fifth of a second.
const maxRSA = 4096

// maxChain bounds a chain; no chain in use is longer.
const maxChain = 10

// ParseChain reads the certificates in PEM texts, the first one first. It skips text between blocks.
func ParseChain(texts ...string) ([]*x509.Certificate, error) {
	var chain []*x509.Certificate
	for _, text := range texts {
		rest := []byte(text)
		for {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			if block.Type != "CERTIFICATE" || len(chain) == maxChain {
				return nil, fmt.Errorf("%w: a block %q", NotPEM, block.Type)
			}
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", NotPEM, err)
			}
			// Some customers include the certificate in the chain again.
			if !slices.ContainsFunc(chain, c.Equal) {
				chain = append(chain, c)
			}
		}
		if len(bytes.TrimSpace(rest)) > 0 {
			return nil, fmt.Errorf("%w: text after the last block", NotPEM)
		}
	}
	if len(chain) == 0 {
		return nil, NotPEM
	}
	return chain, nil
}

// ParseKey reads a private key in PEM: PKCS #8, PKCS #1 or SEC 1. Its error quotes nothing of the text.
func ParseKey(text string) (crypto.Signer, error) {
	rest := []byte(text)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, KeyNotPEM
		}
		if block.Type == "EC PARAMETERS" { // openssl writes it before the key
			continue
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return nil, KeyEncrypted
		}
		for _, parse := range []func([]byte) (any, error){
			x509.ParsePKCS8PrivateKey,
			func(b []byte) (any, error) { return x509.ParsePKCS1PrivateKey(b) },
			func(b []byte) (any, error) { return x509.ParseECPrivateKey(b) },
		} {
			if key, err := parse(block.Bytes); err == nil {
				if signer, ok := key.(crypto.Signer); ok {
					return signer, nil
				}
			}
		}
		return nil, KeyNotPEM
	}
}

// Parse reads a certificate with its key and checks all that does not depend on the time and the names.
func Parse(key string, chain ...string) (Bundle, error) {
	var b Bundle
	var err error
	if b.Chain, err = ParseChain(chain...); err != nil {
		return b, err
	}
	if b.Key, err = ParseKey(key); err != nil {
		return b, err
	}
	return b, b.check()
}

func (b Bundle) check() error {
	leaf := b.Leaf()
	public, ok := leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(b.Key.Public()) {
		return KeyMismatch
	}
	if leaf.IsCA && leaf.BasicConstraintsValid && len(b.Chain) == 1 && len(leaf.DNSNames) == 0 {
		return Authority
	}
	switch key := leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		switch bits := key.N.BitLen(); {
		case bits < 2048:
			return WeakKey
		case bits > maxRSA:
			return LargeKey
		}
	case *ecdsa.PublicKey:
		if key.Curve.Params().BitSize < 256 {
			return WeakKey
		}
	default: // such as Ed25519, which no browser takes
		return WeakKey
	}
	if len(leaf.ExtKeyUsage)+len(leaf.UnknownExtKeyUsage) > 0 &&
		!slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageServerAuth) && !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageAny) {
		return Purpose
	}
	for i, c := range b.Chain {
		if selfSigned := bytes.Equal(c.RawIssuer, c.RawSubject); !selfSigned && weak(c.SignatureAlgorithm) {
			return WeakSignature
		}
		if i > 0 {
			if err := b.Chain[i-1].CheckSignatureFrom(c); err != nil {
				return fmt.Errorf("%w: %w", ChainOrder, err)
			}
		}
	}
	return nil
}

func weak(a x509.SignatureAlgorithm) bool {
	switch a {
	case x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
		return true
	default:
		return false
	}
}

// Leaf is the server's certificate.
func (b Bundle) Leaf() *x509.Certificate { return b.Chain[0] }

// CheckTime returns the reason why the certificate is not valid now, or nil.
func (b Bundle) CheckTime(now time.Time) error {
	switch leaf := b.Leaf(); {
	case now.Before(leaf.NotBefore):
		return NotYetValid
	case !now.Before(leaf.NotAfter):
		return Expired
	default:
		return nil
	}
}

// CheckNames returns an error that names the first name that the certificate does not cover, or nil.
func (b Bundle) CheckNames(names ...string) error {
	for _, name := range names {
		if !Covers(b.Leaf().DNSNames, name) {
			return fmt.Errorf("%w: %s", NameNotCovered, name)
		}
	}
	return nil
}

// Covers reports whether one of the names of a certificate is name or a wildcard for it (RFC 9525, section 6.3). name
// may be a wildcard itself.
func Covers(names []string, name string) bool {
	_, parent, _ := strings.Cut(name, ".")
	return slices.ContainsFunc(names, func(n string) bool {
		n = strings.ToLower(strings.TrimSuffix(n, "."))
		return n == name || (n == "*."+parent && strings.Contains(parent, "."))
	})
}

// ChainPEM is the chain in PEM, the server's certificate first. It omits a root at the end: whoever trusts the root has
// it.
func (b Bundle) ChainPEM() string {
	var out bytes.Buffer
	for i, c := range b.Chain {
		if i > 0 && bytes.Equal(c.RawIssuer, c.RawSubject) {
			continue
		}
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // a write to memory cannot fail
	}
	return out.String()
}

// KeyPEM is the key in PEM, as PKCS #8.
func (b Bundle) KeyPEM() (string, error) { return EncodeKey(b.Key) }

// EncodeKey writes a key in PEM, as PKCS #8.
func EncodeKey(key crypto.Signer) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("certificate: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}

// Fingerprint is the SHA-256 of a certificate in lower-case hexadecimal.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}
