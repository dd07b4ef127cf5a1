package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/fault"
)

// refused fails the test unless the answer is a refusal with a known key and,
// where they are given, one of the statuses.
func refused(t *testing.T, what string, r answer, statuses ...int) {
	t.Helper()
	key := r.key()
	known := slices.ContainsFunc(fault.Defs(), func(d *fault.Def) bool {
		return d.Key == key && d.Kind.Status() == r.status
	})
	if r.status < 400 || r.status >= 500 || !known {
		t.Errorf("%s: %s", what, r)
	}
	if len(statuses) > 0 && !slices.Contains(statuses, r.status) {
		t.Errorf("%s: %s, want %v", what, r, statuses)
	}
	if !strings.HasPrefix(r.header.Get("Content-Type"), "application/json") {
		t.Errorf("%s: content type %q", what, r.header.Get("Content-Type"))
	}
}

// notBroken fails the test when the answer is a fault of ours.
func notBroken(t *testing.T, what string, r answer) {
	t.Helper()
	if r.status >= 500 {
		t.Errorf("%s: %s", what, r)
	}
}

func badBodies(t *testing.T, w *world) {
	a := w.App
	doc := a.document(t)
	for _, op := range a.Operations() {
		item := doc.Paths[op.Path][strings.ToLower(op.Method)]
		if op.Section == api.MCP { // JSON-RPC refuses in a form of its own: TestAnAgentsMessagesByHand
			continue
		}
		if !protected(op) || item.RequestBody == nil || item.RequestBody.Content["application/json"].Schema == nil {
			continue
		}
		token := w.tokenFor(op, w.owner)
		send := func(body, contentType string) answer {
			r := w.example(op, token)
			r.body, r.contentType = body, contentType
			return a.do(t, r)
		}
		for name, body := range map[string]string{
			"half an object": `{"a": `, "no JSON": "hello", "two values": "{} {}", "a trailing comma": `{"a": 1,}`,
			"bad UTF-8": "{\"a\": \"\xff\xfe\"}", "a NUL byte": "{\"a\": 1}\x00", "only a brace": "{",
		} {
			refused(t, op.ID+" with "+name, send(body, ""), http.StatusBadRequest)
		}
		for name, body := range map[string]string{
			"a list": "[]", "a string": `"x"`, "a number": "1", "null": "null", "true": "true",
		} {
			r := send(body, "")
			if r.status != http.StatusUnprocessableEntity && r.status != http.StatusBadRequest {
				t.Errorf("%s with %s: %s", op.ID, name, r)
			}
		}
		refused(t, op.ID+" with a NUL in a key", send(`{"a\u0000b": 1}`, ""), http.StatusUnprocessableEntity)
		refused(t, op.ID+" as text", send("{}", "text/plain"), http.StatusUnsupportedMediaType)
		refused(t, op.ID+" as a form", send("a=1", "application/x-www-form-urlencoded"), http.StatusUnsupportedMediaType)
		refused(t, op.ID+" as nonsense", send("{}", "///"), http.StatusUnsupportedMediaType)
		huge := 5 << 20
		if strings.HasPrefix(op.ID, "deploys.") {
			huge = 9 << 20 // their bodies name the files of whole folders
		}
		refused(t, op.ID+" with a huge body", send(`{"a": "`+strings.Repeat("x", huge)+`"}`, ""), http.StatusRequestEntityTooLarge)
		deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
		notBroken(t, op.ID+" with a deep body", send(deep, ""))

		for member, schema := range a.members(doc, item.RequestBody.Content["application/json"].Schema) {
			example := w.example(op, token)
			for _, wrong := range wrongFor(schema) {
				r := example
				r.body = withMember(t, example.body, member, wrong)
				what := fmt.Sprintf("%s with %s: %s", op.ID, member, wrong)
				got := a.do(t, r)
				if op.ID == "files.write" && strings.Contains(wrong, "u0000") {
					notBroken(t, what, got) // files may hold any byte
					continue
				}
				refused(t, what, got, http.StatusUnprocessableEntity, http.StatusBadRequest)
				if got.key() == "validation_failed" && !strings.Contains(string(got.body), `"errors"`) {
					t.Errorf("%s: no errors member in %s", what, got)
				}
			}
		}
	}
}

// members are the members of a body's schema.
func (a *App) members(d openAPIDocument, schema map[string]any) map[string]map[string]any {
	if ref, ok := schema["$ref"].(string); ok {
		schema = d.Components.Schemas[ref[strings.LastIndex(ref, "/")+1:]]
	}
	out := map[string]map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		if member, ok := p.(map[string]any); ok {
			out[name] = member
		}
	}
	return out
}

