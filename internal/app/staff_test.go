package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/content/announcements"
	"stead.dev/stead/internal/content/articles"
	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/audit"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
)

// staffWorld is a world with one member of staff in each role.
type staffWorld struct {
	*world
	members map[auth.Role]customer
	values  map[string]string // of the parameters of paths
	bodies  map[string]string // by operation
}

func newStaffWorld(t *testing.T, a *App) *staffWorld {
	t.Helper()
	w := &staffWorld{world: newWorld(t, a), members: map[auth.Role]customer{}}
	for _, role := range auth.Roles() {
		id := a.account(t)
		if err := a.accounts.SetRole(t.Context(), id, role); err != nil {
			t.Fatal(err)
		}
		w.members[role] = customer{id: id, token: w.staffToken(id, auth.Scopes...)}
	}
	w.prepare()
	return w
}

// staffToken is a token of the panel, the one application that gets the scope admin.
func (w *staffWorld) staffToken(id int64, scopes ...string) string {
	return w.token(w.t, id, client{id: oauth.PanelClientID, redirect: w.cfg.BaseURL + "/panel/callback"}, scopes...)
}

// staffRefusals are operations that the world has nothing for; their refusals are the test.
var staffRefusals = map[string]string{
	"staff.orders.retry": "nothing_to_retry", "staff.services.retry": "nothing_to_retry",
	"staff.services.move": "service_not_on_node", "staff.nodes.evacuate": "node_silent", "staff.nodes.upgrade": "node_away",
}

// onePixel is a picture.
var onePixel = func() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))) // a buffer takes everything
	return b.Bytes()
}()

