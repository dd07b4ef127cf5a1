package app

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"

	"stead.dev/stead/internal/content/announcements"
	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/testkit"
)

// demo settings give a test a catalog and gateways; simulated ones a panel that has everything, too.
var (
	demo      = map[string]string{"demo": "true", "bank_transfer_details": "IBAN of the test"}
	simulated = map[string]string{"demo": "true", "bank_transfer_details": "IBAN of the test", "panel": config.PanelSandbox}
)

// world is a server with a customer who owns one of everything, and a stranger.
type world struct {
	*App
	t                                                     *testing.T
	client, panel                                         client // a third party's application, and Stead's own
	owner                                                 customer
	stranger                                              customer
	sandbox                                               string // token of the owner by a sandbox application
	ownersPanel                                           string // token of the owner by Stead's own application
	strangersPanel                                        string
	ownersSession, strangersSession                       string // tokens of browsers in which they are signed in
	plan                                                  int64
	otherPlan                                             int64  // another one of the same product
	ownersKey, ownersTestKey, ownersReadKey, strangersKey string // of the reseller API
	webhook                                               int64  // an endpoint of the owner's
	event                                                 string // that was sent to it
	domain                                                string
	ownCertificate                                        string // request that installs one for the domain
	service                                               int64
	hostedDomain                                          int64 // an addon of the service
	dnsRecord                                             int64 // of the service's zone
	database                                              int64 // active
	cronJob                                               int64
	mailbox                                               int64 // active
	ftpAccount                                            int64 // active
	sshKey                                                int64
	backup                                                int64 // of the service, complete
	order                                                 int64 // pending
	paid                                                  int64
	invoice                                               int64 // of paid
	topup                                                 int64
	app                                                   int64 // application of the owner
	device                                                int64 // of the owner
	registration                                          int64 // a domain of the owner
	claim                                                 int64 // of the service's domain
	ended                                                 int64 // see restorable
	addon                                                 int64 // of the service
	monitor                                               int64
	alertChannel                                          int64
	insight                                               int64
	agent                                                 agentWork
	announcement                                          int64  // for everybody
	ticket, ticketFile                                    int64  // of the owner
	password, spareKey                                    int64  // of the service, and a reseller's key that nothing uses
	badge                                                 string // token of the monitor's badge
}

