package mail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"golang.org/x/crypto/bcrypt"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

const owner, stranger = sitetest.Owner, sitetest.Stranger

// world is the section with services on a machine, whose records the DNS answers from.
type world struct {
	sitetest.World
	machine *machine
	queue   *queue
	events  *outbox.Outbox
	domains domains
	zones   *zones
	dns     *dns
	*Service
}

type queue struct{ jobs []river.JobArgs }

func (q *queue) Enqueue(_ context.Context, _ *db.Tx, args river.JobArgs, _ *river.InsertOpts) error {
	q.jobs = append(q.jobs, args)
	return nil
}

type domains map[int64][]site.Domain

func (domains) Refusal(context.Context, db.Querier, int64, string) error { return nil }

func (d domains) Hosted(_ context.Context, _ db.Querier, _, serviceID int64) ([]site.Domain, error) {
	return d[serviceID], nil
}

type zones struct{ records map[int64][]site.Record }

func (z *zones) SetSystem(_ context.Context, _ *db.Tx, _, serviceID int64, _ string, records []site.Record) error {
	z.records[serviceID] = records
	return nil
}

// dns answers from the records of the zones, and others by name.
type dns struct {
	zones *zones
	fail  bool
	ptr   string
}

func (d *dns) find(name, kind string) (all []site.Record, err error) {
	if d.fail {
		return nil, &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	}
	for _, set := range d.zones.records {
		for _, r := range set {
			if r.Name+"." == name && r.Type == kind {
				all = append(all, r)
			}
		}
	}
	if all == nil {
		return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
	}
	return all, nil
}

func (d *dns) LookupMX(_ context.Context, name string) (all []*net.MX, err error) {
	found, err := d.find(name, "MX")
	for _, r := range found {
		all = append(all, &net.MX{Host: r.Value + ".", Pref: uint16(*r.Priority)})
	}
	return all, err
}

func (d *dns) LookupTXT(_ context.Context, name string) (all []string, err error) {
	found, err := d.find(name, "TXT")
	for _, r := range found {
		all = append(all, r.Value)
	}
	return all, err
}

func (d *dns) LookupAddr(context.Context, string) ([]string, error) {
	return []string{d.ptr + "."}, nil
}

// machine has mailboxes, of which it counts what the test says.
type machine struct {
	sandbox.Panel
	sitetest.Failures
	used map[string]int64
}

func (m *machine) Mailboxes(ctx context.Context, ref string) ([]panel.Mailbox, error) {
	all, err := m.Panel.Mailboxes(ctx, ref)
	for i := range all {
		all[i].UsedBytes, all[i].Messages = m.used[all[i].Address], m.used[all[i].Address]>>10
	}
	return all, err
}

func (m *machine) SetMailbox(ctx context.Context, ref string, b panel.Mailbox) (panel.Mailbox, error) {
	if err := m.Change("mail.set", ref); err != nil {
		return b, err
	}
	return m.Panel.SetMailbox(ctx, ref, b)
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	sitetest.Engines(t, func(base sitetest.World) {
		w := &world{World: base, queue: &queue{}, domains: domains{}, zones: &zones{map[int64][]site.Record{}}}
		w.machine = &machine{Panel: sitetest.Open(base.T, base.Clock.Now, sandbox.Open), used: map[string]int64{}}
		w.dns = &dns{zones: w.zones, ptr: "mail.sandbox.invalid"}
		w.events = outbox.New(base.DB)
		w.Service = New(Config{
			Base: w.On(w.queue, w.machine), Clock: base.Clock, Events: w.events,
			Domains: w.domains, Zones: w.zones, Resolver: w.dns, HashCost: bcrypt.MinCost,
		})
		w.Mount(w.Operations())
		f(base.T, w)
	})
}

