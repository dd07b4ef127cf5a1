package scans

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
)

// Status is how far a scan is.
type Status string

// The states of scans.
const (
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
)

// Severity tells what a finding could lead to.
type Severity string

// The severities, the worst first.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
	Info     Severity = "info"
)

var severities = []Severity{Critical, High, Medium, Low, Info}

// Outcome is the result of a check.
type Outcome string

// The results of checks. What was skipped could not be judged, or does not concern the site.
const (
	Pass Outcome = "pass"
	Fail Outcome = "fail"
	Warn Outcome = "warn"
	Skip Outcome = "skip"
)

// Finding is the result of one check. Its texts are in the catalogue.
type Finding struct {
	Key      string   `json:"key"`
	Severity Severity `json:"severity"`
	Outcome  Outcome  `json:"status"`
	// Detail names the text that describes the result: scan.detail.<detail>.
	Detail string `json:"detail"`
	// Evidence is what was seen, shortened and without secrets.
	Evidence string `json:"evidence,omitempty"`
	// Points are what the finding takes off the score.
	Points int `json:"points,omitempty"`
}

// Open reports whether the finding is something to mend.
func (f Finding) Open() bool { return f.Outcome == Fail || f.Outcome == Warn }

// scan is a row of the table scans.
type scan struct {
	id, accountID int64
	serviceID     *int64
	url           string
	status        Status
	weekly        bool
	score         *int
	grade         *string
	findings      []Finding
	errorKey      *string
	startedAt     time.Time
	finishedAt    *time.Time
}

// opened lists the findings to mend, the worst first.
func (s scan) opened() []Finding {
	var open []Finding
	for _, severity := range severities {
		for _, f := range s.findings {
			if f.Open() && f.Severity == severity {
				open = append(open, f)
			}
		}
	}
	return open
}

// fresh are the findings to mend that were not there before; what is only information is nothing to tell of.
func fresh(now, before scan) []Finding {
	var found []Finding
	for _, f := range now.opened() {
		known := slices.ContainsFunc(before.findings, func(b Finding) bool { return b.Key == f.Key && b.Open() })
		if !known && f.Severity != Info {
			found = append(found, f)
		}
	}
	return found
}

// target is an address to scan.
type target struct {
	url    string
	scheme string
	host   string // lower-case ASCII
}

const maxURL = 2048

// parseTarget checks an address: http or https on its usual port, a domain name, no user. The path is left out: a scan is of
// a site.
func parseTarget(address string) (target, error) {
	bad := fault.Invalid("url", "scan_url")
	if len(address) > maxURL || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return target{}, bad
	}
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.User != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return target{}, bad
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil { // an address belongs to nobody who could prove it
		return target{}, fault.TargetNotAllowed.New()
	}
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if !strings.Contains(name, ".") || strings.HasSuffix(name, ".localhost") {
		return target{}, fault.TargetNotAllowed.New()
	}
	host, err := domainname.Domain(name)
	if err != nil {
		return target{}, bad
	}
	if port := u.Port(); port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		return target{}, fault.TargetNotAllowed.New()
	}
	return target{url: u.Scheme + "://" + host + "/", scheme: u.Scheme, host: host}, nil
}
