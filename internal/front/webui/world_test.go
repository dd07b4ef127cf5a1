package webui_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/catalog"
	"stead.dev/stead/internal/content/reviews"
	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/content/templates"
	"stead.dev/stead/internal/front/webui"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/notifications"
	"stead.dev/stead/internal/names/domains"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox/outboxtest"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/mailer"
)

const password = "correct horse battery"

type everySection struct{}

func (everySection) Enabled(api.Section) bool { return true }

// postbox keeps what the section's jobs send.
type postbox struct {
	mu   sync.Mutex
	sent []mailer.Message
}

func (p *postbox) Send(_ context.Context, m mailer.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, m)
	return nil
}

// link waits for a mail with a link to path and answers the link.
func (p *postbox) link(t *testing.T, base, path string) (found string) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, m := range p.sent {
			if _, rest, ok := strings.Cut(m.Text, base+path); ok {
				token, _, _ := strings.Cut(rest, "\n")
				found = base + path + token
				return true
			}
		}
		return false
	}, "a mail with a link to "+path)
	return found
}

// site is the pages, served, with the account section and its jobs behind them.
type site struct {
	url      string
	accounts *account.Service
	clk      *clock.Fake
	post     *postbox

	db        *db.DB
	api       *api.Edge // without operations
	terminals *terminals
	clients   *clients
	notices   *notifications.Service
}

// oneReseller is account 1.
type oneReseller struct{}

func (oneReseller) Resells(_ context.Context, accountID int64) (bool, error) {
	return accountID == 1, nil
}

func (oneReseller) Principal(_ context.Context, accountID int64, _ bool) (auth.Principal, error) {
	return auth.Principal{AccountID: accountID}, nil
}

// hostings are the services of the account that registered first.
type hostings []webui.Hosting

func (h hostings) OneHosting(_ context.Context, accountID, id int64) (webui.Hosting, error) {
	for _, one := range h {
		if accountID == 1 && one.ID == id {
			return one, nil
		}
	}
	return webui.Hosting{}, fault.NotFound.New()
}

type shelf []catalog.Shown

func (s shelf) Shelf(context.Context) ([]catalog.Shown, error) { return s, nil }

// dollars is money as pages show it.
func dollars(text string) money.Money { return money.Money{Display: text} }

// names is a shop in which shop.com alone is free.
type names struct{}

func (names) Offers(_ context.Context, written string) ([]domains.Offer, error) {
	return []domains.Offer{
		{Name: "shop.com", Free: true, Price: dollars("$12.00"), Renew: dollars("$14.00")},
		{Name: written, Reason: "taken"},
		{Name: "shop.uz", Reason: "a reason of tomorrow"},
	}, nil
}

func (names) Zones(context.Context) ([]domains.Zone, error) {
	return []domains.Zone{{Name: "com", Register: dollars("$12.00"), Renew: dollars("$14.00")}}, nil
}

// readers are the owners of all accounts.
type readers struct{}

func (readers) Recipient(context.Context, db.Querier, int64) (notifications.Recipient, error) {
	return notifications.Recipient{Email: "anna@example.com", Locale: "en", Open: true}, nil
}

// oneMachine is what the status asks of others.
type oneMachine struct{}

func (oneMachine) Machines(context.Context) ([]status.Machine, error) {
	return []status.Machine{{Up: true}}, nil
}
func (oneMachine) Audience(context.Context, db.Querier) ([]int64, error) { return nil, nil }

