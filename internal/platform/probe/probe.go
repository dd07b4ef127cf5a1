package probe

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/platform/outgoing"
)

// Type is a kind of check.
type Type string

// The types. A heartbeat is no check: the target calls us.
const (
	HTTP      Type = "http"
	Keyword   Type = "keyword"
	JSON      Type = "json"
	Ping      Type = "ping"
	TCP       Type = "tcp"
	DNS       Type = "dns"
	SSL       Type = "ssl"
	Domain    Type = "domain"
	Heartbeat Type = "heartbeat"
)

// Target says what is checked and what counts as success. Its JSON is stored, and sent to nodes.
type Target struct {
	Type Type `json:"type"`
	// URL is that of http, keyword and json.
	URL string `json:"url,omitempty"`
	// Host is that of ping, tcp, dns, ssl and domain; Port that of tcp and ssl.
	Host string `json:"host,omitempty"`
	Port int    `json:"port,omitempty"`
	// Method is GET when empty.
	Method string `json:"method,omitempty"`
	Body   string `json:"body,omitempty"`
	// Statuses are codes and ranges, such as "200-299"; none stands for that range.
	Statuses []string `json:"expected_statuses,omitempty"`
	// Keyword must be in the body, or must not be there when KeywordAbsent.
	Keyword       string `json:"keyword,omitempty"`
	KeywordAbsent bool   `json:"keyword_absent,omitempty"`
	// JSONPath (RFC 9535) must select something that is JSONExpected, or anything when that is nil.
	JSONPath     string  `json:"json_path,omitempty"`
	JSONExpected *string `json:"json_expected,omitempty"`
	// DNSExpected must be among the answers; any answer will do when it is empty.
	DNSType     string `json:"dns_type,omitempty"`
	DNSExpected string `json:"dns_expected,omitempty"`
	TimeoutMS   int    `json:"timeout_ms"`
	Follow      bool   `json:"follow_redirects,omitempty"`
	Verify      bool   `json:"verify_tls,omitempty"`
	// Origin is the address, host:port, that is dialled whatever the host of the URL resolves to, and that is judged as
	// one of a machine (outgoing.Machine). It is for the checks of our own services.
	Origin string `json:"origin,omitempty"`

	// Header is sent to the origin of the URL. It is not part of the JSON: its values are secret.
	Header http.Header `json:"-"`
}

func (t Target) timeout() time.Duration {
	if t.TimeoutMS <= 0 {
		return 10 * time.Second
	}
	return time.Duration(t.TimeoutMS) * time.Millisecond
}

// The keys that explain failures (resources, section 8, and those of types that are not told of there).
const (
	KeyDNS            = "dns_failed"
	KeyConnectTimeout = "connect_timeout"
	KeyRefused        = "connection_refused"
	KeyConnection     = "connection_failed"
	KeyTLS            = "tls_invalid"
	KeyExpired        = "tls_expired"
	KeyStatus         = "http_status"
	KeyMissing        = "keyword_missing"
	KeyPresent        = "keyword_present"
	KeyJSON           = "json_mismatch"
	KeyAnswer         = "dns_mismatch"
	KeyTimeout        = "timeout"
	KeyRedirects      = "redirect_loop"
	KeyBlocked        = "blocked_target"
	KeyNoReply        = "no_reply"
	KeyUnregistered   = "domain_unregistered"
	KeyMissed         = "heartbeat_missed"
	KeyExitCode       = "exit_code"
	KeyInternal       = "check_failed"
)

