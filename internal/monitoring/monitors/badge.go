package monitors

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// badge is a label with a value.
type badge struct {
	label, value, color string
	missing             bool // nothing has the token
}

// The colours of badges, which have enough contrast to white text.
const (
	green  = "#2d7d46"
	yellow = "#8a6d00"
	orange = "#b4550f"
	red    = "#c0302b"
	blue   = "#2563a8"
	grey   = "#6b6b6b"
)

// shieldColors are those of shields.io.
var shieldColors = map[string]string{green: "brightgreen", yellow: "yellow", orange: "orange", red: "red", blue: "blue", grey: "lightgrey"}

// metrics are what a badge can show.
var metrics = map[string]func(m monitor, r stretch, sum totals, now time.Time) badge{
	"uptime":   uptimeBadge,
	"response": responseBadge,
	"status":   statusBadge,
	"tls":      tlsBadge,
}

// shownStretch is the stretch of a badge, or what there is of it while the monitor is younger: nothing is said of a time
// in which it was not there.
func (m monitor) shownStretch(r stretch, now time.Time) string {
	age := max(0, now.Sub(m.createdAt))
	switch {
	case age >= r.length():
		return string(r)
	case age < hour:
		return fmt.Sprintf("%dm", age/time.Minute)
	case age < 2*day:
		return fmt.Sprintf("%dh", age/hour)
	default:
		return fmt.Sprintf("%dd", age/day)
	}
}

// Known times that give an uptime a decimal, and a second one: in less time a moment would look like an outage of hours.
const (
	oneDecimal  = hour
	twoDecimals = day
)

func uptimeBadge(m monitor, r stretch, sum totals, now time.Time) badge {
	b := badge{label: "uptime " + m.shownStretch(r, now), value: "unknown", color: grey}
	millionths, ok := sum.uptime()
	if !ok {
		return b
	}
	known := time.Duration(sum.Up+sum.Degraded+sum.Down) * time.Millisecond
	whole, rest := millionths/10_000, millionths%10_000
	switch {
	case millionths == 1_000_000:
		b.value = "100%"
	case known < oneDecimal:
		// Rounded, and never to all: something was down.
		b.value = fmt.Sprintf("%d%%", min(99, (millionths+5_000)/10_000))
	case known < twoDecimals:
		b.value = fmt.Sprintf("%d.%d%%", whole, rest/1000)
	default:
		b.value = fmt.Sprintf("%d.%02d%%", whole, rest/100)
	}
	switch {
	case millionths >= 999_000:
		b.color = green
	case millionths >= 990_000:
		b.color = yellow
	case millionths >= 950_000:
		b.color = orange
	default:
		b.color = red
	}
	return b
}

func responseBadge(m monitor, r stretch, sum totals, now time.Time) badge {
	b := badge{label: "response " + m.shownStretch(r, now), value: "unknown", color: grey}
	if sum.Responses == 0 {
		return b
	}
	mean := sum.ResponseSum / sum.Responses
	b.value = fmt.Sprintf("%d ms", mean)
	switch {
	case mean <= 500:
		b.color = green
	case mean <= 1000:
		b.color = yellow
	case mean <= 3000:
		b.color = orange
	default:
		b.color = red
	}
	return b
}

func statusBadge(m monitor, _ stretch, _ totals, _ time.Time) badge {
	colors := map[Status]string{Up: green, Degraded: orange, Down: red, Maintenance: blue, Paused: grey, Pending: grey}
	return badge{label: "status", value: string(m.status), color: colors[m.status]}
}

func tlsBadge(m monitor, _ stretch, _ totals, now time.Time) badge {
	b := badge{label: "certificate", value: "unknown", color: grey}
	if m.certificate == nil {
		return b
	}
	days := int(m.certificate.ExpiresAt.Sub(now) / day)
	switch {
	case !m.certificate.ExpiresAt.After(now):
		b.value, b.color = "expired", red
	case !m.certificate.Valid:
		b.value, b.color = "invalid", red
	default:
		b.value = fmt.Sprintf("%d days", days)
		switch {
		case days > 14:
			b.color = green
		case days > 7:
			b.color = yellow
		default:
			b.color = orange
		}
	}
	return b
}

