package sitedomains

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/htaccess"
	"stead.dev/stead/internal/port/panel"
)

// rulesOf are the rules of files as a machine reports them: "path" and then directives.
func rulesOf(files ...[]string) *panel.IgnoredRules {
	var r panel.IgnoredRules
	for _, f := range files {
		var rules []htaccess.Rule
		for i, name := range f[1:] {
			rules = append(rules, htaccess.Rule{Line: i + 1, Directive: name, Protects: name == "AuthType"})
		}
		r.Add(f[0], rules)
	}
	return &r
}

func TestTheOwnerIsToldOnceOfRulesWithoutEffect(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		told := func(want ...string) {
			t.Helper()
			all, err := db.Collect(t.Context(), w.DB, func(row db.Row) (s string, err error) {
				var accountID, subjectID int64
				err = row.Scan(&accountID, &subjectID, &s)
				return fmt.Sprint(accountID, " ", subjectID, " ", s), err
			}, `SELECT account_id, subject_id, data FROM outbox_events WHERE type = 'service.htaccess_ignored' ORDER BY id`)
			w.Must(err)
			if !slices.Equal(all, want) {
				t.Fatalf("told %q, want %q", all, want)
			}
		}
		event := func(files string, more int, protects bool) string {
			return fmt.Sprintf(`1 10 {"service_id":10,"domain":"shop.example","files":[%s],"more":%d,"protects":%v}`, files, more, protects)
		}
		w.uses(panel.Usage{}) // of a machine that does not look
		w.uses(panel.Usage{Ignored: &panel.IgnoredRules{}})
		told()
		root := []string{"/public_html/.htaccess", "Header", "RewriteRule", "Header"}
		w.uses(panel.Usage{Ignored: rulesOf(root)})
		w.uses(panel.Usage{Ignored: rulesOf(root)})
		first := event(`{"path":"/public_html/.htaccess","directives":["Header","RewriteRule"]}`, 0, false)
		told(first)

		// A directive that is known comes again in other files, all go, and they are back: nothing new.
		w.uses(panel.Usage{Ignored: rulesOf(root, []string{"/public_html/shop/.htaccess", "Header"})})
		w.uses(panel.Usage{Ignored: rulesOf()})
		w.uses(panel.Usage{Ignored: rulesOf(root)})
		told(first)

		admin := []string{"/public_html/admin/.htaccess", "AuthType"}
		w.uses(panel.Usage{Ignored: rulesOf(root, admin)}) // on the same day
		told(first)
		w.Clock.Advance(rulesPause)
		w.uses(panel.Usage{Ignored: rulesOf(root, admin)})
		second := event(`{"path":"/public_html/.htaccess","directives":["Header","RewriteRule"]},{"path":"/public_html/admin/.htaccess","directives":["AuthType"]}`, 0, true)
		told(first, second)
		w.Clock.Advance(rulesPause)

		// A machine in other hands brings no text of its own into mails, and no flood of them.
		for i := range 50 {
			bad := fmt.Sprint("Buy", i)
			w.uses(panel.Usage{Ignored: &panel.IgnoredRules{
				Files: []panel.IgnoredFile{{Path: "https://evil.example/.htaccess", Directives: []string{"Header"}}, {Path: "/x/.htaccess", Directives: []string{bad}}},
				More:  -1, Directives: []string{bad, "Header", strings.Repeat("x", 1<<16)},
			}})
		}
		told(first, second)

		// One that is offline is not asked.
		w.Services.SetStatus(t, 10, "suspended")
		w.uses(panel.Usage{Ignored: rulesOf([]string{"/.htaccess", "SetEnv"})})
		told(first, second)
	})
}
