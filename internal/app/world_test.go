package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/crypto/ssh"

	"stead.dev/stead/internal/agent/insights"
	"stead.dev/stead/internal/content/announcements"
	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
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
	w.ticket = w.id(a.post(t, w.owner.token, "/api/v1/tickets", ticketRequest))
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

// uploadLogo gives the brand of the key's reseller a logo.
func (w *world) uploadLogo(key string) {
	w.t.Helper()
	r := w.do(w.t, request{
		method: http.MethodPut, path: "/api/v1/reseller/brand", token: key,
		body: `{"logo": "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4="}`,
	})
	if r.status != http.StatusOK {
		w.t.Fatalf("the brand: %s", r)
	}
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

// aPassword is one that the owner may be shown; none on a panel without databases.
func (w *world) aPassword() int64 {
	w.t.Helper()
	all, err := w.credentials.List(w.t.Context(), w.owner.id, w.service)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(all) == 0 {
		return 1
	}
	return all[0].ID
}

// ownersTag is the tag that the owner, as a reseller, has given the service.
const ownersTag = "the-owner's-client"

func (w *world) tag() {
	w.t.Helper()
	r := w.do(w.t, request{
		method: http.MethodPatch, path: fmt.Sprintf("/api/v1/reseller/services/%d", w.service), token: w.ownersKey,
		body: fmt.Sprintf(`{"client_ref": %q}`, ownersTag),
	})
	if r.status != http.StatusOK {
		w.t.Fatal(r)
	}
}

// restorable is a service of the owner's that has ended and can come back. It is the same one until it does.
func (w *world) restorable() int64 {
	w.t.Helper()
	is := func(status string) bool {
		var s struct {
			Status string `json:"status"`
		}
		w.get(w.t, w.ownersKey, fmt.Sprintf("/api/v1/reseller/services/%d", w.ended)).decode(w.t, &s)
		return s.Status == status
	}
	if w.ended != 0 && is("terminated") {
		return w.ended
	}
	if w.get(w.t, w.ownersKey, "/api/v1/reseller/me").status != http.StatusOK {
		return w.service // the section is off
	}
	w.ended = w.id(w.post(w.t, w.ownersKey, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": %q}`, w.plan, unique("ended")+".example.com")))
	testkit.Eventually(w.t, time.Minute, func() bool { return is("active") }, "the service is active")
	path := fmt.Sprintf("/api/v1/reseller/services/%d?when=now", w.ended)
	if r := w.do(w.t, request{method: http.MethodDelete, path: path, token: w.ownersKey}); r.status != http.StatusOK {
		w.t.Fatal(r)
	}
	testkit.Eventually(w.t, 60*time.Second, func() bool { return is("terminated") }, "the service has ended")
	return w.ended
}

// owned tells whether an operation is about a thing that somebody owns. Plans and announcements to everybody are nobody's.
func owned(op api.Info) bool {
	return op.Auth != api.Open && strings.Contains(strings.NewReplacer("{plan}", "", "{announcement}", "", "{picture}", "").Replace(op.Path), "{")
}

// deviceRequest registers a phone.
func deviceRequest(token string) string {
	return fmt.Sprintf(`{"platform": "android", "token": %q, "name": "Phone", "locale": "en", "app_version": "1.0"}`, token)
}

// newMonitor is a monitor of the owner's, which tests check only when they ask for it.
func (w *world) newMonitor() (id int64, badge string) {
	w.t.Helper()
	var made struct {
		ID         int64  `json:"id"`
		BadgeToken string `json:"badge_token"`
	}
	w.post(w.t, w.owner.token, "/api/v1/monitors", `{"type": "http", "url": "https://shop.example.com/", "name": "Mine"}`).decode(w.t, &made)
	// The badge of a young monitor tells its age, which changes while tests compare answers.
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE monitors SET created_at = $1 WHERE id = $2`, tx.Now.AddDate(-1, 0, 0), made.ID)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return made.ID, made.BadgeToken
}

// newInsight is one of the service that no audit resolves.
func (w *world) newInsight() int64 {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, _, err := w.insights.Report(ctx, tx, w.owner.id, w.service, insights.Report{
			Findings: []insights.Finding{{
				Check: "planted", Kind: insights.SEO, Severity: insights.Critical,
				Texts: insights.Texts{Title: "insight.title.noindex", Detail: "insight.detail.noindex", Fix: "insight.fix.noindex"},
			}},
			Judged: func(string, string) bool { return false },
		})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var list struct {
		Data []struct {
			ID int64 `json:"id"`
		} `json:"data"`
	}
	w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/ai/insights", w.service)).decode(w.t, &list)
	if len(list.Data) != 1 {
		w.t.Fatalf("%d insights, want the planted one", len(list.Data))
	}
	return list.Data[0].ID
}

// keepACard lets the demonstration's gateway keep the owner's card: a top-up is paid with it.
func (w *world) keepACard() {
	w.t.Helper()
	var made struct {
		CheckoutURL string `json:"checkout_url"`
	}
	w.post(w.t, w.owner.token, "/api/v1/wallet/topups", `{"amount_usd_cents": 1000, "gateway": "demo", "save_method": true}`).decode(w.t, &made)
	_, token, _ := strings.Cut(made.CheckoutURL, "/pay/")
	r := w.do(w.t, request{method: http.MethodPost, path: "/pay/" + token, body: "action=pay", contentType: "application/x-www-form-urlencoded"})
	if r.status != http.StatusSeeOther {
		w.t.Fatalf("the payment: %s", r)
	}
}

// ownCertificate is a request that installs a certificate for the domain.
func ownCertificate(t *testing.T, now time.Time, domain string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{domain}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 3, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]string{
		"certificate": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
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

// newHostedDomain is a further domain of the service, which is served already.
func (w *world) newHostedDomain() int64 {
	w.t.Helper()
	domains := fmt.Sprintf("/api/v1/services/%d/domains", w.service)
	w.listRests(w.owner.token, domains, "active") // the service's own, which follows when it is active
	id := w.id(w.post(w.t, w.owner.token, domains, fmt.Sprintf(`{"name": "blog.%s", "kind": "subdomain"}`, w.domain)))
	w.listRests(w.owner.token, domains, "active")
	return id
}

// newDatabase is a database of the service that is there.
func (w *world) newDatabase() int64 {
	w.t.Helper()
	id := w.id(w.post(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/databases", w.service), `{"name": "shop", "engine": "mariadb"}`))
	w.listRests(w.owner.token, fmt.Sprintf("/api/v1/services/%d/databases", w.service), "active")
	return id
}

const registrant = `{"name": "Anna", "email": "anna@example.com", "phone": "+998901234567", "street": "Navoiy 1", "city": "Tashkent", "country": "UZ"}`

func registrationRequest(name string) string {
	return fmt.Sprintf(`{"domain": %q, "contact": %s}`, name, registrant)
}

// newRegistration is a domain that the registry has registered.
func (w *world) newRegistration() int64 {
	w.t.Helper()
	id := w.id(w.post(w.t, w.owner.token, "/api/v1/domains", registrationRequest(unique("own")+".example")))
	w.rests(fmt.Sprintf("/api/v1/reseller/domains/%d", id), "active")
	return id
}

// readyFor gives an operation a domain that no other is at work on.
func (w *world) readyFor(op api.Info) {
	if strings.HasSuffix(op.Path, "/domains/{domain}/renew") {
		w.registration = w.newRegistration()
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

// newFTPAccount is an FTP account of the service that the panel has.
func (w *world) newFTPAccount() int64 {
	w.t.Helper()
	id := w.id(w.post(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/ftp", w.service), `{"username": "anna"}`))
	w.listRests(w.owner.token, fmt.Sprintf("/api/v1/services/%d/ftp", w.service), "active")
	return id
}

// sshKeyRequest is a request that adds a key that nobody has.
func sshKeyRequest(t *testing.T) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"name": "laptop", "public_key": %q}`, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))))
}

