package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/testkit"
)

// story is told of every operation that is declared: a new operation is tested by being there.
type story struct {
	name string
	tell func(t *testing.T, w *world)
}

// tell has the stories told in a world, one after the other.
func (w *world) tell(t *testing.T, stories []story) {
	t.Helper()
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			w.t = t
			s.tell(t, w)
		})
	}
}

// Those that change what the world owns come last. What ends before the statements of the sections is told by
// TestEveryOperationRefuses.
func TestEveryOperation(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		newWorld(t, a).tell(t, []story{
			{"a stranger sees and changes nothing", byAStranger},
			{"a sandbox reads all and writes nothing", byASandbox},
			{"lists are capped and counted", listsAreCapped},
			{"a money operation repeated with its key happens once", repeated},
			{"unknown names are refused on every write", unknownNames},
			{"a key that is wrong, for reading, or of the sandbox changes nothing", byAKey},
		})
	})
}

func withoutAToken(t *testing.T, w *world) {
	a := w.App
	before := w.snapshot()
	for _, op := range a.Operations() {
		if !protected(op) {
			continue
		}
		for name, token := range map[string]string{"no": "", "an unknown": "sta_" + strings.Repeat("x", 43), "a strange": "hello"} {
			r := a.do(t, w.example(op, token))
			if r.status != http.StatusUnauthorized || r.key() != "unauthenticated" {
				t.Errorf("%s with %s token: %s", op.ID, name, r)
			}
			challenge := r.header.Get("WWW-Authenticate")
			// A reseller has a key: OAuth would lead its program astray.
			if strings.Contains(challenge, "resource_metadata=") == (op.Auth == api.Key) || (token != "") != strings.Contains(challenge, `error="invalid_token"`) {
				t.Errorf("%s with %s token: challenge %q", op.ID, name, challenge)
			}
		}
	}
	w.unchanged(before, "requests without a token")
}

// A key that is wrong, of the other world, or for reading only.
func byAKey(t *testing.T, w *world) {
	a := w.App
	before := w.snapshot()
	for _, op := range a.Operations() {
		if op.Auth != api.Key {
			continue
		}
		for _, c := range []struct{ key, status, want string }{
			{"", "401", "unauthenticated"},
			{"hello", "401", "api_key_invalid"},
			{"rsk_" + strings.Repeat("x", 43), "401", "api_key_invalid"},
			{w.owner.token, "401", "api_key_invalid"},
		} {
			if r := a.do(t, w.example(op, c.key)); fmt.Sprint(r.status) != c.status || r.key() != c.want {
				t.Errorf("%s with the key %q: %s", op.ID, c.key, r)
			}
		}
		if op.Write {
			if r := a.do(t, w.example(op, w.ownersReadKey)); r.status != http.StatusForbidden || r.key() != "read_only_key" {
				t.Errorf("%s with a key for reading: %s", op.ID, r)
			}
		}
		r := a.do(t, w.example(op, w.ownersTestKey)) // it works, on a world of its own
		if owned(op) && (r.status != http.StatusNotFound || r.key() != "not_found") {
			t.Errorf("%s of the real world with a sandbox key: %s", op.ID, r)
		}
		if strings.Contains(string(r.body), w.domain) {
			t.Errorf("%s shows the sandbox what is real: %s", op.ID, r)
		}
	}
	w.unchanged(before, "keys that open nothing")
}

