package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
)

// stuckLists are the lists by the kinds of the dashboard.
var stuckLists = map[string]string{
	"orders_processing": "orders?attention=orders_processing", "services_provisioning": "services?attention=services_provisioning",
	"services_failed": "services?attention=services_failed", "renewals_failing": "services?attention=renewals_failing",
	"services_ending": "services?attention=services_ending", "topups_waiting": "topups?attention=topups_waiting",
	"domains_waiting": "domains?attention=domains_waiting", "certificates_failing": "certificates?attention=certificates_failing",
	"webhooks_failing": "webhooks/endpoints?attention=webhooks_failing", "nodes_silent": "nodes?attention=nodes_silent",
	"jobs_failing": "jobs?state=retryable&min_attempts=3", "jobs_discarded": "jobs?state=discarded",
	"tickets_waiting": "tickets?status=open", "addons_waiting": "addons", "reviews_pending": "reviews", "sla_proposed": "sla",
}

func TestWhatIsStuckIsListed(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newStaffWorld(t, a)
		token := w.members[auth.ReadOnly].token
		now := w.clock.Now()
		old := now.Add(-time.Hour)
		exec := func(query string, args ...any) {
			t.Helper()
			err := w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				n, err := tx.Exec(ctx, query, args...)
				if err == nil && n != 1 {
					err = fmt.Errorf("%d rows", n)
				}
				return err
			})
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		service := func() int64 {
			id := w.id(w.post(t, w.ownersKey, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": %q}`, w.plan, unique("stuck")+".example.com")))
			w.rests(fmt.Sprintf("/api/v1/reseller/services/%d", id), "active")
			return id
		}
		// Of each kind one that is stuck, and beside it one that is not, or not for long enough.
		exec(`UPDATE services SET status = 'provisioning', provisioning_at = $1 WHERE id = $2`, old, service())
		exec(`UPDATE services SET status = 'provisioning', provisioning_at = $1 WHERE id = $2`, now, service())
		exec(`UPDATE services SET status = 'failed', failure_key = 'internal_error' WHERE id = $1`, service())
		exec(`UPDATE services SET status = 'failed', failure_key = 'internal_error', created_at = $1 WHERE id = $2`, now.AddDate(0, -1, 0), service())
		exec(`UPDATE services SET status = 'terminating', expires_at = $1 WHERE id = $2`, old, service())
		exec(`UPDATE services SET renewal_failure = 'insufficient_funds', renewal_failed_at = $1 WHERE id = $2`, old, w.service)
		exec(`UPDATE orders SET status = 'processing', paid_at = $1, completed_at = NULL WHERE id = $2`, old, w.paid)
		for i, at := range []time.Time{old, now} {
			exec(`INSERT INTO domains (account_id, sandbox, name, tld, status, wholesale, auto_renew, privacy, locked, transfer_out, nameservers, registry, created_at)
				VALUES ($1, FALSE, $2, 'com', 'pending_registration', FALSE, TRUE, TRUE, TRUE, FALSE, '[]', '{}', $3)`, w.stranger.id, unique("waits")+".com", at)
			exec(`INSERT INTO domains_operations (domain_id, order_id, kind, status, years, message, created_at)
				SELECT MAX(id), $1, 'register', 'attempted', 1, 'Being looked at', CAST($2 AS BIGINT) FROM domains`, 1_000_000+i, at)
			exec(`INSERT INTO certificates (account_id, service_id, kind, names, challenge, auto_renew, chosen_at, phase, failures, last_attempt_at, last_error_key,
				due_at, created_at) VALUES ($1, $2, 'acme', $3, 'http', TRUE, $4, 'wanted', $5, $4, 'acme_refused', $6, $4)`,
				w.owner.id, w.service, fmt.Sprintf(`["%s.example.com"]`, unique("name")), at, 3-i, now.AddDate(1, 0, 0))
			exec(`INSERT INTO webhooks_endpoints (account_id, url, description, events, status, secret, consecutive_failures, failing_since, created_at)
				VALUES ($1, 'https://hooks.example.com/', '', '["*"]', $2, $3, 7, $4, $4)`, w.owner.id, []string{"active", "paused"}[i], []byte("sealed"), old)
			// Not due before the test ends: River makes available what is due.
			exec(`INSERT INTO river_job (kind, args, max_attempts, attempt, state, queue, scheduled_at)
				VALUES ('test.none', '{}', 30, $1, 'retryable', 'nobody', '2099-01-01 00:00:00')`, 3-i)
		}
		exec(`UPDATE nodes_nodes SET last_seen_at = $1 WHERE name = 'web1'`, old)
		if _, err := w.admin.PauseQueue(t.Context(), "webhooks", true); err != nil {
			t.Fatal(err)
		}

		var home admin.Dashboard
		a.get(t, token, "/api/v1/admin/dashboard").decode(t, &home)
		lists := maps.Clone(stuckLists)
		for _, stuck := range home.NeedsAttention {
			path, listed := lists[stuck.Kind]
			delete(lists, stuck.Kind)
			if stuck.Kind == "queues_paused" {
				continue // the page of queues has them all
			}
			if !listed {
				t.Errorf("%s has no list", stuck.Kind)
				continue
			}
			var list struct {
				Data []struct {
					ID int64 `json:"id"`
				} `json:"data"`
				Meta *struct {
					Total int64 `json:"total"`
				} `json:"meta"`
			}
			r := a.get(t, token, "/api/v1/admin/"+path)
			if r.status != http.StatusOK {
				t.Errorf("%s: %s", path, r)
				continue
			}
			r.decode(t, &list)
			count, oldest := int64(len(list.Data)), false
			if list.Meta != nil {
				count = list.Meta.Total
			}
			for _, one := range list.Data {
				oldest = oldest || one.ID == stuck.OldestID
			}
			if count != stuck.Count || !oldest {
				t.Errorf("the dashboard counts %d of %s, of which the oldest is %d, and %s has %d", stuck.Count, stuck.Kind, stuck.OldestID, path, count)
			}
		}
		if len(lists) > 0 {
			t.Errorf("the dashboard tells nothing of %v", lists)
		}
		if r := a.get(t, token, "/api/v1/admin/orders?attention=nonsense"); r.status != http.StatusUnprocessableEntity {
			t.Errorf("an unknown kind: %s", r)
		}
	})
}

