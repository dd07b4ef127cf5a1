package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/testkit"
)

// aCorner is a world of one key: one of everything that the reseller API has, made with nothing but the key.
func aCorner(t *testing.T, a *App, c customer, name, key string) *world {
	t.Helper()
	w := &world{App: a, t: t, owner: customer{id: c.id}, ownersKey: key, domain: unique(name) + ".example.com"}
	w.plan = w.aPlan()
	w.service = w.id(w.post(t, key, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": %q, "client_ref": %q}`, w.plan, w.domain, ownersTag)))
	service := fmt.Sprintf("/api/v1/reseller/services/%d", w.service)
	w.rests(service, "active")
	w.otherPlan = w.firstOf(service+"/tariffs", "plan")
	w.ownCertificate = ownCertificate(t, a.clock.Now(), w.domain)
	w.listRests(key, service+"/domains", "active") // the service's own, which follows when it is active
	w.hostedDomain = w.id(w.post(t, key, service+"/domains", fmt.Sprintf(`{"name": "blog.%s", "kind": "subdomain"}`, w.domain)))
	w.listRests(key, service+"/domains", "active") // mail is for domains that are served
	w.database = w.id(w.post(t, key, service+"/databases", `{"name": "shop", "engine": "mariadb"}`))
	w.mailbox = w.id(w.post(t, key, service+"/mailboxes", fmt.Sprintf(`{"local_part": "info", "domain": %q, "password": "correct horse"}`, w.domain)))
	w.backup = w.id(w.post(t, key, service+"/backups", `{"parts": ["files"]}`))
	w.order = w.firstOf("/api/v1/reseller/orders", "")
	w.topup = w.id(w.post(t, key, "/api/v1/reseller/wallet/topups", `{"amount_usd_cents": 1000, "gateway": "demo"}`))
	w.registration = w.id(w.post(t, key, "/api/v1/reseller/domains", registrationRequest(unique(name)+".example")))
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	w.webhook = w.id(w.post(t, key, "/api/v1/reseller/webhooks", fmt.Sprintf(`{"url": %q, "events": ["webhook.test"]}`, receiver.URL)))
	var sent struct {
		EventID string `json:"event_id"`
	}
	w.post(t, key, fmt.Sprintf("/api/v1/reseller/webhooks/%d/test", w.webhook), "").decode(t, &sent)
	w.event = sent.EventID
	w.addon = w.id(w.post(t, key, service+"/addons", `{"key": "extra_disk"}`))
	w.uploadLogo(key)
	w.invoice = w.firstOf("/api/v1/reseller/invoices", "")
	if w.claim = noClaim; name != "sandbox" {
		w.claim = w.firstOf("/api/v1/reseller/domain-claims", "")
	}
	for _, list := range []string{"/databases", "/mailboxes"} {
		w.listRests(key, service+list, "active")
	}
	w.listRests(key, service+"/backups", "completed")
	w.rests(fmt.Sprintf("/api/v1/reseller/domains/%d", w.registration), "active")
	return w
}

// noClaim is the claim of a sandbox, whose names are nobody's.
const noClaim = 999_999

// firstOf is the id of the first row of a list, or of the row's member that is named.
func (w *world) firstOf(path, member string) int64 {
	w.t.Helper()
	var list struct {
		Data []map[string]any `json:"data"`
	}
	r := w.get(w.t, w.ownersKey, path)
	r.decode(w.t, &list)
	if len(list.Data) == 0 {
		w.t.Fatalf("%s is empty: %s", path, r)
	}
	row := list.Data[0]
	if member != "" {
		row, _ = row[member].(map[string]any)
	}
	id, _ := row["id"].(float64)
	if id == 0 {
		w.t.Fatalf("%s: no id in %s", path, r)
	}
	return int64(id)
}

// rests waits until a thing is in the state.
func (w *world) rests(path, status string) {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool {
		var one struct {
			Status string `json:"status"`
		}
		w.get(w.t, w.ownersKey, path).decode(w.t, &one)
		return one.Status == status
	}, path+" is "+status)
}

// listRests waits until all rows of a list are in the state, as the token sees them.
func (w *world) listRests(token, path, status string) {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool {
		var list struct {
			Data []struct {
				Status string `json:"status"`
			} `json:"data"`
		}
		w.get(w.t, token, path).decode(w.t, &list)
		for _, row := range list.Data {
			if row.Status != status {
				return false
			}
		}
		return len(list.Data) > 0
	}, path+" is "+status)
}

