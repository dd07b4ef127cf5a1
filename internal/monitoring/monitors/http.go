package monitors

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/probe"
)

// monitorWire is a monitor (resources, section 8).
type monitorWire struct {
	ID                 int64              `json:"id"`
	Name               string             `json:"name"`
	Type               probe.Type         `json:"type" enum:"http,keyword,json,ping,tcp,dns,ssl,domain,heartbeat"`
	URL                *string            `json:"url"`
	Host               *string            `json:"host"`
	Port               *int               `json:"port"`
	Method             *string            `json:"method"`
	Headers            map[string]*string `json:"headers" doc:"Names of the headers that are sent; their values are never shown"`
	Body               *string            `json:"body"`
	ExpectedStatuses   []string           `json:"expected_statuses"`
	Keyword            *string            `json:"keyword"`
	KeywordMode        *string            `json:"keyword_mode" enum:"present,absent"`
	JSONPath           *string            `json:"json_path"`
	JSONExpected       *string            `json:"json_expected"`
	DNSType            *string            `json:"dns_type"`
	DNSExpected        *string            `json:"dns_expected"`
	IntervalS          int                `json:"interval_s"`
	TimeoutMS          int                `json:"timeout_ms"`
	Retries            int                `json:"retries"`
	RetryIntervalS     int                `json:"retry_interval_s"`
	FollowRedirects    bool               `json:"follow_redirects"`
	VerifyTLS          bool               `json:"verify_tls"`
	SSLExpiryDays      []int              `json:"ssl_expiry_days"`
	DomainExpiryDays   []int              `json:"domain_expiry_days"`
	MaxResponseMS      *int               `json:"max_response_ms"`
	Regions            []string           `json:"regions" doc:"Where it is checked from"`
	Quorum             *int               `json:"quorum" doc:"How many regions must agree that it is down; null: more than half"`
	RegionResults      []regionWire       `json:"region_results" doc:"What each region found last"`
	AlertAfterS        int                `json:"alert_after_s"`
	ReminderEveryS     int                `json:"reminder_every_s"`
	Channels           []int64            `json:"channels" doc:"Ids of alert channels"`
	MaintenanceWindows []window           `json:"maintenance_windows"`
	Paused             bool               `json:"paused"`
	ServiceID          *int64             `json:"service_id"`
	BuiltIn            bool               `json:"built_in" doc:"The service has it by itself: it is free, and cannot be changed or deleted"`
	Status             Status             `json:"status" enum:"pending,up,degraded,down,maintenance,paused"`
	ErrorKey           *string            `json:"error_key" doc:"Why the last check failed"`
	LastCheckedAt      *time.Time         `json:"last_checked_at"`
	LastStatusChangeAt *time.Time         `json:"last_status_change_at"`
	LastResponseMS     *int64             `json:"last_response_ms"`
	LastBeatAt         *time.Time         `json:"last_beat_at" doc:"The last call of a heartbeat"`
	Uptime             uptimeWire         `json:"uptime"`
	SSL                *sslWire           `json:"ssl"`
	DomainExpiresAt    *time.Time         `json:"domain_expires_at"`
	BadgeToken         string             `json:"badge_token"`
	BadgeURL           string             `json:"badge_url"`
	PushURL            *string            `json:"push_url" doc:"What a heartbeat calls: GET, HEAD or POST, with an exit code behind it when it failed"`
	Tags               []string           `json:"tags"`
	CreatedAt          time.Time          `json:"created_at"`
}

// regionWire is the last check of a region.
type regionWire struct {
	Region     string    `json:"region"`
	Status     string    `json:"status" enum:"up,down"`
	CheckedAt  time.Time `json:"checked_at"`
	ResponseMS *int      `json:"response_ms"`
	ErrorKey   *string   `json:"error_key"`
	Counts     bool      `json:"counts" doc:"False when the region has no vote: it is silent, or so much fails there alone that the fault is its own"`
}

// uptimeWire are percentages with three decimals; null when nothing is known.
type uptimeWire struct {
	Day     *string `json:"24h" example:"99.912"`
	Week    *string `json:"7d"`
	Month   *string `json:"30d"`
	Quarter *string `json:"90d"`
}

type sslWire struct {
	Valid     bool      `json:"valid" doc:"Whether its chain and its name were right"`
	Issuer    string    `json:"issuer"`
	ExpiresAt time.Time `json:"expires_at"`
}