// prepare makes one of everything that paths and bodies name.
func (w *staffWorld) prepare() {
	w.t.Helper()
	ctx, t := w.t.Context(), w.t
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	one := func(query string, args ...any) (id int64) {
		t.Helper()
		must(w.db.QueryRow(ctx, query, args...).Scan(&id))
		return id
	}
	write := func(query string, args ...any) (id int64) {
		t.Helper()
		must(w.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return tx.QueryRow(ctx, query, args...).Scan(&id) }))
		return id
	}
	now := w.clock.Now()
	write(`INSERT INTO account_totp (account_id, sealed_seed, last_step, confirmed_at, created_at) VALUES ($1, $2, 0, $3, $3) RETURNING account_id`,
		w.stranger.id, []byte("sealed"), now)
	topup := w.id(w.post(t, w.owner.token, "/api/v1/wallet/topups", `{"amount_usd_cents": 1000, "gateway": "bank"}`))
	ended := w.restorable()
	toEnd, toRefuse := w.suspended()
	ip := w.id(w.post(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/addons", w.service), `{"key": "dedicated_ip"}`))
	_, err := w.admin.CreateCoupon(ctx, admin.NewCoupon{Code: "OLD", PercentBasisPoints: 1000})
	must(err)
	_, err = w.admin.AddNode(ctx, nodes.NewNode{Name: "web1"})
	must(err)
	write(`UPDATE nodes_nodes SET state = 'active', address = '192.0.2.1:8443', joined_at = $1 WHERE name = 'web1' RETURNING id`, now)
	job := write(`INSERT INTO river_job (kind, args, max_attempts, attempt, state, finalized_at, queue)
		VALUES ('test.none', '{}', 3, 3, 'discarded', CURRENT_TIMESTAMP, 'nobody') RETURNING id`)
	toCancel := write(`INSERT INTO river_job (kind, args, max_attempts, attempt, state, queue)
		VALUES ('test.none', '{}', 3, 1, 'retryable', 'nobody') RETURNING id`)
	// There is no room for it, so it waits.
	move := write(`INSERT INTO moves_moves (account_id, service_id, kind, from_panel, step, step_at, created_at)
		SELECT account_id, id, 'recover', panel, 'plan', CAST($1 AS BIGINT), $1 FROM services WHERE id = $2 RETURNING id`, now, w.service)
	w.put(t, w.ownersPanel, "/api/v1/me/review")
	month := write(`INSERT INTO sla_months (account_id, service_id, month, status, held, note, promised, uptime, served_s, down_s, maintenance_s, unknown_s,
			breached, base, percent, amount, credit_at, created_at)
		VALUES ($1, $2, $3, 'proposed', FALSE, '', 999000, 980000, 2592000, 51840, 0, 0, TRUE, 500, 10, 50, $4, $4) RETURNING id`,
		w.owner.id, w.service, now.AddDate(0, -1, 0), now)
	incident, err := w.admin.OpenIncident(ctx, status.Incident{Title: i18n.Text{"en": "Slow"}, Impact: "minor", Stage: "investigating"}, i18n.Text{"en": "We look"})
	must(err)
	maintenance, err := w.admin.ScheduleMaintenance(ctx, status.Planned{
		Title: i18n.Text{"en": "Disks"}, StartsAt: now.Add(48 * time.Hour), EndsAt: now.Add(49 * time.Hour),
	})
	must(err)
	staffNote, err := w.admin.AddNote(ctx, fmt.Sprint(w.stranger.id), "Calls on Mondays", w.members[auth.Owner].id)
	must(err)
	catalogFile, err := w.admin.ExportCatalog(ctx)
	must(err)
	domainsFile, err := w.admin.ExportDomains(ctx)
	must(err)
	file := func(text []byte) string {
		body, err := json.Marshal(map[string]string{"file": string(text)})
		must(err)
		return string(body)
	}
	asked := w.id(w.post(t, w.strangersPanel, "/api/v1/tickets", ticketRequest))
	canned, err := w.tickets.SaveAnswer(ctx, "Greeting", "Hello!")
	must(err)
	article, err := w.admin.CreateArticle(ctx, articles.Draft{Kind: articles.Help, Slug: "watch", Language: "ru", Category: "email", Text: articles.Text{
		Title: "Почта на часах", Description: "По шагам.", Body: "Текст.",
	}})
	must(err)
	wish := announcements.Wish{
		Title: i18n.Text{"en": "Disks"}, Body: i18n.Text{"en": "Tonight."}, Level: announcements.Info, Audience: announcements.Audience{Kind: announcements.Everybody},
	}
	announced, err := w.announcements.Create(ctx, wish)
	must(err)
	published, err := w.announcements.Create(ctx, wish)
	must(err)
	_, err = w.announcements.Publish(ctx, published.ID, 1)
	must(err)
	draft, err := w.announcements.Create(ctx, wish)
	must(err)
	const taxes = "home: UZ\ncountries:\n  UZ: {name: QQS, rate: \"12\"}\n"
	nextYear := now.AddDate(1, 0, 0)
	must(w.invoices.SetRules(ctx, taxes, &nextYear, "The law"))
	picture, err := w.admin.AddArticlePicture(ctx, "unused.png", onePixel)
	must(err)
	w.values = map[string]string{
		"tax_rules":    fmt.Sprint(one(`SELECT id FROM invoices_tax_rules`)),
		"picture":      picture.Name,
		"announcement": fmt.Sprint(announced.ID), "staff.announcements.withdraw": fmt.Sprint(published.ID), "staff.announcements.remove": fmt.Sprint(draft.ID),
		"article": fmt.Sprint(article.ID), "queue": "webhooks", "template": "1",
		"ticket": fmt.Sprint(asked), "canned_answer": fmt.Sprint(canned.ID), "attachment": fmt.Sprint(one(`SELECT MAX(id) FROM tickets_attachments`)),
		"account": fmt.Sprint(w.stranger.id), "note": fmt.Sprint(staffNote.ID), "order": fmt.Sprint(w.paid), "topup": fmt.Sprint(topup), "code": "OLD",
		"transaction": fmt.Sprint(one(`SELECT MIN(id) FROM wallet_transactions WHERE account_id = $1 AND type = 'adjustment'`, w.stranger.id)),
		"addon":       fmt.Sprint(ip), "currency": "UZS", "service": fmt.Sprint(w.service), "node": "web1", "section": "embeds", "job": fmt.Sprint(job), "move": fmt.Sprint(move),
		"document": fmt.Sprint(one(`SELECT MIN(id) FROM invoices WHERE sequence IS NOT NULL`)),
		"review":   fmt.Sprint(one(`SELECT id FROM reviews WHERE account_id = $1`, w.owner.id)), "month": fmt.Sprint(month),
		"incident": fmt.Sprint(incident.ID), "image": "logo", "mail": "account.recovery", "language": "ru", "maintenance": fmt.Sprint(maintenance.ID),
		// Things of one operation alone.
		"staff.services.terminate": fmt.Sprint(toEnd), "staff.services.restore": fmt.Sprint(ended), "staff.addons.refuse": fmt.Sprint(toRefuse),
		"staff.jobs.cancel": fmt.Sprint(toCancel),
	}
	// Bodies that the examples of the document are not.
	w.bodies = map[string]string{
		"staff.tax_rules.set":         fmt.Sprintf(`{"file": %q, "valid_from": %q, "reason": "The law"}`, taxes, nextYear.Format(time.RFC3339)),
		"staff.announcements.publish": `{"version": 2}`, // saved before
		"staff.topups.confirm":        fmt.Sprintf(`{"received_usd_cents": %d}`, one(`SELECT amount + fee FROM wallet_topups WHERE id = $1`, topup)),
		"staff.catalog.import":        file(catalogFile),
		"staff.domain_prices.import":  file(domainsFile),
		"staff.maintenance.schedule": fmt.Sprintf(`{"title": {"en": "Disks"}, "starts_at": %q, "ends_at": %q}`,
			now.Add(72*time.Hour).Format(time.RFC3339), now.Add(73*time.Hour).Format(time.RFC3339)),
	}
}

// put writes the owner's review.
func (w *staffWorld) put(t *testing.T, token, path string) {
	t.Helper()
	r := w.do(t, request{method: http.MethodPut, path: path, token: token, body: `{"author": "Anna", "rating": 5, "title": "Good", "body": "They answer within the hour, also at night.", "locale": "en"}`})
	if r.status >= http.StatusBadRequest {
		t.Fatal(r)
	}
}

// suspended is a service that an operator has suspended, with an add-on that staff must set up.
func (w *staffWorld) suspended() (id, addon int64) {
	w.t.Helper()
	id = w.id(w.post(w.t, w.ownersKey, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": %q}`, w.plan, unique("toend")+".example.com")))
	w.rests(fmt.Sprintf("/api/v1/reseller/services/%d", id), "active")
	addon = w.id(w.post(w.t, w.ownersKey, fmt.Sprintf("/api/v1/reseller/services/%d/addons", id), `{"key": "dedicated_ip"}`))
	if _, err := w.admin.SuspendService(w.t.Context(), id, "abuse"); err != nil {
		w.t.Fatal(err)
	}
	return id, addon
}

// call is a request for an operation of staff.
func (w *staffWorld) call(op api.Info, token string) request {
	w.t.Helper()
	r := request{method: op.Method, token: token, body: cmp.Or(w.bodies[op.ID], op.Example)}
	for part := range strings.SplitSeq(strings.TrimPrefix(op.Path, "/"), "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			if part = cmp.Or(w.values[op.ID], w.values[strings.TrimSuffix(name, "}")]); part == "" {
				w.t.Fatalf("%s: no value for %s; make one in prepare", op.ID, name)
			}
		}
		r.path += "/" + part
	}
	if op.ID == "staff.search" {
		r.path += "?q=example.com"
	}
	return r
}