type badgeIn struct {
	Token string `path:"token" maxLength:"100" doc:"The badge token of the monitor"`
	Label string `query:"label" maxLength:"40" doc:"Instead of the name of the metric"`
	Theme string `query:"theme" enum:"auto,light,dark" default:"auto" doc:"Of the left part; auto follows the reader's settings"`
}

type metricIn struct {
	badgeIn
	Metric   string `path:"metric" maxLength:"20" doc:"uptime, response, status or tls"`
	Duration string `path:"duration" maxLength:"10" doc:"24h, 7d, 30d or 90d"`
}

type shieldIn struct {
	Token    string  `path:"token" maxLength:"100" doc:"The badge token of the monitor"`
	Label    string  `query:"label" maxLength:"40" doc:"Text on the left of the badge, in place of the number's name"`
	Metric   string  `query:"metric" enum:"uptime,response,status,tls" default:"uptime" doc:"Which number: uptime in percent, median response time, present state, or days until the certificate ends"`
	Duration stretch `query:"duration" enum:"24h,7d,30d,90d" default:"30d" doc:"Over which time"`
}

// shieldWire is the form of shields.io's endpoint badge.
type shieldWire struct {
	SchemaVersion int    `json:"schemaVersion"`
	Label         string `json:"label"`
	Message       string `json:"message"`
	Color         string `json:"color" example:"brightgreen"`
	CacheSeconds  int    `json:"cacheSeconds"`
}

// badgeAge is how long a badge may be kept, in seconds.
const badgeAge = 60

const svgType = "image/svg+xml"

// badges are the operations of badges, which are open: who knows the token sees what its badge shows, and nothing else.
func (s *Service) badges() []api.Route {
	return []api.Route{
		// Specification, "Embeds".
		api.Operation[badgeIn, api.Empty]{
			ID: "badges.uptime", Method: http.MethodGet, Path: "/badge/{token}", Section: api.Embeds, Auth: api.Open,
			Summary: "See the uptime of 30 days as a badge", ContentTypes: []string{svgType},
			Description: "An unknown token is answered with a grey badge and 404.",
			Stream: func(ctx context.Context, _ auth.Principal, in *badgeIn, w http.ResponseWriter, r *http.Request) error {
				return s.draw(ctx, *in, "uptime", lastMonth, w, r)
			},
		},
		// Specification, "Embeds".
		api.Operation[metricIn, api.Empty]{
			ID: "badges.metric", Method: http.MethodGet, Path: "/badge/{token}/{metric}/{duration}", Section: api.Embeds, Auth: api.Open,
			Summary:     "See a number of a monitor as a badge",
			Description: "The metric is uptime, response, status or tls; the duration 24h, 7d, 30d or 90d.", ContentTypes: []string{svgType},
			Stream: func(ctx context.Context, _ auth.Principal, in *metricIn, w http.ResponseWriter, r *http.Request) error {
				return s.draw(ctx, in.badgeIn, in.Metric, stretch(in.Duration), w, r)
			},
		},
		// Specification, "Embeds".
		api.Operation[shieldIn, shieldWire]{
			ID: "badges.json", Method: http.MethodGet, Path: "/badge/{token}/json", Section: api.Embeds, Auth: api.Open,
			Description: "The form of shields.io's endpoint badge: `label`, `message` and `color`. Whoever knows the token sees this " +
				"number and nothing else.",
			Summary: "See a number of a monitor in the form of an endpoint badge of shields.io",
			Handle: func(ctx context.Context, _ auth.Principal, in *shieldIn) (*shieldWire, error) {
				b, err := s.badge(ctx, in.Token, in.Metric, in.Duration)
				if err == nil && b.missing {
					err = fault.NotFound.New()
				}
				if err != nil {
					return nil, err
				}
				if in.Label != "" {
					b.label = in.Label
				}
				return &shieldWire{1, b.label, b.value, shieldColors[b.color], badgeAge}, nil
			},
		},
	}
}