// historyWire is a monitor with what happened to it.
type historyWire struct {
	monitorWire
	History historyPart  `json:"history"`
	Outages []outageWire `json:"outages" doc:"Those of the range, the newest first, at most 100"`
	Checks  []checkWire  `json:"checks" doc:"The last 20; checks are kept for 7 days"`
}

type historyPart struct {
	Range  stretch     `json:"range" enum:"24h,7d,30d,90d"`
	StepS  int         `json:"step_s" doc:"How long each point is"`
	Uptime *string     `json:"uptime"`
	Points []pointWire `json:"points" doc:"The oldest first; times in which nothing was known are left out"`
}

type pointWire struct {
	Start        time.Time `json:"start"`
	Checks       int64     `json:"checks"`
	Failures     int64     `json:"failures"`
	UpS          int64     `json:"up_s"`
	DegradedS    int64     `json:"degraded_s"`
	DownS        int64     `json:"down_s"`
	MaintenanceS int64     `json:"maintenance_s"`
	UnknownS     int64     `json:"unknown_s"`
	Uptime       *string   `json:"uptime"`
	ResponseMS   *int64    `json:"response_ms" doc:"The mean"`
	ResponseMin  *int64    `json:"response_min_ms"`
	ResponseMax  *int64    `json:"response_max_ms"`
}

// outageWire is an outage (resources, section 8).
type outageWire struct {
	ID          int64      `json:"id"`
	StartedAt   time.Time  `json:"started_at"`
	EndedAt     *time.Time `json:"ended_at"`
	DurationS   int64      `json:"duration_s"`
	Cause       string     `json:"cause" doc:"An error_key"`
	Regions     []string   `json:"regions"`
	ConfirmedBy int        `json:"confirmed_by"`
}

// checkWire is a check (resources, section 8).
type checkWire struct {
	ID         int64     `json:"id"`
	MonitorID  int64     `json:"monitor_id"`
	CheckedAt  time.Time `json:"checked_at"`
	Region     string    `json:"region"`
	Status     string    `json:"status" enum:"up,down"`
	HTTPStatus *int      `json:"http_status"`
	ResponseMS *int64    `json:"response_ms"`
	DNSMS      *int64    `json:"dns_ms"`
	ConnectMS  *int64    `json:"connect_ms"`
	TLSMS      *int64    `json:"tls_ms"`
	TTFBMS     *int64    `json:"ttfb_ms"`
	ErrorKey   *string   `json:"error_key"`
	Error      *string   `json:"error"`
}

func wireRegions(m monitor, regs *regions, now time.Time) []regionWire {
	list := []regionWire{}
	voters := regs.voters(&m)
	for _, id := range slices.Sorted(maps.Keys(m.memory.Votes)) {
		v := m.memory.Votes[id]
		w := regionWire{
			Region: regs.name(id), Status: "up", CheckedAt: v.At, ResponseMS: db.OrNull(v.Response), ErrorKey: db.OrNull(v.ErrorKey),
			Counts: voters[id] && now.Sub(v.At) <= m.settings.horizon(),
		}
		if v.Failures > 0 {
			w.Status = "down"
		}
		list = append(list, w)
	}
	return list
}

