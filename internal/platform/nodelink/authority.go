package nodelink

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// How long certificates are valid. A party renews its own when half of that has passed.
const (
	AuthorityLifetime = 20 * 365 * 24 * time.Hour
	NodeLifetime      = 30 * 24 * time.Hour
	ControlLifetime   = 7 * 24 * time.Hour
)

// skew is how long before now a certificate becomes valid, because clocks of machines differ.
const skew = 10 * time.Minute

// Control is the name of the control plane in certificates.
const Control = "stead://control"

const nodePrefix = "stead://node/"

// NodeName is the name of a node in certificates.
func NodeName(id int64) string { return nodePrefix + strconv.FormatInt(id, 10) }

// NodeID reads what NodeName wrote.
func NodeID(name string) (int64, bool) {
	text, ok := strings.CutPrefix(name, nodePrefix)
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0 && NodeName(id) == name
}

// NewKey generates a party's private key. It never leaves its machine.
func NewKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// Authority issues the certificates of one installation.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// NewAuthority makes an authority: its certificate, and its key in PKCS #8, which is to be kept secret.
func NewAuthority(now time.Time) (certificate, key []byte, err error) {
	signer, err := NewKey()
	if err != nil {
		return nil, nil, fmt.Errorf("nodelink: authority: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Stead nodes"},
		NotBefore: now.Add(-skew), NotAfter: now.Add(AuthorityLifetime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, signer.Public(), signer)
	if err != nil {
		return nil, nil, fmt.Errorf("nodelink: authority: %w", err)
	}
	if key, err = x509.MarshalPKCS8PrivateKey(signer); err != nil {
		return nil, nil, fmt.Errorf("nodelink: authority: %w", err)
	}
	return encodeCertificate(der), key, nil
}

// OpenAuthority loads an authority that NewAuthority made.
func OpenAuthority(certificate, key []byte) (*Authority, error) {
	cert, err := ParseCertificate(certificate)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(key)
	if err != nil {
		return nil, errors.New("nodelink: the authority's key cannot be read") // the cause could quote the key
	}
	signer, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !signer.PublicKey.Equal(cert.PublicKey) {
		return nil, errors.New("nodelink: the authority's key is not its certificate's")
	}
	return &Authority{cert: cert, key: signer}, nil
}

// Certificate is the authority's own, in PEM.
func (a *Authority) Certificate() []byte { return encodeCertificate(a.cert.Raw) }

// Issued is a certificate that the authority gave.
type Issued struct {
	Certificate []byte // PEM
	Serial      string
	NotAfter    time.Time
}

// Issue certifies that the holder of a public key is the party of that name.
func (a *Authority) Issue(public crypto.PublicKey, name string, now time.Time, lifetime time.Duration) (Issued, error) {
	uri, err := url.Parse(name)
	if err != nil {
		return Issued{}, fmt.Errorf("nodelink: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return Issued{}, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, URIs: []*url.URL{uri},
		NotBefore: now.Add(-skew), NotAfter: now.Add(lifetime),
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, public, a.key)
	if err != nil {
		return Issued{}, fmt.Errorf("nodelink: issue: %w", err)
	}
	return Issued{Certificate: encodeCertificate(der), Serial: serial.Text(16), NotAfter: t.NotAfter}, nil
}

// Sign issues a certificate for a signing request (PKCS #10, PEM). It uses only the request's key; the signature proves
// that the sender holds the private part.
func (a *Authority) Sign(request []byte, name string, now time.Time, lifetime time.Duration) (Issued, error) {
	block, _ := pem.Decode(request)
	if block == nil || block.Type != requestType {
		return Issued{}, errors.New("nodelink: not a certificate request")
	}
	r, err := x509.ParseCertificateRequest(block.Bytes)
	if err == nil {
		err = r.CheckSignature()
	}
	if err != nil {
		return Issued{}, fmt.Errorf("nodelink: certificate request: %w", err)
	}
	if key, ok := r.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		return Issued{}, errors.New("nodelink: certificate request: the key is not of the kind that nodes have")
	}
	return a.Issue(r.PublicKey, name, now, lifetime)
}

const (
	certificateType = "CERTIFICATE"
	requestType     = "CERTIFICATE REQUEST"
	keyType         = "PRIVATE KEY"
)

// NewRequest is a signing request for a key.
func NewRequest(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fmt.Errorf("nodelink: certificate request: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: requestType, Bytes: der}), nil
}

// EncodeKey is a private key in PEM.
func EncodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("nodelink: key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyType, Bytes: der}), nil
}

// ParseCertificate reads one certificate in PEM.
func ParseCertificate(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != certificateType {
		return nil, errors.New("nodelink: not a certificate")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("nodelink: certificate: %w", err)
	}
	return cert, nil
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certificateType, Bytes: der})
}

func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("nodelink: serial: %w", err)
	}
	return serial, nil
}

// Pin is the fingerprint by which a join token names the authority.
func Pin(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Pin of the authority's certificate.
func (a *Authority) Pin() string { return Pin(a.cert) }

// JoinToken is what a machine joins with: a secret for one use, and the authority's pin, so that the machine can verify
// the server before it sends the secret.
func JoinToken(secret, pin string) string { return secret + "." + pin }

// SplitToken reads what JoinToken wrote.
func SplitToken(token string) (secret, pin string, err error) {
	secret, pin, ok := strings.Cut(strings.TrimSpace(token), ".")
	if sum, err := base64.RawURLEncoding.DecodeString(pin); !ok || secret == "" || err != nil || len(sum) != sha256.Size {
		return "", "", errors.New("nodelink: that is not a join token: take the whole of what stead admin nodes add printed")
	}
	return secret, pin, nil
}
