package app

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
)

// TestWhatStaffChangeAsACustomer calls each operation that staff may call who are signed in as a customer. Each that changes
// something is in the audit log.
func TestWhatStaffChangeAsACustomer(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newWorld(t, a)
		session := w.actingSession()
		var refused []string
		changed := 0
		for _, op := range a.edge.Operations() {
			if op.Auth != api.Token || !op.Write || op.OwnerOnly || op.Money {
				continue
			}
			w.readyFor(op)
			if op.Section == api.Files { // an operation before may have moved or deleted it
				a.do(t, request{method: http.MethodPut, path: w.files("/content"), token: w.owner.token, body: `{"path": "/public_html/index.html", "content": "<h1>mine</h1>"}`})
			}
			r := w.example(op, session)
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
		}
		if changed < 50 {
			t.Errorf("%d operations change something for staff who act; refused are %q", changed, refused)
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