func orEmpty[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

func (s *Service) wire(m monitor, up *[4]totals, regs *regions) (monitorWire, error) {
	t, now := m.settings.Target, s.Clock.Now()
	w := monitorWire{
		ID: m.id, Name: m.name, Type: t.Type, URL: db.OrNull(t.URL), Host: db.OrNull(t.Host), Port: db.OrNull(t.Port), Method: db.OrNull(t.Method),
		Headers: map[string]*string{}, Body: db.OrNull(t.Body), ExpectedStatuses: orEmpty(t.Statuses), Keyword: db.OrNull(t.Keyword),
		JSONPath: db.OrNull(t.JSONPath), JSONExpected: t.JSONExpected, DNSType: db.OrNull(t.DNSType), DNSExpected: db.OrNull(t.DNSExpected),
		IntervalS: m.settings.IntervalS, TimeoutMS: t.TimeoutMS, Retries: m.settings.Retries, RetryIntervalS: m.settings.RetryIntervalS,
		FollowRedirects: t.Follow, VerifyTLS: t.Verify, SSLExpiryDays: orEmpty(m.settings.SSLDays), DomainExpiryDays: orEmpty(m.settings.DomainDays),
		MaxResponseMS: db.OrNull(m.settings.MaxResponseMS), Regions: regs.of(m.settings, now), Quorum: db.OrNull(m.settings.Quorum),
		RegionResults: wireRegions(m, regs, now),
		AlertAfterS:   m.settings.AlertAfterS, ReminderEveryS: m.settings.ReminderS, Channels: orEmpty(m.settings.Channels),
		MaintenanceWindows: orEmpty([]window(m.settings.Windows)), Paused: m.paused, ServiceID: m.serviceID, BuiltIn: m.builtIn,
		Status: m.status, ErrorKey: m.errorKey, LastCheckedAt: m.lastCheckedAt, LastStatusChangeAt: m.lastStatusChangeAt,
		LastResponseMS: m.lastResponseMS, LastBeatAt: m.lastBeatAt, DomainExpiresAt: m.domainExpiresAt, BadgeToken: m.badgeToken,
		BadgeURL: s.BaseURL + "/badge/" + m.badgeToken, Tags: orEmpty(m.settings.Tags), CreatedAt: m.createdAt,
	}
	for _, name := range m.settings.HeaderNames {
		w.Headers[name] = nil
	}
	if t.Type == probe.Keyword {
		mode := "present"
		if t.KeywordAbsent {
			mode = "absent"
		}
		w.KeywordMode = &mode
	}
	if c := m.certificate; c != nil {
		w.SSL = &sslWire{c.Valid, c.Issuer, c.ExpiresAt}
	}
	if up != nil {
		w.Uptime = uptimeWire{up[0].percent(), up[1].percent(), up[2].percent(), up[3].percent()}
	}
	if m.push != nil {
		token, err := s.Box.Open(m.push, sealedAt(m.id, "push_token"))
		if err != nil {
			return w, err
		}
		address := s.BaseURL + "/heartbeat/" + string(token)
		w.PushURL = &address
	}
	return w, nil
}

// settingsIn are the members of a monitor that its owner sets; those that are left out stay, or are the default.
type settingsIn struct {
	Name               *string            `json:"name,omitempty" maxLength:"100" doc:"The address when it is left out"`
	URL                *string            `json:"url,omitempty" maxLength:"2048" doc:"Of http, keyword and json" example:"https://example.com/"`
	Host               *string            `json:"host,omitempty" maxLength:"253" doc:"Of ping, tcp, dns, ssl and domain" example:"example.com"`
	Port               *int               `json:"port,omitempty" minimum:"1" maximum:"65535" doc:"Of tcp; 443 for ssl when it is left out"`
	Method             *string            `json:"method,omitempty" enum:"GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS" doc:"GET when it is left out"`
	Headers            map[string]*string `json:"headers,omitempty" doc:"Replace those that are there; null keeps the value of that name. Sent to the origin of the address only"`
	Body               *string            `json:"body,omitempty" maxLength:"16384"`
	ExpectedStatuses   []string           `json:"expected_statuses,omitempty" maxItems:"20" doc:"Codes and ranges; 200-299 when they are left out" example:"[\"200-299\"]"`
	Keyword            *string            `json:"keyword,omitempty" maxLength:"500"`
	KeywordMode        *string            `json:"keyword_mode,omitempty" enum:"present,absent" doc:"present when it is left out"`
	JSONPath           *string            `json:"json_path,omitempty" maxLength:"500" doc:"RFC 9535" example:"$.status"`
	JSONExpected       *string            `json:"json_expected,omitempty" maxLength:"500" doc:"As text; any value when it is left out"`
	DNSType            *string            `json:"dns_type,omitempty" maxLength:"10" doc:"A when it is left out"`
	DNSExpected        *string            `json:"dns_expected,omitempty" maxLength:"500" doc:"One of the records; any when it is left out"`
	IntervalS          *int               `json:"interval_s,omitempty" minimum:"1" maximum:"86400" doc:"60, 120, 300, 600, 1800 or 3600; 300 when it is left out"`
	TimeoutMS          *int               `json:"timeout_ms,omitempty" minimum:"500" maximum:"60000" doc:"10000 when it is left out"`
	Retries            *int               `json:"retries,omitempty" minimum:"0" maximum:"10" doc:"How many failures in a row are forgiven; 1 when it is left out"`
	RetryIntervalS     *int               `json:"retry_interval_s,omitempty" minimum:"10" maximum:"3600" doc:"Time to the next try after a failure, and how late a heartbeat may be; 30 when it is left out"`
	FollowRedirects    *bool              `json:"follow_redirects,omitempty" doc:"True when it is left out"`
	VerifyTLS          *bool              `json:"verify_tls,omitempty" doc:"True when it is left out"`
	SSLExpiryDays      []int              `json:"ssl_expiry_days,omitempty" maxItems:"10" doc:"When to warn of the end of the certificate; 30, 14, 7, 1 when they are left out"`
	DomainExpiryDays   []int              `json:"domain_expiry_days,omitempty" maxItems:"10" doc:"Of domain: when to warn of the end of the registration; 30, 14, 7, 1 when they are left out"`
	MaxResponseMS      *int               `json:"max_response_ms,omitempty" minimum:"0" maximum:"60000" doc:"Slower ones are degraded; 0: no bound"`
	Regions            []string           `json:"regions,omitempty" maxItems:"50" doc:"Where it is checked from; control is always among them. Empty, or left out: everywhere, or control alone when headers, a body or a query may hold secrets" example:"[\"control\"]"`
	Quorum             *int               `json:"quorum,omitempty" minimum:"0" maximum:"50" doc:"How many regions must agree that it is down; 0: more than half"`
	AlertAfterS        *int               `json:"alert_after_s,omitempty" minimum:"0" maximum:"86400"`
	ReminderEveryS     *int               `json:"reminder_every_s,omitempty" minimum:"0" maximum:"604800"`
	Channels           []int64            `json:"channels,omitempty" maxItems:"10"`
	MaintenanceWindows []windowIn         `json:"maintenance_windows,omitempty" maxItems:"10"`
	Paused             *bool              `json:"paused,omitempty"`
	ServiceID          *int64             `json:"service_id,omitempty" minimum:"0" doc:"A service of yours that it is about; 0: none"`
	Tags               []string           `json:"tags,omitempty" maxItems:"20"`
}

type createIn struct {
	Body struct {
		settingsIn
		Type probe.Type `json:"type" enum:"http,keyword,json,ping,tcp,dns,ssl,tls,domain,heartbeat" doc:"tls is another word for ssl"`
	}
}

type monitorIn struct {
	Monitor int64 `path:"monitor" minimum:"1" doc:"Id of the monitor"`
}

type updateIn struct {
	monitorIn
	Body settingsIn
}

type getIn struct {
	monitorIn
	Range stretch `query:"range" enum:"24h,7d,30d,90d" default:"24h" doc:"How far back the history goes: hours up to a week, days beyond"`
}

type listIn struct {
	page.Params
	ServiceID *int64 `query:"service_id" minimum:"0" doc:"Only those of that service; 0: only those of no service"`
	Status    string `query:"status" enum:"pending,up,degraded,down,maintenance,paused" doc:"Only those in this state"`
	Type      string `query:"type" enum:"http,keyword,json,ping,tcp,dns,ssl,domain,heartbeat" doc:"Only those of this type"`
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func (in settingsIn) wish() wish {
	w := wish{name: in.Name, headers: in.Headers, paused: in.Paused}
	if in.Headers != nil {
		w.headers = maps.Clone(in.Headers)
	}
	if in.Regions != nil {
		w.regions = &in.Regions
	}
	if in.ServiceID != nil {
		id := db.OrNull(*in.ServiceID)
		w.serviceID = &id
	}
	w.settings = func(s *settings) {
		t := &s.Target
		set(&t.URL, in.URL)
		set(&t.Host, in.Host)
		set(&t.Port, in.Port)
		set(&t.Method, in.Method)
		set(&t.Body, in.Body)
		set(&t.Keyword, in.Keyword)
		set(&t.JSONPath, in.JSONPath)
		set(&t.DNSType, in.DNSType)
		set(&t.DNSExpected, in.DNSExpected)
		set(&t.TimeoutMS, in.TimeoutMS)
		set(&t.Follow, in.FollowRedirects)
		set(&t.Verify, in.VerifyTLS)
		set(&s.IntervalS, in.IntervalS)
		set(&s.Retries, in.Retries)
		set(&s.RetryIntervalS, in.RetryIntervalS)
		set(&s.MaxResponseMS, in.MaxResponseMS)
		set(&s.Quorum, in.Quorum)
		set(&s.AlertAfterS, in.AlertAfterS)
		set(&s.ReminderS, in.ReminderEveryS)
		if in.KeywordMode != nil {
			t.KeywordAbsent = *in.KeywordMode == "absent"
		}
		if in.JSONExpected != nil {
			t.JSONExpected = in.JSONExpected
		}
		if in.ExpectedStatuses != nil {
			t.Statuses = in.ExpectedStatuses
		}
		if in.SSLExpiryDays != nil {
			s.SSLDays = in.SSLExpiryDays
		}
		if in.DomainExpiryDays != nil {
			s.DomainDays = in.DomainExpiryDays
		}
		if in.Channels != nil {
			s.Channels = in.Channels
		}
		if in.MaintenanceWindows != nil {
			s.Windows = nil
			for _, w := range in.MaintenanceWindows {
				s.Windows = append(s.Windows, window(w))
			}
		}
		if in.Tags != nil {
			s.Tags = in.Tags
		}
	}
	return w
}

// Operations are the sections "Monitors" and, but for templates, "Embeds" of the specification.
func (s *Service) Operations() []api.Route {
	const base, named = "/api/v1/monitors", "/api/v1/monitors/{monitor}"
	refusals := []*fault.Def{errTarget, errInterval, errRegion, errLimit, errBuiltIn}
	read, write := []string{auth.ScopeMonitorsRead}, []string{auth.ScopeMonitorsWrite}
	return append([]api.Route{
		// Specification, "Monitors"; resources, section 8.
		api.Operation[listIn, page.List[monitorWire]]{
			ID: "monitors.list", Method: http.MethodGet, Path: base, Section: api.Monitors, Auth: api.Token, Scopes: read,
			Description: "Your monitors with their present state, also those that services have by themselves. Checks and history are in " +
				"the operation for one monitor.",
			Summary: "List your monitors, the newest first", Handle: s.listOperation,
		},
		// Specification, "Monitors"; resources, section 8.
		api.Operation[createIn, monitorWire]{
			ID: "monitors.create", Method: http.MethodPost, Path: base, Section: api.Monitors, Auth: api.Token, Scopes: write,
			Example: `{"type": "keyword", "url": "https://shop.example.com/", "keyword": "Welcome", "interval_s": 60, "retries": 2}`,
			Summary: "Watch an address, a host, a record, a certificate, a domain or a job of yours", Status: http.StatusCreated,
			Description: "The first check follows at once. How many monitors you may have, and how often they are checked, is a matter of the " +
				"plans of your services. Addresses must be public ones.",
			Errors: refusals,
			Handle: func(ctx context.Context, p auth.Principal, in *createIn) (*monitorWire, error) {
				w := in.Body.wish()
				rest := w.settings
				w.settings = func(s *settings) { s.Target.Type = in.Body.Type; rest(s) }
				m, err := s.create(ctx, p.AccountID, w)
				if err != nil {
					return nil, err
				}
				return s.one(ctx, m, nil)
			},
		},
		// Specification, "Monitors"; resources, section 8.
		api.Operation[getIn, historyWire]{
			ID: "monitors.get", Method: http.MethodGet, Path: named, Section: api.Monitors, Auth: api.Token, Scopes: read,
			Description: "State, response times, uptime and outages in `range`: hours up to a week, days beyond. `uptime` is the share of " +
				"known time, and null when nobody has looked. Certificate and expiry of the domain are shown where they are " +
				"watched.",
			Summary: "See a monitor with its history", Handle: s.getOperation,
		},
		// Specification, "Monitors"; resources, section 8.
		api.Operation[updateIn, monitorWire]{
			ID: "monitors.update", Method: http.MethodPatch, Path: named, Section: api.Monitors, Auth: api.Token, Scopes: write,
			Description: "Members that are left out keep their values. `paused` stops the checks; paused time counts as unknown in the " +
				"uptime. The monitor of a service cannot be changed.",
			Example: `{"interval_s": 600}`,
			Summary: "Change, pause or resume a monitor", Errors: refusals,
			Handle: func(ctx context.Context, p auth.Principal, in *updateIn) (*monitorWire, error) {
				m, err := s.update(ctx, p.AccountID, in.Monitor, in.Body.wish())
				if err != nil {
					return nil, err
				}
				up, err := uptimesOf(ctx, s.DB, []int64{m.id}, s.Clock.Now())
				if err != nil {
					return nil, err
				}
				return s.one(ctx, m, up[m.id])
			},
		},
		// Specification, "Monitors"; resources, section 8.
		api.Operation[monitorIn, api.Empty]{
			ID: "monitors.delete", Method: http.MethodDelete, Path: named, Section: api.Monitors, Auth: api.Token, Scopes: write,
			Description: "Its history and badge go with it, and it cannot be undone. The monitor of a service ends with the service and " +
				"cannot be deleted.",
			Summary: "Delete a monitor with its history", Errors: []*fault.Def{errBuiltIn},
			Handle: func(ctx context.Context, p auth.Principal, in *monitorIn) (*api.Empty, error) {
				return &api.Empty{}, s.remove(ctx, p.AccountID, in.Monitor)
			},
		},
	}, append(s.badges(), s.channelOperations()...)...)
}

func (s *Service) one(ctx context.Context, m monitor, up *[4]totals) (*monitorWire, error) {
	regs, err := s.regions(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	w, err := s.wire(m, up, regs)
	return &w, err
}

func (s *Service) listOperation(ctx context.Context, p auth.Principal, in *listIn) (*page.List[monitorWire], error) {
	rows, total, err := s.list(ctx, p.AccountID, filter{serviceID: in.ServiceID, status: in.Status, typ: in.Type}, in.Params)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(rows))
	for i, m := range rows {
		ids[i] = m.id
	}
	up, err := uptimesOf(ctx, s.DB, ids, s.Clock.Now())
	if err != nil {
		return nil, err
	}
	regs, err := s.regions(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	shown := make([]monitorWire, len(rows))
	for i, m := range rows {
		if shown[i], err = s.wire(m, up[m.id], regs); err != nil {
			return nil, err
		}
	}
	return page.Of(in.Params, total, shown), nil
}

// What an answer shows at most.
const (
	shownChecks  = 20
	shownOutages = 100
)

func (s *Service) getOperation(ctx context.Context, p auth.Principal, in *getIn) (*historyWire, error) {
	m, err := s.get(ctx, p.AccountID, in.Monitor)
	if err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	up, err := uptimesOf(ctx, s.DB, []int64{m.id}, now)
	if err != nil {
		return nil, err
	}
	regs, err := s.regions(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	w := &historyWire{Outages: []outageWire{}, Checks: []checkWire{}}
	if w.monitorWire, err = s.wire(m, up[m.id], regs); err != nil {
		return nil, err
	}
	points, step, err := history(ctx, s.DB, m.id, in.Range, now)
	if err != nil {
		return nil, err
	}
	var sum totals
	w.History = historyPart{Range: in.Range, StepS: int(step.Seconds()), Points: make([]pointWire, len(points))}
	for i, p := range points {
		w.History.Points[i] = wirePoint(p)
		sum.add(p.totals)
	}
	w.History.Uptime = sum.percent()
	from, _ := in.Range.since(now)
	found, err := outages(ctx, s.DB, m.id, from, now, shownOutages)
	if err != nil {
		return nil, err
	}
	for _, o := range found {
		w.Outages = append(w.Outages, wireOutage(o, regs, now))
	}
	last, err := lastChecks(ctx, s.DB, m.id, shownChecks)
	if err != nil {
		return nil, err
	}
	for _, c := range last {
		w.Checks = append(w.Checks, wireCheck(c, regs))
	}
	return w, nil
}

func wirePoint(p point) pointWire {
	seconds := func(ms int64) int64 { return (ms + 500) / 1000 }
	w := pointWire{
		Start: p.start, Checks: p.Checks, Failures: p.Failures, UpS: seconds(p.Up), DegradedS: seconds(p.Degraded), DownS: seconds(p.Down),
		MaintenanceS: seconds(p.Maintenance), UnknownS: seconds(p.Unknown), Uptime: p.percent(),
	}
	if p.Responses > 0 {
		mean, least, most := p.ResponseSum/p.Responses, p.ResponseMin, p.ResponseMax
		w.ResponseMS, w.ResponseMin, w.ResponseMax = &mean, &least, &most
	}
	return w
}

func wireOutage(o outage, regs *regions, now time.Time) outageWire {
	end := now
	if o.endedAt != nil {
		end = *o.endedAt
	}
	return outageWire{
		ID: o.id, StartedAt: o.startedAt, EndedAt: o.endedAt, DurationS: max(0, int64(end.Sub(o.startedAt).Seconds())), Cause: o.cause,
		Regions: regs.names(o.regions), ConfirmedBy: o.confirmedBy,
	}
}

func wireCheck(c checked, regs *regions) checkWire {
	status := "down"
	if c.ok {
		status = "up"
	}
	return checkWire{
		ID: c.id, MonitorID: c.monitorID, CheckedAt: c.checkedAt, Region: regs.name(c.region), Status: status, HTTPStatus: c.httpStatus, ResponseMS: c.response,
		DNSMS: c.lookup, ConnectMS: c.connect, TLSMS: c.tls, TTFBMS: c.ttfb, ErrorKey: c.errorKey, Error: c.detail,
	}
}