func (w *world) service(accountID, id int64, names ...string) {
	w.T.Helper()
	w.Sell(w.machine, site.Site{
		ServiceID: id, AccountID: accountID, Domain: names[0], IPv4: "192.0.2.1", Limits: site.Limits{"disk_mb": 2000, "mailboxes": 3},
	})
	for i, name := range names {
		_, err := w.machine.SetDomain(w.T.Context(), fmt.Sprint(id), panel.Domain{Name: name})
		w.Must(err)
		w.domains[id] = append(w.domains[id], site.Domain{ID: id*10 + int64(i), Name: name, Served: true, Usable: true})
	}
}

type shownBox struct {
	ID           int64
	Address      string
	Status       string
	StatusReason *string `json:"status_reason"`
	UsedMB       int64   `json:"used_mb"`
	QuotaMB      int64   `json:"quota_mb"`
	DomainID     *int64  `json:"domain_id"`
	Aliases      []string
	CatchAll     bool `json:"catch_all"`
	Client       *struct {
		IMAP *struct {
			Host, TLS string
			Port      int
		}
		SMTP *struct{ Port int }
	}
	DNS *map[string]json.RawMessage
}

func (w *world) shows(serviceID int64) map[string]shownBox {
	w.T.Helper()
	return sitetest.ByKey(&w.World, fmt.Sprintf("/%d/mailboxes", serviceID), func(b shownBox) string { return b.Address })
}

func (w *world) add(serviceID int64, local, more string) int64 {
	w.T.Helper()
	d := w.domains[serviceID][0].Name
	var b shownBox
	w.Read(http.StatusCreated, "POST", fmt.Sprintf("/%d/mailboxes", serviceID),
		fmt.Sprintf(`{"local_part":%q,"domain":%q,"password":"correct horse"%s}`, local, d, more), &b)
	return b.ID
}

func (w *world) apply(serviceID int64) {
	w.T.Helper()
	w.Must(w.Apply(w.T.Context(), owner, serviceID))
	w.Must(w.Apply(w.T.Context(), owner, serviceID)) // a job may run twice
}

func (w *world) told(serviceID int64) string {
	w.T.Helper()
	events, err := w.events.Of(w.T.Context(), "service", serviceID)
	w.Must(err)
	var all []string
	for _, e := range events {
		all = append(all, e.Type+" "+string(e.Data))
	}
	return strings.Join(all, "\n")
}

