package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/idempotency"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/throttle"
)

// Verifier authenticates a bearer token and returns its principal. Its errors are faults of kind Unauthenticated.
type Verifier interface {
	Verify(ctx context.Context, token string) (auth.Principal, error)
}

// Switches tells which sections the operator has switched on.
type Switches interface {
	Enabled(s Section) bool
}

// Config of an Edge. All fields are required unless said otherwise.
type Config struct {
	DB       *db.DB
	Verifier Verifier
	// Keys is needed where operations are mounted that are called with a key.
	Keys KeyVerifier
	// Trail may be nil: requests of resellers are then not recorded.
	Trail    Trail
	Switches Switches
	Limiter  throttle.Limiter
	Answers  *idempotency.Store
	// Default is the throttle of all operations; Policies are others by name.
	Default  throttle.Policy
	Policies map[string]throttle.Policy
	// MaxBody bounds JSON bodies, in bytes.
	MaxBody int64
	// Acting prepares the context of a change by a member of staff who is signed in as a customer, so that it is recorded. It is
	// needed where such callers exist.
	Acting func(ctx context.Context, operation string, p auth.Principal) context.Context
	// StaffSecondFactor refuses staff whose account has no second factor.
	StaffSecondFactor bool
	// Timeout bounds operations other than streams that name no time of their own.
	Timeout time.Duration
	// Recheck is how often a stream asks whether its caller may still call it, and how long a body may take to arrive before its
	// caller is asked for again; 0 means 5 seconds.
	Recheck time.Duration
	// Language of callers who name none, and Currency in which prices are shown
	// to those who have chosen none.
	Language string
	Currency money.Currency
	// Rates is the table by which amounts are shown in display currencies; without it, they are shown in dollars.
	Rates func() *money.Rates
	// BaseURL is the address under which clients reach this server.
	BaseURL string
	// Version stands in the OpenAPI document; Title and Description do, when they are not empty, instead of those of the
	// public interface.
	Version, Title, Description string
	// ClientAddr finds the caller's address behind trusted proxies.
	ClientAddr func(r *http.Request) netip.Addr
}

// Edge serves the mounted operations.
type Edge struct {
	Config
	mux      *http.ServeMux
	registry huma.Registry
	ops      []*declared
	pages    []Page
	sent     []Webhooks
}

// NewEdge makes an edge without operations.
func NewEdge(c Config) *Edge {
	if c.Rates == nil {
		c.Rates = money.DollarsOnly
	}
	c.Recheck = cmp.Or(c.Recheck, defaultRecheck)
	return &Edge{Config: c, mux: http.NewServeMux(), registry: newRegistry()}
}

