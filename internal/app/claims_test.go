package app

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/platform/testkit"
)

// claimWorld is a server with two customers who want the same names.
type claimWorld struct {
	*world
	attacker customer
}

func newClaimWorld(t *testing.T, a *App) *claimWorld {
	t.Helper()
	c := a.application(t, false)
	w := &claimWorld{world: &world{App: a, t: t, owner: a.customer(t, c, 100_000)}, attacker: a.customer(t, c, 100_000)}
	w.plan = w.aPlan()
	return w
}

// order asks for hosting.
func (w *claimWorld) order(c customer, domain string) answer {
	w.t.Helper()
	return w.post(w.t, c.token, "/api/v1/orders", fmt.Sprintf(`{"plan_id": %d, "domain": %q}`, w.plan, domain))
}

// buy orders hosting, pays it and waits until it is there.
func (w *claimWorld) buy(c customer, domain string) (service int64) {
	w.t.Helper()
	r := w.order(c, domain)
	var o struct {
		ID        int64 `json:"id"`
		ServiceID int64 `json:"service_id"`
	}
	r.decode(w.t, &o)
	if r.status != http.StatusCreated {
		w.t.Fatalf("%s: %s", domain, r)
	}
	if r := w.post(w.t, c.token, fmt.Sprintf("/api/v1/orders/%d/pay", o.ID), "{}"); r.status != http.StatusOK {
		w.t.Fatalf("%s: %s", domain, r)
	}
	w.statusRests(c.token, fmt.Sprintf("/api/v1/services/%d", o.ServiceID), "active")
	return o.ServiceID
}

func (w *claimWorld) statusRests(token, path, status string) {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool {
		r := w.get(w.t, token, path)
		if strings.Contains(string(r.body), `"status":"failed"`) {
			w.t.Fatalf("%s: %s", path, r)
		}
		return strings.Contains(string(r.body), fmt.Sprintf(`"status":%q`, status))
	}, path+" is "+status)
}

// needsProof fails unless the answer asks for a proof with the record to set.
func (w *claimWorld) needsProof(r answer, domain string) (value string) {
	w.t.Helper()
	var refused struct {
		Record struct{ Name, Type, Value string }
	}
	r.decode(w.t, &refused)
	if r.status != http.StatusUnprocessableEntity || r.key() != "domain_verification_required" ||
		refused.Record.Name != "_stead-verify."+domain || refused.Record.Type != "TXT" || refused.Record.Value == "" {
		w.t.Errorf("%s of %s: %s", r.path, domain, r)
	}
	return refused.Record.Value
}

// answered tells whether the public name server answers for a zone.
func (w *claimWorld) answered(zone string) bool {
	c := dns.Client{Timeout: 2 * time.Second}
	m, _, err := c.Exchange(new(dns.Msg).SetQuestion(zone+".", dns.TypeSOA), w.nameserver.Addr())
	return err == nil && m.Rcode == dns.RcodeSuccess && len(m.Answer) == 1
}