func withoutTheScope(t *testing.T, w *world) {
	a := w.App
	before := w.snapshot()
	tokens := map[string]string{}
	tokenBeside := func(op api.Info, c client) string {
		scopes := scopesBeside(op)
		name := c.id + strings.Join(scopes, " ")
		if tokens[name] == "" {
			tokens[name] = a.token(t, w.owner.id, c, scopes...)
		}
		return tokens[name]
	}
	for _, op := range a.Operations() {
		if op.FirstParty {
			if r := a.do(t, w.example(op, w.owner.token)); r.status != http.StatusForbidden || r.key() != "forbidden" {
				t.Errorf("%s by a third party: %s", op.ID, r)
			}
		}
		if op.Auth != api.Token {
			continue
		}
		if op.Session { // a browser has every scope, and no token suffices
			if r := a.do(t, w.example(op, w.ownersPanel)); r.status != http.StatusForbidden || r.key() != "forbidden" {
				t.Errorf("%s with a token: %s", op.ID, r)
			}
			continue
		}
		c := w.client
		if op.FirstParty {
			c = w.panel
		}
		r := a.do(t, w.example(op, tokenBeside(op, c)))
		if r.status != http.StatusForbidden || r.key() != "insufficient_scope" {
			t.Errorf("%s with all scopes but %v: %s", op.ID, op.Scopes, r)
		}
		if challenge := r.header.Get("WWW-Authenticate"); !strings.Contains(challenge, `error="insufficient_scope"`) {
			t.Errorf("%s: challenge %q", op.ID, challenge)
		}
	}
	w.unchanged(before, "requests without the scope")
}

func byAStranger(t *testing.T, w *world) {
	a := w.App
	before := w.snapshot()
	for _, op := range a.Operations() {
		r := a.do(t, w.example(op, w.tokenFor(op, w.stranger)))
		if owned(op) {
			if r.status != http.StatusNotFound || r.key() != "not_found" {
				t.Errorf("%s of another's: %s", op.ID, r)
			}
			continue
		}
		for _, secret := range []string{w.domain, "<h1>mine</h1>", `"Mine"`} {
			if strings.Contains(string(r.body), secret) {
				t.Errorf("%s shows a stranger %q: %s", op.ID, secret, r)
			}
		}
	}
	w.unchanged(before, "a stranger")
}

func byASandbox(t *testing.T, w *world) {
	a := w.App
	before := w.snapshot()
	for _, op := range a.Operations() {
		if !protected(op) || op.FirstParty {
			continue
		}
		r := a.do(t, w.example(op, w.sandbox))
		switch {
		case op.Write && (r.status != http.StatusForbidden || r.key() != "sandbox_read_only"):
			t.Errorf("%s by a sandbox: %s", op.ID, r)
		case !op.Write && r.status != http.StatusOK:
			t.Errorf("%s by a sandbox: %s", op.ID, r)
		case !op.Write && before[op.ID] != "" && r.lasting() != before[op.ID]:
			t.Errorf("%s shows a sandbox something else:\n%s\n%s", op.ID, r.body, before[op.ID])
		}
	}
	w.unchanged(before, "a sandbox")
}

func switchedOff(t *testing.T, w *world) {
	a := w.App
	before := w.snapshot()
	sections := map[api.Section]bool{}
	for _, op := range a.Operations() {
		sections[op.Section] = true
	}
	modules := func() string {
		var me struct {
			Modules []string `json:"modules"`
		}
		a.get(t, w.owner.token, "/api/v1/me").decode(t, &me)
		return strings.Join(me.Modules, " ")
	}
	if n := len(strings.Fields(modules())); n != len(sections) {
		t.Errorf("%d modules and %d sections with operations: %q", n, len(sections), modules())
	}
	for section := range sections {
		if !strings.Contains(modules(), string(section)) && section != api.OAuth {
			t.Errorf("%s is on and not among the modules %q", section, modules())
		}
		w.setSection(section, false)
		t.Cleanup(func() { w.setSection(section, true) }) // also when a test ends in the middle
		for _, op := range a.Operations() {
			if op.Section != section {
				continue
			}
			for _, token := range []string{"", w.tokenFor(op, w.owner)} {
				if r := a.do(t, w.example(op, token)); r.status != http.StatusNotFound || r.key() != "section_disabled" {
					t.Errorf("%s while %s is off: %s", op.ID, section, r)
				}
			}
		}
		if section != api.Account && slices.Contains(strings.Fields(modules()), string(section)) {
			t.Errorf("%s is off and among the modules", section)
		}
		w.setSection(section, true)
	}
	w.unchanged(before, "switching sections off and on")
}

