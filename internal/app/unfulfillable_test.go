package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/front/doctor"
)

// soldNowhere is a catalogue with a plan for the machine of the tests, and one that promises what it does not have.
const soldNowhere = `
categories:
  - slug: hosting
    name: {en: Hosting, ru: Хостинг, uz: Xosting}
products:
  - slug: hosting
    category: hosting
    type: hosting
    name: {en: Hosting, ru: Хостинг, uz: Xosting}
    plans:
      - slug: static
        name: {en: Static, ru: Static, uz: Static}
        prices: [{months: 1, usd_cents: 100}]
        limits: {disk_mb: 100, databases: 0, mailboxes: 0, ftp_accounts: 0, cron_jobs: 0, backups: 0}
      - slug: everything
        name: {en: Everything, ru: Everything, uz: Everything}
        prices: [{months: 1, usd_cents: 100}]
        limits: {disk_mb: 100, databases: 0, mailboxes: 5, ftp_accounts: 0, cron_jobs: 0, backups: 0}
        php_versions: ["8.4"]
`

// TestWhatNoServerHasIsNotSold: the import of the catalogue says so, the doctor does, and an order is refused with what lacks; nothing
// is charged, and what can be had is sold.
func TestWhatNoServerHasIsNotSold(t *testing.T) {
	engines(t, map[string]string{}, func(t *testing.T, a *App) {
		report, err := a.admin.ImportCatalog(t.Context(), []byte(soldNowhere))
		missing := []string{"mail", "php 8.4"}
		if err != nil || len(report.Unfulfillable) != 1 || report.Unfulfillable[0].Plan != "everything" || !slices.Equal(report.Unfulfillable[0].Missing, missing) {
			t.Fatalf("the import says %+v, %v", report, err)
		}
		owner := a.customer(t, a.application(t, false), 1000)
		plans := map[string]int64{}
		var shown struct {
			Data []struct {
				Plans []struct {
					ID   int64
					Slug string
				}
			}
		}
		a.get(t, owner.token, "/api/v1/catalog").decode(t, &shown)
		for _, product := range shown.Data {
			for _, p := range product.Plans {
				plans[p.Slug] = p.ID
			}
		}
		order := func(plan string) answer {
			return a.post(t, owner.token, "/api/v1/orders", fmt.Sprintf(`{"plan_id": %d, "domain": "%s.example.org"}`, plans[plan], plan))
		}
		var refusal struct {
			Error, Message string
			Missing        []string
		}
		r := order("everything")
		r.decode(t, &refusal)
		if r.status != http.StatusUnprocessableEntity || refusal.Error != "out_of_stock" || !slices.Equal(refusal.Missing, missing) ||
			!strings.Contains(refusal.Message, "mail, php 8.4") {
			t.Errorf("an order of it: %s", r)
		}
		var orders struct{ Data []json.RawMessage }
		a.get(t, owner.token, "/api/v1/orders").decode(t, &orders)
		if len(orders.Data) != 0 {
			t.Errorf("it left %s", orders.Data)
		}
		if r := order("static"); r.status != http.StatusCreated {
			t.Errorf("what can be had: %s", r)
		}
		for _, c := range Examine(t.Context(), a.cfg, "test").Checks {
			if c.Name == "plans" && (c.Status != doctor.Fail || !strings.Contains(c.Found, "everything (mail, php 8.4)")) {
				t.Errorf("the doctor: %+v", c)
			}
		}
	})
}
