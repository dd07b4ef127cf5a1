package notifications_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/identity/notifications"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/mailer"
)

type owners map[int64]notifications.Recipient

func (o owners) Recipient(_ context.Context, _ db.Querier, id int64) (notifications.Recipient, error) {
	r, ok := o[id]
	if !ok {
		return r, errors.New("no such account")
	}
	return r, nil
}

// post keeps what is sent, by the queue's workers too; rejects is answered as long as it is set.
type post struct {
	mu      sync.Mutex
	sent    []mailer.Message
	rejects error
}

func (p *post) Send(_ context.Context, m mailer.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rejects != nil {
		return p.rejects
	}
	if err := m.Check(); err != nil {
		return err
	}
	p.sent = append(p.sent, m)
	return nil
}

// mails are those that were sent so far.
func (p *post) mails() []mailer.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

type world struct {
	t    *testing.T
	db   *db.DB
	clk  *clock.Fake
	post *post
	*notifications.Service
	queue *jobs.Queue
	edge  http.Handler
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		q, err := jobs.New(d, jobs.Config{MaxWorkers: 2, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, db: d, clk: clk, post: &post{}, queue: q}
		w.Service = notifications.New(notifications.Config{
			DB: d, Queue: q, Mailer: w.post, Brand: brand.Fixed(brand.Brand{Name: "Stead", Support: "help@stead.test"}), Letters: &mailer.Writer{Brand: brand.Fixed(brand.Brand{Name: "Stead", Support: "help@stead.test"}), BaseURL: "https://stead.test"}, BaseURL: "https://stead.test", Box: box,
			Recipients: owners{
				1: {Email: "ann@stead.test", Name: "Ann", Locale: "ru", Open: true},
				2: {Email: "bob@stead.test", Name: "Bob", Locale: "en"},
			},
		})
		w.Connect(notifications.Needs{Pushes: notifications.NoDevices{}})
		w.Register(q.Workers())
		scopes := []string{"profile"}
		w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
			"own":   {AccountID: 1, ApplicationID: 1, FirstParty: true, Scopes: scopes},
			"other": {AccountID: 2, ApplicationID: 1, FirstParty: true, Scopes: scopes},
		}, w.Operations())
		f(t, w)
	})
}

// hear tells the section of an event as the outbox does.
func (w *world) hear(e outbox.Stored) {
	w.t.Helper()
	if err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Follow(ctx, tx, e) }); err != nil {
		w.t.Fatal(err)
	}
}

type answer struct {
	Data []struct {
		ID                          int64
		Kind, Severity, Title, Body string
		Link                        *string
		ReadAt                      *time.Time `json:"read_at"`
	}
	Meta   struct{ Total, Unread int }
	Marked int64
	Error  string
}

func (w *world) call(token, method, path, body string) (int, answer) {
	w.t.Helper()
	rec := apitest.Call(w.edge, token, method, "/api/v1/notifications"+path, body, "Accept-Language", "en")
	var a answer
	if err := json.Unmarshal(rec.Body.Bytes(), &a); err != nil {
		w.t.Fatalf("%s: %v", rec.Body, err)
	}
	return rec.Code, a
}

func event(uid, typ, data string) outbox.Stored {
	return outbox.Stored{UID: uid, Type: typ, AccountID: 1, Subject: "service", SubjectID: 9, Data: json.RawMessage(data)}
}

func TestAnEventIsNotedOnceAndReadByItsOwnerOnly(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for range 2 { // told twice
			w.hear(event("evt_1", "service.suspended", `{"domain":"shop.test","label":"Shop"}`))
		}
		w.hear(event("evt_2", "order.completed", `{"number":"ORD-1","total":{"display":"$4.99"}}`))
		w.hear(event("evt_3", "service.updated", `{}`)) // nobody is told
		_, list := w.call("own", "GET", "", "")
		if list.Meta.Total != 2 || list.Meta.Unread != 2 {
			t.Fatalf("%+v", list)
		}
		newest, first := list.Data[0], list.Data[1]
		if newest.Kind != "order_completed" || newest.Title != "Order ORD-1 is complete" || first.Severity != "critical" ||
			first.Title != "Service shop.test is suspended" || *first.Link != "/panel/services/9/plan" {
			t.Errorf("%+v", list.Data)
		}
		if _, strangers := w.call("other", "GET", "", ""); strangers.Meta.Total != 0 {
			t.Errorf("a stranger sees %+v", strangers)
		}
		ids := fmt.Sprintf(`{"ids":[%d]}`, first.ID)
		if _, a := w.call("other", "POST", "/read", ids); a.Marked != 0 {
			t.Error("a stranger marked it")
		}
		for _, want := range []int64{1, 0} {
			if status, a := w.call("own", "POST", "/read", ids); status != 200 || a.Marked != want {
				t.Errorf("marked %d, want %d", a.Marked, want)
			}
		}
		if _, left := w.call("own", "GET", "?unread=true", ""); left.Meta.Total != 1 || left.Meta.Unread != 1 || left.Data[0].ID != newest.ID {
			t.Errorf("unread: %+v", left)
		}
		if _, a := w.call("own", "POST", "/read", `{"all":true}`); a.Marked != 1 {
			t.Errorf("all: %+v", a)
		}
		many := `{"ids":[1` + strings.Repeat(",1", 100) + `]}`
		for _, body := range []string{`{}`, `{"ids":[]}`, `{"ids":[1],"all":true}`, `{"all":false}`, many} {
			if status, a := w.call("own", "POST", "/read", body); status != 422 || a.Error != "validation_failed" {
				t.Errorf("%.40s: %d %s", body, status, a.Error)
			}
		}
	})
}

