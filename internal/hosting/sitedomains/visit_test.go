package sitedomains

import (
	"fmt"
	"testing"

	"stead.dev/stead/internal/hosting/site"
)

// TestAVisitTakesNoNameOfOtherClients: the account of a reseller has names for all clients, and each may use those of its own
// service alone.
func TestAVisitTakesNoNameOfOtherClients(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		// What the account has claimed, such as by a registration, and what services of it have.
		w.Claims = owners{verdict: map[string]site.Verification{"held.example": {}, "www.held.example": {}, "own.example": {}, "blog.own.example": {}}}
		w.service(owner, 10, "own.example")
		w.service(owner, 20, "victim.example")
		login := w.add(10, "login.victim.example", Addon) // by the reseller
		blog := w.add(10, "blog.own.example", Subdomain)
		w.Must(w.Apply(ctx, owner, 10))

		add := func(token, name string, kind Kind) string {
			t.Helper()
			r := w.Do("POST", "/10/domains", token, fmt.Sprintf(`{"name":%q,"kind":%q}`, name, kind))
			return fmt.Sprint(r.Code, " ", r.Key())
		}
		const taken = "422 domain_unavailable"
		for _, c := range []struct {
			name string
			kind Kind
			want string
		}{
			{"held.example", Addon, taken},
			{"www.held.example", Addon, taken},
			{"held.example", Alias, taken},
			{"victim.example", Addon, taken},
			{"shop.victim.example", Addon, taken},
			{"x.login.victim.example", Subdomain, "201 "}, // below what the reseller gave it
			{"free.example", Addon, "201 "},
		} {
			if got := add("visit", c.name, c.kind); got != c.want {
				t.Errorf("the client adds %s as %s: %s, want %s", c.name, c.kind, got, c.want)
			}
		}
		w.Exec(`DELETE FROM hosting_domains WHERE name = 'free.example'`) // the plan has no more sites

		promote := func(token string, id int64) string {
			t.Helper()
			r := w.Do("PATCH", fmt.Sprintf("/10/domains/%d", id), token, `{"primary":true}`)
			return fmt.Sprint(r.Code, " ", r.Key())
		}
		if got := promote("visit", login); got != "409 conflict" {
			t.Errorf("the client makes a name below another client's the primary domain: %s", got)
		}
		if got := promote("visit", blog); got != "200 " {
			t.Errorf("the client makes a domain of its own the primary one: %s", got)
		}
		// The account's owner decides over all names.
		if got := add("own", "held.example", Alias); got != "201 " {
			t.Errorf("the owner adds a name: %s", got)
		}
	})
}
