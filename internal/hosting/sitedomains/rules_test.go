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

// rulesOf are the rules of files as a machine reports them: "path" and then directives, those that protect something with a "!".
func rulesOf(files ...[]string) *panel.IgnoredRules {
	var r panel.IgnoredRules
	for _, f := range files {
		var rules []htaccess.Rule
		for i, name := range f[1:] {
			rules = append(rules, htaccess.Rule{Line: i + 1, Directive: strings.TrimSuffix(name, "!"), Protects: strings.HasSuffix(name, "!") || name == "AuthType"})
		}
		r.Add(f[0], rules)
	}
	return &r
}

// toldRules checks the data of all notifications of rules without effect, after the account and the service.
func (w *world) toldRules(want ...string) {
	w.T.Helper()
	all, err := db.Collect(w.T.Context(), w.DB, func(row db.Row) (s string, err error) {
		var accountID, subjectID int64
		err = row.Scan(&accountID, &subjectID, &s)
		return fmt.Sprint(accountID, " ", subjectID, " ", s), err
	}, `SELECT account_id, subject_id, data FROM outbox_events WHERE type = 'service.htaccess_ignored' ORDER BY id`)
	w.Must(err)
	if !slices.Equal(all, want) {
		w.T.Fatalf("told %q, want %q", all, want)
	}
}

func TestTheOwnerIsToldOnceOfRulesWithoutEffect(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		told := w.toldRules
		event := func(files string, more int, protects bool) string {
			return fmt.Sprintf(`1 10 {"service_id":10,"domain":"shop.example","files":[%s],"more":%d,"elsewhere":{"protecting":[],"directives":[]},"protects":%v}`, files, more, protects)
		}
		w.uses(panel.Usage{}) // of a machine that does not look
		w.uses(panel.Usage{Ignored: &panel.IgnoredRules{}})
		told()
		root := []string{"/public_html/.htaccess", "Header", "RewriteRule", "Header"}
		w.uses(panel.Usage{Ignored: rulesOf(root)})
		w.uses(panel.Usage{Ignored: rulesOf(root)})
		first := event(`{"path":"/public_html/.htaccess","protecting":[],"directives":["Header","RewriteRule"]}`, 0, false)
		told(first)

		// A directive that is known comes again in other files, all go, and they are back: nothing new.
		w.uses(panel.Usage{Ignored: rulesOf(root, []string{"/public_html/shop/.htaccess", "Header"})})
		w.uses(panel.Usage{Ignored: rulesOf()})
		w.uses(panel.Usage{Ignored: rulesOf(root)})
		told(first)

		admin := []string{"/public_html/admin/.htaccess", "AuthType"}
		w.uses(panel.Usage{Ignored: rulesOf(root, []string{"/x/.htaccess", "SetEnv"})}) // on the same day
		told(first)
		w.Clock.Advance(rulesPause)
		w.uses(panel.Usage{Ignored: rulesOf(root, admin)})
		second := event(`{"path":"/public_html/admin/.htaccess","protecting":["AuthType"],"directives":[]},{"path":"/public_html/.htaccess","protecting":[],"directives":["Header","RewriteRule"]}`, 0, true)
		told(first, second)
		w.Clock.Advance(rulesPause)

		names := func(others ...string) panel.IgnoredNames { return panel.IgnoredNames{Others: others} }
		// A machine in other hands brings no text of its own into mails, and no flood of them.
		for i := range 50 {
			bad := fmt.Sprint("Buy", i)
			w.uses(panel.Usage{Ignored: &panel.IgnoredRules{
				Files: []panel.IgnoredFile{{Path: "https://evil.example/.htaccess", IgnoredNames: names("Header")}, {Path: "/x/.htaccess", IgnoredNames: names(bad)}},
				More:  -1, IgnoredNames: names(bad, "Header", strings.Repeat("x", 1<<16)),
			}})
		}
		told(first, second)

		// One that is offline is not asked.
		w.Services.SetStatus(t, 10, "suspended")
		w.uses(panel.Usage{Ignored: rulesOf([]string{"/.htaccess", "SetEnv"})})
		told(first, second)
	})
}

// A directive that was told as harmless, and one that comes within the pause, are told when they protect something.
func TestTheOwnerIsToldAtOnceWhatIsPublic(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		var events []string
		uses := func(names ...string) {
			t.Helper()
			w.uses(panel.Usage{Ignored: rulesOf(append([]string{"/a/.htaccess"}, names...))})
			w.toldRules(events...)
		}
		event := func(protecting, directives string) {
			events = append(events, fmt.Sprintf(`1 10 {"service_id":10,"domain":"shop.example","files":[{"path":"/a/.htaccess","protecting":[%s],"directives":[%s]}],`+
				`"more":0,"elsewhere":{"protecting":[],"directives":[]},"protects":%v}`, protecting, directives, protecting != ""))
		}
		event(``, `"RewriteRule"`)
		uses("RewriteRule")
		event(`"RewriteRule"`, ``)
		uses("RewriteRule!")
		uses("RewriteRule")
		event(`"SetHandler"`, `"RewriteRule"`)
		uses("RewriteRule", "SetHandler!")
		uses("RewriteRule", "SetHandler") // known to protect
		event(`"AuthType"`, `"Header"`)
		uses("AuthType!", "Header")
		uses("Require!") // too many for one day
		w.Clock.Advance(rulesPause)
		uses("Header", "AuthType!", "RewriteRule!", "SetHandler!")
		event(`"Require"`, ``)
		uses("Require!")
	})
}

// What the owner was told is what the notification names, and it names all that is new.
func TestAllNewRulesAreNamed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example")
		var files [][]string
		for i := range panel.MostIgnoredFiles {
			files = append(files, []string{fmt.Sprintf("/%d/.htaccess", i), "AuthType!"})
		}
		files = append(files, []string{"/x/.htaccess", "Require!", "Header", "SetEnv"}, []string{"/y/.htaccess", "SetEnv"})
		w.uses(panel.Usage{Ignored: rulesOf(files...)})
		var data, told string
		w.Must(w.DB.QueryRow(t.Context(), `SELECT data FROM outbox_events WHERE type = 'service.htaccess_ignored'`).Scan(&data))
		if want := `"more":2,"elsewhere":{"protecting":["Require"],"directives":["Header","SetEnv"]},"protects":true}`; !strings.HasSuffix(data, want) {
			t.Errorf("told %s, want %s", data, want)
		}
		w.Must(w.DB.QueryRow(t.Context(), `SELECT rules_told FROM hosting_usage WHERE service_id = 10`).Scan(&told))
		if want := `{"protecting":["AuthType","Require"],"directives":["Header","SetEnv"],`; !strings.HasPrefix(told, want) {
			t.Errorf("remembered %s, want %s", told, want)
		}
	})
}
