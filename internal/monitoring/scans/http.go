package scans

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
)

// scanWire is a security scan (resources, section 10).
type scanWire struct {
	ID         int64         `json:"id"`
	URL        string        `json:"url"`
	ServiceID  *int64        `json:"service_id" doc:"The service that serves the site; null for a site elsewhere"`
	Status     Status        `json:"status" enum:"queued,running,completed,failed"`
	Score      *int          `json:"score" minimum:"0" maximum:"100" doc:"Null unless the scan is completed"`
	Grade      *string       `json:"grade" enum:"A+,A,A-,B+,B,B-,C+,C,C-,D+,D,D-,F"`
	Summary    summary       `json:"summary" doc:"How many findings are to mend, by severity"`
	Findings   []findingWire `json:"findings"`
	ErrorKey   *string       `json:"error_key" doc:"Why the scan failed"`
	DurationMS *int64        `json:"duration_ms"`
	StartedAt  time.Time     `json:"started_at"`
	FinishedAt *time.Time    `json:"finished_at"`
}

type findingWire struct {
	Key         string   `json:"key" example:"hsts"`
	Severity    Severity `json:"severity" enum:"critical,high,medium,low,info"`
	Status      Outcome  `json:"status" enum:"pass,fail,warn,skip" doc:"skip: it could not be judged, or does not concern the site"`
	Title       string   `json:"title"`
	Detail      string   `json:"detail"`
	Remediation *string  `json:"remediation" doc:"What to do; null when there is nothing to mend"`
	Operation   *string  `json:"operation" doc:"The operation that mends it, for a site that is hosted here" example:"POST /api/v1/services/7/ssl"`
	Evidence    string   `json:"evidence" doc:"What was seen, shortened; never the content of a file"`
}

// remedies are the operations that mend findings of sites that are hosted here, below the service's address.
var remedies = map[string][2]string{
	"tls_version": {http.MethodGet, "/ssl"}, "tls_chain": {http.MethodPost, "/ssl"}, "open_redirect_http": {http.MethodPatch, "/domains/{hosted_domain}"},
	"hsts": {http.MethodPut, "/files/content"}, "csp": {http.MethodPut, "/files/content"}, "x_frame_options": {http.MethodPut, "/files/content"},
	"x_content_type_options": {http.MethodPut, "/files/content"}, "referrer_policy": {http.MethodPut, "/files/content"},
	"cookies": {http.MethodPatch, "/php"}, "mixed_content": {http.MethodPut, "/files/content"}, "server_version_leak": {http.MethodPatch, "/php"},
	"exposed_git": {http.MethodDelete, "/files"}, "exposed_env": {http.MethodPost, "/files/move"}, "exposed_dump": {http.MethodPost, "/files/move"},
	"directory_listing": {http.MethodPut, "/files/content"}, "cms_version": {http.MethodPost, "/backups"}, "php_version": {http.MethodPatch, "/php"},
	"file_permissions": {http.MethodGet, "/files"}, "spf": {http.MethodPost, "/dns"}, "dkim": {http.MethodGet, "/dns"}, "dmarc": {http.MethodPost, "/dns"},
	"dnssec": {http.MethodGet, "/dns"}, "caa": {http.MethodPost, "/dns"},
}

func wire(ctx context.Context, s scan) scanWire {
	w := scanWire{
		ID: s.id, URL: s.url, ServiceID: s.serviceID, Status: s.status, Score: s.score, Grade: s.grade, Summary: summarize(s.findings),
		Findings: wireAll(ctx, s.findings, s.serviceID), ErrorKey: s.errorKey, StartedAt: s.startedAt, FinishedAt: s.finishedAt,
	}
	if s.finishedAt != nil {
		ms := s.finishedAt.Sub(s.startedAt).Milliseconds()
		w.DurationMS = &ms
	}
	return w
}

func wireAll(ctx context.Context, findings []Finding, serviceID *int64) []findingWire {
	lang := i18n.Lang(ctx)
	all := make([]findingWire, len(findings))
	for i, f := range findings {
		w := findingWire{
			Key: f.Key, Severity: f.Severity, Status: f.Outcome, Title: i18n.T(lang, "scan.title."+f.Key, nil),
			Detail: i18n.T(lang, "scan.detail."+f.Detail, nil), Evidence: f.Evidence,
		}
		if f.Open() {
			text := i18n.T(lang, "scan.fix."+f.Key, nil)
			w.Remediation = &text
			if remedy, ok := remedies[f.Key]; ok && serviceID != nil {
				operation := remedy[0] + " /api/v1/services/" + strconv.FormatInt(*serviceID, 10) + remedy[1]
				w.Operation = &operation
			}
		}
		all[i] = w
	}
	return all
}

// eventWire is a scan in the data of its events.
type eventWire struct {
	ID        int64   `json:"id"`
	URL       string  `json:"url"`
	ServiceID *int64  `json:"service_id"`
	Status    Status  `json:"status"`
	Score     *int    `json:"score"`
	Grade     *string `json:"grade"`
}

// foundWire is the data of FoundEvent.
type foundWire struct {
	ID        int64    `json:"id"`
	ServiceID *int64   `json:"service_id"`
	Host      string   `json:"host"`
	Count     int      `json:"count"`
	Worst     Severity `json:"worst"`
	Key       string   `json:"key"`
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return strings.TrimSuffix(address, "/")
	}
	return u.Hostname()
}

type listIn struct {
	page.Params
	ServiceID int64 `query:"service_id" minimum:"1" doc:"Scans of that service only"`
}

type scanIn struct {
	Body struct {
		URL string `json:"url" minLength:"1" maxLength:"2048" doc:"The site, with http:// or https://. Its path is left out: a scan is of a site" example:"https://shop.example.com/"`
	}
}