// newCronJob is a cron job of the service that the panel has.
func (w *world) newCronJob() int64 {
	w.t.Helper()
	cron := fmt.Sprintf("/api/v1/services/%d/cron", w.service)
	id := w.id(w.post(w.t, w.owner.token, cron, `{"expression": "@yearly", "command": "true"}`))
	testkit.Eventually(w.t, time.Minute, func() bool {
		var list struct {
			Data []struct {
				Status  string `json:"status"`
				Running *bool  `json:"running"`
			} `json:"data"`
		}
		w.get(w.t, w.owner.token, cron).decode(w.t, &list)
		return len(list.Data) == 1 && list.Data[0].Status == "active" && list.Data[0].Running != nil
	}, "the cron job is active")
	return id
}

// newMailbox is a mailbox of the service that the mail server has.
func (w *world) newMailbox() int64 {
	w.t.Helper()
	mailboxes := fmt.Sprintf("/api/v1/services/%d/mailboxes", w.service)
	id := w.id(w.post(w.t, w.owner.token, mailboxes, fmt.Sprintf(`{"local_part": "info", "domain": %q, "password": "correct horse"}`, w.domain)))
	testkit.Eventually(w.t, time.Minute, func() bool {
		var list struct {
			Data []struct {
				Status string    `json:"status"`
				DNS    *struct{} `json:"dns"`
			} `json:"data"`
		}
		w.get(w.t, w.owner.token, mailboxes).decode(w.t, &list)
		return len(list.Data) == 1 && list.Data[0].Status == "active" && list.Data[0].DNS != nil
	}, "the mailbox is active")
	return id
}

// newBackup is a backup of the service that is complete.
func (w *world) newBackup() int64 {
	w.t.Helper()
	backups := fmt.Sprintf("/api/v1/services/%d/backups", w.service)
	id := w.id(w.post(w.t, w.owner.token, backups, `{"parts": ["files", "dns"]}`))
	w.backupsRest("completed")
	return id
}