// provedAgo sets when a customer has last proved who they are, in all their sessions.
func (w *world) provedAgo(c customer, ago time.Duration) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE account_sessions SET authenticated_at = $1 WHERE account_id = $2`, tx.Now.Add(-ago), c.id)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// recorded counts the rows of the audit log.
func (w *staffWorld) recorded() (n int) {
	w.t.Helper()
	if err := w.db.QueryRow(w.t.Context(), `SELECT COUNT(*) FROM audit_entries`).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// dangerous are the operations of staff that need a recent proof of who calls, beside all that move money (docs/admin.md).
var dangerous = []string{
	"staff.staff.set_role", "staff.staff.remove", "staff.customers.reset_two_factor", "staff.customers.sign_in_as", "staff.topups.confirm",
	"staff.services.terminate", "staff.nodes.add", "staff.nodes.rejoin", "staff.nodes.recover", "staff.nodes.upgrade",
}

func TestEveryOperationOfStaff(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newStaffWorld(t, a)
		owner := w.members[auth.Owner]
		before := w.recorded()
		for _, op := range a.staff.Operations() {
			if op.Auth != api.Token || len(op.Staff) == 0 || !slices.Contains(op.Staff, auth.Owner) {
				t.Errorf("%s: an owner may do everything, and only staff", op.ID)
			}
			if op.Write && slices.Contains(op.Staff, auth.ReadOnly) {
				t.Errorf("%s changes something, and the role that only reads may call it", op.ID)
			}
			if op.Recent != (op.Money || slices.Contains(dangerous, op.ID)) {
				t.Errorf("%s needs a recent proof: %v", op.ID, op.Recent)
			}
			for name, c := range map[string]struct {
				token, key string
				status     int
			}{
				"without a token":     {"", "unauthenticated", http.StatusUnauthorized},
				"a customer":          {w.owner.token, "admin_required", http.StatusForbidden},
				"a customer's panel":  {w.staffToken(w.owner.id, thirdParty()...), "admin_required", http.StatusForbidden},
				"without the scope":   {w.staffToken(owner.id, thirdParty()...), "insufficient_scope", http.StatusForbidden},
				"with a reseller key": {w.ownersKey, "unauthenticated", http.StatusUnauthorized},
			} {
				if r := a.do(t, w.call(op, c.token)); r.status != c.status || r.key() != c.key {
					t.Errorf("%s %s: %s", op.ID, name, r)
				}
			}
			for _, role := range auth.Roles() {
				if slices.Contains(op.Staff, role) {
					continue
				}
				if r := a.do(t, w.call(op, w.members[role].token)); r.status != http.StatusForbidden || r.key() != "role_required" {
					t.Errorf("%s with the role %s: %s", op.ID, role, r)
				}
			}
		}
		for _, list := range []string{"/invoices", "/webhooks/deliveries", "/services", "/orders"} { // more than 32 bits
			if r := a.get(t, owner.token, "/api/v1/admin"+list+"?account_id=3000000000"); r.status != http.StatusOK {
				t.Errorf("%s of an account that is not there: %s", list, r)
			}
		}
		session := w.aSession(owner)
		w.provedAgo(owner, time.Hour)
		for _, op := range a.staff.Operations() {
			if !op.Recent {
				continue
			}
			if r := a.do(t, w.call(op, session)); r.status != http.StatusForbidden || r.key() != "reauthentication_required" {
				t.Errorf("%s long after signing in: %s", op.ID, r)
			}
		}
		if n := w.recorded(); n != before {
			t.Errorf("refused requests wrote %d rows of the audit log", n-before)
		}
		for _, op := range a.staff.Operations() {
			before := w.recorded()
			r := a.do(t, w.call(op, owner.token))
			if key := staffRefusals[op.ID]; key != "" {
				if r.key() != key || w.recorded() != before {
					t.Errorf("%s is refused by %s, want %s", op.ID, r, key)
				}
				continue
			}
			if r.status != op.Status {
				t.Errorf("%s as the owner: %s", op.ID, r)
				continue
			}
			if n := w.recorded(); (n > before) != op.Write {
				t.Errorf("%s writes something: %v, and wrote %d rows of the audit log", op.ID, op.Write, n-before)
				continue
			}
			if !op.Write {
				continue
			}
			var log struct {
				Data []audit.Shown `json:"data"`
			}
			a.get(t, owner.token, "/api/v1/admin/audit?limit=1").decode(t, &log)
			e := log.Data[0]
			if e.ActorID == nil || *e.ActorID != owner.id || e.ActorRole != "owner" || e.Via != "panel" || e.Address == "" || e.RequestID == "" || e.Action == "" {
				t.Errorf("%s is recorded as %+v", op.ID, e)
			}
		}
	})
}

func TestStaffFindAnOrderByItsNumber(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newStaffWorld(t, a)
		token := w.members[auth.ReadOnly].token
		var order struct {
			Number string `json:"number"`
		}
		a.get(t, token, fmt.Sprintf("/api/v1/admin/orders/%d", w.paid)).decode(t, &order)
		var found struct {
			Data []admin.Hit `json:"data"`
		}
		a.get(t, token, "/api/v1/admin/search?q="+strings.ToLower(order.Number)).decode(t, &found)
		if len(found.Data) != 1 || found.Data[0].Kind != "order" || found.Data[0].ID != w.paid {
			t.Errorf("%s is %+v", order.Number, found.Data)
		}
	})
}

func TestTheCommittedDocumentOfStaffIsTheServedOne(t *testing.T) {
	served, err := StaffOpenAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	isCommitted(t, "admin.openapi.json", served)
	public, err := OpenAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(public), staffPrefix) {
		t.Error("the public document names operations of staff")
	}
}

func TestStaffNeedASecondFactor(t *testing.T) {
	a := start(t, map[string]string{"panel": "sandbox"})
	p, err := a.accounts.Create(t.Context(), account.NewAccount{Email: "owner@example.com", Name: "Owner", Verified: true, Role: auth.Owner})
	if err != nil {
		t.Fatal(err)
	}
	w := &staffWorld{world: &world{App: a, t: t}}
	if r := a.get(t, w.staffToken(p.ID, auth.Scopes...), "/api/v1/admin/me"); r.status != http.StatusForbidden || r.key() != "second_factor_required" {
		t.Errorf("without a second factor: %s", r)
	}
}

func TestTheAuditLogIsOnlyAddedTo(t *testing.T) {
	engines(t, demo, func(t *testing.T, a *App) {
		id := a.account(t)
		a.credit(t, id, 500)
		found, err := a.audit.List(t.Context(), audit.Filter{AccountID: id, Action: "wallet.credit"}, 0, 10)
		if err != nil || len(found) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		var before, after struct {
			Balance int64 `json:"balance_usd_cents"`
		}
		if err := json.Unmarshal(found[0].Before, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(found[0].After, &after); err != nil || before.Balance != 0 || after.Balance != 500 {
			t.Errorf("from %s to %s", found[0].Before, found[0].After)
		}
		for _, statement := range []string{`UPDATE audit_entries SET reason = 'another'`, `DELETE FROM audit_entries`} {
			err := a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, statement)
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("%s: %v", statement, err)
			}
		}
	})
}