func TestEachOperationAnswersAsDocumented(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example", "blog.example")
		const created = `{"id":1,"address":"info@shop.example","domain_id":100,"status":"pending","status_reason":null,"quota_mb":50,"used_mb":0,"messages":0,"measured_at":null,"aliases":["sales@blog.example"],"forward_to":[],"keep_copy":false,"catch_all":false,"autoresponder":{"enabled":false,"subject":"","body":"","starts_at":null,"ends_at":null},"protocols":{"imap":true,"pop3":true,"smtp_out":true},"send_limit_per_hour":200,"spam_threshold":6,"last_login_at":null,"created_at":"2026-03-02T09:00:00Z","client":null,"dns":null}`
		r := w.Do("POST", "/10/mailboxes", "own", `{"local_part":"Info","domain":"Shop.example","password":"correct horse","quota_mb":50,"aliases":["Sales@blog.example"]}`)
		if r.Code != 201 || r.Body != created {
			t.Fatalf("got  %d %s\nwant 201 %s", r.Code, r.Body, created)
		}
		if len(w.queue.jobs) != 1 || w.queue.jobs[0].Kind() != "mail.apply" {
			t.Errorf("jobs %+v", w.queue.jobs)
		}
		w.apply(10)
		if w.machine.Changes() != 1 {
			t.Errorf("the panel was changed %d times, want once", w.machine.Changes())
		}
		b := w.shows(10)["info@shop.example"]
		if b.Status != "active" || b.Client.IMAP.Host != "mail.sandbox.invalid" || b.Client.IMAP.Port != 993 || b.Client.IMAP.TLS != "tls" || b.Client.SMTP.Port != 465 {
			t.Errorf("shown %+v", b)
		}
		on, err := w.machine.Panel.Mailboxes(t.Context(), "10")
		w.Must(err)
		if len(on) != 1 || on[0].QuotaMB != 50 || on[0].Aliases[0] != "sales@blog.example" {
			t.Errorf("the panel has %+v", on)
		}
		for _, c := range []struct{ body, want, status string }{
			{`{}`, `"quota_mb":50`, "active"},
			{`{"quota_mb":100,"suspended":true}`, `"quota_mb":100`, "pending"},
			{`{"password":"another one 42"}`, `"quota_mb":100`, "pending"},
			{
				`{"autoresponder":{"enabled":true,"subject":"Away","body":"I am away","starts_at":"2026-03-01T00:00:00Z"},"catch_all":true,"forward_to":["me@elsewhere.example"],"keep_copy":true,"protocols":{"imap":true,"pop3":false,"smtp_out":false},"send_limit_per_hour":5,"spam_threshold":0}`,
				`"forward_to":["me@elsewhere.example"],"keep_copy":true,"catch_all":true,"autoresponder":{"enabled":true,"subject":"Away","body":"I am away","starts_at":"2026-03-01T00:00:00Z","ends_at":null},"protocols":{"imap":true,"pop3":false,"smtp_out":false},"send_limit_per_hour":5,"spam_threshold":0`, "pending",
			},
		} {
			r := w.Do("PATCH", "/10/mailboxes/1", "own", c.body)
			if r.Code != 200 || !strings.Contains(r.Body, c.want) || !strings.Contains(r.Body, `"status":"`+c.status+`"`) || strings.Contains(r.Body, "assword") {
				t.Errorf("%s: %+v", c.body, r)
			}
			w.apply(10)
		}
		if s := w.shows(10)["info@shop.example"].Status; s != "suspended" {
			t.Errorf("status %s", s)
		}
		var hash string
		w.Must(w.DB.QueryRow(t.Context(), `SELECT password_hash FROM mail_boxes`).Scan(&hash))
		if err := bcrypt.CompareHashAndPassword([]byte(strings.TrimPrefix(hash, "{BLF-CRYPT}")), []byte("another one 42")); err != nil {
			t.Error(err)
		}
		for range 2 {
			if r := w.Do("DELETE", "/10/mailboxes/1", "own", ""); r.Code != 200 {
				t.Errorf("delete: %+v", r)
			}
		}
		if s := w.shows(10)["info@shop.example"].Status; s != "removing" {
			t.Errorf("status %s", s)
		}
		r = w.Do("POST", "/10/mailboxes", "own", `{"local_part":"info","domain":"shop.example","password":"correct horse"}`)
		if r.Key() != "job_running" {
			t.Errorf("the address before its mailbox is gone: %+v", r)
		}
		w.apply(10)
		if all := w.shows(10); len(all) != 0 {
			t.Errorf("left %+v", all)
		}
		data := `{"id":1,"service_id":10,"address":"info@shop.example","quota_mb":`
		if got, want := w.told(10), "mailbox.created "+data+"50}\nmailbox.suspended "+data+"100}"; got != want {
			t.Errorf("told\n%s\nwant\n%s", got, want)
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example", "blog.example")
		w.service(stranger, 20, "victim.example")
		for id, on := range map[int64]string{12: "bare", 13: "it"} {
			s := site.Site{ServiceID: id, AccountID: owner, Panel: on, Ref: fmt.Sprint(id), Username: "u", Status: "active", Domain: "x.example"}
			if id == 13 {
				s.Status = "suspended"
			}
			w.Services.Add(t, s)
		}
		w.add(10, "info", `,"aliases":["sales@blog.example"],"catch_all":true`)
		second := w.add(10, "second", "")
		w.apply(10)
		before := w.Do("GET", "/10/mailboxes", "own", "").Body
		post := func(local, domain, password, more string) string {
			return fmt.Sprintf(`{"local_part":%q,"domain":%q,"password":%q%s}`, local, domain, password, more)
		}
		const good = "correct horse"
		at := fmt.Sprintf("/10/mailboxes/%d", second)
		w.Refused([]sitetest.Refusal{
			{"POST", "/10/mailboxes", "own", post("in fo", "shop.example", good, ""), 422, "mailbox_address_invalid"},
			{"POST", "/10/mailboxes", "own", post("a@b", "shop.example", good, ""), 422, "mailbox_address_invalid"},
			{"POST", "/10/mailboxes", "own", post("a\nb", "shop.example", good, ""), 422, "mailbox_address_invalid"},
			{"POST", "/10/mailboxes", "own", post("a+b", "shop.example", good, ""), 422, "mailbox_address_invalid"},
			{"POST", "/10/mailboxes", "own", post(".a", "shop.example", good, ""), 422, "mailbox_address_invalid"},
			{"POST", "/10/mailboxes", "own", post("почта", "shop.example", good, ""), 422, "mailbox_address_invalid"},
			{"POST", "/10/mailboxes", "own", post("new", "victim.example", good, ""), 422, "validation_failed"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", "short", ""), 422, "validation_failed"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", "aaaaaaaaaaaaaa", ""), 422, "validation_failed"},
			{"POST", "/10/mailboxes", "own", post("postman", "shop.example", "Postman-2026", ""), 422, "validation_failed"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", strings.Repeat("abcde", 15), ""), 422, "validation_failed"},
			{"POST", "/10/mailboxes", "own", post("INFO", "shop.example", good, ""), 422, "already_exists"},
			{"POST", "/10/mailboxes", "own", post("sales", "blog.example", good, ""), 422, "already_exists"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", good, `,"aliases":["second@shop.example"]`), 422, "already_exists"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", good, `,"catch_all":true`), 422, "already_exists"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", good, `,"aliases":["x@victim.example"]`), 422, "mailbox_address_invalid"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", good, `,"forward_to":["|/bin/sh"]`), 422, "mailbox_address_invalid"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", good, `,"forward_to":["new@shop.example"]`), 422, "mailbox_address_invalid"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", good, `,"quota_mb":2001`), 422, "quota_exceeds_plan"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", good, `,"quota_mb":0`), 422, "validation_failed"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", good, `,"send_limit_per_hour":501`), 422, "validation_failed"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", good, `,"spam_threshold":15`), 422, "validation_failed"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", good, `,"autoresponder":{"enabled":true}`), 422, "validation_failed"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", good, `,"autoresponder":{"enabled":true,"body":"x","subject":"a\r\nBcc: b@c.example"}`), 422, "validation_failed"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", good, `,"autoresponder":{"enabled":true,"body":"x","starts_at":"2026-03-02T00:00:00Z","ends_at":"2026-03-01T00:00:00Z"}`), 422, "validation_failed"},
			{"POST", "/10/mailboxes", "own", post("new", "shop.example", good, `,"autoresponder":{"enabled":true,"body":"x","ends_at":"9999-12-31T23:59:59-01:00"}`), 422, "validation_failed"},
			{"PATCH", at, "own", `{"autoresponder":{"enabled":true,"body":"x","starts_at":"0000-01-01T00:00:00+01:00"}}`, 422, "validation_failed"},
			{"POST", "/10/mailboxes", "own", `{"local_part":"new","domain":"shop.example"}`, 422, "validation_failed"},
			{"POST", "/10/mailboxes", "other", post("new", "shop.example", good, ""), 404, "not_found"},
			{"POST", "/99/mailboxes", "own", post("new", "shop.example", good, ""), 404, "not_found"},
			{"POST", "/12/mailboxes", "own", post("new", "x.example", good, ""), 422, "unsupported_operation"},
			{"POST", "/13/mailboxes", "own", post("new", "x.example", good, ""), 422, "service_suspended"},
			{"GET", "/10/mailboxes", "other", "", 404, "not_found"},
			{"PATCH", at, "other", `{"password":"correct horse"}`, 404, "not_found"},
			{"PATCH", strings.Replace(at, "10", "20", 1), "other", `{"suspended":true}`, 404, "not_found"},
			{"PATCH", at, "own", `{"quota_mb":5000}`, 422, "quota_exceeds_plan"},
			{"PATCH", at, "own", `{"password":"second-second"}`, 422, "validation_failed"},
			{"PATCH", at, "own", `{"aliases":["info@shop.example"]}`, 422, "already_exists"},
			{"PATCH", at, "own", `{"aliases":["second@shop.example"]}`, 422, "mailbox_address_invalid"},
			{"PATCH", "/10/mailboxes/999", "own", `{}`, 404, "not_found"},
			{"DELETE", at, "other", "", 404, "not_found"},
			{"DELETE", "/13/mailboxes/1", "own", "", 422, "service_suspended"},
		}...)
		if after := w.Do("GET", "/10/mailboxes", "own", "").Body; after != before {
			t.Errorf("refused requests changed\n%s\nto\n%s", before, after)
		}
		w.add(10, "third", "")
		if r := w.Do("POST", "/10/mailboxes", "own", post("fourth", "shop.example", good, "")); r.Key() != "limit_reached" {
			t.Errorf("one too many: %+v", r)
		}
		into := map[string]int64{}
		w.Must(w.Count(t.Context(), w.DB, 10, into))
		if into["mailboxes"] != 3 {
			t.Errorf("counted %v", into)
		}
	})
}