// backupsRest waits until nothing is under way with the service's backups, and the oldest is in
// the given state.
func (w *world) backupsRest(oldest string) {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool {
		var list struct {
			Data []struct {
				Status string `json:"status"`
			} `json:"data"`
		}
		w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/backups", w.service)).decode(w.t, &list)
		for _, b := range list.Data {
			if b.Status == "queued" || b.Status == "running" || b.Status == "restoring" {
				return false
			}
		}
		// A section that is switched off lists nothing.
		return len(list.Data) == 0 || list.Data[len(list.Data)-1].Status == oldest
	}, "backups are at rest")
}

// aPlan is a plan of hosting that is for sale, which allows some of everything. An owner who has but a key finds it
// in the catalog of resellers.
func (w *world) aPlan() int64 {
	w.t.Helper()
	path, token := "/api/v1/catalog", w.owner.token
	if token == "" {
		path, token = "/api/v1/reseller/catalog", w.ownersKey
	}
	var catalog struct {
		Data []struct {
			Type  string `json:"type"`
			Plans []struct {
				ID        int64 `json:"id"`
				Available bool  `json:"available"`
				Limits    struct {
					Databases int64 `json:"databases"`
				} `json:"limits"`
			} `json:"plans"`
		} `json:"data"`
	}
	w.get(w.t, token, path).decode(w.t, &catalog)
	for _, product := range catalog.Data {
		for _, p := range product.Plans {
			if product.Type == "hosting" && p.Available && p.Limits.Databases >= 10 { // room for the examples
				return p.ID
			}
		}
	}
	w.t.Fatal("no plan is on sale")
	return 0
}

// aKey makes the customer a reseller, and a key of its.
func (w *world) aKey(c customer, n reseller.NewKey) string {
	w.t.Helper()
	n.Name = "Test"
	_, err := w.reseller.Appoint(w.t.Context(), c.id, "gold", 2000)
	if err == nil {
		var token string
		if _, token, err = w.reseller.CreateKey(w.t.Context(), c.id, n); err == nil {
			return token
		}
	}
	w.t.Fatal(err)
	return ""
}

// aTariff is a plan that the service may move to.
func (w *world) aTariff() int64 {
	w.t.Helper()
	var list struct {
		Data []struct {
			Available bool `json:"available"`
			Plan      struct {
				ID int64 `json:"id"`
			} `json:"plan"`
		} `json:"data"`
	}
	w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/tariffs", w.service)).decode(w.t, &list)
	for _, t := range list.Data {
		if t.Available {
			return t.Plan.ID
		}
	}
	w.t.Fatal("the service can move to no plan")
	return 0
}

func (w *world) newOrder(c customer, domain string) int64 {
	w.t.Helper()
	return w.id(w.post(w.t, c.token, "/api/v1/orders", fmt.Sprintf(`{"plan_id": %d, "domain": %q}`, w.plan, domain)))
}

// serviceOf waits for the customer's first service to become active.
func (w *world) serviceOf(c customer) (id int64) {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool {
		var list struct {
			Data []struct {
				ID     int64  `json:"id"`
				Status string `json:"status"`
			} `json:"data"`
		}
		w.get(w.t, c.token, "/api/v1/services").decode(w.t, &list)
		for _, s := range list.Data {
			if s.Status == "active" {
				id = s.ID
			}
		}
		return id != 0
	}, "the service is active")
	return id
}

// invoiceOf is the invoice of an order of the owner.
func (w *world) invoiceOf(orderID int64) int64 {
	w.t.Helper()
	var order struct {
		InvoiceID int64 `json:"invoice_id"`
	}
	w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d", orderID)).decode(w.t, &order)
	return order.InvoiceID
}

func (w *world) files(rest string) string {
	return fmt.Sprintf("/api/v1/services/%d/files%s", w.service, rest)
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

// templateRests waits until no template is being put on the service.
func (w *world) templateRests() {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool {
		r := w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/template", w.service))
		return !strings.Contains(string(r.body), `"status":"pending"`)
	}, "the template is on the service")
}

// setSection switches a section and waits until the server has heard it.
func (w *world) setSection(s api.Section, on bool) {
	w.t.Helper()
	if err := w.admin.SetSections(context.WithoutCancel(w.t.Context()), []string{string(s)}, on); err != nil {
		w.t.Fatal(err)
	}
	testkit.Eventually(w.t, heard, func() bool { return w.switches.Enabled(s) == on }, "the section is switched")
}

// price is what a customer's order costs, in cents.
func (w *world) price(c customer, id int64) money.USDCents {
	w.t.Helper()
	var order struct {
		Total struct {
			Cents money.USDCents `json:"usd_cents"`
		} `json:"total"`
	}
	w.get(w.t, c.token, fmt.Sprintf("/api/v1/orders/%d", id)).decode(w.t, &order)
	if order.Total.Cents <= 0 {
		w.t.Fatalf("the order costs %d", order.Total.Cents)
	}
	return order.Total.Cents
}
