package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// lead has the DNS lead the names of a service there, as of a look that is not repeated.
func (w *claimWorld) lead(service int64, found string) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE hosting_domains SET dns_known = TRUE, dns_found = $1, dns_due_at = $2 WHERE service_id = $3`,
			found, tx.Now.AddDate(1, 0, 0), service)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// siteOf is a service as the sections of hosting see it.
func (w *claimWorld) siteOf(service int64) site.Site {
	w.t.Helper()
	on, err := w.services.Site(w.t.Context(), w.db, w.owner.id, service)
	if err != nil {
		w.t.Fatal(err)
	}
	return on
}

// TestADomainThatStraysKeepsWhatItHas: the DNS of a name that nobody has proven leads to a proxy, or does not answer for a moment. The
// name is the service's all the same.
func TestADomainThatStraysKeepsWhatItHas(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newClaimWorld(t, a)
		name := unique("strays") + "-co.com"
		id := w.buy(w.owner, name)
		on := w.siteOf(id)
		w.lead(id, fmt.Sprintf("[%q]", on.IPv4))
		path := fmt.Sprintf("/api/v1/services/%d", id)
		box := w.id(w.post(t, w.owner.token, path+"/mailboxes", fmt.Sprintf(`{"local_part": "info", "domain": %q, "password": "correct horse"}`, name)))
		w.listRests(w.owner.token, path+"/mailboxes", "active")
		certificate := w.id(w.post(t, w.owner.token, path+"/ssl", ownCertificate(t, a.clock.Now(), name)))

		w.lead(id, `["203.0.113.7"]`)
		if err := a.hosting.ApplyAll(t.Context(), w.owner.id, id); err != nil {
			t.Fatal(err)
		}
		r := a.do(t, request{
			method: http.MethodPatch, path: fmt.Sprintf("%s/mailboxes/%d", path, box), token: w.owner.token,
			body: `{"password": "another one 42", "suspended": true}`,
		})
		if r.status != http.StatusOK {
			t.Fatal(r)
		}
		mail, err := site.On[panel.Mail](a.panels, on, panel.CapMail)
		if err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			all, err := mail.Mailboxes(t.Context(), on.Ref)
			return err == nil && len(all) == 1 && all[0].Suspended
		}, "the mail server has the mailbox suspended")
		if r := w.post(t, w.owner.token, path+"/mailboxes", fmt.Sprintf(`{"local_part": "new", "domain": %q, "password": "correct horse"}`, name)); !strings.Contains(string(r.body), "domain_verification_required") {
			t.Errorf("a new mailbox: %s", r)
		}
		if r := a.get(t, w.owner.token, path+"/ssl"); !strings.Contains(string(r.body), fmt.Sprintf(`"data":[{"id":%d,`, certificate)) {
			t.Errorf("the certificate: %s", r)
		}
	})
}