// wrongFor are JSON values that are not of the schema's type.
func wrongFor(schema map[string]any) []string {
	types := fmt.Sprint(schema["type"]) // a list when null is allowed
	if types == "<nil>" {
		return nil
	}
	var wrong []string
	add := func(typ string, values ...string) {
		if !strings.Contains(types, typ) {
			wrong = append(wrong, values...)
		}
	}
	add("object", `{"a": 1}`)
	add("array", `[1, "x"]`)
	add("boolean", `true`)
	if !strings.Contains(types, "string") {
		wrong = append(wrong, `"x"`)
	} else {
		wrong = append(wrong, `"a\u0000b"`)
	}
	if strings.Contains(types, "integer") {
		wrong = append(wrong, `1.5`, `1e400`, `999999999999999999999999`)
	} else if !strings.Contains(types, "number") {
		wrong = append(wrong, `1`)
	}
	return wrong
}

// withMember replaces one member of a JSON object by a literal.
func withMember(t *testing.T, body, member, literal string) string {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &object); err != nil {
		t.Fatalf("%v in the example %q", err, body)
	}
	parts := []string{fmt.Sprintf("%q: %s", member, literal)}
	for name, value := range object {
		if name != member {
			parts = append(parts, fmt.Sprintf("%q: %s", name, value))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// A caller who mistypes a member must not get the default instead, such as a charge for a dry_run.
func unknownNames(t *testing.T, w *world) {
	a := w.App
	for _, op := range a.Operations() {
		if op.Auth == api.Open || op.Auth == api.Own || op.Method == http.MethodGet || strings.HasSuffix(op.Path, "/mcp") {
			continue
		}
		token := w.tokenFor(op, w.owner)
		const name = "a_member_of_nobody"
		r := w.example(op, token)
		r.path += map[bool]string{true: "&", false: "?"}[strings.Contains(r.path, "?")] + name + "=1"
		if got := a.do(t, r); got.status != http.StatusUnprocessableEntity || !got.names(name) {
			t.Errorf("%s with an unknown parameter: %s", op.ID, got)
		}
		r = w.example(op, token)
		if r.contentType != "" {
			continue // a form
		}
		if r.body == "" {
			r.body = "{}"
		}
		r.body = withMember(t, r.body, name, `{"x": [1]}`)
		if got := a.do(t, r); got.status != http.StatusUnprocessableEntity || !got.names(name) {
			t.Errorf("%s with an unknown member: %s", op.ID, got)
		}
	}
}

// names tells whether the answer refuses a member of the request by its name.
func (a answer) names(member string) bool {
	var e struct{ Errors map[string][]string }
	return json.Unmarshal(a.body, &e) == nil && len(e.Errors[member]) > 0
}

// A later version may add members to answers, so their schemas are open; those of bodies are closed.
func TestTheDocumentClosesBodiesAlone(t *testing.T) {
	d, err := theDocument()
	if err != nil {
		t.Fatal(err)
	}
	var refs func(v any, into map[string]bool)
	refs = func(v any, into map[string]bool) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				refs(x, into)
			}
		case map[string]any:
			for name, x := range v {
				text, ok := x.(string)
				to := text[strings.LastIndex(text, "/")+1:]
				if name != "$ref" || !ok || into[to] {
					refs(x, into)
					continue
				}
				into[to] = true
				refs(d.doc.Components.Schemas[to], into)
			}
		}
	}
	bodies, answers := map[string]bool{}, map[string]bool{}
	for _, item := range d.doc.Paths {
		for _, op := range item {
			if op.RequestBody != nil {
				refs(op.RequestBody.Content["application/json"].Schema, bodies)
			}
			for _, r := range op.Responses {
				refs(r.Content["application/json"].Schema, answers)
			}
		}
	}
	if len(bodies) < 50 || len(answers) < 150 {
		t.Errorf("only %d schemas of bodies and %d of answers", len(bodies), len(answers))
	}
	for name := range bodies {
		s := d.doc.Components.Schemas[name]
		if answers[name] {
			t.Errorf("%s is part of a body and of an answer: declare a type for each", name)
		}
		if s["type"] == "object" && s["additionalProperties"] == nil {
			t.Errorf("%s takes unknown members", name)
		}
	}
	for name := range answers {
		if d.doc.Components.Schemas[name]["additionalProperties"] == false {
			t.Errorf("%s can get no members in a later version", name)
		}
	}
}

func pathTricks(t *testing.T, w *world) {
	a := w.App
	for _, op := range a.Operations() {
		token := w.tokenFor(op, w.owner)
		if !strings.Contains(op.Path, "{") {
			continue
		}
		begin := strings.Index(op.Path, "{")
		end := strings.Index(op.Path, "}")
		for _, trick := range []string{
			"0", "-1", "abc", "1.5", "1e3", "0x1", "99999999999999999999", "9223372036854775807", "%00", "1%00", "1%2f2", "%2e%2e",
			"..%2f..", "1;2", "1,2", "%ff", "%20", "1%20", "+1", "null", "*", "%7Bservice%7D", "１",
		} {
			r := w.example(op, token)
			_, query, _ := strings.Cut(r.path, "?")
			rest := w.path(api.Info{ID: op.ID, Path: op.Path[end+1:]})
			r.path = op.Path[:begin] + trick + rest
			if query != "" {
				r.path += "?" + query
			}
			got := a.do(t, r)
			// A path that the server's grammar refuses may be a 400 of net/http.
			if got.status != http.StatusNotFound && (got.status != http.StatusBadRequest || got.key() != "") {
				t.Errorf("%s with %q in its path: %s", op.ID, trick, got)
			}
		}
	}
	for _, path := range []string{
		"/api/v1//orders", "/api/v1/./orders", "/api/v1/../v1/orders", "/api/v1/orders/", "/api//v1/orders", "/api/v2/orders",
		"/api/v1/%6frders/../orders", "/api/v1/orders/%2e%2e/orders", "/api", "/api/", "/api/v1",
	} {
		r := a.get(t, w.owner.token, path)
		refused(t, path, r, http.StatusNotFound)
	}
}

