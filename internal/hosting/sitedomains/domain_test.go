package sitedomains

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

func text(s string) *string { return &s }

func TestADomainIsWhatItsKindAllows(t *testing.T) {
	for _, c := range []struct {
		wish wish
		root string // empty: none
		err  error
	}{
		{wish{name: " Shop.Example.COM. ", kind: Addon}, "/sites/shop.example.com", nil},
		{wish{name: "домен.рф", kind: Subdomain}, "/sites/xn--d1acufc.xn--p1ai", nil},
		{wish{name: "shop.example.com", kind: Addon, documentRoot: "public_html/shop/"}, "/public_html/shop", nil},
		{wish{name: "shop.example.com", kind: Alias}, "", nil},
		{wish{name: "shop.example.com", kind: Alias, documentRoot: "/x"}, "", fault.Validation},
		{wish{name: "shop.example.com", kind: Addon, documentRoot: "/../x"}, "", fault.PathNotAllowed},
		{wish{name: "localhost", kind: Addon}, "", fault.DomainInvalid},
		{wish{name: "a b.com", kind: Addon}, "", fault.DomainInvalid},
		{wish{name: "www.stead.test", kind: Addon}, "", fault.DomainUnavailable},
	} {
		d, err := c.wish.parse([]string{"stead.test"})
		if !errors.Is(err, c.err) {
			t.Errorf("%+v: %v, want %v", c.wish, err, c.err)
			continue
		}
		if c.err != nil {
			continue
		}
		got := ""
		if d.documentRoot != nil {
			got = *d.documentRoot
		}
		if got != c.root {
			t.Errorf("%+v: root %q, want %q", c.wish, got, c.root)
		}
	}
}

func TestDocumentRootsStayInTheHome(t *testing.T) {
	for given, want := range map[string]string{
		"shop": "/shop", "/a//b/./c/": "/a/b/c", "/public_html": "/public_html", "/logsx": "/logsx", "/a b": "/a b", "/сайт": "/сайт",
	} {
		if got, err := cleanRoot(given); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", given, got, err, want)
		}
	}
	for _, bad := range []string{
		"", "/", ".", "..", "/..", "a/../../b", "a/..", "/logs", "/logs/x", "tmp", "/.ssh", "a/.git", "a\x00b", "a\nb", "\xff",
		strings.Repeat("a/", 300), strings.Repeat("a", 256),
	} {
		if got, err := cleanRoot(bad); !errors.Is(err, fault.PathNotAllowed) {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
}

func FuzzCleanRoot(f *testing.F) {
	for _, seed := range []string{"shop", "/a//b", "/../x", "a/..", ".", "\xff", "/logs"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, dir string) {
		root, err := cleanRoot(dir)
		if err != nil {
			return
		}
		if again, err := cleanRoot(root); again != root || err != nil {
			t.Errorf("%q gives %q, which gives %q, %v", dir, root, again, err)
		}
		if path.Clean(root) != root || !strings.HasPrefix(root, "/") || slices.Contains(strings.Split(root, "/"), "..") {
			t.Errorf("%q gives %q", dir, root)
		}
	})
}

func TestChangesOfADomain(t *testing.T) {
	yes, no := true, false
	addon := domain{name: "shop.example", kind: Addon, documentRoot: text("/shop"), redirectTo: text("https://old.example"), tls: panel.TLSNone}
	secure, alias := addon, domain{name: "alias.example", kind: Alias, tls: panel.TLSNone}
	secure.tls = panel.TLSActive
	for name, c := range map[string]struct {
		domain domain
		change change
		want   panel.Domain
		err    error
	}{
		"nothing":             {addon, change{}, panel.Domain{DocumentRoot: "/shop", RedirectTo: "https://old.example"}, nil},
		"root":                {addon, change{documentRoot: text("new")}, panel.Domain{DocumentRoot: "/new", RedirectTo: "https://old.example"}, nil},
		"redirect":            {addon, change{redirectTo: text("http://New.Example/a?b")}, panel.Domain{DocumentRoot: "/shop", RedirectTo: "http://new.example/a?b"}, nil},
		"no redirect":         {addon, change{redirectTo: text("")}, panel.Domain{DocumentRoot: "/shop"}, nil},
		"redirect to nowhere": {addon, change{redirectTo: text("javascript:alert(1)")}, panel.Domain{}, fault.Validation},
		"redirect to itself":  {addon, change{redirectTo: text("https://SHOP.example:8443/x")}, panel.Domain{}, fault.Validation},
		"redirect to its www": {addon, change{redirectTo: text("http://www.shop.example?x")}, panel.Domain{}, fault.Validation},
		"HTTPS where none is": {addon, change{forceHTTPS: &yes}, panel.Domain{}, fault.UnsupportedOperation},
		"HTTPS switched off":  {addon, change{forceHTTPS: &no, redirectTo: text("")}, panel.Domain{DocumentRoot: "/shop"}, nil},
		"HTTPS":               {secure, change{forceHTTPS: &yes, redirectTo: text("")}, panel.Domain{DocumentRoot: "/shop", ForceHTTPS: true}, nil},
		"an alias has none":   {alias, change{documentRoot: text("/x")}, panel.Domain{}, fault.Validation},
		"unless it rises":     {alias, change{documentRoot: text("/x"), primary: true}, panel.Domain{DocumentRoot: "/x"}, nil},
	} {
		got, err := c.domain.with(c.change)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
			continue
		}
		c.want.Name = c.domain.name
		if w := got.wanted("/primary"); err == nil && w != c.want {
			t.Errorf("%s: %+v, want %+v", name, w, c.want)
		}
	}
	if w := alias.wanted("/primary"); w.DocumentRoot != "/primary" {
		t.Errorf("an alias shows %q", w.DocumentRoot)
	}
}

