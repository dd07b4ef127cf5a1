package app

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/db"
)

// speedClients call at a time, in rounds of speedRound; speedRounds rounds are made, each in turns with one of the floor.
const (
	speedClients = 64
	speedRound   = 2 * time.Second
	speedRounds  = 5
)

// speedSecret is the secret of the confidential application, random and long as those that are given out.
const speedSecret = "sts_bench_0123456789abcdefghijklmnopqrstuvwxyz"

// BenchmarkIntrospect measures POST /oauth/introspect by a confidential application about a token of its own, beside a
// handler with one select, on the same server.
func BenchmarkIntrospect(b *testing.B) {
	s := newSpeed(b)
	token := s.tokens(b)
	form := url.Values{"client_id": {s.client.id}, "client_secret": {speedSecret}, "token": {token.AccessToken}}.Encode()
	s.compare(b, 1, func(int) (*http.Request, error) { return s.post("/oauth/introspect", form) })
}

// BenchmarkListServices measures GET /services with ten rows, beside a handler with two selects.
func BenchmarkListServices(b *testing.B) {
	s := newSpeed(b)
	account := s.a.account(b)
	for range 10 {
		s.due(b, account)
	}
	token := s.a.token(b, account, s.a.application(b, false), thirdParty()...)
	s.compare(b, 2, func(int) (*http.Request, error) {
		r, err := http.NewRequest(http.MethodGet, s.a.local()+"/api/v1/services", nil)
		if err == nil {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return r, err
	})
}

// speed is a server without throttles that other servers' handlers are compared with.
type speed struct {
	a      *App
	client client
	floor  *httptest.Server
	http   *http.Client
}

func newSpeed(b *testing.B) *speed {
	b.Helper()
	a := benchApp(b, map[string]string{"throttle": "false"})
	serveBench(b, a)
	s := &speed{a: a, client: client{id: unique("speed-"), redirect: "http://127.0.0.1/callback"}}
	err := a.db.InTx(b.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := a.oauth.Ensure(ctx, tx, oauth.Seed{ClientID: s.client.id, Name: "Speed", RedirectURIs: []string{s.client.redirect}, Secret: speedSecret})
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	s.floor = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var names []string
		for range len(strings.Trim(r.URL.Path, "/")) { // as many selects as the path has letters
			var name string
			if err := a.db.QueryRow(r.Context(), `SELECT name FROM oauth_applications WHERE client_id = $1`, s.client.id).Scan(&name); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			names = append(names, name)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(names)
	}))
	b.Cleanup(s.floor.Close)
	s.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: speedClients}}
	b.Cleanup(s.http.CloseIdleConnections)
	return s
}

// tokens are those of a customer who has allowed the application everything.
func (s *speed) tokens(b *testing.B) (t struct {
	AccessToken string `json:"access_token"`
},
) {
	b.Helper()
	challenge := sha256.Sum256([]byte(verifier))
	ask, err := s.a.oauth.Ask(b.Context(), url.Values{
		"client_id": {s.client.id}, "redirect_uri": {s.client.redirect}, "response_type": {"code"}, "scope": {strings.Join(thirdParty(), " ")},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	})
	if err != nil {
		b.Fatal(err)
	}
	to, err := s.a.oauth.Approve(b.Context(), s.a.account(b), ask, true)
	if err != nil {
		b.Fatal(err)
	}
	back, err := url.Parse(to)
	if err != nil {
		b.Fatal(err)
	}
	r, err := s.post("/oauth/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {s.client.id}, "client_secret": {speedSecret},
		"redirect_uri": {s.client.redirect}, "code": {back.Query().Get("code")}, "code_verifier": {verifier},
	}.Encode())
	if err != nil {
		b.Fatal(err)
	}
	body, err := s.send(r)
	if err == nil {
		err = json.Unmarshal(body, &t)
	}
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// due makes a service of an account.
func (s *speed) due(b *testing.B, account int64) {
	b.Helper()
	name := unique("speed") + ".example.com"
	err := s.a.db.InTx(b.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO services (account_id, order_id, type, label, status, domain, search, plan_id, plan_slug, plan_name,
				limits, period_months, auto_renew, renew_price, panel, panel_ref, username, created_at, provisioning_at, provisioned_at, expires_at,
				next_renewal_attempt_at, step_at)
			SELECT $1, 0, 'hosting', $2, 'active', $2, $2, MIN(id), 'start', 'Start', '{}', 1, TRUE, 300, 'sandbox', $2, $2, $3, $3, $3, $4, $4, $4
			FROM catalog_plans`, account, name, tx.Now, tx.Now.Add(20*24*time.Hour))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

func (s *speed) post(path, form string) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodPost, s.a.local()+path, strings.NewReader(form))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r, err
}

func (s *speed) send(r *http.Request) ([]byte, error) {
	res, err := s.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", r.URL.Path, res.StatusCode, body)
	}
	return body, err
}

// compare reports how many calls a second the server answers, and the floor: a handler with so many selects.
func (s *speed) compare(b *testing.B, selects int, call func(n int) (*http.Request, error)) {
	b.Helper()
	bare := func(int) (*http.Request, error) {
		return http.NewRequest(http.MethodGet, s.floor.URL+"/"+strings.Repeat("s", selects), nil)
	}
	for b.Loop() {
		var calls, floors, ratios []float64
		for range speedRounds {
			y := s.round(b, bare)
			x := s.round(b, call)
			calls, floors, ratios = append(calls, x), append(floors, y), append(ratios, x/y)
		}
		for unit, all := range map[string][]float64{"calls/s": calls, "floor/s": floors, "ratio": ratios} {
			slices.Sort(all)
			b.ReportMetric(all[len(all)/2], unit)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// round has the clients call for a while, and returns the calls of a second.
func (s *speed) round(b *testing.B, call func(n int) (*http.Request, error)) float64 {
	b.Helper()
	ctx, stop := context.WithTimeout(b.Context(), speedRound)
	defer stop()
	var (
		wg   sync.WaitGroup
		done atomic.Int64
	)
	began := time.Now()
	for n := range speedClients {
		wg.Go(func() {
			for ctx.Err() == nil && !b.Failed() {
				r, err := call(n)
				if err == nil {
					_, err = s.send(r)
				}
				if err != nil {
					b.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(done.Load()) / time.Since(began).Seconds()
}
