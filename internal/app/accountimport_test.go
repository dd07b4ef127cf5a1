package app

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/front/admin/archive"
	"stead.dev/stead/internal/front/admin/archive/archivetest"
	"stead.dev/stead/internal/front/admin/archive/hestia"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/testkit"
)

func thingsOf(r *admin.AccountReport, kind, state string) (names []string) {
	for _, t := range r.Items {
		if t.Kind == kind && t.State == state {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestAnAccountFromElsewhereIsBroughtWithinThePlan: what the plan or another account refuses is reported, and the rest comes; once.
func TestAnAccountFromElsewhereIsBroughtWithinThePlan(t *testing.T) {
	engines(t, map[string]string{"demo": "true", "panel": "sandbox", "node_listen": "off"}, func(t *testing.T, a *App) {
		w := &world{App: a, t: t}
		other := a.customer(t, a.application(t, false), 100_000)
		w.owner = other
		w.plan = w.aPlan()
		w.bought("taken.test")
		w.owner = a.customer(t, a.application(t, false), 100_000)
		id := w.orderOf(w.bought("alice.test")).ServiceID
		testkit.Eventually(t, time.Minute, func() bool {
			s, err := a.admin.Service(t.Context(), id)
			return err == nil && s.Status == "active"
		}, "the service is active")
		hash := "$2y$05$abcdefghijklmnopqrstuOABCDEFGHIJKLMNOPQRSTUVWXYZ01234"
		archived := archivetest.Hestia{
			User: "alice", IP: "192.0.2.10",
			Sites: []archivetest.HestiaSite{
				{Domain: "alice.test", Files: []archivetest.Entry{
					{Name: "./public_html/a.txt", Body: "a"},
					{Name: "./public_html/.stead-x", Body: "refused"},
					{Name: "./public_html/b/c.txt", Body: "c"},
					{Name: "./public_html/l", Link: "a.txt"},
					{Name: "./public_html/wp-config.php", Body: "<?php\ndefine('DB_NAME', 'alice_wp');\ndefine(\"DB_PASSWORD\", \"x\");\n"},
				}},
				{Domain: "taken.test", Files: []archivetest.Entry{{Name: "./public_html/a", Body: "x"}}},
			},
			Databases: []archivetest.HestiaDatabase{
				{Name: "alice_wp", User: "alice_wp", Type: "mysql", Dump: "-- simulated\n"}, {Name: "alice_bad", User: "alice_bad", Type: "mysql", Dump: "SELECT 1;\n"},
			},
			Mail: []archivetest.HestiaMail{{Domain: "alice.test", Accounts: []string{
				archivetest.Account("info", hash, "QUOTA=10"), archivetest.Account("old", "{MD5}$1$a$b", "QUOTA=10"), archivetest.Account("a..b", hash, ""),
			}, Files: []archivetest.Entry{
				{Name: "info/cur/1.M1.x:2,S", Body: "Hello"}, {Name: "info/cur/2.M1.x:2,S", Body: "\x1f\x8b\x08 is how gzip begins"},
			}}},
			Zones: []archivetest.HestiaZone{{Domain: "alice.test", Records: []string{
				archivetest.Record(1, "@", "A", "", "192.0.2.10"), archivetest.Record(2, "crm", "A", "", "198.51.100.7"), archivetest.Record(3, "bad", "MX", "x", "y"),
			}}},
			Cron: []string{archivetest.Job(1, "0", "3", "php /home/alice/web/alice.test/public_html/cron.php"), archivetest.Job(2, "99", "3", "false")},
		}
		read := func() *archive.Inventory {
			t.Helper()
			inv, err := hestia.Read(t.Context(), bytes.NewReader(archived.Bytes(t)))
			if err != nil {
				t.Fatal(err)
			}
			return inv
		}
		ctx := auth.WithActor(t.Context(), auth.Actor{Name: "operator", Via: auth.ViaCommand})
		do := func(o admin.AccountImport) *admin.AccountReport {
			t.Helper()
			o.ServiceID = id
			r, err := a.admin.ImportAccount(ctx, read(), o)
			if err != nil {
				t.Fatalf("%v: %+v", err, r)
			}
			return r
		}
		rows := func() (n int) {
			t.Helper()
			err := a.db.QueryRow(t.Context(), `SELECT (SELECT COUNT(*) FROM databases) + (SELECT COUNT(*) FROM mail_boxes) + (SELECT COUNT(*) FROM cron_jobs)
				+ (SELECT COUNT(*) FROM dns_records WHERE NOT system) + (SELECT COUNT(*) FROM audit_entries WHERE action LIKE 'service.import%')`).Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := rows()
		dry := do(admin.AccountImport{DryRun: true})
		if after := rows(); after != before || dry.Applied {
			t.Errorf("the dry run has changed %d rows to %d", before, after)
		}
		first := do(admin.AccountImport{})
		for _, c := range []struct {
			kind, state string
			want        []string
		}{
			{"site", "there", []string{"alice.test"}},
			{"site", "left", []string{"taken.test"}},
			{"database", "new", []string{"alice_bad", "alice_wp"}},
			{"mailbox", "new", []string{"info@alice.test", "old@alice.test"}},
			{"mailbox", "left", []string{"a..b@alice.test"}},
			{"cron", "left", []string{"99 3 * * * false"}},
		} {
			for name, r := range map[string]*admin.AccountReport{"dry": dry, "real": first} {
				if got := thingsOf(r, c.kind, c.state); !slices.Equal(got, c.want) {
					t.Errorf("%s: %s %s: %q, want %q", name, c.kind, c.state, got, c.want)
				}
			}
		}
		// What the machine refuses fails by itself, and the rest is there.
		if got := thingsOf(first, "content", "failed"); !slices.Equal(got, []string{"alice_bad"}) || first.Complete {
			t.Errorf("databases that failed: %q", got)
		}
		if got := thingsOf(first, "files", "left"); !slices.Contains(got, "/public_html/.stead-x") || !slices.Contains(got, "taken.test") {
			t.Errorf("files left: %q", got)
		}
		if got := thingsOf(first, "mail", "left"); !slices.Equal(got, []string{"info@alice.test/cur/2.M1.x:2,S"}) {
			t.Errorf("mail left: %q", got)
		}
		content := func(name string) string {
			t.Helper()
			var c struct{ Content string }
			a.do(t, request{method: http.MethodGet, token: w.owner.token, path: "/api/v1/services/" + strconv.FormatInt(id, 10) + "/files/content?path=" + name}).decode(t, &c)
			return c.Content
		}
		if got := content("/public_html/b/c.txt"); got != "c" {
			t.Errorf("c.txt has %q", got)
		}
		if got := content("/public_html/wp-config.php"); strings.Contains(got, "alice_wp") || strings.Contains(got, `"x"`) || !strings.Contains(got, "_wp'") {
			t.Errorf("wp-config.php is %q", got)
		}
		second := do(admin.AccountImport{})
		for _, thing := range second.Items {
			if thing.State == "new" && thing.Kind != "content" && thing.Kind != "mail" { // the simulated machine forgets both
				t.Errorf("the second run: %+v", thing)
			}
		}
		// A service that is gone, or takes no changes, is refused.
		if _, err := a.admin.ImportAccount(ctx, read(), admin.AccountImport{ServiceID: 99_999}); err == nil {
			t.Error("no service was taken for one")
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := a.admin.ImportAccount(ended, read(), admin.AccountImport{ServiceID: id}); err == nil {
			t.Error("an import that was called off went on")
		}
	})
}
