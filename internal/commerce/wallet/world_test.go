package wallet

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/gateway"
	"stead.dev/stead/internal/port/gateway/bank"
	"stead.dev/stead/internal/port/gateway/demo"
)

var update = flag.Bool("update", false, "write the golden answers anew")

const base = apitest.BaseURL

// world is a wallet with an edge and its payment pages before it.
type world struct {
	*Service
	t     testing.TB
	clk   *clock.Fake
	edge  http.Handler
	pages http.Handler
	told  *told
	logs  *bytes.Buffer
}

// told remembers the events of committed transactions.
type told struct {
	mu     sync.Mutex
	events []outbox.Event
}

func (o *told) Emit(_ context.Context, tx *db.Tx, e outbox.Event) error {
	if _, err := json.Marshal(e.Data); err != nil {
		return err
	}
	tx.OnCommit(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.events = append(o.events, e)
	})
	return nil
}

func (o *told) types() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []string
	for _, e := range o.events {
		list = append(list, e.Type)
	}
	return strings.Join(list, " ")
}

// renewals cost every account three dollars.
type renewals struct{}

func (renewals) DueRenewals(context.Context, db.Querier, int64, int) (money.USDCents, error) {
	return 300, nil
}

// card is a gateway with a fee whose events the tests make themselves.
type card struct{}

func (card) Info() gateway.Info {
	return gateway.Info{
		Key: "stripe", Kind: gateway.KindCard, Currencies: []string{"USD"}, Min: 1, Max: 1_000_000, FeeBasisPoints: 250, FeeFixed: 30,
		Lifetime: 24 * time.Hour,
	}
}

func (card) Start(_ context.Context, t gateway.Topup) (gateway.Started, error) {
	return gateway.Started{Reference: cardReference(t.ID), URL: "https://card.test/pay"}, nil
}

func cardReference(id int64) string { return "cs_" + money.USDCents(id).String() }

func newWorld(t testing.TB, d *db.DB, clk *clock.Fake, gateways ...gateway.Gateway) *world {
	t.Helper()
	box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	if gateways == nil {
		gateways = []gateway.Gateway{demo.New(), bank.New("Stead LLC\nAccount 2020 8000 0000 0001"), card{}}
	}
	w := &world{t: t, clk: clk, told: &told{}, logs: &bytes.Buffer{}}
	w.Service = New(Config{
		DB: d, Clock: clk, Events: w.told, Box: box, Log: slog.New(slog.NewJSONHandler(w.logs, nil)), Gateways: gateways, Queue: jobs.Discard{},
		BaseURL: base + "/", Brand: brand.Fixed(brand.Brand{Name: "Stead <Hosting>"}),
	})
	w.Connect(Needs{Renewals: renewals{}})
	both := []string{auth.ScopeWalletRead, auth.ScopeWalletWrite}
	w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
		"anna":    {AccountID: 1, ApplicationID: 1, Scopes: both},
		"boris":   {AccountID: 2, ApplicationID: 1, Scopes: both, Locale: "ru"},
		"writer":  {AccountID: 1, ApplicationID: 2, Scopes: []string{auth.ScopeWalletWrite}},
		"orders":  {AccountID: 1, ApplicationID: 3, Scopes: []string{auth.ScopeOrdersRead}},
		"sandbox": {AccountID: 1, ApplicationID: 4, Scopes: both, Sandbox: true},
	}, w.Operations())
	w.pages = w.Pages()
	return w
}

// call is a request to the API.
func (w *world) call(token, method, path, body string, headers ...string) (int, []byte) {
	w.t.Helper()
	rec := apitest.Call(w.edge, token, method, path, body, headers...)
	return rec.Code, rec.Body.Bytes()
}

// topupAnswer is what the tests read of a top-up.
type topupAnswer struct {
	ID          int64   `json:"id"`
	Status      string  `json:"status"`
	CheckoutURL string  `json:"checkout_url"`
	FailureKey  *string `json:"failure_key"`
	Reference   *string `json:"gateway_reference"`
	Error       string  `json:"error"`
}