// Certificate is what a server presented.
type Certificate struct {
	Valid     bool      `json:"valid"` // its chain and its name
	Issuer    string    `json:"issuer"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Result is what a check found. The times of phases are zero where the check had no such phase.
type Result struct {
	OK bool `json:"ok"`
	// Unknown: the check could not be made, through no fault of the target.
	Unknown    bool          `json:"unknown,omitempty"`
	HTTPStatus int           `json:"http_status,omitempty"`
	Response   time.Duration `json:"response"`
	Lookup     time.Duration `json:"lookup,omitempty"`
	Connect    time.Duration `json:"connect,omitempty"`
	TLS        time.Duration `json:"tls,omitempty"`
	FirstByte  time.Duration `json:"first_byte,omitempty"`
	ErrorKey   string        `json:"error_key,omitempty"`
	// Detail is for people, in English, and holds no secret.
	Detail      string       `json:"detail,omitempty"`
	Certificate *Certificate `json:"certificate,omitempty"`
	// Called tells that the target has called us: a heartbeat.
	Called bool `json:"called,omitempty"`
	// DomainExpiresAt is when the registration of the domain ends.
	DomainExpiresAt *time.Time `json:"domain_expires_at,omitempty"`
}

func failed(key, detail string) Result { return Result{ErrorKey: key, Detail: detail} }

// Expiry finds when the registration of a domain ends.
type Expiry interface {
	// Expires answers false when the domain is not registered, and an error when nobody knows.
	Expires(ctx context.Context, domain string) (time.Time, bool, error)
}

// Config of a Prober.
type Config struct {
	Clock clock.Clock
	// AllowLoopback accepts targets on this machine; for tests.
	AllowLoopback bool
	// RootCAs replace the system's trusted authorities; nil means the system's.
	RootCAs *x509.CertPool
	// Nameservers answer lookups; none means those of the system.
	Nameservers []netip.AddrPort
	// Local are sites that no DNS knows; nil: none.
	Local *outgoing.Local
	// Expiry is asked of domains; nil: nobody is, and these checks are Unknown.
	Expiry Expiry
	// Log is told of panics; nil: nobody is.
	Log *slog.Logger
}

// Prober makes checks. It is safe for concurrent use.
type Prober struct {
	Config
	guard             outgoing.Guard
	dialer            *net.Dialer
	checked, lenient  http.RoundTripper // with certificates verified, and without
	ours              *net.Dialer
	resolver          *net.Resolver
	maxBody, maxMatch int64
}

// Bounds of what is read of a body, in bytes: by checks that do not look into it, and by those that do.
const (
	maxBody  = 64 << 10
	maxMatch = 1 << 20
)

// New makes a prober.
func New(c Config) *Prober {
	p := &Prober{Config: c, guard: outgoing.Guard{AllowLoopback: c.AllowLoopback}, resolver: resolverOf(c.Nameservers), maxBody: maxBody, maxMatch: maxMatch}
	p.dialer = &net.Dialer{Control: p.guard.Control, Resolver: p.resolver}
	p.ours = &net.Dialer{Control: outgoing.Machine{Local: c.AllowLoopback || c.Local != nil}.Control}
	p.checked, p.lenient = p.transport(true), p.transport(false)
	return p
}

// Check makes one check. It returns within the target's timeout, and a little more for what cannot be interrupted. A
// panic makes it Unknown: whatever a target answers must not end the process, which would meet it again after each start.
func (p *Prober) Check(ctx context.Context, t Target) (r Result) {
	defer func() {
		if v := recover(); v != nil {
			if p.Log != nil {
				p.Log.ErrorContext(ctx, "panic in a check", "type", string(t.Type), "panic", v, "stack", string(debug.Stack()))
			}
			r = Result{Unknown: true, ErrorKey: KeyInternal, Detail: "the check itself failed"}
		}
	}()
	if err := intx.Check(ctx); err != nil {
		return Result{Unknown: true, ErrorKey: KeyInternal, Detail: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout())
	defer cancel()
	elapsed := clock.Stopwatch()
	switch t.Type {
	case HTTP, Keyword, JSON:
		r = p.http(ctx, t)
	case TCP:
		r = p.tcp(ctx, t)
	case SSL:
		r = p.ssl(ctx, t)
	case DNS:
		r = p.dns(ctx, t)
	case Ping:
		r = p.ping(ctx, t)
	case Domain:
		r = p.domain(ctx, t)
	default:
		return Result{Unknown: true, ErrorKey: KeyInternal, Detail: "no check of type " + string(t.Type)}
	}
	if r.Response == 0 {
		r.Response = elapsed()
	}
	return r
}