func repeated(t *testing.T, w *world) {
	a := w.App
	for _, op := range a.Operations() {
		if !op.Money {
			continue
		}
		// Each story has an order of its own, which only one payment can pay.
		story := func() request {
			w.order = w.newOrder(w.owner, unique("money")+".example.com")
			w.readyFor(op)
			r := w.example(op, w.tokenFor(op, w.owner))
			r.header = map[string]string{"Idempotency-Key": unique("key-")}
			return r
		}

		r := story()
		first := a.do(t, r)
		if first.status != op.Status {
			t.Fatalf("%s: %s", op.ID, first)
		}
		after := w.balance(w.owner)
		again := a.do(t, r)
		if again.status != first.status || string(again.body) != string(first.body) || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s repeated: %s, want %s", op.ID, again, first)
		}
		other := r
		other.body += " " // the same members in other bytes
		if got := a.do(t, other); got.status != http.StatusUnprocessableEntity || got.key() != "idempotency_key_reused" {
			t.Errorf("%s with its key and another body: %s", op.ID, got)
		}
		if got := w.balance(w.owner); got != after {
			t.Errorf("%s repeated moved the balance from %d to %d", op.ID, after, got)
		}

		r = story()
		before := w.balance(w.owner)
		both := atOnce(t, 2, func() answer { return a.do(t, r) })
		fresh := 0
		for _, got := range both {
			switch {
			case got.status == op.Status && got.header.Get("Idempotency-Replayed") == "":
				fresh++
			case got.status == op.Status:
			case got.status == http.StatusConflict && got.key() == "idempotency_in_progress":
			default:
				t.Errorf("%s twice at once: %s", op.ID, got)
			}
		}
		if fresh != 1 {
			t.Errorf("%s twice at once happened %d times: %v", op.ID, fresh, both)
		}
		moved := w.balance(w.owner) - before
		if single := after - (after + moved); op.Path == "/api/v1/orders/{order}/pay" && single <= 0 {
			t.Errorf("%s twice at once moved the balance by %d", op.ID, moved)
		}
		if again := a.do(t, r); again.status != op.Status || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s a third time: %s", op.ID, again)
		}
		if got := w.balance(w.owner) - before; got != moved {
			t.Errorf("%s a third time moved the balance by %d more", op.ID, got-moved)
		}
	}
	if err := auditLedger(t.Context(), a.wallet); err != nil {
		t.Error(err)
	}
	afterATopUp(t, w)
}

// Who was refused for want of money pays with the same key after a top-up, once.
func afterATopUp(t *testing.T, w *world) {
	poor := w.customer(t, w.client, 0)
	order := w.newOrder(poor, unique("poor")+".example.com")
	pay := func() answer {
		return w.do(t, request{
			method: http.MethodPost, path: fmt.Sprintf("/api/v1/orders/%d/pay", order), token: poor.token,
			header: map[string]string{"Idempotency-Key": "the only key"},
		})
	}
	for range 2 {
		if got := pay(); got.key() != "insufficient_funds" {
			t.Fatalf("without money: %s", got)
		}
	}
	w.credit(t, poor.id, 100_000)
	first := pay()
	after := w.balance(poor)
	if again := pay(); first.status != http.StatusOK || string(again.body) != string(first.body) || w.balance(poor) != after || after >= 100_000 {
		t.Errorf("after a top-up: %s, then %s, balance %d", first, again, after)
	}
}

// atOnce runs f n times side by side.
func atOnce(t *testing.T, n int, f func() answer) []answer {
	t.Helper()
	out := make([]answer, n)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			out[i] = f()
		})
	}
	close(begin)
	wg.Wait()
	return out
}