// badge is what a token's badge shows.
func (s *Service) badge(ctx context.Context, token, metric string, r stretch) (badge, error) {
	missing := badge{label: "monitor", value: "not found", color: grey, missing: true}
	show := metrics[metric]
	known := r == lastDay || r == lastWeek || r == lastMonth || r == lastQuarter
	if show == nil || !known || strings.ContainsRune(token, 0) {
		return missing, nil
	}
	m, err := byBadge(ctx, s.DB, token)
	if errors.Is(err, db.ErrNoRows) {
		return missing, nil
	}
	if err != nil {
		return badge{}, err
	}
	now := s.Clock.Now()
	points, _, err := history(ctx, s.DB, m.id, r, now)
	var sum totals
	for _, p := range points {
		sum.add(p.totals)
	}
	return show(m, r, sum, now), err
}

func (s *Service) draw(ctx context.Context, in badgeIn, metric string, r stretch, w http.ResponseWriter, req *http.Request) error {
	b, err := s.badge(ctx, in.Token, metric, r)
	if err != nil {
		return err
	}
	if in.Label != "" {
		b.label = in.Label
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	return answerBadge(w, req, svgType, []byte(b.svg(in.Theme)), b.missing)
}

func answerBadge(w http.ResponseWriter, r *http.Request, contentType string, body []byte, missing bool) error {
	sum := sha256.Sum256(body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", badgeAge))
	h.Set("ETag", tag)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Del("X-Frame-Options")
	switch {
	case missing:
		w.WriteHeader(http.StatusNotFound)
	case strings.Contains(r.Header.Get("If-None-Match"), tag):
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a reader who has gone
	}
	return nil
}

// Sizes of a badge, in pixels.
const (
	badgeHeight = 20
	badgeFont   = 11
	badgeSide   = 6 // beside each text
)

// svg draws the badge. Each text is as wide as its letters are in the font, and is set to that width, so that it fits with
// every font.
func (b badge) svg(theme string) string {
	left, right := widthOf(b.label, badgeFont), widthOf(b.value, badgeFont)
	px := func(tenths int) string { return fmt.Sprintf("%d.%d", tenths/10, tenths%10) }
	leftBox, rightBox := left+20*badgeSide, right+20*badgeSide
	label, value := html.EscapeString(b.label), html.EscapeString(b.value)
	const light, dark = `.l{fill:#e6e6e6}.t{fill:#24292f}`, `.l{fill:#3b3b3b}.t{fill:#f0f0f0}`
	style := light + `@media(prefers-color-scheme:dark){` + dark + `}`
	switch theme {
	case "light":
		style = light
	case "dark":
		style = dark
	}
	var o strings.Builder
	fmt.Fprintf(&o, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%d" role="img" aria-label="%s: %s">`,
		px(leftBox+rightBox), badgeHeight, label, value)
	fmt.Fprintf(&o, `<title>%s: %s</title><style>%s</style>`, label, value, style)
	fmt.Fprintf(&o, `<clipPath id="c"><rect width="%s" height="%d" rx="3"/></clipPath><g clip-path="url(#c)">`, px(leftBox+rightBox), badgeHeight)
	fmt.Fprintf(&o, `<rect class="l" width="%s" height="%d"/><rect x="%s" width="%s" height="%d" fill="%s"/></g>`,
		px(leftBox), badgeHeight, px(leftBox), px(rightBox), badgeHeight, b.color)
	fmt.Fprintf(&o, `<g font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="%d">`, badgeFont)
	fmt.Fprintf(&o, `<text class="t" x="%d" y="14" textLength="%s" lengthAdjust="spacingAndGlyphs">%s</text>`, badgeSide, px(left), label)
	fmt.Fprintf(&o, `<text x="%s" y="14" fill="#fff" textLength="%s" lengthAdjust="spacingAndGlyphs">%s</text></g></svg>`,
		px(leftBox+10*badgeSide), px(right), value)
	return o.String()
}