// Mount adds operations. Any mistake in a declaration is an error.
func (e *Edge) Mount(routes ...Route) error {
	var errs []error
	for _, r := range routes {
		d, err := r.declare()
		if err == nil {
			d.input, err = newInput(e.registry, d.in)
		}
		if err == nil {
			err = e.check(d)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		e.ops = append(e.ops, d)
		e.mux.Handle(d.Method+" "+d.Path, e.handler(d))
	}
	return errors.Join(errs...)
}

func (e *Edge) check(d *declared) error {
	for _, o := range e.ops {
		if o.ID == d.ID {
			return fmt.Errorf("operation %q is mounted twice", d.ID)
		}
	}
	for _, p := range d.input.params {
		if d.Money && p.in == "query" {
			return fmt.Errorf("operation %q: the fingerprint of money is of path and body; %s stands in neither", d.ID, p.name)
		}
	}
	if _, ok := e.Policies[d.throttle]; d.throttle != "" && !ok {
		return fmt.Errorf("operation %q: unknown throttle %q", d.ID, d.throttle)
	}
	if d.Auth == Key && e.Keys == nil {
		return fmt.Errorf("operation %q: nobody verifies keys", d.ID)
	}
	return nil
}

// Page is an operation of the interface that a browser opens and another handler serves. The edge does not mount it and
// only adds it to the document.
type Page struct {
	Path    string
	Section Section
	Get     *huma.Operation
}

// Document adds pages to the OpenAPI document.
func (e *Edge) Document(pages ...Page) { e.pages = append(e.pages, pages...) }

// Operations lists what is mounted, in the order of mounting.
func (e *Edge) Operations() []Info {
	out := make([]Info, len(e.ops))
	for i, d := range e.ops {
		out[i] = d.Info
	}
	return out
}

// ServeHTTP serves an operation. For an unknown path or method it answers the specification's error object.
func (e *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.isPage(r.URL.Path) {
		// For browsers themselves: no script of another origin may ask for it.
		w.Header().Set("Allow", "GET, HEAD, POST")
		r = r.WithContext(e.localize(r, auth.Principal{}))
		e.WriteError(w, r, fault.MethodNotAllowed.New())
		return
	}
	_, internal := authenticatorOf(r.Context())
	if !internal {
		cors(w)
	}
	clean := r.URL.EscapedPath() == path.Clean(r.URL.EscapedPath())
	if clean && r.Method == http.MethodOptions && !internal {
		preflight(w)
		return
	}
	if _, pattern := e.mux.Handler(r); clean && pattern != "" {
		e.mux.ServeHTTP(w, r)
		return
	}
	// No caller is authenticated here, so the throttle counts the address.
	r = r.WithContext(e.localize(r, auth.Principal{}))
	err := e.throttle(w, r, e.addressKey(r), e.Default)
	switch {
	case err != nil:
	case !clean:
		err = fault.NotFound.New()
	default:
		err = e.unrouted(w, r)
	}
	e.WriteError(w, r, err)
}

// isPage tells whether another handler serves the path; what comes here has a method that it does not serve.
func (e *Edge) isPage(path string) bool {
	return slices.ContainsFunc(e.pages, func(p Page) bool { return p.Path == path })
}

// unrouted distinguishes a path that exists with other methods from one that does not exist.
func (e *Edge) unrouted(w http.ResponseWriter, r *http.Request) error {
	var allow []string
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		probe := r.Clone(r.Context())
		probe.Method = m
		if _, pattern := e.mux.Handler(probe); pattern != "" {
			allow = append(allow, m)
		}
	}
	for _, p := range e.pages {
		if p.Path == r.URL.Path && len(allow) == 0 {
			allow = []string{http.MethodGet} // another handler serves it
		}
	}
	if allow == nil {
		return fault.NotFound.New()
	}
	return e.onlyBy(w, allow)
}

// onlyBy refuses a method of a path that has others.
func (e *Edge) onlyBy(w http.ResponseWriter, methods []string) error {
	if slices.Contains(methods, http.MethodGet) {
		methods = slices.Insert(methods, slices.Index(methods, http.MethodGet)+1, http.MethodHead)
	}
	w.Header().Set("Allow", strings.Join(append(methods, http.MethodOptions), ", "))
	return fault.MethodNotAllowed.New()
}

// RefuseMethod refuses a request of a path that other methods serve, in the form of the interface.
func (e *Edge) RefuseMethod(w http.ResponseWriter, r *http.Request, methods ...string) {
	cors(w)
	r = r.WithContext(e.localize(r, auth.Principal{}))
	e.WriteError(w, r, e.onlyBy(w, methods))
}

// Refuse refuses a request in the form of the interface, whatever its path.
func (e *Edge) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	cors(w)
	r = r.WithContext(e.localize(r, auth.Principal{}))
	e.WriteError(w, r, err)
}

// cors lets single-page applications of any origin call the interface: it
// takes bearer tokens only, never cookies.
func cors(w http.ResponseWriter) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Expose-Headers",
		"X-Request-Id, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Idempotency-Replayed, ETag, WWW-Authenticate, Content-Disposition, Content-Range")
}

func preflight(w http.ResponseWriter) {
	w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept-Language, Idempotency-Key, X-Api-Key, If-Match, If-None-Match, If-Range, Range")
	w.Header().Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
}

