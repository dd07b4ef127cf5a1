package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// report prints what happens while it happens.
type report struct {
	out  io.Writer
	json bool

	mu      sync.Mutex
	secrets []string
	current stepReport
	began   time.Time
	started time.Time
}

// stepReport is a step as JSON.
type stepReport struct {
	Number int          `json:"number"`
	Step   string       `json:"step"`
	Title  string       `json:"title"`
	OK     bool         `json:"ok"`
	TookMS float64      `json:"took_ms"`
	Calls  []callReport `json:"calls"`
	Notes  []string     `json:"notes"`
	Error  string       `json:"error,omitempty"`
}

// callReport is one request and what came back.
type callReport struct {
	Method string  `json:"method"`
	URL    string  `json:"url"`
	Status int     `json:"status,omitempty"`
	TookMS float64 `json:"took_ms"`
	Body   string  `json:"body,omitempty"`
	Error  string  `json:"error,omitempty"`
}

func newReport(out io.Writer, asJSON bool) *report {
	return &report{out: out, json: asJSON, started: now()}
}

// now is the time of this machine: the demo measures how long an installation takes, and has no other clock.
func now() time.Time {
	return time.Now() //nolint:forbidigo // a client measures by the wall clock
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (r *report) begin(number, of int, s step) {
	r.current = stepReport{Number: number, Step: s.name, Title: s.title, Calls: []callReport{}, Notes: []string{}}
	r.began = now()
	if !r.json {
		fmt.Fprintf(r.out, "\n%2d/%d  %s\n", number, of, s.title)
	}
}

func (r *report) end(err error) {
	took := now().Sub(r.began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current.OK, r.current.TookMS = err == nil, millis(took)
	if err != nil {
		r.current.Error = r.masked(err.Error())
	}
	switch {
	case r.json:
		b, err := json.Marshal(r.current)
		if err != nil {
			b = []byte(`{"ok":false}`) // plain structs: it cannot happen
		}
		fmt.Fprintf(r.out, "%s\n", b)
	case err != nil:
		fmt.Fprintf(r.out, "       FAILED after %s: %s\n", round(took), r.current.Error)
	default:
		fmt.Fprintf(r.out, "       ok  %s\n", round(took))
	}
}

// note prints something that no single call shows.
func (r *report) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.masked(fmt.Sprintf(format, args...))
	r.current.Notes = append(r.current.Notes, text)
	if !r.json {
		fmt.Fprintf(r.out, "       %s\n", text)
	}
}

func (r *report) summary(domain, origin string) {
	if r.json {
		return
	}
	fmt.Fprintf(r.out, "\nDone in %s. The site stays there:  curl -H 'Host: %s' %s/\n", round(now().Sub(r.started)), domain, origin)
}

func (r *report) call(c callReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.URL, c.Body, c.Error = r.masked(c.URL), r.masked(c.Body), r.masked(c.Error)
	r.current.Calls = append(r.current.Calls, c)
	if r.json {
		return
	}
	came := fmt.Sprint(c.Status)
	if c.Error != "" {
		came = c.Error
	}
	fmt.Fprintf(r.out, "       %-6s %-40s %s %8.1f ms  %s\n", c.Method, shorten(c.URL, 72), came, c.TookMS, shorten(c.Body, 110))
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// shorten keeps the beginning of a text, on one line.
func shorten(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// hide removes a secret from all further output.
func (r *report) hide(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(secret) >= 6 {
		r.secrets = append(r.secrets, secret)
	}
}

// secretMembers are the members of answers and addresses whose values are never printed; the address of a payment page
// is one.
var secretMembers = regexp.MustCompile(`("(?:access_token|refresh_token|client_secret|password|code)":\s*"|[?&](?:code|state)=|/pay/)[^"&?\s]+`)

func (r *report) masked(s string) string {
	s = secretMembers.ReplaceAllString(s, "${1}***")
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	return s
}

// kind says how much of an answer is printed.
type kind int

const (
	pages kind = iota // HTML: its title
	calls             // JSON
)

// recorded is a transport that reports every exchange over the next one.
func (r *report) recorded(k kind, next http.RoundTripper) http.RoundTripper {
	return &recorder{report: r, kind: k, next: next}
}

// newTransport returns answers as the network sends them: nothing is decompressed.
func newTransport() *http.Transport {
	return &http.Transport{Proxy: http.ProxyFromEnvironment, DisableCompression: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second}
}

type recorder struct {
	report *report
	kind   kind
	next   http.RoundTripper
}

// maxAnswer bounds an answer that is kept in memory.
const maxAnswer = 8 << 20

// RoundTrip implements http.RoundTripper. Answers of pages and of the interface are short; they are
// read whole so that they can be printed.
func (t *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	began := now()
	c := callReport{Method: req.Method, URL: req.URL.RequestURI()}
	res, err := t.next.RoundTrip(req)
	if err != nil {
		c.TookMS, c.Error = millis(now().Sub(began)), err.Error()
		t.report.call(c)
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	_ = res.Body.Close() // read as far as needed
	res.Body = io.NopCloser(bytes.NewReader(body))
	c.TookMS, c.Status, c.Body = millis(now().Sub(began)), res.StatusCode, excerpt(res, body, t.kind)
	if err != nil {
		c.Error = err.Error()
	}
	t.report.call(c)
	return res, err
}

func excerpt(res *http.Response, body []byte, k kind) string {
	if to := res.Header.Get("Location"); to != "" {
		return "→ " + to
	}
	if k == pages && strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		if page, err := parsePage(res.Request.URL, bytes.NewReader(body)); err == nil {
			return page.title
		}
	}
	return shorten(string(body), 400)
}