func TestWhatCannotWaitIsMailedInTheOwnersLanguage(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		if err := w.queue.Start(ctx); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := w.queue.Stop(context.WithoutCancel(ctx)); err != nil {
				t.Error(err)
			}
		}()
		w.hear(event("evt_0", "order.completed", `{"number":"ORD-1"}`)) // can wait
		closed := event("evt_1", "service.suspended", `{"domain":"b.test"}`)
		closed.AccountID = 2
		w.hear(closed)
		w.hear(event("evt_2", "ssl.failed", `{"common_name":"shop.test\r\nBcc: all@stead.test","error_key":"ssl_rate_limited"}`))
		done := func() bool {
			var n int
			if err := w.db.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE kind = 'notifications.mail' AND state = 'completed'`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n == 2
		}
		testkit.Eventually(t, time.Minute, done, "the mails are sent")
		if n := len(w.post.mails()); n != 1 {
			t.Fatalf("sent %d mails", n)
		}
		m := w.post.mails()[0]
		if m.To != "ann@stead.test" || strings.ContainsAny(m.Subject, "\r\n") || !strings.Contains(m.Subject, "сертификат") ||
			!strings.Contains(m.Text, "help@stead.test") || !strings.Contains(m.Text, i18n.T("ru", "error.ssl_rate_limited", nil)) || !strings.Contains(m.Text, "https://stead.test/panel/services/9/certificates") {
			t.Errorf("%+v", m)
		}
	})
}

// TestWhatIsWellAgainIsToldOnceAndOnlyAfterTrouble: of the same name of the same service.
func TestWhatIsWellAgainIsToldOnceAndOnlyAfterTrouble(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for i, c := range []struct {
			typ, name string
			total     int
		}{
			{"ssl.renewed", "a.test", 0},
			{"ssl.failed", "a.test", 1},
			{"ssl.failed", "b.test", 2},
			{"ssl.issued", "c.test", 2},
			{"ssl.issued", "a.test", 3},
			{"ssl.renewed", "a.test", 3},
			{"ssl.failed", "a.test", 4},
			{"ssl.renewed", "a.test", 5},
			{"ssl.renewed", "b.test", 6},
			{"backup.completed", "a.test", 6},
			{"service.unsuspended", "", 6},
			{"service.suspended", "", 7},
			{"service.unsuspended", "", 8},
			{"service.unsuspended", "", 8},
		} {
			w.hear(event(fmt.Sprint("evt_", i), c.typ, fmt.Sprintf(`{"common_name":%q}`, c.name)))
			if _, list := w.call("own", "GET", "", ""); list.Meta.Total != c.total {
				t.Errorf("after %s of %s (%d): %d notifications, not %d", c.typ, c.name, i, list.Meta.Total, c.total)
			}
		}
		w.hear(event("evt_other", "ssl.failed", `{"common_name":"d.test"}`))
		other := event("evt_others", "ssl.issued", `{"common_name":"d.test"}`)
		other.SubjectID = 10
		w.hear(other)
		if _, list := w.call("own", "GET", "", ""); list.Meta.Total != 9 || list.Data[1].Kind != "service_resumed" || list.Data[1].Severity != "info" {
			t.Errorf("%+v", list)
		}
	})
}

// before are the troubles without which an event that ends them has no notification.
var before = map[string]string{
	"ssl.issued": "ssl.failed", "ssl.renewed": "ssl.failed", "backup.completed": "backup.failed", "service.unsuspended": "service.suspended",
	"webhook.endpoint_enabled": "webhook.endpoint_disabled",
}

// TestANotificationLeadsToWhereItIsMended: each to a page of the panel, none to an operation. A type of events that is new needs a line here.
func TestANotificationLeadsToWhereItIsMended(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		const service, domain, monitor = "/panel/services/9", "/panel/domains/9", "/panel/monitors/9"
		pages := map[string]struct{ subject, data, link string }{
			"service.renewal_upcoming":      {"service", `{}`, service + "/plan"},
			"service.renewal_failed":        {"service", `{}`, service + "/plan"},
			"service.termination_scheduled": {"service", `{}`, service + "/plan"},
			"service.suspended":             {"service", `{}`, service + "/plan"},
			"service.unsuspended":           {"service", `{}`, service},
			"service.htaccess_ignored":      {"service", `{}`, service + "/files"},
			"service.migration_planned":     {"service", `{}`, service},
			"service.migrated":              {"service", `{}`, service},
			"order.completed":               {"order", `{}`, "/panel/orders/9"},
			"wallet.low_balance":            {"wallet", `{}`, "/panel/wallet"},
			"wallet.topup_succeeded":        {"topup", `{}`, "/panel/wallet"},
			"wallet.topup_failed":           {"topup", `{}`, "/panel/wallet"},
			"ssl.failed":                    {"service", `{}`, service + "/certificates"},
			"ssl.issued":                    {"service", `{}`, service + "/certificates"},
			"ssl.renewed":                   {"service", `{}`, service + "/certificates"},
			"backup.failed":                 {"service", `{}`, service + "/backups"},
			"backup.completed":              {"service", `{}`, service + "/backups"},
			"backup.damaged":                {"service", `{}`, service + "/backups"},
			"backup.restore_failed":         {"service", `{}`, service + "/backups"},
			"site_domain.displaced":         {"service", `{}`, service + "/domains"},
			"site_domain.contested":         {"service", `{}`, service + "/domains"},
			"domain.expiring":               {"domain", `{}`, domain},
			"domain.expired":                {"domain", `{}`, domain},
			"domain.transfer_out_requested": {"domain", `{}`, domain},
			"domain.transferred_out":        {"domain", `{}`, domain},
			"domain.registration_failed":    {"domain", `{}`, domain},
			"domain.transfer_in_failed":     {"domain", `{}`, domain},
			"monitor.down":                  {"monitor", `{}`, monitor},
			"monitor.up":                    {"monitor", `{}`, monitor},
			"monitor.ssl_expiring":          {"monitor", `{}`, monitor},
			"monitor.domain_expiring":       {"monitor", `{}`, monitor},
			"scan.found":                    {"scan", `{"service_id":4}`, "/panel/services/4/health"},
			"ai.insight_found":              {"insight", `{"service_id":4}`, "/panel/services/4/agent?tab=insights"},
			"ai.approval_required":          {"ai_run", `{"service_id":4}`, "/panel/services/4/agent"},
			"webhook.endpoint_disabled":     {"webhook", `{}`, "/panel/reseller/events"},
			"webhook.endpoint_enabled":      {"webhook", `{}`, "/panel/reseller/events"},
		}
		hear := func(uid, typ string) {
			e := event(uid, typ, pages[typ].data)
			e.Subject = pages[typ].subject
			w.hear(e)
		}
		for i, typ := range notifications.EventTypes() {
			want, known := pages[typ]
			if !known {
				t.Errorf("nobody has said which page %s leads to", typ)
				continue
			}
			if trouble := before[typ]; trouble != "" {
				hear(fmt.Sprint("evt_before_", i), trouble)
			}
			hear(fmt.Sprint("evt_", i), typ)
			_, list := w.call("own", "GET", "", "")
			if link := list.Data[0].Link; link == nil || *link != want.link {
				t.Errorf("%s leads to %v, not to %s", typ, link, want.link)
			}
		}
		told := event("evt_earlier", "scan.found", `{"host":"a.test"}`) // before events of scans named the service
		told.Subject = "scan"
		w.hear(told)
		if _, list := w.call("own", "GET", "", ""); list.Data[0].Link == nil || *list.Data[0].Link != "/panel/services" {
			t.Errorf("a scan without its service: %+v", list.Data[0])
		}
	})
}

// TestTheEndOfAServiceIsToldInTime: an owner who is no reseller hears of no webhooks (resources, sections 1 and 11).
// What the wallet is going to pay, what fails for days on end, and an end that its owner has ordered need no mail.
func TestTheEndOfAServiceIsToldInTime(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for i, c := range []struct{ typ, data, kind, severity, words string }{
			{"service.renewal_upcoming", `{"domain":"a.test","status":"active","auto_renew":false,"days":7}`, "service_expiring", "warning", "in 7 days"},
			{"service.renewal_upcoming", `{"domain":"a.test","status":"active","auto_renew":true,"days":7}`, "service_expiring", "info", "a.test"},
			{"service.renewal_failed", `{"label":"Shop","status":"active","error_key":"insufficient_funds"}`, "service_renewal_failed", "warning", "not enough money"},
			{"service.renewal_failed", `{"domain":"a.test","status":"past_due","error_key":"insufficient_funds"}`, "service_renewal_failed", "warning", "a.test"},
			{"service.renewal_failed", `{"domain":"a.test","status":"suspended","error_key":"insufficient_funds"}`, "service_renewal_failed", "info", "a.test"},
			{"service.termination_scheduled", `{"domain":"a.test","status":"suspended","days":3}`, "service_ending", "critical", "in 3 days"},
			{"service.termination_scheduled", `{"domain":"a.test","status":"active","days":20}`, "service_ending", "info", "in 20 days"},
			{"domain.transferred_out", `{"unicode_name":"a.test"}`, "domain_transferred", "critical", "a.test"},
			{"domain.registration_failed", `{"unicode_name":"a.test","error_key":"domain_unavailable"}`, "domain_registration_failed", "warning", "already taken"},
			{"domain.transfer_in_failed", `{"unicode_name":"a.test","error_key":"auth_code_invalid"}`, "domain_transfer_failed", "warning", "transfer code"},
		} {
			w.hear(event(fmt.Sprint("evt_", i), c.typ, c.data))
			_, list := w.call("own", "GET", "", "")
			if n := list.Data[0]; list.Meta.Total != i+1 || n.Kind != c.kind || n.Severity != c.severity || !strings.Contains(n.Body, c.words) {
				t.Errorf("%s %s: %+v", c.typ, c.data, n)
			}
		}
	})
}

// TestDamageOfBackupsTellsWhatCanBeDone: a service without its data has nothing to make another backup of.
func TestDamageOfBackupsTellsWhatCanBeDone(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for i, c := range []struct{ data, words string }{
			{`{"domain":"a.test","backups":2,"online":true,"ended":false,"whole_left":false}`, "make one now"},
			{`{"domain":"a.test","backups":2,"online":false,"ended":false,"whole_left":true}`, "An earlier backup is whole. Activate the service"},
			{`{"domain":"a.test","backups":2,"online":false,"ended":true,"whole_left":true}`, "download one while they are kept"},
			{`{"domain":"a.test","backups":2,"online":false,"ended":true,"whole_left":false}`, "write to support"},
			{`{"domain":"a.test","backups":2}`, "make one now"}, // of an older release
		} {
			w.hear(event(fmt.Sprint("evt_", i), "backup.damaged", c.data))
			_, list := w.call("own", "GET", "", "")
			if n := list.Data[0]; n.Kind != "backup_damaged" || !strings.Contains(n.Body, c.words) || strings.Contains(n.Body, "{{") {
				t.Errorf("%s: %+v", c.data, n)
			}
		}
	})
}

func TestEveryKindHasItsWordsInEveryLanguage(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for i, typ := range notifications.EventTypes() {
			if trouble := before[typ]; trouble != "" {
				w.hear(event(fmt.Sprint("evt_before_", i), trouble, `{}`))
			}
			w.hear(event(fmt.Sprint("evt_", i), typ, `{}`)) // an event with less than it should have is no failure
		}
		_, list := w.call("own", "GET", "?per_page=50", "")
		if len(list.Data) != len(notifications.EventTypes())+len(before) {
			t.Fatalf("%d notifications", len(list.Data))
		}
		for _, n := range list.Data {
			for _, lang := range i18n.Supported() {
				for _, part := range []string{"title", "body"} {
					if id := "notification." + n.Kind + "." + part; !i18n.Has(lang, id) {
						t.Errorf("%s is missing in %s", id, lang)
					}
				}
			}
			if strings.Contains(n.Title+n.Body, "<no value>") {
				t.Errorf("%+v", n)
			}
		}
	})
}

func TestOldNotificationsAreForgotten(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.hear(event("evt_1", "order.completed", `{}`))
		w.clk.Advance(89 * 24 * time.Hour)
		w.hear(event("evt_2", "order.completed", `{}`))
		left := func() int {
			t.Helper()
			if err := w.Clean(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, list := w.call("own", "GET", "", "")
			return list.Meta.Total
		}
		if n := left(); n != 2 {
			t.Errorf("before ninety days: %d", n)
		}
		w.clk.Advance(2 * 24 * time.Hour)
		if n := left(); n != 1 {
			t.Errorf("after ninety days: %d", n)
		}
	})
}
