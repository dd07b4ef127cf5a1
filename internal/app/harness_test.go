package app

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// engines runs f against a server on each engine, at the same time as each other and as other tests: nothing may come
// after it in a test. Under the race detector it runs on PostgreSQL alone: the goroutines are the same on SQLite, and it
// takes most of the time. scripts/test runs the others without it.
func engines(t *testing.T, settings map[string]string, f func(t *testing.T, a *App)) {
	t.Helper()
	t.Parallel()
	if !underRace {
		t.Run("sqlite", func(t *testing.T) {
			t.Parallel()
			f(t, start(t, settings))
		})
	}
	if underRace || !*onlySQLite {
		t.Run("postgres", func(t *testing.T) {
			t.Parallel()
			f(t, startOnPostgres(t, settings))
		})
	}
}

// startOnPostgres is start with a new database of PostgreSQL.
func startOnPostgres(t *testing.T, settings map[string]string) *App {
	t.Helper()
	withURL := map[string]string{"database_url": testkit.PostgresURL(t)}
	maps.Copy(withURL, settings)
	return start(t, withURL)
}

// onlySQLite is set by scripts/test, which runs the tests on PostgreSQL under the race detector.
var onlySQLite = flag.Bool("only-sqlite", false, "run what is for both engines on SQLite alone")

// testConfig is a configuration on free ports with a data directory of its own.
// Throttles are off unless settings say otherwise.
func testConfig(t *testing.T, settings map[string]string) config.Config {
	t.Helper()
	all := map[string]string{
		"listen": "127.0.0.1:0", "node_listen": "127.0.0.1:0", "node_tls_listen": "127.0.0.1:0", "ops_listen": "127.0.0.1:0", "dns_listen": "127.0.0.1:0",
		"throttle": "false", "shutdown_timeout": "10s", "allow_loopback_targets": "true",
		"content_library": "false", "dns_resolvers": "127.0.0.1:9", "monitors": "false", "llm_models_file": "testdata/models/models.yaml",
	}
	if settings["database_url"] == "" {
		all["data_dir"] = testkit.DatabaseDir(t)
	} else {
		all["data_dir"] = t.TempDir()
	}
	maps.Copy(all, settings)
	cfg, err := config.Load(config.Input{CommandLine: all})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.SQLite() {
		placeDatabase(t, *cfg)
	}
	return *cfg
}

// placeDatabase gives a new data directory a migrated database.
func placeDatabase(t *testing.T, cfg config.Config) {
	t.Helper()
	err := testkit.PlaceSQLite(DatabaseFile(cfg))
	if err != nil && !errors.Is(err, fs.ErrExist) { // the directory of a server that ran before
		t.Fatal(err)
	}
}

// quietly logs nothing.
func quietly() Options { return Options{Version: "test", Log: slog.New(slog.DiscardHandler)} }

// start runs a server until the test ends.
func start(t *testing.T, settings map[string]string) *App {
	t.Helper()
	opts := quietly()
	if testing.Verbose() {
		opts.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	a, err := New(t.Context(), testConfig(t, settings), opts)
	if err != nil {
		t.Fatal(err)
	}
	run(t, a)
	testkit.Eventually(t, time.Minute, func() bool {
		r, err := http.Get(a.local() + "/readyz")
		if err != nil {
			return false
		}
		_ = r.Body.Close()
		return r.StatusCode == http.StatusOK
	}, "the server is ready")
	return a
}

// run runs a until the test ends.
func run(t *testing.T, a *App) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		eventsArePublished(t, a.db)
		if err := a.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// local is where the test reaches the server, whatever its public address is.
func (a *App) local() string { return address(a.site.ln, false) }

// answer is what a request got.
type answer struct {
	method, path string // of the request

	status int
	header http.Header
	body   []byte
}

// key is the machine key of an error object.
func (a answer) key() string {
	var e struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(a.body, &e) // no object has no key
	return e.Error
}

func (a answer) String() string {
	body := string(a.body)
	if len(body) > 300 {
		body = body[:300] + "…"
	}
	return fmt.Sprintf("%d %s", a.status, strings.TrimSpace(body))
}

// decode reads the JSON of an answer.
func (a answer) decode(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%v in %s", err, a)
	}
}

// request is one call of the API.
type request struct {
	method, path string
	token        string
	body         string
	contentType  string // application/json when there is a body
	header       map[string]string
}

