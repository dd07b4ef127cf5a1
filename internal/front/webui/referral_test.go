package webui_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"stead.dev/stead/internal/platform/db"
)

// codes remembers by which codes accounts were made.
type codes struct {
	mu   sync.Mutex
	seen []string
}

func (c *codes) Referred(_ context.Context, tx *db.Tx, _ int64, code string) error {
	tx.OnCommit(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen = append(c.seen, code)
	})
	return nil
}

func TestWhoComesByALinkIsNotedWithTheNewAccount(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	noted := &codes{}
	s.accounts.Referrals = noted
	b := s.browser(t)
	if a := b.get("/register?ref=abcdef2345"); !strings.Contains(a.body, `<input type="hidden" name="ref" value="abcdef2345">`) {
		t.Errorf("%s", a.body)
	}
	for _, bad := range []string{"", "%22%3E", "a%20b", strings.Repeat("a", 33)} {
		if a := b.get("/register?ref=" + bad); strings.Contains(a.body, `name="ref"`) {
			t.Errorf("%q is on the page", bad)
		}
	}
	form := func(email, ref string) url.Values {
		return url.Values{"name": {"Anna"}, "email": {email}, "password": {password}, "ref": {ref}}
	}
	a := b.post("/register", form("nonsense", "abcdef2345"))
	if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `name="ref" value="abcdef2345"`) {
		t.Errorf("a form that is refused keeps the code: %d %s", a.status, a.body)
	}
	for email, ref := range map[string]string{"anna@example.com": "abcdef2345", "boris@example.com": "", "carl@example.com": `"><script>`} {
		if a := s.browser(t).post("/register", form(email, ref)); a.status != http.StatusSeeOther {
			t.Errorf("%s: %d %s", email, a.status, a.body)
		}
	}
	if !slices.Equal(noted.seen, []string{"abcdef2345"}) {
		t.Errorf("noted %q", noted.seen)
	}
}
