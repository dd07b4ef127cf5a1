// Package demo does the main job of a Stead installation as its customer and integrator would: it
// registers, asks for consent, tops up, buys hosting, publishes a real web site and compares what
// the world is served with what was published, byte for byte.
//
// It is a client: it knows the address of an installation, the public documentation and nothing
// else. What it finds out about forms, addresses and prices it reads from the answers, so it works
// against any Stead, here or elsewhere, that offers the demo payment gateway.
package demo

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// Options configure a run. URL and Out are required.
type Options struct {
	// URL is the address of the installation, such as http://127.0.0.1:8080.
	URL string
	// Out gets the report: text for people, or with JSON one object a step.
	Out  io.Writer
	JSON bool
	// SiteDir is the web site to publish. Empty means Debian's documentation of Git when it is
	// installed, else a small site of the program's own.
	SiteDir string
	// Email and Password sign in to an account that exists; empty registers a new one.
	Email, Password string
	// ClientID uses a public application that exists, with a loopback redirect URI; empty registers
	// a new one.
	ClientID string
	// NodeURL replaces the service's origin_url, when that cannot be reached from here.
	NodeURL string
	// Timeout bounds every call, and the waiting for a payment or for provisioning; 0 means two minutes, which is
	// enough on a busy machine.
	Timeout time.Duration
}

// redirectURI is a loopback address (RFC 8252, section 7.3) on which nobody listens: the demo acts as the browser too,
// and reads the code from the redirect itself.
const redirectURI = "http://127.0.0.1/stead-demo"

// scopes are the scopes that the integrator requests.
var scopes = []string{
	"profile", "services:read", "services:write", "orders:read", "orders:write", "wallet:read", "wallet:write",
	"ai:read", "ai:write", "monitors:read", "monitors:write",
}

// demonstration is one run with the results of its steps.
type demonstration struct {
	Options
	base   *url.URL
	report *report
	site   fs.FS

	network *http.Transport
	browser *browser // the customer's
	oauth   *oauth2.Config
	token   *oauth2.Token
	origin  origin

	name, email, password string
	domain                string
	plan                  plan
	purchases             int   // that the wallet has to be enough for
	balance               int64 // USD cents
	order, service        int64
	paidAt                time.Time
	assets                []asset
	unknownName           bool // no DNS leads from the site's domain to the installation
}

// step is one step that must succeed.
type step struct {
	name  string // stable, for programs
	title string
	run   func(ctx context.Context) error
}

// Run does the main job against opts.URL. The error names the first step that failed.
func Run(ctx context.Context, opts Options) error {
	d, err := newDemonstration(opts)
	if err != nil {
		return err
	}
	defer d.network.CloseIdleConnections()
	if err := d.do(ctx, slices.Concat(d.prepare(), d.mainJob(), d.watching())); err != nil {
		return err
	}
	d.report.summary(d.domain, d.origin.String())
	return nil
}

// Measure buys hosting for new domains, one after the other, and returns the time of each from the payment to the first
// byte of a page of the site.
func Measure(ctx context.Context, opts Options, purchases int) ([]time.Duration, error) {
	d, err := newDemonstration(opts)
	if err != nil {
		return nil, err
	}
	defer d.network.CloseIdleConnections()
	d.purchases = purchases
	if err := d.do(ctx, d.prepare()); err != nil {
		return nil, err
	}
	took := make([]time.Duration, purchases)
	for i := range took {
		if took[i], err = d.purchase(ctx); err != nil {
			return nil, fmt.Errorf("purchase %d: %w", i+1, err)
		}
	}
	return took, nil
}

// Authorize takes a customer through sign-in and consent and returns the application's client, whose requests carry the
// token.
func Authorize(ctx context.Context, opts Options) (*http.Client, error) {
	d, err := newDemonstration(opts)
	if err != nil {
		return nil, err
	}
	if err := d.do(ctx, d.consent()); err != nil {
		return nil, err
	}
	return &http.Client{
		Timeout:   d.Timeout,
		Transport: &oauth2.Transport{Source: oauth2.StaticTokenSource(d.token), Base: d.network},
	}, nil
}