func TestZonesAndHealth(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example", "blog.example")
		w.apply(10)
		if len(w.zones.records) != 0 {
			t.Errorf("a service without mail has records %+v", w.zones.records)
		}
		w.add(10, "info", "")
		w.apply(10)
		names := map[string]string{}
		for _, r := range w.zones.records[10] {
			names[r.Type+" "+r.Name] = r.Value
		}
		domains, err := w.machine.MailDomains(t.Context(), "10")
		w.Must(err)
		for name, want := range map[string]string{
			"MX shop.example":  "mail.sandbox.invalid",
			"TXT shop.example": "v=spf1 mx ip4:192.0.2.1 ip6:2001:db8::1 ~all",
			"TXT " + domains[0].DKIMSelector + "._domainkey.shop.example": "v=DKIM1; k=rsa; p=" + domains[0].DKIMPublicKey,
			"TXT _dmarc.shop.example":                                     "v=DMARC1; p=none",
			"SRV _imaps._tcp.shop.example":                                "mail.sandbox.invalid",
			"SRV _sieve._tcp.shop.example":                                "mail.sandbox.invalid",
			"SRV _autodiscover._tcp.shop.example":                         "shop.example",
			"A autodiscover.shop.example":                                 "192.0.2.1",
			"AAAA autoconfig.shop.example":                                "2001:db8::1",
		} {
			if names[name] != want {
				t.Errorf("%s is %q, want %q", name, names[name], want)
			}
		}
		ok := func() string {
			var all []string
			b := w.shows(10)["info@shop.example"]
			for _, name := range []string{"mx", "spf", "dkim", "dmarc", "ptr"} {
				var f struct {
					OK    bool
					Found []string
				}
				w.Must(json.Unmarshal((*b.DNS)[name], &f))
				all = append(all, fmt.Sprintf("%s=%t", name, f.OK))
				if f.Found == nil {
					all = append(all, "?")
				}
			}
			return strings.Join(all, " ")
		}
		if got := ok(); got != "mx=false ? spf=false ? dkim=false ? dmarc=false ? ptr=false ?" {
			t.Errorf("before the first look: %s", got)
		}
		w.Must(w.CheckDNS(t.Context()))
		if got := ok(); got != "mx=true spf=true dkim=true dmarc=true ptr=true" {
			t.Errorf("as it should be: %s", got)
		}
		served := w.zones.records[10]
		priority := 0
		w.zones.records[10] = []site.Record{
			{Name: "shop.example", Type: "MX", Value: "aspmx.elsewhere.example", Priority: &priority},
			{Name: "shop.example", Type: "TXT", Value: "v=spf1 -all"},
			{Name: domains[0].DKIMSelector + "._domainkey.shop.example", Type: "TXT", Value: "v=DKIM1; p=AAAA"},
		}
		w.Must(w.CheckDNS(t.Context())) // not due
		w.Clock.Advance(6 * time.Minute)
		w.dns.ptr = "host-1.isp.example"
		w.Must(w.CheckDNS(t.Context()))
		if got := ok(); got != "mx=false spf=false dkim=false dmarc=false ptr=false" {
			t.Errorf("with the customer's own: %s", got)
		}
		w.dns.fail = true
		w.Clock.Advance(6 * time.Minute)
		w.Must(w.CheckDNS(t.Context()))
		if got := ok(); got != "mx=false ? spf=false ? dkim=false ? dmarc=false ? ptr=false" {
			t.Errorf("when the DNS does not answer: %s", got)
		}
		w.zones.records[10] = served
		w.must2(w.Do("DELETE", fmt.Sprintf("/10/mailboxes/%d", w.shows(10)["info@shop.example"].ID), "own", ""))
		w.apply(10)
		if got := w.zones.records[10]; len(got) != 0 {
			t.Errorf("records without mailboxes: %+v", got)
		}
	})
}