func TestStaffFindWhatARequestDid(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newStaffWorld(t, a)
		token := w.members[auth.Owner].token
		find := func(request string) map[string]int64 {
			t.Helper()
			var found struct {
				Data []admin.Hit `json:"data"`
			}
			a.get(t, token, "/api/v1/admin/search?q="+request).decode(t, &found)
			kinds := map[string]int64{}
			for _, h := range found.Data {
				kinds[h.Kind] = h.ID
			}
			return kinds
		}
		order := w.newOrder(w.stranger, unique("quoted")+".example.com")
		paid := a.post(t, w.stranger.token, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}")
		request := paid.header.Get("X-Request-Id")
		hits := find(request)
		if hits["order"] != order || hits["service"] == 0 || hits["job"] == 0 {
			t.Errorf("what paid order %d is %v (%s)", order, hits, request)
		}
		var jobs struct {
			Data []json.RawMessage `json:"data"`
		}
		a.get(t, token, "/api/v1/admin/jobs?request_id="+request).decode(t, &jobs)
		if len(jobs.Data) == 0 {
			t.Error("no job of the request is listed")
		}
		// Jobs that name a row of their own and no service.
		service := fmt.Sprintf("/api/v1/services/%d", w.service)
		w.backupsRest("completed")
		saved := a.post(t, w.owner.token, service+"/backups", `{"parts": ["files"]}`)
		backup := w.id(saved)
		w.backupsRest("completed")
		restored := a.post(t, w.owner.token, fmt.Sprintf("%s/backups/%d/restore", service, backup), `{"parts": ["files"]}`)
		registered := a.post(t, w.owner.token, "/api/v1/domains", registrationRequest(unique("sought")+".example"))
		for _, c := range []struct {
			request answer
			kind    string
			id      int64
		}{{saved, "service", w.service}, {restored, "service", w.service}, {registered, "domain", w.id(registered)}} {
			if hits := find(c.request.header.Get("X-Request-Id")); hits[c.kind] != c.id || hits["job"] == 0 {
				t.Errorf("%s: found %v instead of %s %d", c.request, hits, c.kind, c.id)
			}
		}
		suspended := a.post(t, token, fmt.Sprintf("/api/v1/admin/customers/%d/suspend", w.stranger.id), `{"reason": "Sends spam"}`)
		request = suspended.header.Get("X-Request-Id")
		if hits := find(request); hits["audit"] == 0 {
			t.Errorf("what staff did is %v", hits)
		}
		var log struct {
			Data []struct {
				Action    string `json:"action"`
				RequestID string `json:"request_id"`
			} `json:"data"`
		}
		a.get(t, token, "/api/v1/admin/audit?request_id="+request).decode(t, &log)
		if len(log.Data) != 1 || log.Data[0].RequestID != request {
			t.Errorf("the log has of the request %+v", log.Data)
		}
		if hits := find("req_nobody"); len(hits) != 0 {
			t.Errorf("a request of nobody did %v", hits)
		}
	})
}