func newWorld(t *testing.T, a *App) *world {
	t.Helper()
	w := &world{App: a, t: t, client: a.application(t, false), panel: a.firstParty(t)}
	w.owner = a.customer(t, w.client, 100_000)
	w.stranger = a.customer(t, w.client, 100_000)
	w.sandbox = a.token(t, w.owner.id, a.application(t, true), thirdParty()...)
	w.ownersPanel = a.token(t, w.owner.id, w.panel, thirdParty()...)
	w.strangersPanel = a.token(t, w.stranger.id, w.panel, thirdParty()...)
	w.ownersSession, w.strangersSession = w.aSession(w.owner), w.aSession(w.stranger)
	w.ownersKey, w.ownersTestKey, w.ownersReadKey = w.aKey(w.owner, reseller.NewKey{}), w.aKey(w.owner, reseller.NewKey{Sandbox: true}), w.aKey(w.owner, reseller.NewKey{ReadOnly: true})
	w.strangersKey = w.aKey(w.stranger, reseller.NewKey{})
	w.webhook, w.event = w.aWebhook()
	w.plan = w.aPlan()

	w.domain = unique("site") + ".example.com"
	w.paid = w.newOrder(w.owner, w.domain)
	if r := a.post(t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d/pay", w.paid), "{}"); r.status != http.StatusOK {
		t.Fatalf("pay: %s", r)
	}
	w.invoice = w.invoiceOf(w.paid)
	w.service = w.serviceOf(w.owner)
	w.claim = w.aClaim()
	w.tag()
	w.otherPlan = w.aTariff()
	w.hostedDomain = w.newHostedDomain()
	w.ownCertificate = ownCertificate(t, w.clock.Now(), w.domain)
	w.dnsRecord = w.id(w.post(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/dns", w.service), `{"name": "api", "type": "A", "value": "192.0.2.1"}`))
	w.order = w.newOrder(w.owner, unique("pending")+".example.com")
	w.topup = w.id(a.post(t, w.owner.token, "/api/v1/wallet/topups", `{"amount_usd_cents": 1000, "gateway": "demo"}`))
	w.keepACard()
	w.ticket = w.id(a.post(t, w.ownersPanel, "/api/v1/tickets", ticketRequest))
	w.ticketFile = w.fileOfTicket()
	w.announcement = w.announce()
	w.app = w.id(a.post(t, w.ownersSession, "/api/v1/apps",
		`{"name": "Mine", "type": "public", "redirect_uris": ["http://127.0.0.1/callback"]}`))
	w.device = w.id(a.post(t, w.owner.token, "/api/v1/me/devices", deviceRequest("the-phone-of-the-owner")))
	put := a.do(t, request{
		method: http.MethodPut, path: w.files("/content"), token: w.owner.token,
		body: `{"path": "/public_html/index.html", "content": "<h1>mine</h1>"}`,
	})
	if put.status >= 300 {
		t.Fatalf("write a file: %s", put)
	}
	if a.cfg.Panel == config.PanelSandbox {
		w.database = w.newDatabase()
		w.cronJob = w.newCronJob()
		w.mailbox = w.newMailbox()
		w.ftpAccount = w.newFTPAccount()
		w.sshKey = w.id(w.post(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/ssh-keys", w.service), sshKeyRequest(t)))
	}
	w.password, w.spareKey = w.aPassword(), w.id(w.post(t, w.ownersSession, "/api/v1/me/api-keys", `{"name": "Spare"}`))
	w.uploadLogo(w.ownersKey)
	w.publish()
	w.post(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/template", w.service), `{"template": "landing", "directory": "/public_html/landing"}`)
	w.backup = w.newBackup()
	w.registration = w.newRegistration()
	w.monitor, w.badge = w.newMonitor()
	w.insight = w.newInsight()
	w.agent = w.newAgentWork()
	w.alertChannel = w.id(w.post(w.t, w.owner.token, "/api/v1/alert-channels", `{"type": "email", "target": "ops@example.com"}`))
	w.addon = w.id(w.post(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/addons", w.service), `{"key": "extra_disk"}`))
	return w
}

// aClaim is the owner's claim to the service's domain.
func (w *world) aClaim() int64 {
	w.t.Helper()
	var list struct{ Data []struct{ ID int64 } }
	w.get(w.t, w.owner.token, "/api/v1/domain-claims").decode(w.t, &list)
	if len(list.Data) == 0 {
		w.t.Fatal("the owner claims no domain")
	}
	return list.Data[0].ID
}

// owned tells whether an operation is about a thing that somebody owns. Plans and announcements to everybody are nobody's.
func owned(op api.Info) bool {
	return op.Auth != api.Open && strings.Contains(strings.NewReplacer("{plan}", "", "{announcement}", "", "{picture}", "").Replace(op.Path), "{")
}

// deviceRequest registers a phone.
func deviceRequest(token string) string {
	return fmt.Sprintf(`{"platform": "android", "token": %q, "name": "Phone", "locale": "en", "app_version": "1.0"}`, token)
}

// id reads the id of what was created.
func (w *world) id(r answer) int64 {
	w.t.Helper()
	var made struct {
		ID int64 `json:"id"`
	}
	r.decode(w.t, &made)
	if made.ID == 0 {
		w.t.Fatalf("%s %s created nothing: %s", r.method, r.path, r)
	}
	return made.ID
}

// readyFor gives an operation a domain that no other is at work on.
func (w *world) readyFor(op api.Info) {
	if strings.HasSuffix(op.Path, "/domains/{domain}/renew") {
		w.registration = w.newRegistration()
	}
	if strings.HasSuffix(op.Path, "/services/{service}/tariff") {
		w.pendingPlanRests()
	}
	switch op.ID {
	case "ai.undo_run":
		w.agent = w.newAgentWork()
	case "ai.decide":
		w.agent = w.newAgentWork()
		w.agent.approval = w.newQuestion()
	case "ai.run":
		w.agentRests()
	case "deploys.rollback":
		w.post(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/deploys", w.service), `{"files": []}`)
	}
}

// balance is what the customer can spend, in cents.
func (w *world) balance(c customer) int64 {
	w.t.Helper()
	var wallet struct {
		Balance struct {
			Cents int64 `json:"usd_cents"`
		} `json:"balance"`
	}
	r := w.get(w.t, c.token, "/api/v1/wallet")
	r.decode(w.t, &wallet)
	return wallet.Balance.Cents
}

// aWebhook is an endpoint of the owner's that answers, and an event that was sent to it.
func (w *world) aWebhook() (id int64, event string) {
	w.t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	w.t.Cleanup(receiver.Close)
	id = w.id(w.post(w.t, w.ownersKey, "/api/v1/reseller/webhooks", fmt.Sprintf(`{"url": %q, "events": ["webhook.test"]}`, receiver.URL)))
	var sent struct {
		EventID string `json:"event_id"`
	}
	w.post(w.t, w.ownersKey, fmt.Sprintf("/api/v1/reseller/webhooks/%d/test", id), "").decode(w.t, &sent)
	return id, sent.EventID
}

// aSession is the token of a browser in which the customer is signed in.
func (w *world) aSession(c customer) string {
	w.t.Helper()
	p, err := w.accounts.Profile(w.t.Context(), w.db, c.id)
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := w.accounts.SignIn(w.t.Context(), p.Email, customersPassword, account.Client{Address: netip.MustParseAddr("203.0.113.7"), UserAgent: "Firefox"})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.Token
}

// tokenFor is a token of the customer that may call the operation.
func (w *world) tokenFor(op api.Info, c customer) string {
	switch {
	case op.Auth == api.Key && c.id == w.owner.id:
		return w.ownersKey
	case op.Auth == api.Key:
		return w.strangersKey
	case op.Session && c.id == w.owner.id:
		return w.ownersSession
	case op.Session:
		return w.strangersSession
	case !op.FirstParty:
		return c.token
	case c.id == w.owner.id:
		return w.ownersPanel
	default:
		return w.strangersPanel
	}
}

// announce announces something to everybody.
func (w *world) announce() int64 {
	w.t.Helper()
	a, err := w.announcements.Create(w.t.Context(), announcements.Wish{
		Title: i18n.Text{"en": "New disks"}, Body: i18n.Text{"en": "Tonight."}, Level: announcements.Info,
		Audience: announcements.Audience{Kind: announcements.Everybody},
	})
	if err == nil {
		_, err = w.announcements.Publish(w.t.Context(), a.ID, a.Version)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return a.ID
}

// publish gives the company an article and a post.
func (w *world) publish() {
	w.t.Helper()
	_, err := w.articles.Import(w.t.Context(), fstest.MapFS{
		"kb/mail.en.md":   {Data: []byte("---\ntitle: Mail\ndescription: On a phone.\ncategory: email\nposition: 1\nupdated_at: 2026-01-02\n---\n\nEnter the address.\n")},
		"blog/open.en.md": {Data: []byte("---\ntitle: We are open\ndescription: News.\ncategory: news\npublished_at: 2026-02-01\nauthor: The team\n---\n\nWelcome.\n")},
	}, false)
	if err != nil {
		w.t.Fatal(err)
	}
}

// setSection switches a section and waits until the server has heard it.
func (w *world) setSection(s api.Section, on bool) {
	w.t.Helper()
	if err := w.admin.SetSections(context.WithoutCancel(w.t.Context()), []string{string(s)}, on); err != nil {
		w.t.Fatal(err)
	}
	testkit.Eventually(w.t, heard, func() bool { return w.switches.Enabled(s) == on }, "the section is switched")
}