func (w *world) must2(r sitetest.Reply) {
	w.T.Helper()
	if r.Code >= 300 {
		w.T.Fatalf("%+v", r)
	}
}

func TestTheMailServerIsFollowed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example", "blog.example")
		id := w.add(10, "info", `,"quota_mb":100`)
		w.machine.Fail(panel.ErrUnreachable)
		if err := w.Apply(t.Context(), owner, 10); !errors.Is(err, panel.ErrUnreachable) {
			t.Errorf("got %v", err)
		}
		if s := w.shows(10)["info@shop.example"].Status; s != "pending" {
			t.Errorf("status %s", s)
		}
		w.machine.Fail(panel.ErrDiskFull)
		w.apply(10)
		if b := w.shows(10)["info@shop.example"]; b.Status != "failed" || b.StatusReason == nil || *b.StatusReason != "disk_full" {
			t.Errorf("shown %+v", b)
		}
		w.machine.Fail(nil)
		w.must2(w.Do("PATCH", fmt.Sprintf("/10/mailboxes/%d", id), "own", `{}`))
		w.apply(10)
		if s := w.shows(10)["info@shop.example"].Status; s != "active" {
			t.Errorf("status after another try %s", s)
		}

		// Somebody changed the panel by hand.
		w.Must(w.machine.RemoveMailbox(t.Context(), "10", "info@shop.example"))
		_, err := w.machine.Panel.SetMailbox(t.Context(), "10", panel.Mailbox{Address: "ghost@shop.example", PasswordHash: "{BLF-CRYPT}$2a$04$7Zk0wPq0hQGqCkqS0nq0eO"})
		w.Must(err)
		w.apply(10)
		all, err := w.machine.Panel.Mailboxes(t.Context(), "10")
		w.Must(err)
		if len(all) != 1 || all[0].Address != "info@shop.example" {
			t.Errorf("the panel has %+v", all)
		}

		// What is used is told, and once that it is full.
		w.queue.jobs = nil
		w.Clock.Advance(6 * time.Minute)
		w.Must(w.MeasureDue(t.Context()))
		w.Must(w.MeasureDue(t.Context()))
		if len(w.queue.jobs) != 1 {
			t.Errorf("jobs %+v", w.queue.jobs)
		}
		for _, used := range []int64{50, 99, 100, 95, 99, 20, 99} {
			w.machine.used["info@shop.example"] = used<<20 - 5
			w.Must(w.Measure(t.Context(), owner, 10))
		}
		if b := w.shows(10)["info@shop.example"]; b.UsedMB != 99 {
			t.Errorf("used %d", b.UsedMB)
		}
		if n := strings.Count(w.told(10), "mailbox.quota_reached"); n != 2 {
			t.Errorf("told %d times that it is full:\n%s", n, w.told(10))
		}

		// An alias of a domain that leaves is not served, and in nobody's way.
		w.must2(w.Do("PATCH", fmt.Sprintf("/10/mailboxes/%d", id), "own", `{"aliases":["sales@blog.example"]}`))
		w.apply(10)
		blog := w.domains[10]
		w.domains[10] = blog[:1]
		w.must2(w.Do("PATCH", fmt.Sprintf("/10/mailboxes/%d", id), "own", `{"quota_mb":101}`))
		w.apply(10)
		if all, err = w.machine.Panel.Mailboxes(t.Context(), "10"); err != nil || len(all[0].Aliases) != 0 || all[0].QuotaMB != 101 {
			t.Errorf("the panel has %+v, %v", all, err)
		}
		w.domains[10] = blog

		// A domain that leaves disables its mailboxes; a service that is suspended all.
		w.domains[10] = w.domains[10][1:]
		if b := w.shows(10)["info@shop.example"]; b.Status != "disabled" || *b.StatusReason != "domain_removed" || b.DomainID != nil {
			t.Errorf("shown %+v", b)
		}
		w.apply(10)
		w.Services.SetStatus(t, 10, "suspended")
		w.apply(10)
		w.add2(10)
		w.Services.SetStatus(t, 10, "terminated")
		w.apply(10)
		if all := w.shows(10); len(all) != 0 {
			t.Errorf("left %+v", all)
		}
	})
}