func listsAreCapped(t *testing.T, w *world) {
	a := w.App
	doc := a.document(t)
	lists := 0
	for _, op := range a.Operations() {
		item := doc.Paths[op.Path][strings.ToLower(op.Method)]
		if !slices.ContainsFunc(item.Parameters, func(p parameter) bool { return p.Name == "per_page" }) {
			continue
		}
		lists++
		ask := func(query string) (answer, map[string]any, bool) {
			r := w.example(op, w.tokenFor(op, w.owner))
			join := "?"
			if strings.Contains(r.path, "?") {
				join = "&"
			}
			r.path += join + query
			got := a.do(t, r)
			var list struct {
				Meta map[string]any `json:"meta"`
			}
			got.decode(t, &list)
			return got, list.Meta, strings.Contains(string(got.body), `"data":[]`) || strings.Contains(string(got.body), `"transactions":[]`)
		}
		for query, want := range map[string]float64{"": 20, "per_page=3": 3, "per_page=50": 50, "per_page=51": 50, "per_page=1000000": 50} {
			got, meta, _ := ask(query)
			if got.status != http.StatusOK || meta["per_page"] != want {
				t.Errorf("%s?%s: per_page %v, want %v", op.ID, query, meta["per_page"], want)
			}
			for _, member := range []string{"page", "total", "last_page"} {
				if _, ok := meta[member].(float64); !ok {
					t.Errorf("%s?%s: meta has no %s: %v", op.ID, query, member, meta)
				}
			}
		}
		if got, meta, empty := ask("page=999999"); got.status != http.StatusOK || !empty || meta["page"] != float64(999999) {
			t.Errorf("%s past its last page: %s", op.ID, got)
		}
		for _, query := range []string{"page=0", "page=-1", "page=x", "per_page=0", "per_page=-5", "per_page=1.5", "page=99999999999999999999"} {
			if got, _, _ := ask(query); got.status != http.StatusUnprocessableEntity || got.key() != "validation_failed" {
				t.Errorf("%s?%s: %s", op.ID, query, got)
			}
		}
	}
	if lists < 4 {
		t.Errorf("only %d lists were found", lists)
	}
}

func TestEveryAnswerBearsItsHeaders(t *testing.T) {
	settings := map[string]string{"demo": "true", "throttle": "true", "throttle_public": "100000", "throttle_reseller": "100000", "panel": "sandbox"}
	a := start(t, settings)
	w := newWorld(t, a)
	for _, op := range a.Operations() {
		for _, token := range []string{"", w.tokenFor(op, w.owner)} {
			r := a.do(t, w.example(op, token))
			for _, h := range []string{"X-Request-Id", "RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
				if r.header.Get(h) == "" {
					t.Errorf("%s: no %s in %s", op.ID, h, r)
				}
			}
			if got := r.header.Get("X-Content-Type-Options"); got != "nosniff" {
				t.Errorf("%s: X-Content-Type-Options %q", op.ID, got)
			}
		}
	}
	for _, path := range []string{"/api/v1/nothing", "/api", "/nothing", "/healthz"} {
		if r := a.get(t, "", path); r.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: no X-Request-Id", path)
		}
	}
}

func TestTheThrottleCountsPerCaller(t *testing.T) {
	engines(t, map[string]string{"demo": "true", "throttle": "true", "throttle_public": "5"}, func(t *testing.T, a *App) {
		c := a.application(t, false)
		one, other := a.customer(t, c, 0), a.customer(t, c, 0)
		for i := range 5 {
			if r := a.get(t, one.token, "/api/v1/me"); r.status != http.StatusOK {
				t.Fatalf("request %d: %s", i+1, r)
			}
		}
		r := a.get(t, one.token, "/api/v1/me")
		if r.status != http.StatusTooManyRequests || r.key() != "rate_limited" || r.header.Get("Retry-After") == "" {
			t.Errorf("the sixth request: %s", r)
		}
		if !strings.Contains(r.header.Get("RateLimit-Policy"), "q=5;w=60") {
			t.Errorf("policy %q", r.header.Get("RateLimit-Policy"))
		}
		if r := a.get(t, other.token, "/api/v1/me"); r.status != http.StatusOK {
			t.Errorf("another caller: %s", r)
		}
	})
}

// pay is a payment of the order with a key.
func pay(order int64, token, key string) request {
	return request{
		method: http.MethodPost, path: fmt.Sprintf("/api/v1/orders/%d/pay", order), token: token, body: "{}",
		header: map[string]string{"Idempotency-Key": key},
	}
}

