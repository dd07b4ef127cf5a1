package panel

import (
	"context"
	"time"
)

// CapCertificates is the capability Certificates, CapIssuing is Issuing.
const (
	CapCertificates Capability = "certificates"
	CapIssuing      Capability = "issuing"
)

// Certificate is the HTTPS certificate of domains of an account.
type Certificate struct {
	// Name is the caller's, unique within the account: at most 32 of [a-z0-9-].
	Name string `json:"name"`
	// Chain is PEM: the certificate of the names first, each other one signs the one before it.
	Chain string `json:"chain"`
	// Key is the private key, PEM in PKCS #8, PKCS #1 or SEC 1. It is never returned.
	Key string `json:"key"`
	// Domains are the account's domains that use the certificate, which must cover each. When several certificates name
	// a domain, the one that was set last applies.
	Domains []string `json:"domains"`
	// HSTS tells browsers to use HTTPS only from now on (RFC 6797), on all of the domains.
	HSTS bool `json:"hsts,omitempty"`
}

// InstalledCertificate is a certificate as the panel reports it.
type InstalledCertificate struct {
	Name        string    `json:"name"`
	Fingerprint string    `json:"fingerprint"` // SHA-256 of the first certificate, lower-case hexadecimal
	Domains     []string  `json:"domains"`     // sorted
	HSTS        bool      `json:"hsts"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// Challenge is a file by which a certificate authority verifies that a domain points to the account (RFC 8555, section
// 8.3): /.well-known/acme-challenge/<Token> of the domain answers KeyAuthorization by plain HTTP.
type Challenge struct {
	Domain           string `json:"domain"` // one of the account's, or its "www." name
	Token            string `json:"token"`  // at most 128 of base64url
	KeyAuthorization string `json:"key_authorization"`
}

// Certificates manages the certificates and keys of accounts. A domain without one uses a self-signed certificate of
// the panel (TLSSelfSigned).
type Certificates interface {
	// SetCertificate installs c for its domains, and replaces the certificate of that name. When it fails, the domains
	// keep the former one. ErrInvalid: the certificate does not cover a domain, does not match the key, or has expired.
	// ErrNotFound: a domain does not belong to the account.
	SetCertificate(ctx context.Context, ref string, c Certificate) (InstalledCertificate, error)
	// RemoveCertificate deletes the certificate and its key. ErrNotFound when there is none.
	RemoveCertificate(ctx context.Context, ref, name string) error
	// InstalledCertificates lists what was set, by name.
	InstalledCertificates(ctx context.Context, ref string) ([]InstalledCertificate, error)
	// SetChallenge serves the file of a challenge, with precedence over everything else of the domain, until
	// RemoveChallenge or for a day.
	SetChallenge(ctx context.Context, ref string, c Challenge) error
	// RemoveChallenge stops serving it. It is no error when there is none.
	RemoveChallenge(ctx context.Context, ref, token string) error
}

// CertificateRequest asks for a certificate.
type CertificateRequest struct {
	Names []string `json:"names"` // domain names, or such with "*." in front
	CSR   string   `json:"csr"`   // PEM (PKCS #10), for exactly these names
}

// Issuing is a panel with a certificate authority of its own, which replaces the platform's.
type Issuing interface {
	// IssueCertificate returns the chain in PEM. ErrInvalid: the authority refuses the names for good. ErrBusy: a rate
	// limit, try later. ErrUnreachable: the authority does not answer.
	IssueCertificate(ctx context.Context, ref string, r CertificateRequest) (string, error)
}