type postureIn struct {
	ID int64 `path:"id" minimum:"1" doc:"Id of the service"`
}

// postureWire is how safe a service is (resources, section 10).
type postureWire struct {
	Score          *int          `json:"score" minimum:"0" maximum:"100" doc:"Null before the first scan"`
	Grade          *string       `json:"grade"`
	Parts          []partWire    `json:"parts" doc:"What the score is the sum of"`
	LastScanID     *int64        `json:"last_scan_id"`
	LastScanAt     *time.Time    `json:"last_scan_at"`
	OpenFindings   int           `json:"open_findings"`
	Findings       []findingWire `json:"findings" doc:"Those to mend, the worst first"`
	Trend          []pointWire   `json:"trend" doc:"The last twelve scans, the oldest first"`
	SSL            string        `json:"ssl" doc:"Of the primary domain: none, self_signed, active, expired; more may be added"`
	PHPEOL         bool          `json:"php_eol" doc:"Whether its PHP gets no more security releases"`
	PHPVersion     *string       `json:"php_version"`
	WAF            bool          `json:"waf" doc:"Whether a web application firewall stands in front"`
	BackupsOK      bool          `json:"backups_ok" doc:"Whether there is a complete backup of the last two days"`
	TwoFactorOwner bool          `json:"two_factor_owner" doc:"Whether the owner signs in with a second factor"`
}

type partWire struct {
	Key    string `json:"key" enum:"scan,ssl,php,backups,two_factor"`
	Points int    `json:"points"`
	Most   int    `json:"most"`
}

type pointWire struct {
	At           time.Time `json:"at"`
	Score        int       `json:"score"`
	OpenFindings int       `json:"open_findings"`
}

func postureOf(ctx context.Context, serviceID int64, p posture) *postureWire {
	w := &postureWire{
		Score: p.score, Parts: []partWire{}, Findings: []findingWire{}, Trend: []pointWire{}, SSL: p.Certificate, PHPEOL: p.eol,
		BackupsOK: p.BackupsOK, TwoFactorOwner: p.TwoFactor,
	}
	if p.PHPVersion != "" {
		w.PHPVersion = &p.PHPVersion
	}
	for _, x := range p.parts {
		w.Parts = append(w.Parts, partWire{x.key, x.points, x.most})
	}
	for _, x := range p.trend {
		w.Trend = append(w.Trend, pointWire{x.at, x.score, x.open})
	}
	if p.score != nil {
		letter := grade(*p.score)
		w.Grade = &letter
	}
	if p.last != nil {
		open := p.last.opened()
		w.LastScanID, w.LastScanAt, w.OpenFindings, w.Findings = &p.last.id, p.last.finishedAt, len(open), wireAll(ctx, open, &serviceID)
	}
	return w
}

const scansPath = "/api/v1/security/scans"

// Operations are this section's part of the specification's section "Security & SLA"; resources, section 10.
func (s *Service) Operations() []api.Route {
	return []api.Route{
		// Specification, "Security & SLA": list scans.
		api.Operation[listIn, page.List[scanWire]]{
			ID: "scans.list", Method: http.MethodGet, Path: scansPath, Section: api.Security, Auth: api.Token,
			Description: "What you have had scanned, each with its score, grade, findings and what to do about them. Filter by the service" +
				" that serves the site.",
			Scopes: []string{auth.ScopeServicesRead}, Summary: "List your security scans, the newest first",
			Handle: func(ctx context.Context, p auth.Principal, in *listIn) (*page.List[scanWire], error) {
				rows, total, err := s.list(ctx, p.AccountID, in.ServiceID, in.Params)
				if err != nil {
					return nil, err
				}
				return page.Map(in.Params, total, rows, func(sc scan) scanWire { return wire(ctx, sc) }), nil
			},
		},
		// Specification, "Security & SLA": run a scan synchronously against a URL that the caller owns; 422 on refusal.
		api.Operation[scanIn, scanWire]{
			ID: "scans.run", Method: http.MethodPost, Path: scansPath, Section: api.Security, Auth: api.Token,
			Example: `{"url": "https://shop.example.com/"}`,
			Scopes:  []string{auth.ScopeServicesWrite}, Status: http.StatusCreated, Timeout: scanTime + 3*time.Second,
			Summary: "Scan a site of yours for weaknesses",
			Description: "Answers when the scan is complete, within 25 seconds. The host must be a domain of one of your services that leads " +
				"to it, or its DNS must have the TXT record that the refusal `url_not_owned` names as `record`. An account has one scan at a time.",
			Errors: []*fault.Def{errNotOwned, errInProgress, errUnreachable, fault.TargetNotAllowed, fault.Validation},
			Handle: func(ctx context.Context, p auth.Principal, in *scanIn) (*scanWire, error) {
				sc, err := s.run(ctx, p.AccountID, in.Body.URL)
				if err != nil {
					return nil, err
				}
				w := wire(ctx, sc)
				return &w, nil
			},
		},
		// Specification, "Security & SLA": the security score of a service and its parts.
		api.Operation[postureIn, postureWire]{
			ID: "scans.posture", Method: http.MethodGet, Path: "/api/v1/services/{id}/security", Section: api.Security, Auth: api.Token,
			Description: "What the last scan has found and what is known of the service itself, each with what to do. Nothing is scanned " +
				"anew: run a scan for that.",
			Scopes: []string{auth.ScopeServicesRead}, Summary: "See how safe a service is",
			Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *postureIn) (*postureWire, error) {
				found, err := s.posture(ctx, p.AccountID, in.ID)
				if err != nil {
					return nil, err
				}
				return postureOf(ctx, in.ID, found), nil
			},
		},
	}
}
