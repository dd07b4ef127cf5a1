package app

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// TestAnOwnerIsMailedOnceWhichRulesHaveNoEffect: from the file that is written over the API to the mail.
func TestAnOwnerIsMailedOnceWhichRulesHaveNoEffect(t *testing.T) {
	engines(t, demo, func(t *testing.T, a *App) {
		w := newWorld(t, a)
		put := func(path, content string) {
			t.Helper()
			r := a.do(t, request{
				method: http.MethodPut, path: w.files("/content"), token: w.owner.token,
				body: fmt.Sprintf(`{"path": %q, "content": %q}`, path, content),
			})
			if r.status >= 300 {
				t.Fatalf("write %s: %s", path, r)
			}
		}
		told := func() (n int) {
			var list struct {
				Data []struct{ Kind, Link, Body string }
			}
			a.get(t, w.owner.token, "/api/v1/notifications?per_page=50").decode(t, &list)
			for _, note := range list.Data {
				if note.Kind != "htaccess_ignored" {
					continue
				}
				n++
				if note.Link != fmt.Sprintf("/panel/services/%d/files", w.service) || !strings.Contains(note.Body, "/public_html/admin/.htaccess: AuthType, AuthUserFile, Require") ||
					strings.Contains(note.Body, "hunter2") || strings.Contains(note.Body, "/public_html/.htaccess") {
					t.Errorf("%+v", note)
				}
			}
			return n
		}
		looked := func() bool { // as within the hour
			if err := a.hosting.ApplyAll(t.Context(), w.owner.id, w.service); err != nil {
				t.Fatal(err)
			}
			return told() == 1
		}
		put("/public_html/.htaccess", "# BEGIN WordPress\nRewriteEngine On\nRewriteRule ^index\\.php$ - [L]\n"+
			"RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule . /index.php [L]\n")
		put("/public_html/admin/.htaccess", "AuthType Basic\nAuthUserFile /hunter2\nRequire valid-user\n")
		testkit.Eventually(t, time.Minute, looked, "the owner is notified")
		address := fmt.Sprintf("/panel/services/%d/files", w.service)
		p, err := a.accounts.Find(t.Context(), strconv.FormatInt(w.owner.id, 10))
		if err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			mails := strings.NewReplacer("=\r\n", "", "=\n", "").Replace(a.mailsTo(t, p.Email)) // lines that were broken for the way
			return strings.Contains(mails, address) && strings.Contains(mails, "AuthUserFile")
		}, "a mail is sent")
		if !looked() {
			t.Errorf("%d notifications after another look", told())
		}
	})
}