func TestPlansLimitWhatGrows(t *testing.T) {
	l := site.Limits{"domains": 2, "subdomains": -1, "sites": 1}
	of := func(kinds ...Kind) counts {
		var all []domain
		for _, k := range kinds {
			all = append(all, domain{kind: k})
		}
		return count(all)
	}
	for _, c := range []struct {
		before, after counts
		refused       bool
	}{
		{of(Primary), of(Primary, Alias), false},
		{of(Primary), of(Primary, Addon), true}, // a second site
		{of(Primary, Alias), of(Primary, Alias, Alias), true},
		{of(Primary), of(Primary, Subdomain, Subdomain, Subdomain), false},
		{of(Primary, Addon, Addon), of(Primary, Addon, Addon, Subdomain), false}, // too many since the plan is smaller
		{of(Primary, Addon, Addon), of(Primary, Addon), false},
		{of(Primary, Subdomain), of(Addon, Primary), true}, // a subdomain that rises
	} {
		if err := refuse(l, c.before, c.after); errors.Is(err, fault.LimitReached) != c.refused {
			t.Errorf("%+v to %+v: %v", c.before, c.after, err)
		}
	}
	if got := count([]domain{{kind: Primary}, {kind: Addon, Item: site.Item{Status: site.Removing}}}); got != (counts{sites: 1, domains: 1}) {
		t.Errorf("counted %+v", got)
	}
	if got := (site.Limits{}).Of("databases"); got != site.Unlimited {
		t.Errorf("what a plan does not name is limited to %d", got)
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct{ used, limit, want int64 }{{0, 10, 0}, {1, 3, 33}, {10, 10, 100}, {15, 10, 150}, {0, 0, 0}, {1, 0, 100}, {1 << 40, 1 << 60, 0}} {
		if got := (meter{used: &c.used, limit: c.limit}).percent(); got == nil || *got != c.want {
			t.Errorf("%d of %d: %v, want %d", c.used, c.limit, got, c.want)
		}
	}
	if n := int64(5); (meter{used: &n, limit: site.Unlimited}).percent() != nil || (meter{limit: 5}).percent() != nil {
		t.Error("a percentage of nothing known")
	}
}

func TestPointing(t *testing.T) {
	here := []string{"192.0.2.1", "2001:db8::1"}
	for _, c := range []struct {
		p        pointing
		expected []string
		want     PointStatus
	}{
		{pointing{}, here, Unknown},
		{pointing{known: true}, here, NotPointed},
		{pointing{known: true, found: []string{"192.0.2.1"}}, here, Pointed},
		{pointing{known: true, found: here}, here, Pointed},
		{pointing{known: true, found: []string{"192.0.2.1", "198.51.100.9"}}, here, NotPointed},
		{pointing{known: true, found: here}, nil, Unknown},
	} {
		if got := c.p.status(c.expected); got != c.want {
			t.Errorf("%+v: %s, want %s", c.p, got, c.want)
		}
	}
}

func TestASubdomainHasAParent(t *testing.T) {
	all := []domain{
		{name: "example.com", kind: Primary},
		{name: "other.com", kind: Addon},
		{name: "blog.other.com", kind: Subdomain},
		{name: "a.blog.other.com", kind: Subdomain},
		{name: "gone.com", kind: Addon, Item: site.Item{Status: site.Removing}},
	}
	for name, want := range map[string]bool{"x.example.com": true, "x.gone.com": false, "example.com": false, "x.com": false} {
		if below(all, name) != want {
			t.Errorf("below(%s) = %v", name, !want)
		}
	}
	// a.blog.other.com is below other.com as well, so it does not need blog.other.com.
	for name, want := range map[string]bool{"other.com": true, "blog.other.com": false, "example.com": false} {
		if dependent(all, name) != want {
			t.Errorf("dependent(%s) = %v", name, !want)
		}
	}
}