// seen is all that the corner's key can read of what it has, without lists that grow as jobs go on.
func (w *world) seen(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, op := range w.Operations() {
		if op.Auth != api.Key || op.Method != http.MethodGet || growing[op.ID] {
			continue
		}
		if op.ID == "reseller.claims.get" && w.claim == noClaim {
			continue
		}
		r := w.do(t, w.example(op, w.ownersKey))
		if r.status != http.StatusOK {
			t.Errorf("%s with its own key: %s", op.ID, r)
		}
		all[op.ID] = r.lasting()
	}
	return all
}

// TestNoKeyReachesAnotherWorld goes through every operation of the reseller API that is mounted: a key of another
// reseller, and one of the other world of the same reseller, finds nothing, shows nothing and changes nothing. An
// operation about a thing of which the corners have none fails the test.
func TestNoKeyReachesAnotherWorld(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		app := a.application(t, false)
		owner, stranger := a.customer(t, app, 1_000_000), a.customer(t, app, 1_000_000)
		keys := &world{App: a, t: t}
		corners := map[string]*world{
			"live":       aCorner(t, a, owner, "live", keys.aKey(owner, reseller.NewKey{})),
			"sandbox":    aCorner(t, a, owner, "sandbox", keys.aKey(owner, reseller.NewKey{Sandbox: true})),
			"stranger's": aCorner(t, a, stranger, "stranger", keys.aKey(stranger, reseller.NewKey{})),
		}
		for of, w := range corners {
			before := w.seen(t)
			for by, intruder := range corners {
				if by == of {
					continue
				}
				for _, op := range a.Operations() {
					if op.Auth != api.Key {
						continue
					}
					r := w.example(op, intruder.ownersKey)
					if path, _, _ := strings.Cut(r.path, "?"); strings.Contains(path+"/", "/0/") {
						t.Fatalf("%s: the corners have nothing for %s; make one in aCorner", op.ID, op.Path)
					}
					got := a.do(t, r)
					// The tag is one that each of them has given; what it shows is the intruder's own.
					if owned(op) && !strings.Contains(op.Path, "{client_ref}") && (got.status != http.StatusNotFound || got.key() != "not_found") {
						t.Errorf("%s of %s with the key of %s: %s", op.ID, of, by, got)
					}
					if strings.Contains(string(got.body), w.domain) {
						t.Errorf("%s shows %s what is %s: %s", op.ID, by, of, got)
					}
				}
			}
			after := w.seen(t)
			for id, body := range before {
				if after[id] != body {
					t.Errorf("%s: %s changed\nfrom %.600s\nto   %.600s", of, id, body, after[id])
				}
			}
		}
	})
}

// TestARevokedKeyIsRefusedWithinASecond also where the key was in use a moment ago, in every process.
func TestARevokedKeyIsRefusedWithinASecond(t *testing.T) {
	a := start(t, simulated)
	w := &world{App: a, t: t}
	owner := a.customer(t, a.application(t, false), 0)
	_ = w.aKey(owner, reseller.NewKey{})
	k, token, err := a.reseller.CreateKey(t.Context(), owner.id, reseller.NewKey{Name: "To be revoked"})
	if err != nil {
		t.Fatal(err)
	}
	if r := a.get(t, token, "/api/v1/reseller/me"); r.status != http.StatusOK {
		t.Fatal(r)
	}
	if err := a.reseller.RevokeKey(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	if r := a.get(t, token, "/api/v1/reseller/me"); r.status != http.StatusUnauthorized || r.key() != "api_key_revoked" {
		t.Errorf("the next request: %s", r)
	}
}