// handler runs the phases of one operation; see the package comment.
func (e *Edge) handler(d *declared) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note := requestLogOf(r.Context())
		note.operation = d.ID
		// For what only reads too: downloads of archives are in the security log.
		whole := auth.WithCaller(r.Context(), auth.Caller{Address: e.ClientAddr(r).Unmap(), UserAgent: r.UserAgent()})
		ctx, cancel := context.WithTimeout(whole, cmp.Or(d.timeout, e.Timeout))
		defer cancel()
		r = r.WithContext(ctx)
		p, err := e.admit(w, r, d)
		note.principal = p
		r = r.WithContext(e.localize(r, p))
		ended := func() {}
		if err == nil {
			w, ended, err = e.recordCall(w, r, d, p)
		}
		defer ended()
		if err != nil {
			e.WriteError(w, r, err)
			return
		}
		if len(d.Staff) > 0 {
			actor := e.actor(r, p)
			r, whole = r.WithContext(auth.WithActor(r.Context(), actor)), auth.WithActor(whole, actor)
		}
		if p.ActingID != 0 && d.Write {
			actor := e.actor(r, p)
			actor.AccountID = p.ActingID
			acting := func(ctx context.Context) context.Context { return e.Acting(auth.WithActor(ctx, actor), d.ID, p) }
			r, whole = r.WithContext(acting(r.Context())), acting(whole)
		}
		if d.stream != nil {
			e.serveStream(d, p, w, r.WithContext(e.localize(r.WithContext(whole), p)))
			return
		}
		status, body, err := e.run(d, p, w, r)
		if err != nil {
			e.WriteError(w, r, err)
			return
		}
		if d.revalidated() && status == http.StatusOK {
			writeRevalidated(w, r, body)
			return
		}
		writeJSON(w, status, body)
	})
}

// actor is who changes something by a request, for the audit log.
func (e *Edge) actor(r *http.Request, p auth.Principal) auth.Actor {
	a := auth.Actor{
		AccountID: p.AccountID, Role: p.Role, Via: auth.ViaAPI, Address: e.ClientAddr(r).Unmap().String(), RequestID: RequestID(r.Context()),
	}
	if p.FirstParty {
		a.Via = auth.ViaPanel
	}
	return a
}

// admit runs the phases that need no input.
func (e *Edge) admit(w http.ResponseWriter, r *http.Request, d *declared) (auth.Principal, error) {
	p, err := e.identify(r, d)
	if d.survives && broken(err) {
		p, err = auth.Principal{}, nil
	}
	key := p.Key()
	if err != nil || p.IsNobody() {
		key = e.addressKey(r)
	}
	if d.throttleKey != nil {
		key += "/" + d.throttleKey(r)
	}
	policy := e.Default
	if d.throttle != "" {
		policy = e.Policies[d.throttle]
	} else if _, internal := authenticatorOf(r.Context()); internal {
		policy = e.Policies[PanelThrottle]
	} else if d.Auth == Key {
		policy = e.Policies[ResellerThrottle]
	}
	if throttled := e.throttle(w, r, key, policy); throttled != nil && (!d.survives || !broken(throttled)) {
		return p, throttled
	}
	if err != nil {
		return p, err
	}
	if err := e.permits(r, d, p); err != nil {
		return p, err
	}
	if d.Auth == Open && p.OnlyService != 0 {
		// Who was admitted to one service of an account sees what everybody sees, and not the account's prices.
		return auth.Principal{Locale: p.Locale, Currency: p.Currency}, nil
	}
	return p, nil
}

// permits refuses a caller who may not make the request.
func (e *Edge) permits(r *http.Request, d *declared, p auth.Principal) error {
	if err := e.allowsStaff(d, p); err != nil {
		return err
	}
	if p.OnlyService != 0 && !d.isOf(r, p.OnlyService) {
		return fault.NotFound.New()
	}
	return d.allows(p)
}

// permitsStill asks again whether the caller of a request that was admitted may make it.
func (e *Edge) permitsStill(r *http.Request, d *declared) error {
	p, err := e.identify(r, d)
	if err != nil {
		return err
	}
	p.Recent = true // the proof was recent when the request began
	return e.permits(r, d, p)
}

// allowsStaff refuses a caller who is not staff, lacks a second factor, or has another role than the operation needs.
func (e *Edge) allowsStaff(d *declared, p auth.Principal) error {
	switch {
	case len(d.Staff) == 0:
		return nil
	case p.Role == "" || p.ActingID != 0:
		return fault.AdminRequired.New()
	case e.StaffSecondFactor && !p.TwoFactor:
		return fault.SecondFactorRequired.New()
	case !slices.Contains(d.Staff, p.Role):
		return fault.RoleRequired.With(fault.Fields{"roles": d.Staff})
	}
	return nil
}

