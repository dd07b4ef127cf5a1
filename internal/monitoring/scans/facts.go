package scans

import (
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/dnsquery"
)

// Response is what is kept of an answer while a scan runs.
type Response struct {
	URL    string
	Status int
	Header http.Header
	Body   string // its beginning
}

// Facts are all that judgements are made of.
type Facts struct {
	Host string
	// Secure is the page over HTTPS; nil when there is none.
	Secure *Response
	// TLSVersion is what was agreed on, 0 without TLS. OldTLS tells that the server also agrees on less than 1.2.
	TLSVersion uint16
	OldTLS     bool
	// TLSProblem is why the certificate is not trusted: none, expired, name, untrusted, handshake; empty when it is.
	TLSProblem  string
	Certificate string // who issued it, and until when
	// Plain is the answer to http:// without following it; nil when there is none.
	Plain *Response
	// Page is the page that visitors see: Secure, else Plain.
	Page *Response
	// Probes are the answers to paths that should not be served.
	Probes map[string]*Response
	// Listings are the answers to directories of the site.
	Listings []*Response
	DNS      DNSFacts
	Site     *SiteFacts // nil when the site is not hosted here
	Now      time.Time
}

// DNSFacts are the records of the site's name and its domain. An error says that nothing is known.
type DNSFacts struct {
	Domain   string // the registrable one
	MX       []string
	MXErr    error
	TXT      []string
	TXTErr   error
	DMARC    []string
	DMARCErr error
	// DKIM are the selectors at which a key was found.
	DKIM    []string
	DKIMErr error
	DS      []string
	DSErr   error
	CAA     []dnsquery.CAA
	CAAErr  error
}

// SiteFacts are what the hosting server says of a site.
type SiteFacts struct {
	ServiceID  int64
	PHPVersion string
	PHPEnds    *time.Time // when its makers end mending its security; nil when that is not known
	// WordPress is the version of wp-includes/version.php; empty when there is none.
	WordPress string
	// Writable are paths that everybody on the machine may write.
	Writable []string
	// Dumps are files in the document root whose names are those of dumps and copies.
	Dumps []string
}