// TestMailboxesOfADomainThatStrayedAreFollowed: a domain that may be given no mail for now, because its DNS leads elsewhere, is the
// service's still. What protects its mailboxes reaches the mail server, and its aliases stay.
func TestMailboxesOfADomainThatStrayedAreFollowed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example", "blog.example")
		id := w.add(10, "info", `,"aliases":["sales@blog.example"],"forward_to":["thief@elsewhere.example"]`)
		w.apply(10)
		had := func() panel.Mailbox {
			t.Helper()
			all, err := w.machine.Panel.Mailboxes(t.Context(), "10")
			w.Must(err)
			if len(all) != 1 {
				t.Fatalf("the panel has %+v", all)
			}
			return all[0]
		}
		before := had()
		for i := range w.domains[10] {
			w.domains[10][i].Usable = false
		}
		w.apply(10)
		if b := w.shows(10)["info@shop.example"]; b.Status != "active" || b.StatusReason != nil || b.DomainID == nil || *b.DomainID != 100 {
			t.Errorf("shown %+v", b)
		}
		if now := had(); len(now.Aliases) != 1 {
			t.Errorf("the panel has the aliases %q", now.Aliases)
		}

		w.must2(w.Do("PATCH", fmt.Sprintf("/10/mailboxes/%d", id), "own", `{"password":"another one 42","suspended":true,"forward_to":[]}`))
		if b := w.shows(10)["info@shop.example"]; b.Status != "pending" {
			t.Errorf("shown %+v", b)
		}
		if told := w.told(10); strings.Contains(told, "mailbox.suspended") {
			t.Errorf("told before the panel follows: %s", told)
		}
		w.apply(10)
		now := had()
		if now.PasswordTag == before.PasswordTag || !now.Suspended || len(now.ForwardTo) != 0 || len(now.Aliases) != 1 {
			t.Errorf("the panel has %+v, had %+v", now, before)
		}
		if n := strings.Count(w.told(10), "mailbox.suspended"); n != 1 {
			t.Errorf("told %d times of the suspension", n)
		}

		r := w.Do("POST", "/10/mailboxes", "own", `{"local_part":"new","domain":"shop.example","password":"correct horse"}`)
		if r.Key() != "validation_failed" {
			t.Errorf("a new mailbox: %+v", r)
		}
	})
}

// add2 checks that a suspended service takes no mailbox.
func (w *world) add2(serviceID int64) {
	w.T.Helper()
	r := w.Do("POST", fmt.Sprintf("/%d/mailboxes", serviceID), "own", `{"local_part":"x","domain":"blog.example","password":"correct horse"}`)
	if r.Key() != "service_suspended" {
		w.T.Errorf("got %+v", r)
	}
}