// commercial are the operations of a service's management that show or change what it costs.
var commercial = []string{"services.get", "services.update", "services.tariffs"}

// isOf reports whether a request is about the management of one service, and not about its price: what a visitor may call
// who was admitted to that service alone.
func (d *declared) isOf(r *http.Request, service int64) bool {
	if d.Auth == Open {
		return true
	}
	managed := d.Section == ServiceManagement || d.Section == Files || d.Section == Content // of the last, templates
	return managed && !d.MovesMoney && !slices.Contains(commercial, d.ID) && r.PathValue("service") == strconv.FormatInt(service, 10)
}

// allows refuses a caller who may not call the operation.
func (d *declared) allows(p auth.Principal) error {
	visitor := d.visitors && p.OnlyService != 0
	switch {
	case d.FirstParty && !p.FirstParty:
		return fault.Forbidden.New()
	case (d.OwnerOnly || d.MovesMoney) && p.ActingID != 0:
		return fault.OwnerRequired.New()
	case d.Session && p.SessionID == 0 && !visitor:
		return fault.Forbidden.New()
	case len(d.Scopes) > 0 && !p.HasAny(d.Scopes):
		return fault.InsufficientScope.With(fault.Fields{"scope": d.Scopes[0]})
	case d.Write && d.Auth != Open && p.Sandbox:
		return fault.SandboxReadOnly.New()
	case d.Write && p.ReadOnly:
		return fault.ReadOnlyKey.New()
	case d.Recent && !p.Recent && !visitor && (d.Session || p.SessionID != 0):
		return fault.ReauthenticationRequired.New()
	}
	return nil
}

// broken tells that an error is ours and not the caller's, such as a database that does not answer.
func broken(err error) bool {
	if err == nil {
		return false
	}
	kind := fault.From(err).Def.Kind
	return kind == fault.KindInternal || kind == fault.KindUnavailable
}

// identify checks that the section is on, and that the token is valid where one is needed. On open operations a valid
// token selects the throttle that counts, and whose prices are shown.
func (e *Edge) identify(r *http.Request, d *declared) (auth.Principal, error) {
	if !e.Switches.Enabled(d.Section) {
		return auth.Principal{}, fault.SectionDisabled.New()
	}
	if d.Auth == Own {
		return auth.Principal{}, nil
	}
	a, ok := authenticatorOf(r.Context())
	if !ok {
		a = e.byHeaders(r)
	}
	if d.Auth == Key {
		if a.VerifyReseller == nil {
			return auth.Principal{}, fault.Forbidden.New()
		}
		return a.VerifyReseller(r.Context())
	}
	p, err := a.Verify(r.Context())
	if err != nil && d.Auth == Open && fault.From(err).Def.Kind == fault.KindUnauthenticated {
		return auth.Principal{}, nil
	}
	return p, err
}

// bearer reads the Authorization header (RFC 6750, section 2.1).
func bearer(r *http.Request) (string, error) {
	h := r.Header.Get("Authorization")
	if h == "" {
		return "", nil
	}
	scheme, token, ok := strings.Cut(h, " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > 512 {
		return "", fault.Unauthenticated.New()
	}
	return token, nil
}

// addressKey names a caller by address. It groups the addresses that one caller can choose from: an IPv6 caller owns at
// least a /64.
func (e *Edge) addressKey(r *http.Request) string {
	a := e.ClientAddr(r).Unmap()
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return "ip" + p.String()
		}
	}
	return "ip" + a.String()
}

// localize puts language and display currency of the answer into the context:
// ?lang=, else the account's locale, else Accept-Language, else the default.
func (e *Edge) localize(r *http.Request, p auth.Principal) context.Context {
	ctx := r.Context()
	if asked, ok := i18n.Lookup(r.URL.Query().Get("lang")); ok {
		ctx = i18n.WithResolvedLang(ctx, asked)
	} else if p.Locale != "" {
		ctx = i18n.WithLang(ctx, p.Locale)
	} else if accepted, ok := i18n.Accepted(r.Header.Get("Accept-Language")); ok {
		ctx = i18n.WithLang(ctx, accepted)
	} else {
		ctx = i18n.WithLang(ctx, e.Language)
	}
	currency, ok := money.ParseCurrency(p.Currency)
	if !ok {
		currency = e.Currency
	}
	return money.WithRates(money.WithCurrency(ctx, currency), e.Rates())
}

