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

// Certificate is what domains of an account are to be answered with by HTTPS.
type Certificate struct {
	// Name is the caller's, unique within the account: at most 32 of [a-z0-9-].
	Name string `json:"name"`
	// Chain is PEM: the certificate of the names first, each other one signs the one before it.
	Chain string `json:"chain"`
	// Key is the private key, PEM in PKCS #8, PKCS #1 or SEC 1. No answer holds it.
	Key string `json:"key"`
	// Domains are those of the account that are answered with it; the certificate holds for each. A domain that is
	// named by several has the one that was set last.
	Domains []string `json:"domains"`
	// HSTS tells browsers to come by HTTPS only from now on (RFC 6797), on all of the domains.
	HSTS bool `json:"hsts,omitempty"`
}

// InstalledCertificate is a certificate as the panel has it.
type InstalledCertificate struct {
	Name        string    `json:"name"`
	Fingerprint string    `json:"fingerprint"` // SHA-256 of the first certificate, lower-case hexadecimal
	Domains     []string  `json:"domains"`     // sorted
	HSTS        bool      `json:"hsts"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// Challenge is a file by which an authority of certificates sees that a domain leads to the account (RFC 8555,
// section 8.3): /.well-known/acme-challenge/<Token> of the domain answers KeyAuthorization by plain HTTP.
type Challenge struct {
	Domain           string `json:"domain"` // one of the account's, or its "www." name
	Token            string `json:"token"`  // at most 128 of base64url
	KeyAuthorization string `json:"key_authorization"`
}

// Certificates keeps the certificates and keys of accounts. A domain without one is answered with a certificate that
// the panel has signed itself (TLSSelfSigned).
type Certificates interface {
	// SetCertificate has the domains answered with c, in the place of the certificate of that name. When it fails,
	// they are answered as before. ErrInvalid: the certificate does not hold for a domain, is not of the key, or
	// has expired. ErrNotFound: a domain is not of the account.
	SetCertificate(ctx context.Context, ref string, c Certificate) (InstalledCertificate, error)
	// RemoveCertificate forgets the certificate and its key. ErrNotFound when there is none.
	RemoveCertificate(ctx context.Context, ref, name string) error
	// InstalledCertificates lists what was set, by name.
	InstalledCertificates(ctx context.Context, ref string) ([]InstalledCertificate, error)
	// SetChallenge serves the file of a challenge, before anything else of the domain, until RemoveChallenge or a
	// day has passed.
	SetChallenge(ctx context.Context, ref string, c Challenge) error
	// RemoveChallenge ends it. One that is not there is no error.
	RemoveChallenge(ctx context.Context, ref, token string) error
}

// CertificateRequest asks for a certificate.
type CertificateRequest struct {
	Names []string `json:"names"` // domain names, or such with "*." in front
	CSR   string   `json:"csr"`   // PEM (PKCS #10), for exactly these names
}

// Issuing is a panel that has an authority of certificates of its own, which is used instead of the platform's.
type Issuing interface {
	// IssueCertificate answers the chain in PEM. ErrInvalid: the authority refuses the names for good. ErrBusy: it
	// has issued too many, or has no time; later. ErrUnreachable: it does not answer.
	IssueCertificate(ctx context.Context, ref string, r CertificateRequest) (string, error)
}