// noRedirect shows redirects instead of following them.
var noRedirect = &http.Client{
	Timeout:       3 * time.Minute, // beside all other tests the race detector makes the OpenAPI document slow
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (a *App) do(t testing.TB, r request) answer {
	t.Helper()
	var body io.Reader
	if r.body != "" {
		body = strings.NewReader(r.body)
	}
	// The path is sent as it is written, also where it is malformed.
	req, err := http.NewRequestWithContext(t.Context(), r.method, a.local(), body)
	if err != nil {
		t.Fatal(err)
	}
	path, query, _ := strings.Cut(r.path, "?")
	req.URL.Opaque = strings.TrimPrefix(a.local(), "http:") + path
	req.URL.RawQuery = query
	if strings.HasPrefix(r.token, "st_se_") { // a browser's session: what the panel sends
		req.URL.Opaque = strings.TrimPrefix(a.local(), "http:") + "/panel" + path
		req.Header.Set("Cookie", "stead_session="+r.token)
		req.Header.Set("X-Stead-Panel", a.holder(t, "/panel/", "stead_session="+r.token))
	} else if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	for k, v := range r.header {
		req.Header.Set(k, v)
	}
	res, err := noRedirect.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := readAnswer(res)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	got := answer{method: r.method, path: r.path, status: res.StatusCode, header: res.Header, body: b}
	isDescribed(t, got)
	return got
}

// readAnswer reads the body of an answer; a stream of what changes does not end, and is left when it is ready.
func readAnswer(res *http.Response) ([]byte, error) {
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return io.ReadAll(res.Body)
	}
	var read bytes.Buffer
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && lines.Text() != "event: ready" {
		read.WriteString(lines.Text() + "\n")
	}
	return read.Bytes(), lines.Err()
}

func (a *App) get(t testing.TB, token, path string) answer {
	t.Helper()
	return a.do(t, request{method: http.MethodGet, path: path, token: token})
}

func (a *App) post(t testing.TB, token, path, body string) answer {
	t.Helper()
	return a.do(t, request{method: http.MethodPost, path: path, token: token, body: body})
}

var counter atomic.Int64

// unique names what tests make.
func unique(prefix string) string { return fmt.Sprintf("%s%d", prefix, counter.Add(1)) }

const verifier = "a-verifier-that-is-long-enough-for-pkce-0123456789"

// client is an application of the test.
type client struct {
	id       string
	redirect string
}

// application makes a public application with all scopes of third parties.
func (a *App) application(t testing.TB, sandbox bool) client {
	t.Helper()
	c := client{id: unique("test-app-"), redirect: "http://127.0.0.1/callback"}
	err := a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := a.oauth.Ensure(ctx, tx, oauth.Seed{
			ClientID: c.id, Name: "Test", RedirectURIs: []string{c.redirect}, Sandbox: sandbox,
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// token lets the account allow the application the scopes, and exchanges the
// code at the token endpoint.
func (a *App) token(t testing.TB, account int64, c client, scopes ...string) string {
	t.Helper()
	challenge := sha256.Sum256([]byte(verifier))
	ask, err := a.oauth.Ask(t.Context(), url.Values{
		"client_id": {c.id}, "redirect_uri": {c.redirect}, "response_type": {"code"}, "scope": {strings.Join(scopes, " ")},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	})
	if err != nil {
		t.Fatal(err)
	}
	to, err := a.oauth.Approve(t.Context(), account, ask, true)
	if err != nil {
		t.Fatal(err)
	}
	back, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return a.exchange(t, c, back)
}

// exchange gives back the code with which an application's visitor came, for a token.
func (a *App) exchange(t testing.TB, c client, back *url.URL) string {
	t.Helper()
	r := a.do(t, request{
		method: http.MethodPost, path: "/oauth/token", contentType: "application/x-www-form-urlencoded",
		body: url.Values{
			"grant_type": {"authorization_code"}, "client_id": {c.id}, "redirect_uri": {c.redirect},
			"code": {back.Query().Get("code")}, "code_verifier": {verifier},
		}.Encode(),
	})
	var tokens struct {
		AccessToken string `json:"access_token"`
	}
	r.decode(t, &tokens)
	if tokens.AccessToken == "" {
		t.Fatalf("no token: %s", r)
	}
	return tokens.AccessToken
}

// thirdParty are all scopes that an application can be given.
func thirdParty() []string {
	var all []string
	for _, s := range auth.Scopes {
		if s != auth.ScopeAdmin {
			all = append(all, s)
		}
	}
	return all
}

// customer is an account with tokens.
type customer struct {
	id    int64
	token string // every scope of third parties
}

// customer makes an account with a balance and a token with every scope.
func (a *App) customer(t testing.TB, c client, balance money.USDCents) customer {
	t.Helper()
	id := a.account(t)
	if balance > 0 {
		a.credit(t, id, balance)
	}
	return customer{id: id, token: a.token(t, id, c, thirdParty()...)}
}

const customersPassword = "correct horse battery"

// account makes an account.
func (a *App) account(t testing.TB) int64 {
	t.Helper()
	p, err := a.accounts.Create(t.Context(), account.NewAccount{
		Email: unique("customer") + "@example.com", Name: "A Customer", Password: customersPassword, Verified: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

// credit gives the account money.
func (a *App) credit(t testing.TB, id int64, amount money.USDCents) {
	t.Helper()
	if _, err := a.admin.Credit(t.Context(), strconv.FormatInt(id, 10), amount, "a test"); err != nil {
		t.Fatal(err)
	}
}

// firstParty makes an application of Stead's own.
func (a *App) firstParty(t *testing.T) client {
	t.Helper()
	c := client{id: unique("test-panel-"), redirect: "http://127.0.0.1/callback"}
	err := a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := a.oauth.Ensure(ctx, tx, oauth.Seed{
			ClientID: c.id, Name: "Panel", RedirectURIs: []string{c.redirect}, FirstParty: true,
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Operations are the operations of the interface that this server serves.
func (a *App) Operations() []api.Info { return a.edge.Operations() }
