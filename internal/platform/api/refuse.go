package api

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/throttle"
)

// throttle counts the request, writes the RateLimit headers (draft-ietf-httpapi-ratelimit-headers, and the older X-
// ones) and refuses a request above the limit.
func (e *Edge) throttle(w http.ResponseWriter, r *http.Request, key string, p throttle.Policy) error {
	if p.Limit <= 0 {
		return nil // switched off by the operator
	}
	res, err := e.Limiter.Take(r.Context(), key, p)
	if err != nil {
		return err
	}
	reset := seconds(res.Reset)
	window := int(p.Window / time.Second)
	h := w.Header()
	h.Set("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=%d", p.Name, p.Limit, window))
	h.Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", p.Name, res.Remaining, reset))
	h.Set("X-RateLimit-Limit", strconv.Itoa(p.Limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(res.Remaining))
	h.Set("X-RateLimit-Reset", strconv.Itoa(reset))
	if res.Allowed {
		return nil
	}
	retry, refusal := tooMany(res)
	h.Set("Retry-After", strconv.Itoa(retry))
	return refusal
}

// tooMany refuses a request that a limiter did not allow, and says after how many seconds a retry can succeed.
func tooMany(res throttle.Result) (retry int, refusal error) {
	retry = max(1, seconds(res.Reset))
	return retry, fault.RateLimited.With(fault.Fields{"retry_after": retry})
}

// seconds rounds up: a client that retries a moment too early is refused again.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// Throttle counts a request that another handler serves, by its address, as the edge does with its own requests.
func (e *Edge) Throttle(w http.ResponseWriter, r *http.Request, policy string) error {
	return e.throttle(w, r, e.addressKey(r), e.Policies[policy])
}

// RetryUnavailable is after how many seconds a client asks again when something does not answer: the Retry-After of a 503.
const RetryUnavailable = "5"

// Fault is the refusal that a client gets for err. A database that does not answer is unavailable, not a fault of ours
// that repeating does not mend.
func Fault(err error) *fault.Error {
	f := fault.From(err)
	if f.Def == fault.Internal && db.Unavailable(err) {
		return fault.Unavailable.Wrap(err)
	}
	return f
}

// WriteError writes err as the specification's error object. The cause goes to the request's log line and nowhere else.
func (e *Edge) WriteError(w http.ResponseWriter, r *http.Request, err error) {
	f := Fault(err)
	if context.Cause(r.Context()) != nil && f.Def == fault.Internal {
		// The client has disconnected or the time is up; the server is not at fault.
		f = fault.Unavailable.Wrap(err)
	}
	requestLogOf(r.Context()).fail(f)
	h := w.Header()
	switch f.Def.Kind {
	case fault.KindUnauthenticated:
		h.Set("WWW-Authenticate", e.challenge(r, f))
	case fault.KindForbidden:
		if f.Def == fault.InsufficientScope {
			h.Set("WWW-Authenticate", e.challenge(r, f))
		}
	case fault.KindConflict:
		h.Set("Retry-After", "1")
	case fault.KindUnavailable:
		h.Set("Retry-After", RetryUnavailable)
	}
	writeJSON(w, f.Def.Kind.Status(), e.errorBody(r.Context(), f))
}

// challenge tells a client what to do about the refusal (RFC 6750, section 3)
// and where the protected resource is described (RFC 9728, section 5.1).
func (e *Edge) challenge(r *http.Request, f *fault.Error) string {
	var b strings.Builder
	if strings.HasPrefix(r.URL.Path, resellerBase) {
		b.WriteString(`Bearer realm="API key"`) // resellers have keys: OAuth would lead their programs astray
		if r.Header.Get("Authorization") != "" {
			b.WriteString(`, error="invalid_token"`)
		}
		return b.String()
	}
	resource := slices.ContainsFunc(e.ops, func(d *declared) bool { return d.resource && d.Path == r.URL.Path })
	path := ""
	if resource {
		path = r.URL.Path
	}
	fmt.Fprintf(&b, "Bearer resource_metadata=%q", e.BaseURL+"/.well-known/oauth-protected-resource"+path)
	if resource {
		fmt.Fprintf(&b, ", scope=%q", strings.Join(auth.ReadScopes(), " "))
	}
	switch {
	case f.Def == fault.InsufficientScope:
		fmt.Fprintf(&b, ", error=\"insufficient_scope\", scope=%q", f.Fields["scope"])
	case r.Header.Get("Authorization") != "":
		b.WriteString(`, error="invalid_token"`)
	}
	return b.String()
}

// errorBody is the error object. Additional members never replace the
// specified ones.
func (e *Edge) errorBody(ctx context.Context, f *fault.Error) []byte {
	lang := i18n.Lang(ctx)
	body := map[string]any{}
	maps.Copy(body, f.Fields)
	body["error"] = f.Def.Key
	body["message"] = i18n.T(lang, f.TextID(), f.Fields)
	if id := RequestID(ctx); id != "" {
		body["request_id"] = id
	}
	if len(f.Invalid) > 0 {
		fields := map[string][]string{}
		for name, texts := range f.Invalid {
			for _, t := range texts {
				text := t.Plain
				if t.ID != "" {
					text = i18n.T(lang, t.ID, t.Data)
				}
				fields[name] = append(fields[name], text)
			}
		}
		body["errors"] = fields
	}
	b, err := marshal(body)
	if err != nil {
		// Only a Fields value that is not JSON can cause this; the key is still right.
		b = []byte(`{"error":"` + f.Def.Key + `","message":""}` + "\n")
	}
	return b
}