func badQueries(t *testing.T, w *world) {
	a := w.App
	doc := a.document(t)
	for _, op := range a.Operations() {
		token := w.tokenFor(op, w.owner)
		item := doc.Paths[op.Path][strings.ToLower(op.Method)]
		for _, p := range item.Parameters {
			if p.In != "query" {
				continue
			}
			values := []string{"%00", "%ff%fe", "a%00b"}
			if typ := fmt.Sprint(p.Schema["type"]); strings.Contains(typ, "integer") || strings.Contains(typ, "boolean") {
				values = append(values, "x", "1.5", "99999999999999999999999", "%5B%5D")
			}
			for _, v := range values {
				r := w.example(op, token)
				path, _, _ := strings.Cut(r.path, "?")
				r.path = path + "?" + p.Name + "=" + v
				refused(t, fmt.Sprintf("%s with %s=%s", op.ID, p.Name, v), a.do(t, r))
			}
			if typ := fmt.Sprint(p.Schema["type"]); op.Method == http.MethodGet && strings.Contains(typ, "integer") {
				r := w.example(op, token)
				path, _, _ := strings.Cut(r.path, "?")
				r.path = path + "?" + p.Name + "=3000000000" // more than 32 bits
				notBroken(t, fmt.Sprintf("%s with a large %s", op.ID, p.Name), a.do(t, r))
			}
		}
		r := w.example(op, token)
		r.path += map[bool]string{true: "&", false: "?"}[strings.Contains(r.path, "?")] + "an_unknown=1&%zz=%zz&=&&;"
		if op.Method == http.MethodGet {
			notBroken(t, op.ID+" with a strange query", a.do(t, r))
		}
		if op.Money {
			for _, key := range []string{"", " ", `""`, strings.Repeat("k", 256), strings.Repeat("k", 400), "ключ", "a\tb", "\xff"} {
				r := w.example(op, token)
				r.header = map[string]string{"Idempotency-Key": key}
				got := a.do(t, r)
				if got.status != http.StatusUnprocessableEntity || got.key() != "idempotency_key_invalid" {
					t.Errorf("%s with the key %q: %s", op.ID, key, got)
				}
			}
		}
	}
	for name, header := range map[string]string{
		"basic": "Basic YTpi", "no scheme": "sta_x", "only a scheme": "Bearer", "two spaces": "Bearer  ", "long": "Bearer " + strings.Repeat("x", 5000),
		"bad bytes": "Bearer \xff\xfe",
	} {
		r := a.do(t, request{method: http.MethodGet, path: "/api/v1/me", header: map[string]string{"Authorization": header}})
		refused(t, name, r, http.StatusUnauthorized)
	}
}

func TestUnknownMethodsAndPathsHaveTheErrorObject(t *testing.T) {
	a := start(t, simulated)
	w := newWorld(t, a)
	for _, op := range a.Operations() {
		r := a.do(t, request{method: "BREW", path: w.path(op), token: w.owner.token})
		refused(t, "BREW "+op.Path, r, http.StatusMethodNotAllowed)
		if allow := r.header.Get("Allow"); !strings.Contains(allow, op.Method) || op.Method == http.MethodGet && !strings.Contains(allow, "HEAD") {
			t.Errorf("%s: Allow is %q", op.Path, r.header.Get("Allow"))
		}
		preflight := a.do(t, request{method: http.MethodOptions, path: w.path(op), header: map[string]string{
			"Origin": "https://app.example", "Access-Control-Request-Method": op.Method,
		}})
		if preflight.status != http.StatusNoContent || preflight.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("preflight of %s: %s", op.ID, preflight)
		}
	}
	for _, path := range []string{OpenAPIPath, "/healthz", "/docs/", "/login", "/status", "/blog", "/robots.txt", "/oauth/authorize"} {
		r := a.do(t, request{method: http.MethodDelete, path: path})
		if r.status != http.StatusMethodNotAllowed || !strings.Contains(r.header.Get("Allow"), "GET, HEAD") {
			t.Errorf("DELETE %s: %d, Allow %q", path, r.status, r.header.Get("Allow"))
		}
	}
}
