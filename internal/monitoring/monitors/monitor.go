package monitors

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outgoing"
	"stead.dev/stead/internal/platform/probe"
)

// settings are what a customer chooses of a monitor. Their JSON is stored; the values of headers are kept elsewhere.
type settings struct {
	Target         probe.Target `json:"target"`
	IntervalS      int          `json:"interval_s"`
	Retries        int          `json:"retries"`
	RetryIntervalS int          `json:"retry_interval_s"`
	SSLDays        []int        `json:"ssl_expiry_days,omitempty"`
	DomainDays     []int        `json:"domain_expiry_days,omitempty"`
	MaxResponseMS  int          `json:"max_response_ms,omitempty"`
	// Regions are those that its owner chose, the control plane among them; none: all that there are.
	Regions     []string `json:"regions,omitempty"`
	Quorum      int      `json:"quorum,omitempty"`
	AlertAfterS int      `json:"alert_after_s,omitempty"`
	ReminderS   int      `json:"reminder_every_s,omitempty"`
	Channels    []int64  `json:"channels,omitempty"`
	Windows     windows  `json:"maintenance_windows,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	// HeaderNames are those of the headers that are sent.
	HeaderNames []string `json:"header_names,omitempty"`
}

func (s settings) interval() time.Duration      { return time.Duration(s.IntervalS) * time.Second }
func (s settings) retryInterval() time.Duration { return time.Duration(s.RetryIntervalS) * time.Second }

// homeOnly reports whether only the control plane checks. It hears heartbeats and asks registries for everybody, and the
// origins of our own services are not for others. What may hold secrets, which are headers, a body and a query, goes to the
// nodes of other places only when the owner chose these.
func (s settings) homeOnly() bool {
	t := s.Target
	if t.Type == probe.Heartbeat || t.Type == probe.Domain || t.Origin != "" {
		return true
	}
	return len(s.Regions) == 0 && (len(s.HeaderNames) > 0 || t.Body != "" || strings.Contains(t.URL, "?"))
}

// defaults are what a customer who says nothing gets.
func defaults() settings {
	return settings{
		Target:    probe.Target{TimeoutMS: 10_000, Follow: true, Verify: true},
		IntervalS: 300, Retries: 1, RetryIntervalS: 30,
	}
}

// intervals are those that can be chosen, in seconds.
var intervals = []int{60, 120, 300, 600, 1800, 3600}

// expiryDays are those that are warned of by default.
var expiryDays = []int{30, 14, 7, 1}

var (
	methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}
	types   = []probe.Type{probe.HTTP, probe.Keyword, probe.JSON, probe.Ping, probe.TCP, probe.DNS, probe.SSL, probe.Domain, probe.Heartbeat}
)

// Bounds of what a customer may give.
const (
	maxURL      = 2048
	maxName     = 100
	maxBodySize = 16 << 10
	maxHeaders  = 20
	maxTags     = 20
	maxTag      = 40
	maxChannels = 10
	maxQuorum   = 50
)

// check completes settings and refuses what cannot be checked.
func (s *settings) check(allowLoopback bool) error {
	t := &s.Target
	if t.Type == "tls" { // as other services call it
		t.Type = probe.SSL
	}
	if !slices.Contains(types, t.Type) {
		return fault.Invalid("type", "value")
	}
	if !slices.Contains(intervals, s.IntervalS) {
		return errInterval.With(fault.Fields{"allowed": intervals})
	}
	if err := s.checkTarget(allowLoopback); err != nil {
		return err
	}
	if err := s.checkExpectations(); err != nil {
		return err
	}
	if t.Type == probe.Heartbeat {
		s.Retries = 0
	}
	if time.Duration(t.TimeoutMS)*time.Millisecond > s.interval() {
		return fault.Invalid("timeout_ms", "monitor_timeout")
	}
	for i, tag := range s.Tags {
		if s.Tags[i] = strings.TrimSpace(tag); !plain(s.Tags[i], maxTag) {
			return fault.Invalid("tags", "characters")
		}
	}
	slices.Sort(s.Tags)
	s.Tags = slices.Compact(s.Tags)
	for _, days := range []*[]int{&s.SSLDays, &s.DomainDays} {
		slices.Sort(*days)
		*days = slices.Compact(*days)
		slices.Reverse(*days)
	}
	return s.Windows.check()
}

// checkTarget refuses what may not be called, and clears what the type has no use for.
func (s *settings) checkTarget(allowLoopback bool) error {
	t := &s.Target
	switch t.Type {
	case probe.HTTP, probe.Keyword, probe.JSON:
		t.Host, t.Port, t.DNSType, t.DNSExpected = "", 0, "", ""
		if t.URL == "" {
			return fault.Invalid("url", "required")
		}
		u, err := checkURL(t.URL, allowLoopback)
		if err != nil {
			return err
		}
		t.URL = u.String()
	case probe.Heartbeat:
		*t = probe.Target{Type: t.Type, TimeoutMS: t.TimeoutMS}
	default:
		t.URL, t.Method, t.Body, t.Statuses = "", "", "", nil
		if t.Host == "" {
			return fault.Invalid("host", "required")
		}
		// Records such as _dmarc.example.com are of names that no host has.
		host, service := strings.TrimSpace(t.Host), ""
		for t.Type == probe.DNS && strings.HasPrefix(host, "_") {
			label, rest, _ := strings.Cut(host, ".")
			if !plainLabel.MatchString(label) {
				return errTarget.New()
			}
			service, host = service+strings.ToLower(label)+".", rest
		}
		host, err := checkHost(host, allowLoopback)
		if err != nil {
			return err
		}
		if t.Type == probe.Domain {
			if host, err = domainname.Registered(host); err != nil {
				return errTarget.New()
			}
		}
		t.Host = service + host
		if t.Port == 0 && t.Type == probe.SSL {
			t.Port = 443
		}
		if t.Type != probe.SSL && t.Type != probe.TCP {
			t.Port = 0
		} else if t.Port < 1 || t.Port > 65535 {
			return fault.Invalid("port", "required")
		}
	}
	return nil
}

// checkExpectations refuses expectations that nothing can meet, and clears what the type has no use for.
func (s *settings) checkExpectations() error {
	t := &s.Target
	if t.Method != "" && !slices.Contains(methods, t.Method) {
		return fault.Invalid("method", "value")
	}
	for _, status := range t.Statuses {
		if _, _, ok := probe.ParseStatuses(status); !ok {
			return fault.Invalid("expected_statuses", "monitor_statuses")
		}
	}
	if t.Type == probe.Keyword && t.Keyword == "" {
		return fault.Invalid("keyword", "required")
	}
	if t.Type != probe.Keyword {
		t.Keyword, t.KeywordAbsent = "", false
	}
	if t.Type == probe.JSON {
		if t.JSONPath == "" {
			return fault.Invalid("json_path", "required")
		}
		if _, err := probe.ParsePath(t.JSONPath); errors.Is(err, probe.ErrPathWork) {
			return fault.Invalid("json_path", "monitor_json_path_work")
		} else if err != nil {
			return fault.Invalid("json_path", "monitor_json_path")
		}
	} else {
		t.JSONPath, t.JSONExpected = "", nil
	}
	if t.Type == probe.DNS {
		if t.DNSType = strings.ToUpper(t.DNSType); t.DNSType == "" {
			t.DNSType = "A"
		}
		if !slices.Contains(probe.RecordTypes, t.DNSType) {
			return fault.Invalid("dns_type", "value")
		}
	} else {
		t.DNSType, t.DNSExpected = "", ""
	}
	if s.SSLDays == nil && (t.Type == probe.SSL || strings.HasPrefix(t.URL, "https://")) {
		s.SSLDays = slices.Clone(expiryDays)
	}
	if t.Type != probe.Domain {
		s.DomainDays = nil
	} else if s.DomainDays == nil {
		s.DomainDays = slices.Clone(expiryDays)
	}
	return nil
}

// checkURL reads an address of the web whose host may be called. What its name resolves to is judged at each check.
func checkURL(address string, allowLoopback bool) (*url.URL, error) {
	if len(address) > maxURL || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return nil, errTarget.New()
	}
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.HasSuffix(u.Host, ":") {
		return nil, errTarget.New()
	}
	if p := u.Port(); p != "" && !validPort(p) {
		return nil, errTarget.New()
	}
	host, err := checkHost(u.Hostname(), allowLoopback)
	if err != nil {
		return nil, err
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.Port() != "" {
		host += ":" + u.Port()
	}
	u.Host, u.Fragment, u.RawFragment = host, "", ""
	return u, nil
}

// plainLabel is a label that names a kind of record.
var plainLabel = regexp.MustCompile(`^_[A-Za-z0-9-]{1,62}$`)

func validPort(p string) bool {
	n := 0
	for _, r := range p {
		if r < '0' || r > '9' || n > 65535 {
			return false
		}
		n = n*10 + int(r-'0')
	}
	return n >= 1 && n <= 65535
}

// checkHost reads a public address, or a name that may have one.
func checkHost(host string, allowLoopback bool) (string, error) {
	host = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(host), "."))
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		if a = a.Unmap(); outgoing.Public(a) || allowLoopback && a.IsLoopback() {
			return a.String(), nil
		}
		return "", errTarget.New()
	}
	if host == "localhost" && allowLoopback {
		return host, nil
	}
	name, err := domainname.Domain(host)
	if err != nil || strings.HasSuffix(name, ".localhost") && !allowLoopback {
		return "", errTarget.New()
	}
	return name, nil
}

// header is what is sent, checked: names and values of HTTP, and none that belong to the connection.
func checkHeaders(given map[string]string) error {
	if len(given) > maxHeaders {
		return fault.InvalidData("headers", "too_many", map[string]any{"Max": maxHeaders})
	}
	for name, value := range given {
		switch strings.ToLower(name) {
		case "host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "keep-alive", "proxy-connection", "expect":
			return fault.Invalid("headers", "monitor_header")
		}
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) || len(name) > 100 || len(value) > 4096 {
			return fault.Invalid("headers", "monitor_header")
		}
	}
	return nil
}

// plain reports whether a text is one line of at most so many characters.
func plain(s string, most int) bool {
	return s != "" && utf8.RuneCountInString(s) <= most && !strings.ContainsFunc(s, unicode.IsControl)
}

// monitor is a row of the table.
type monitor struct {
	id, accountID      int64
	serviceID          *int64
	builtIn            bool
	shard              int
	name               string
	settings           settings
	rawSettings        string // as they are stored
	headers            []byte // sealed; nil without any
	paused             bool
	status             Status
	memory             memory
	errorKey           *string
	lastCheckedAt      *time.Time
	lastStatusChangeAt *time.Time
	lastResponseMS     *int64
	lastBeatAt         *time.Time
	certificate        *probe.Certificate
	domainExpiresAt    *time.Time
	badgeToken         string
	push               []byte // sealed; nil unless it is a heartbeat
	createdAt          time.Time
}

// shards is how many parts the monitors are divided into, which replicas lease.
const shards = 64