func newSite(t *testing.T) *site {
	t.Helper()
	clk := clock.NewFake(testkit.Start)
	d := testkit.SQLite(t, clk)
	log := slog.New(slog.DiscardHandler)
	mux := http.NewServeMux()
	server := httptest.NewServer(api.Outer(log, clk, nil, mux))
	t.Cleanup(server.Close)
	s := &site{url: server.URL, clk: clk, post: &postbox{}}
	queue, err := jobs.New(d, jobs.Config{MaxWorkers: 2, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	s.accounts = newAccounts(t, d, s, queue, log)
	s.accounts.Register(queue.Workers())
	if err := queue.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := queue.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	s.db, s.terminals = d, &terminals{tickets: map[string][3]int64{}}
	s.api = api.NewEdge(api.Config{
		DB: d, Switches: everySection{}, Limiter: throttle.New(d, clk), Timeout: time.Minute, Recheck: 5 * time.Millisecond, Language: "en", BaseURL: s.url,
		ClientAddr: func(*http.Request) netip.Addr { return netip.MustParseAddr("203.0.113.7") },
	})
	s.clients = &clients{links: map[string]bool{}, visits: map[string]webui.ClientVisit{}}
	s.notices = notifications.New(notifications.Config{
		DB: d, Queue: jobs.Discard{}, Recipients: readers{}, Mailer: s.post, Brand: brand.Fixed(brand.Brand{Name: "Stead & Sons"}), Letters: &mailer.Writer{},
		BaseURL: s.url, Box: box,
	})
	shown := status.New(status.Config{
		DB: d, Clock: clk, Events: &outboxtest.Recorder{}, Log: log, Machines: oneMachine{}, Audience: oneMachine{}, Parts: []string{status.API},
		Queue: jobs.Discard{}, Mailer: s.post, Box: box, Limiter: throttle.New(d, clk), BaseURL: s.url, Brand: brand.Fixed(brand.Brand{Name: "Stead & Sons"}), Letters: &mailer.Writer{Brand: brand.Fixed(brand.Brand{Name: "Stead & Sons"}), BaseURL: s.url},
	})
	first := dollars("$1.00")
	var gallery templates.Config
	gallery.DB = d
	rates, err := money.NewRates(map[money.Currency]money.Rate{money.UZS: 12_500 * money.MicrosPerUnit})
	if err != nil {
		t.Fatal(err)
	}
	webui.New(webui.Deps{
		Status: shown, Notifications: s.notices, Templates: templates.New(gallery), Reviews: reviews.New(reviews.Config{DB: d}),
		Services: hostings{
			{ID: 10, Name: "Blog <1>", Domain: "blog.example.com", Status: "active"},
		}, Terminals: s.terminals, Recheck: 5 * time.Millisecond,
		Clients:   s.clients,
		Resellers: oneReseller{}, Sections: everySection{},
		Accounts: s.accounts, Clock: clk, Log: log, BaseURL: s.url, Brand: brand.Fixed(brand.Brand{Name: "Stead & Sons", Support: "help@stead.test"}), Language: "en",
		ClientAddr: func(*http.Request) netip.Addr { return netip.MustParseAddr("203.0.113.7") },
		API:        s.api,
		Domains:    names{},
		Rates:      func() *money.Rates { return rates },
		Currency:   money.USD,
		Demo:       &webui.Demo{Email: "demo@example.com", Password: "demo password"},
		Catalog: shelf{{Name: "Hosting <b>", Features: []string{"Quick & quiet"}, Plans: []catalog.ShownPlan{
			{
				Slug: "start", Name: "Start", Limits: catalog.Limits{DiskMB: 512, BandwidthGB: 10, Sites: 1, MemoryMB: 20480}, Uptime: "99.900",
				Periods: []catalog.ShownPeriod{
					{Months: 1, Price: dollars("$3.00"), FirstPeriod: &first, Month: dollars("$3.00")},
					{Months: 12, Price: dollars("$30.00"), Month: dollars("$2.50"), SavedPercent: 16},
				},
			},
			{Slug: "most", Name: "Most", Limits: catalog.Limits{DiskMB: -1, BandwidthGB: -1, Sites: -1}, Periods: []catalog.ShownPeriod{{Months: 1, Price: dollars("$5.00"), Month: dollars("$5.00")}}},
		}}},
	}).Routes(mux)
	return s
}

func newAccounts(t *testing.T, d *db.DB, s *site, queue jobs.Enqueuer, log *slog.Logger) *account.Service {
	t.Helper()
	box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := account.New(account.Config{
		DB: d, Clock: s.clk, Box: box, Queue: queue, Signals: signal.NewHub(d, s.clk, log), Limiter: throttle.New(d, s.clk),
		Mailer: s.post, Modules: everySection{}, Limits: account.DefaultLimits(), BaseURL: s.url, Brand: brand.Fixed(brand.Brand{Name: "Stead & Sons"}), Letters: &mailer.Writer{Brand: brand.Fixed(brand.Brand{Name: "Stead & Sons"}), BaseURL: s.url},
		Language: "en", Currency: "USD", Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	accounts.Connect(account.Needs{Grants: account.NoGrants{}, Pushes: account.NoGrants{}, Referrals: account.NoReferrals{}})
	return accounts
}

// browser is a visitor: it keeps cookies and does not follow redirects.
type browser struct {
	t      *testing.T
	site   *site
	client *http.Client
}

func (s *site) browser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, site: s, client: &http.Client{
		Jar:           jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is what a page said.
type answer struct {
	status int
	to     string // where it redirects
	body   string
	header http.Header
}

func (b *browser) do(r *http.Request) answer {
	b.t.Helper()
	res, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if res.StatusCode >= 500 {
		b.t.Errorf("%s %s: %d %s", r.Method, r.URL, res.StatusCode, body)
	}
	return answer{res.StatusCode, res.Header.Get("Location"), string(body), res.Header}
}

func (b *browser) get(path string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.address(path), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(r)
}

func (b *browser) address(path string) string {
	if strings.HasPrefix(path, "http") {
		return path
	}
	return b.site.url + path
}

// post sends a form as a browser on this site does; headers are pairs.
func (b *browser) post(path string, fields url.Values, headers ...string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.address(path), strings.NewReader(fields.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return b.do(r)
}

func (b *browser) cookie(name string) string {
	u, err := url.Parse(b.site.url)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.client.Jar.Cookies(u) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// holder is what scripts of the panel send for the account that is signed in; empty without one.
func (b *browser) holder() string {
	s, err := b.site.accounts.Authenticate(b.t.Context(), b.cookie("stead_session"))
	if err != nil {
		return ""
	}
	return "account/" + strconv.FormatInt(s.Account.ID, 10)
}

// register makes an account and stays signed in.
func (b *browser) register(email string) {
	b.t.Helper()
	a := b.post("/register", url.Values{"name": {"Anna"}, "email": {email}, "password": {password}})
	if a.status != http.StatusSeeOther || a.to != "/panel/" {
		b.t.Fatalf("%d %s %s", a.status, a.to, a.body)
	}
}

func (b *browser) login(email, pass, next string) answer {
	b.t.Helper()
	return b.post("/login", url.Values{"email": {email}, "password": {pass}, "next": {next}})
}