func (w *world) topup(token, gatewayKey string, cents int64, more string) topupAnswer {
	w.t.Helper()
	status, b := w.call(token, http.MethodPost, "/api/v1/wallet/topups",
		`{"amount_usd_cents":`+jsonInt(cents)+`,"gateway":"`+gatewayKey+`"`+more+`}`)
	var a topupAnswer
	if err := json.Unmarshal(b, &a); err != nil {
		w.t.Fatalf("%s: %v", b, err)
	}
	if status != http.StatusCreated && a.Error == "" {
		w.t.Fatalf("top-up: %d %s", status, b)
	}
	return a
}

func jsonInt(n int64) string {
	b, _ := json.Marshal(n) //nolint:errchkjson // an integer
	return string(b)
}

func (w *world) follow(token string, id int64) (a topupAnswer) {
	w.t.Helper()
	status, b := w.call(token, http.MethodGet, "/api/v1/wallet/topups/"+jsonInt(id), "")
	if status != http.StatusOK {
		w.t.Fatalf("top-up %d: %d %s", id, status, b)
	}
	if err := json.Unmarshal(b, &a); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// visit opens a payment page; press sends one of its buttons.
func (w *world) visit(checkout string, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.browse(http.MethodGet, checkout, "", headers...)
}

func (w *world) press(checkout, action string, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.browse(http.MethodPost, checkout, url.Values{"action": {action}}.Encode(), headers...)
}

func (w *world) browse(method, checkout, body string, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(method, strings.TrimPrefix(checkout, base), strings.NewReader(body))
	r.Host = "stead.test"
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.pages.ServeHTTP(rec, r)
	return rec
}

// do runs f in a transaction.
func (w *world) do(f func(ctx context.Context, tx *db.Tx) error) error {
	return w.DB.InTx(context.Background(), f)
}

func (w *world) must(f func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	if err := w.do(f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) credit(accountID int64, cents money.USDCents) {
	w.t.Helper()
	w.must(func(ctx context.Context, tx *db.Tx) error {
		return w.Credit(ctx, tx, Credit{AccountID: accountID, Amount: cents, Type: TypeAdjustment, Reason: "gift", Actor: "test"})
	})
}

func (w *world) charge(accountID int64, cents money.USDCents, orderID int64) error {
	return w.do(func(ctx context.Context, tx *db.Tx) error {
		return w.Charge(ctx, tx, sale.Charge{AccountID: accountID, Amount: cents, Reference: order(orderID), Description: "An order"})
	})
}

func order(id int64) sale.Reference { return sale.Reference{Type: "order", ID: id} }

func (w *world) has(accountID int64, want Balance) {
	w.t.Helper()
	got, err := w.Balance(context.Background(), w.DB, accountID)
	if err != nil || got != want {
		w.t.Errorf("balance of %d: %+v (%v), want %+v", accountID, got, err, want)
	}
}

// sound asserts that the books add up.
func (w *world) sound() {
	w.t.Helper()
	found, err := w.Recompute(context.Background())
	if err != nil || len(found) > 0 {
		w.t.Errorf("the books: %v, %v", found, err)
	}
	var sum int64
	err = w.DB.QueryRow(context.Background(), `SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM wallet_postings`).Scan(&sum)
	if err != nil || sum != 0 {
		w.t.Errorf("the ledger sums to %d (%v)", sum, err)
	}
}

var token = regexp.MustCompile(`pay_[0-9A-Za-z]+`)

// golden compares an answer with the one kept; payment tokens are random.
func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	got := token.ReplaceAllString(pretty.String(), "pay_TOKEN")
	path := filepath.Join("testdata", name+".golden.json")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) { f(t, newWorld(t, d, clk)) })
}

func text(rec *httptest.ResponseRecorder) string {
	b, err := io.ReadAll(rec.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