// run decodes, calls the function and encodes its answer.
func (e *Edge) run(d *declared, p auth.Principal, w http.ResponseWriter, r *http.Request) (int, []byte, error) {
	in, body, err := e.read(d, r)
	if err != nil {
		return 0, nil, err
	}
	if d.commit != nil {
		return e.runCommit(d, p, w, r, in, body)
	}
	if err := e.recordExternal(r.Context(), d, p); err != nil {
		return 0, nil, err
	}
	out, err := d.handle(r.Context(), p, in)
	if err != nil {
		return 0, nil, err
	}
	return encode(d, out)
}

// read decodes a request. It returns the body as it came, too. A body may arrive long after its caller was admitted, so
// after one that took longer than Recheck the caller is asked for again.
func (e *Edge) read(d *declared, r *http.Request) (in any, body []byte, err error) {
	took := clock.Stopwatch()
	limit := e.MaxBody
	if d.maxBody > 0 {
		limit = d.maxBody
	}
	switch {
	case d.input.body != nil:
		body, err = readBody(r, limit)
	case d.refuseBody():
		body, err = readAll(r, limit)
	}
	if err != nil {
		return nil, nil, err
	}
	if took() > e.Recheck {
		if err := e.permitsStill(r, d); err != nil && (!d.survives || !broken(err)) {
			return nil, nil, err
		}
	}
	in, err = e.decode(d, r, body)
	return in, body, err
}

// recordExternal commits the record of a change by staff who are signed in as a customer, where the change itself is in no
// transaction: the context has the witness that Acting gave it, which writes in an empty one. So there is no change without
// its record, also when the process ends between the two; a record without its change is an attempt that failed.
func (e *Edge) recordExternal(ctx context.Context, d *declared, p auth.Principal) error {
	if !d.External || p.ActingID == 0 {
		return nil
	}
	return e.DB.InTx(ctx, func(context.Context, *db.Tx) error { return nil })
}

// runCommit executes effect and answer in one transaction, and stores the answer under the client's key when it sent
// one.
func (e *Edge) runCommit(d *declared, p auth.Principal, w http.ResponseWriter, r *http.Request, in any, body []byte) (int, []byte, error) {
	var status int
	effect := func(ctx context.Context, tx *db.Tx) (a idempotency.Answer, err error) {
		out, err := d.commit(ctx, tx, p, in)
		if err != nil {
			return a, err
		}
		a.Status, a.Body, err = encode(d, out)
		return a, err
	}
	headers := r.Header.Values(idempotencyKey)
	if len(headers) == 0 {
		var answer []byte
		err := e.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			a, err := effect(ctx, tx)
			status, answer = a.Status, a.Body
			return err
		})
		return status, answer, err
	}
	if len(headers) > 1 {
		return 0, nil, fault.IdempotencyKeyBad.New()
	}
	key, err := idempotency.ParseKey(headers[0])
	if err != nil {
		return 0, nil, err
	}
	fingerprint := sha256.Sum256(body)
	claim := idempotency.Claim{
		Principal: p.Key(), Operation: r.Method + " " + r.URL.Path, Key: key, Fingerprint: fingerprint[:],
	}
	a, replayed, err := e.Answers.Do(r.Context(), claim, effect)
	if replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	return a.Status, a.Body, err
}

// statusChooser is an answer that chooses its own status: the operation's, or 200 for a POST that created nothing, such
// as a preview.
type statusChooser interface{ HTTPStatus() int }

func encode(d *declared, out any) (int, []byte, error) {
	status := d.Status
	if own, ok := out.(statusChooser); ok {
		status = own.HTTPStatus()
	}
	b, err := marshal(out)
	return status, b, err
}

// marshal writes JSON for machines: no HTML escapes, one line.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %v: %w", reflect.TypeOf(v), err)
	}
	return buf.Bytes(), nil
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	for _, of := range []string{"Content-Length", "Content-Encoding", "Content-Disposition", "ETag", "Last-Modified"} {
		h.Del(of) // set by a stream before it was refused
	}
	if status != http.StatusRequestedRangeNotSatisfiable { // a 416 says how much there is
		h.Del("Content-Range")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means only that the client has disconnected
}