func (d *demonstration) do(ctx context.Context, steps []step) error {
	for i, s := range steps {
		d.report.begin(i+1, len(steps), s)
		err := s.run(ctx)
		d.report.end(err)
		if err != nil {
			return fmt.Errorf("step %q: %w", s.name, err)
		}
	}
	return nil
}

// purchase is the shortest way from payment to a served page.
func (d *demonstration) purchase(ctx context.Context) (time.Duration, error) {
	d.domain = "demo-" + randomName() + ".stead.test"
	if err := d.createOrder(ctx); err != nil {
		return 0, err
	}
	paid := now()
	o, _, err := d.payOrder(ctx, "pay-"+randomName())
	if err != nil {
		return 0, err
	}
	d.service = *o.ServiceID
	if err := d.awaitService(ctx); err != nil {
		return 0, err
	}
	_, _, err = d.firstPage(ctx)
	return now().Sub(paid), err
}

func newDemonstration(opts Options) (*demonstration, error) {
	base, err := url.Parse(strings.TrimSuffix(opts.URL, "/"))
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("%q is not the address of an installation; it looks like http://127.0.0.1:8080", opts.URL)
	}
	if opts.Timeout <= 0 {
		opts.Timeout = 2 * time.Minute
	}
	site, err := openSite(opts.SiteDir)
	if err != nil {
		return nil, err
	}
	d := &demonstration{Options: opts, base: base, site: site, report: newReport(opts.Out, opts.JSON), network: newTransport(), purchases: 1}
	tag := randomName()
	d.name, d.email, d.password = "Demo "+tag, "demo-"+tag+"@example.com", "Demo-"+randomName()+randomName()
	d.domain = "demo-" + tag + ".stead.test"
	if opts.Email != "" {
		d.email, d.password = opts.Email, opts.Password
	}
	d.report.hide(d.password)
	return d, d.openBrowser()
}

// openBrowser gives the customer a browser without cookies.
func (d *demonstration) openBrowser() error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	d.browser = newBrowser(&http.Client{Jar: jar, Transport: d.report.recorded(pages, d.network), Timeout: d.Timeout})
	return nil
}

// consent are the steps until the first token.
func (d *demonstration) consent() []step {
	var steps []step
	if d.Email == "" {
		steps = append(steps, step{"register", "A customer registers", d.register})
	}
	if d.ClientID == "" {
		steps = append(steps, step{"application", "An integrator registers an application", d.registerApplication})
	}
	return append(steps,
		step{"discover", "The application reads where to send people (RFC 8414)", d.discover},
		step{"authorize", "The customer signs in and consents; the code becomes a token (PKCE S256)", d.authorize},
		step{"refresh", "The token is refreshed and the refresh token replaced", d.refresh},
	)
}

// prepare are the steps before the first order.
func (d *demonstration) prepare() []step {
	return append(d.consent(),
		step{"catalog", "The application reads what is for sale", d.readCatalog},
		step{"topup", "The customer tops up the wallet on the gateway's page", d.topUp},
	)
}

// mainJob are the other steps: from an order to a served site.
func (d *demonstration) mainJob() []step {
	return []step{
		{"order", "The application orders hosting for a domain", d.createOrder},
		{"pay", "The order is paid once, though the call is sent twice", d.pay},
		{"provision", "The order becomes an active service", d.awaitService},
		{"publish", "The first page is written and served", d.publishPage},
		{"agent", "The AI agent changes the page, and the change is undone", d.letAgentWork},
		{"upload", "A real site is uploaded as an archive and extracted", d.uploadSite},
		{"serve", "Every file of it is served, byte for byte", d.compareSite},
		{"http", "Caching, ranges, compression, types and errors are right", d.checkHTTP},
		{"escape", "Nothing outside of the site can be reached", d.checkEscapes},
	}
}
