package app

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"testing"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
)

// TestWhatStaffChangeAsACustomer calls each operation that staff may call who are signed in as a customer. Each that changes
// something is in the audit log, and none takes the customer's money or lets something take it.
func TestWhatStaffChangeAsACustomer(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newWorld(t, a)
		session := w.actingSession()
		var refused []string
		changed := 0
		for _, op := range a.edge.Operations() {
			if op.Auth != api.Token || !op.Write || op.OwnerOnly || op.MovesMoney {
				continue
			}
			w.readyFor(op)
			if op.Section == api.Files { // an operation before may have moved or deleted it
				a.do(t, request{method: http.MethodPut, path: w.files("/content"), token: w.owner.token, body: `{"path": "/public_html/index.html", "content": "<h1>mine</h1>"}`})
			}
			r := w.example(op, session)
			if op.ID == "services.update" {
				r.body = `{"label": "Seen by staff"}` // whether it renews is not for staff to say
			}
			before := w.spendable()
			got := a.do(t, r)
			if got.status >= http.StatusMultipleChoices {
				if refused = append(refused, op.ID); op.External {
					t.Errorf("%s as a customer: %s", op.ID, got)
				}
				continue
			}
			changed++
			n := a.number(t, `SELECT COUNT(*) FROM audit_entries WHERE action = $1 AND request_id = $2 AND account_id = $3 AND via = 'panel'`,
				"as_customer."+op.ID, got.header.Get("X-Request-Id"), w.owner.id)
			if n == 0 {
				t.Errorf("%s as a customer is not in the audit log: %s", op.ID, got)
			}
			if after := w.spendable(); !slices.Equal(after, before) {
				t.Errorf("%s lets staff spend the customer's money: %v, before %v", op.ID, after, before)
			}
		}
		if changed < 50 {
			t.Errorf("%d operations change something for staff who act; refused are %q", changed, refused)
		}
		for _, path := range []string{fmt.Sprintf("/api/v1/services/%d", w.service), fmt.Sprintf("/api/v1/domains/%d", w.registration)} {
			for _, body := range []string{`{"auto_renew": true}`, `{"auto_renew": false}`} {
				got := a.do(t, request{method: http.MethodPatch, path: path, token: session, body: body})
				if got.status != http.StatusForbidden || got.key() != "account_owner_required" {
					t.Errorf("staff say whether %s renews from the wallet: %s", path, got)
				}
			}
		}
	})
}

// actingSession is the token of a browser in which a member of staff is signed in as the owner.
func (w *world) actingSession() string {
	w.t.Helper()
	email := unique("staff") + "@example.com"
	member, err := w.accounts.Create(w.t.Context(), account.NewAccount{Email: email, Name: "Olim", Password: customersPassword, Verified: true, Role: auth.Support})
	if err != nil {
		w.t.Fatal(err)
	}
	own, err := w.accounts.SignIn(w.t.Context(), email, customersPassword, account.Client{Address: netip.MustParseAddr("203.0.113.7"), UserAgent: "Firefox"})
	if err != nil {
		w.t.Fatal(err)
	}
	in, err := w.admin.SignInAs(asSupport(w.t, member.ID), fmt.Sprint(w.owner.id), "Ticket 17")
	if err != nil {
		w.t.Fatal(err)
	}
	return setCookie(w.open(w.t, in.URL, own.Token, "Sec-Fetch-Site", "same-origin"), "stead_session")
}

// spendable is what the owner can spend, and what may spend it without asking.
func (w *world) spendable() []string {
	w.t.Helper()
	all, err := db.Collect(w.t.Context(), w.db, func(r db.Row) (s string, err error) { return s, r.Scan(&s) }, `
		SELECT 'balance ' || CAST(balance AS TEXT) FROM wallet_ledger_accounts WHERE owner_id = $1 AND kind = 'customer'
		UNION ALL SELECT 'tops up ' || CAST(auto_enabled AS TEXT) || ' ' || CAST(auto_amount AS TEXT) FROM wallet_settings WHERE account_id = $1
		UNION ALL SELECT 'renews ' || CAST(id AS TEXT) FROM services WHERE account_id = $1 AND auto_renew
		UNION ALL SELECT 'renews ' || CAST(name AS TEXT) FROM domains WHERE account_id = $1 AND auto_renew
		UNION ALL SELECT 'agent ' || CAST(enabled AS TEXT) || ' ' || CAST(monthly_budget AS TEXT) FROM ai_settings WHERE account_id = $1
		ORDER BY 1`, w.owner.id)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}