// TestNobodyHasANameOfSomebodyElse tries what attackers do.
func TestNobodyHasANameOfSomebodyElse(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newClaimWorld(t, a)

		// A stranger takes the www name of a domain, whose owner then comes.
		squatted := w.buy(w.attacker, "www.victim2-co.com")
		w.needsProof(w.order(w.owner, "victim2-co.com"), "victim2-co.com")
		w.needsProof(w.order(w.owner, "shop.victim2-co.com"), "victim2-co.com")
		if w.answered("www.victim2-co.com") {
			t.Error("the zone of a name that nobody has proven is answered")
		}
		path := fmt.Sprintf("/api/v1/services/%d", squatted)
		if r := a.get(t, w.attacker.token, path+"/domains"); !strings.Contains(string(r.body), `"state":"unverified"`) ||
			!strings.Contains(string(r.body), `"_stead-verify.victim2-co.com"`) {
			t.Errorf("the domain says nothing of its proof: %s", r)
		}
		w.needsProof(w.post(t, w.attacker.token, path+"/mailboxes", `{"local_part": "info", "domain": "www.victim2-co.com", "password": "correct horse"}`), "victim2-co.com")

		// Every other way in, into a service that the stranger has.
		for _, kind := range []string{"addon", "alias"} {
			w.needsProof(w.post(t, w.attacker.token, path+"/domains", fmt.Sprintf(`{"name": "google.com", "kind": %q}`, kind)), "google.com")
		}
		w.needsProof(w.order(w.attacker, "google.com"), "google.com")
		w.needsProof(w.order(w.attacker, "accounts.google.co.uk"), "google.co.uk")
		key := w.aKey(w.attacker, reseller.NewKey{})
		w.needsProof(w.post(t, key, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": "google.com"}`, w.plan)), "google.com")
		play := w.aKey(w.attacker, reseller.NewKey{Sandbox: true})
		w.id(w.post(t, play, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": "google.com"}`, w.plan)))

		// An order from before the name was taken is not paid.
		late := w.order(w.owner, "late-co.com")
		w.buy(w.attacker, "blog.late-co.com")
		var o struct{ ID int64 }
		late.decode(t, &o)
		w.needsProof(w.post(t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d/pay", o.ID), "{}"), "late-co.com")
	})
}

// TestARegistrationHereDisplacesOthers: who registers a name has it, and loses nothing of what another stored under it.
func TestARegistrationHereDisplacesOthers(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newClaimWorld(t, a)
		name := unique("newbrand") + ".example"
		displaced := w.buy(w.attacker, name)
		path := fmt.Sprintf("/api/v1/services/%d", displaced)
		w.id(w.post(t, w.attacker.token, path+"/dns", `{"name": "_acme-challenge", "type": "TXT", "value": "mine"}`))
		w.id(w.post(t, w.attacker.token, path+"/domains", fmt.Sprintf(`{"name": "www2.%s", "kind": "alias"}`, name)))
		put := a.do(t, request{
			method: http.MethodPut, path: path + "/files/content", token: w.attacker.token,
			body: `{"path": "/public_html/index.html", "content": "kept"}`,
		})
		if put.status >= 300 {
			t.Fatal(put)
		}

		registered := w.id(w.post(t, w.owner.token, "/api/v1/domains", registrationRequest(name)))
		w.statusRests(w.owner.token, fmt.Sprintf("/api/v1/domains/%d", registered), "active")
		w.buy(w.owner, name)
		testkit.Eventually(t, time.Minute, func() bool { return w.answered(name) }, "the owner's zone is answered")
		c := dns.Client{Timeout: 2 * time.Second}
		m, _, err := c.Exchange(new(dns.Msg).SetQuestion("_acme-challenge."+name+".", dns.TypeTXT), a.nameserver.Addr())
		if err != nil || len(m.Answer) != 0 {
			t.Errorf("the stranger's record is answered: %v, %v", m, err)
		}

		// What the other stored is there, and the other has been told.
		list := string(a.get(t, w.attacker.token, path+"/domains").body)
		if strings.Contains(list, fmt.Sprintf(`"name":%q`, name)) || strings.Count(list, `"state":"displaced"`) != 2 || !strings.Contains(list, fmt.Sprintf(`"displaced_name":%q`, name)) {
			t.Errorf("the other's domains: %s", list)
		}
		if r := a.get(t, w.attacker.token, path+"/dns"); !strings.Contains(string(r.body), `"mine"`) {
			t.Errorf("the other's records: %s", r)
		}
		if r := a.get(t, w.attacker.token, path+"/files/content?path=/public_html/index.html"); !strings.Contains(string(r.body), "kept") {
			t.Errorf("the other's files: %s", r)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			return strings.Contains(string(a.get(t, w.attacker.token, "/api/v1/notifications").body), `"kind":"domain_displaced"`)
		}, "the other is notified")
		if r := w.order(w.attacker, "shop."+name); r.key() != "domain_unavailable" {
			t.Errorf("below the registered name: %s", r)
		}
	})
}

// TestANameIsHeldForItsLastOwner while a restore is possible.
func TestANameIsHeldForItsLastOwner(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newClaimWorld(t, a)
		key := w.aKey(w.owner, reseller.NewKey{})
		id := w.id(w.post(t, key, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": "kept-co.com"}`, w.plan)))
		path := fmt.Sprintf("/api/v1/reseller/services/%d", id)
		w.statusRests(key, path, "active")
		if r := a.do(t, request{method: http.MethodDelete, path: path + "?when=now", token: key}); r.status != http.StatusOK {
			t.Fatal(r)
		}
		w.statusRests(key, path, "terminated")
		w.needsProof(w.order(w.attacker, "kept-co.com"), "kept-co.com")
		w.needsProof(w.order(w.attacker, "www.kept-co.com"), "kept-co.com")
		if r := a.post(t, key, path+"/restore", "{}"); r.status != http.StatusOK {
			t.Fatalf("the owner's restore: %s", r)
		}
		w.statusRests(key, path, "active")
	})
}

// TestAProofByTheDNSTakesADomainBack from a stranger who ordered first.
func TestAProofByTheDNSTakesADomainBack(t *testing.T) {
	record := &textRecord{}
	settings := maps.Clone(simulated)
	settings["dns_resolvers"], settings["domain_notice"] = record.serve(t), "8s"
	engines(t, settings, func(t *testing.T, a *App) {
		w := newClaimWorld(t, a)
		domain := unique("taken") + "-co.com"
		resells := w.aKey(w.attacker, reseller.NewKey{})
		squatted := w.buy(w.attacker, domain)
		value := w.needsProof(w.order(w.owner, domain), domain)

		type seen struct {
			ID            int64
			State, Method string
			Holds         bool
			Cleared       bool
			Record        struct{ Value string }
		}
		var asked seen
		a.post(t, w.owner.token, "/api/v1/domain-claims", fmt.Sprintf(`{"domain": "www.%s"}`, domain)).decode(t, &asked)
		if asked.State != "unverified" || asked.Holds || asked.Cleared || asked.Record.Value != value {
			t.Fatalf("%+v", asked)
		}
		path := fmt.Sprintf("/api/v1/domain-claims/%d", asked.ID)
		if r := a.get(t, w.attacker.token, path); r.status != http.StatusNotFound {
			t.Errorf("a stranger reads it: %s", r)
		}
		record.set("_stead-verify."+domain, value)
		contested := func() bool {
			a.post(t, w.owner.token, path+"/check", "{}").decode(t, &asked)
			return asked.State == "contested"
		}
		testkit.Eventually(t, time.Minute, contested, "the record is found")
		domains := fmt.Sprintf("/api/v1/services/%d/domains", squatted)
		if r := a.get(t, w.attacker.token, domains); !strings.Contains(string(r.body), `"loses_at":"2`) {
			t.Errorf("the holder sees %s", r)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			return strings.Contains(string(a.get(t, w.attacker.token, "/api/v1/notifications").body), `"kind":"domain_contested"`)
		}, "the holder is notified")
		told := func(typ string) {
			t.Helper()
			testkit.Eventually(t, time.Minute, func() bool {
				r := a.get(t, resells, "/api/v1/reseller/events?type="+typ)
				return strings.Contains(string(r.body), fmt.Sprintf(`"service_id":%d`, squatted)) && strings.Contains(string(r.body), fmt.Sprintf(`"domain":%q`, domain))
			}, "the reseller is told: "+typ)
		}
		told("site_domain.contested")
		var proven seen
		testkit.Eventually(t, time.Minute, func() bool { // within a few seconds of a look there is no other one
			a.post(t, w.owner.token, path+"/check", "{}").decode(t, &proven)
			return proven.State == "verified"
		}, "the time of the holder is over")
		if !proven.Holds || !proven.Cleared || proven.Method != "txt" {
			t.Errorf("%+v", proven)
		}
		w.buy(w.owner, domain)
		testkit.Eventually(t, time.Minute, func() bool { return w.answered(domain) }, "the owner's zone is answered")
		if r := a.get(t, w.attacker.token, domains); !strings.Contains(string(r.body), `"state":"displaced"`) {
			t.Errorf("the stranger's domain: %s", r)
		}
		told("site_domain.displaced")
		w.needsProof(w.order(w.attacker, "shop."+domain), domain)
	})
}

// textRecord is a resolver that knows a few TXT records.
type textRecord struct {
	mu    sync.Mutex
	texts map[string]string
}

func (r *textRecord) set(name, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.texts == nil {
		r.texts = map[string]string{}
	}
	r.texts[name+"."] = text
}

func (r *textRecord) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg).SetReply(q)
	r.mu.Lock()
	text, ok := r.texts[q.Question[0].Name]
	r.mu.Unlock()
	if ok && q.Question[0].Qtype == dns.TypeTXT {
		m.Answer = []dns.RR{&dns.TXT{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 60}, Txt: []string{text}}}
	}
	_ = w.WriteMsg(m)
}

// serve answers until the test ends, at the address that it returns.
func (r *textRecord) serve(t *testing.T) string {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &dns.Server{PacketConn: conn, Handler: r}
	go func() { _ = srv.ActivateAndServe() }()
	t.Cleanup(func() { _ = srv.Shutdown() })
	return conn.LocalAddr().String()
}
