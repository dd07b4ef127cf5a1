package probe_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/probe"
)

// answering is the address of a server that answers each request with a body.
func answering(t *testing.T, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
	t.Cleanup(s.Close)
	return s.URL
}

func TestPathsAreAboutLinear(t *testing.T) {
	for _, path := range []string{
		"$", "status", "[0]", "$.a.b[-1]['c d']", "$.items[*].n", "$[1:3]", "$..status", "$..*", "$..[0].a[*]", "$.*.*.*",
		"$.items[?@.ok == true].n", "$..[?@.a == 'it costs $5' && !@.b]", `$[?@.a == "\"$"]`, "$[?@['$']]", "$[?(@.a || !(@.b > 2))]",
		"$[?count(@.parts[*])>2&&length(@.name)<5&&value(@.*)==1]", "$[?@.a == @.b][?@.c]",
		"$[?match(@.name, '^v[0-9]+$')]", "$[?!search(@.name, 'a|b')]", "$[?match(value(@.*), '[0-9a-f]{8}-[0-9a-f]{4}')]",
	} {
		if _, err := probe.ParsePath(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{
		"$" + strings.Repeat("[0,0]", 99), "$['a','b']", "$.a[*,*]", "$..[0,0]", "$..*..*", "$..*..*..*", "$..a.b..c",
		"$..[?$..*]", "$[?@..a]", "$[?!@..a]", "$[?$.a]", "$[?@.a == $.b]", "$[?@.a == 'x' || $['b'] == @.a]", `$[?@.a == "\"" && $.b]`,
		"$[?@[?@.a]]", "$[?(!(@.a || @[?@.b]))]", "$[?@.a[0,1]]", "$[?count(@..a) > 1]", "$[?count($[*]) > 1]", "$[?!match(value(@[?@.a]), 'x')]",
		"$[?length(value(@..*)) > 1]", "$[?" + strings.Repeat("@.a && ", 10) + "@.a]",
		"$[?match(@.a, 'x') || match(@.b, 'y')]", "$[?match(@.a, @.b)]", "$[?search(@.a, 5)]", "$[?search(@.a, '(')]", "$[?search(@.a, 'x{900}')]",
	} {
		if _, err := probe.ParsePath(path); !errors.Is(err, probe.ErrPathWork) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"", "$[", "$.a b", "$[?match(@.a)]", "$[?nothing(@.a)]"} {
		if _, err := probe.ParsePath(path); err == nil || errors.Is(err, probe.ErrPathWork) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestExpensivePathsEnd: of stored monitors too, which were accepted before there were bounds.
func TestExpensivePathsEnd(t *testing.T) {
	nested := func(levels int, inside string) string {
		return strings.Repeat("[", levels) + inside + strings.Repeat("]", levels)
	}
	for _, c := range []struct{ path, body, key string }{
		{"$" + strings.Repeat("[0,0]", 99), nested(100, "1"), probe.KeyJSON},
		{"$..*..*..*", nested(5000, "1"), probe.KeyJSON},
		{"$..*", nested(5000, "1"+strings.Repeat(",1", 100_000)), probe.KeyJSON},
		{"$..*", nested(33, "1"), probe.KeyJSON},
		{"$..*", nested(30, "1"+strings.Repeat(",1", 100_000)), probe.KeyJSON},
		{"$..*", nested(2, "1"+strings.Repeat(",1", 300_000)), ""},
		{"$..*", nested(32, "1"), ""},
		{"$" + strings.Repeat(".*", 200), nested(5000, "1"), ""},
	} {
		elapsed := clock.Stopwatch()
		r := near().Check(t.Context(), probe.Target{Type: probe.JSON, URL: answering(t, c.body), JSONPath: c.path})
		if r.OK != (c.key == "") || r.ErrorKey != c.key || r.Unknown {
			t.Errorf("%.20s of %.20s: %+v", c.path, c.body, r)
		}
		if took := elapsed(); took > 5*time.Second {
			t.Errorf("%.20s of %.20s took %v", c.path, c.body, took)
		}
	}
}

// TestMatchAndSearch: also of what is not there, for which the library has a panic.
func TestMatchAndSearch(t *testing.T) {
	url := answering(t, `{"items": [{}, {"name": 5}, {"name": null}, {"name": "bab"}, {"name": "a\rb"}]}`)
	for filter, found := range map[string]bool{
		"match(@.name, 'x.*')": false, "search(@.name, 'x.*')": false, "match(@.name, 'a')": false, "search(@.name, 'a')": true,
		"match(@.name, 'b.b')": true, "match(@.name, 'b|bab')": true, "match(@.name, 'a.b')": false, "search(@.name, '[ab]b$')": true,
		"!match(@.name, '.*')": true, "match(value(@.name[*]), 'x')": false,
	} {
		r := near().Check(t.Context(), probe.Target{Type: probe.JSON, URL: url, JSONPath: "$.items[?" + filter + "]"})
		if r.Unknown || r.OK != found || !found && r.ErrorKey != probe.KeyJSON {
			t.Errorf("%s: %+v", filter, r)
		}
	}
}