// doors are requests that other handlers serve than the edge.
func (w *world) doors() map[string]request {
	w.t.Helper()
	var topup struct {
		CheckoutURL string `json:"checkout_url"`
	}
	w.post(w.t, w.owner.token, "/api/v1/wallet/topups", `{"amount_usd_cents": 1000, "gateway": "demo"}`).decode(w.t, &topup)
	_, payment, _ := strings.Cut(topup.CheckoutURL, "/pay/")
	script := map[string]string{"Cookie": "stead_session=" + w.ownersSession, "X-Stead-Panel": fmt.Sprintf("account/%d", w.owner.id), "Sec-Fetch-Site": "same-origin"}
	return map[string]request{
		"a payment":        {method: http.MethodGet, path: "/pay/" + payment},
		"a heartbeat":      {method: http.MethodGet, path: "/heartbeat/unknown"},
		"a passkey":        {method: http.MethodPost, path: "/login/passkey/options", body: "{}", header: map[string]string{"Sec-Fetch-Site": "same-origin"}},
		"a confirmation":   {method: http.MethodPost, path: "/panel/confirm", body: `{"password": "x"}`, header: script},
		"an authorization": {method: http.MethodGet, path: "/oauth/authorize?response_type=code&client_id=" + w.client.id},
	}
}

// While the database does not answer, no operation says that the caller is at fault, or that repeating does not help.
func withoutADatabase(t *testing.T, w *world) {
	a := w.App
	type call struct {
		op api.Info
		r  request
	}
	var calls []call
	for _, op := range a.Operations() {
		r := w.example(op, w.tokenFor(op, w.owner))
		if op.Auth == api.Own && op.Method == http.MethodPost {
			r.token, r.contentType = "", "application/x-www-form-urlencoded"
			r.body = "grant_type=refresh_token&refresh_token=x&token=x&client_id=app_nobody" // those that have called are in memory
		}
		calls = append(calls, call{op, r})
	}
	doors := w.doors()
	end := testkit.Outage(t, a.cfg.DatabaseURL.Reveal())
	defer end()
	for name, r := range doors {
		if got := a.do(t, r); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" ||
			strings.HasPrefix(got.header.Get("Content-Type"), "application/json") && got.key() != "unavailable" {
			t.Errorf("%s without a database: %s", name, got)
		}
	}
	node := httptest.NewRecorder()
	a.nodes.Handler().ServeHTTP(node, httptest.NewRequest(http.MethodPost, nodelink.JoinPath, strings.NewReader(`{"secret": "x", "address": "192.0.2.1:8443", "version": "1"}`)))
	if node.Code != http.StatusServiceUnavailable || node.Header().Get("Retry-After") == "" {
		t.Errorf("a node is answered %d %s", node.Code, node.Body)
	}
	answers := make([]answer, len(calls))
	var asking errgroup.Group
	asking.SetLimit(8) // each waits for a connection
	for i, c := range calls {
		asking.Go(func() error {
			answers[i] = a.do(t, c.r)
			return nil
		})
	}
	_ = asking.Wait()
	unavailable := 0
	for i, c := range calls {
		got := answers[i]
		switch {
		case got.status == http.StatusServiceUnavailable && got.key() == "unavailable" && got.header.Get("Retry-After") != "":
			unavailable++
		case c.op.Auth == api.Open && got.status < http.StatusBadRequest: // answers from memory
		default:
			t.Errorf("%s without a database: %s", c.op.ID, got)
		}
	}
	if unavailable < len(calls)*9/10 {
		t.Errorf("only %d of %d operations needed the database", unavailable, len(calls))
	}
	for _, page := range []string{"/login", "/status", "/blog"} {
		if got := a.do(t, request{method: http.MethodGet, path: page}); got.status == http.StatusInternalServerError {
			t.Errorf("%s without a database: %s", page, got)
		}
	}
	end()
	testkit.Eventually(t, time.Minute, func() bool { return a.get(t, w.owner.token, "/api/v1/me").status == http.StatusOK }, "the database answers again")
}
