package app

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// contractRow is an operation as the specification lists it.
type contractRow struct {
	section, method, path, scope string
	money                        bool
}

// contract is the specification's table of operations. It changes with the specification, not with the code.
func contract(t *testing.T) []contractRow {
	t.Helper()
	content, err := os.ReadFile("testdata/contract.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var rows []contractRow
	for i, line := range strings.Split(strings.TrimSpace(string(content)), "\n") {
		f := strings.Split(line, "\t")
		if len(f) < 4 {
			t.Fatalf("row %d of the table has %d columns", i+1, len(f))
		}
		if i > 0 {
			rows = append(rows, contractRow{section: f[0], method: f[1], path: f[2], scope: f[3], money: len(f) > 4 && f[4] == "money"})
		}
	}
	return rows
}

// unfinished are the sections of the specification of which not everything is served yet. Operations of other
// sections must be served; what is served of these must be as specified, too.
var unfinished []string

// TestTheOperationsAreThoseOfTheContract compares what is mounted with the specification. What goes beyond it, for
// the first-party panel and for integrators, is in api/openapi.json.
func TestTheOperationsAreThoseOfTheContract(t *testing.T) {
	a := start(t, nil)
	mounted := map[string]api.Info{}
	for _, op := range a.Operations() {
		mounted[op.Method+" "+op.Path] = op
	}
	missing := map[string]int{}
	for _, row := range contract(t) {
		if row.scope == "session" {
			continue // a page; TestTheOAuthAddressesAnswer
		}
		op, ok := mounted[row.method+" "+row.path]
		if !ok {
			missing[row.section]++
			if !slices.Contains(unfinished, row.section) {
				t.Errorf("%s %s is in the contract and not served", row.method, row.path)
			}
			continue
		}
		if got := op.Section.Title(); got != row.section {
			t.Errorf("%s is in the section %q, want %q", op.ID, got, row.section)
		}
		if op.Money != row.money {
			t.Errorf("%s: money %v, want %v", op.ID, op.Money, row.money)
		}
		wantAuth, wantScopes := api.Token, strings.Split(row.scope, " or ")
		switch row.scope {
		case "open":
			wantAuth, wantScopes = api.Open, nil
		case "token":
			wantAuth, wantScopes = api.AnyToken, nil
		case "client":
			wantAuth, wantScopes = api.Own, nil
		case "key":
			wantAuth, wantScopes = api.Key, nil
		}
		if op.Auth != wantAuth || !slices.Equal(op.Scopes, wantScopes) {
			t.Errorf("%s: auth %v with %v, want %v with %v", op.ID, op.Auth, op.Scopes, wantAuth, wantScopes)
		}
	}
	for _, section := range unfinished {
		if missing[section] == 0 {
			t.Errorf("all operations of %s are served: it is finished", section)
		}
	}
}

func TestTheOAuthAddressesAnswer(t *testing.T) {
	a := start(t, nil)
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/oauth/authorize", http.StatusBadRequest}, // no client is named: nothing to redirect to
		{http.MethodPost, "/oauth/token", http.StatusBadRequest},
		{http.MethodPost, "/oauth/token/refresh", http.StatusBadRequest},
		{http.MethodGet, "/.well-known/oauth-authorization-server", http.StatusOK},
		{http.MethodGet, "/.well-known/oauth-protected-resource", http.StatusOK},
	} {
		r := request{method: c.method, path: c.path}
		if c.method == http.MethodPost {
			r.contentType, r.body = "application/x-www-form-urlencoded", "grant_type=authorization_code"
		}
		if got := a.do(t, r); got.status != c.status {
			t.Errorf("%s %s: %s, want %d", c.method, c.path, got, c.status)
		}
	}
}

type parameter struct {
	Name        string         `json:"name"`
	In          string         `json:"in"`
	Description string         `json:"description"`
	Schema      map[string]any `json:"schema"`
}

// openAPIDocument is what tests read of the OpenAPI document.
type openAPIDocument struct {
	OpenAPI string `json:"openapi"`
	Paths   map[string]map[string]struct {
		OperationID string      `json:"operationId"`
		Description string      `json:"description"`
		Tags        []string    `json:"tags"`
		Parameters  []parameter `json:"parameters"`
		RequestBody *struct {
			Content map[string]mediaType `json:"content"`
		} `json:"requestBody"`
		Responses map[string]struct {
			Description string               `json:"description"`
			Headers     map[string]any       `json:"headers"`
			Content     map[string]mediaType `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]map[string]any `json:"schemas"`
	} `json:"components"`
	Tags []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tags"`
}

// mediaType is a body or an answer in one of its forms.
type mediaType struct {
	Schema  map[string]any  `json:"schema"`
	Example json.RawMessage `json:"example"`
}

func (a *App) document(t *testing.T) (d openAPIDocument) {
	t.Helper()
	r := a.get(t, "", OpenAPIPath)
	if r.status != http.StatusOK {
		t.Fatal(r)
	}
	r.decode(t, &d)
	return d
}

func TestTheOpenAPIDocumentHasEveryOperationAndKey(t *testing.T) {
	a := start(t, nil)
	d := a.document(t)
	if !strings.HasPrefix(d.OpenAPI, "3.1") {
		t.Errorf("version %q", d.OpenAPI)
	}
	ids := map[string]bool{}
	var described strings.Builder
	for _, item := range d.Paths {
		for _, op := range item {
			ids[op.OperationID] = true
			for _, r := range op.Responses {
				described.WriteString(r.Description)
			}
		}
	}
	for _, op := range a.Operations() {
		if !ids[op.ID] {
			t.Errorf("%s is not in the document", op.ID)
		}
	}
	examples, _ := json.Marshal(d.Components.Schemas["Error"])
	for _, def := range fault.Defs() {
		if !strings.Contains(string(examples), `"`+def.Key+`"`) {
			t.Errorf("the key %s is not in the document", def.Key)
		}
		for _, lang := range i18n.Supported() {
			if !i18n.Has(lang, "error."+def.Key) {
				t.Errorf("the key %s has no text in %s", def.Key, lang)
			}
		}
	}
}

func TestTheCommittedDocumentIsTheServedOne(t *testing.T) {
	served, err := OpenAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	isCommitted(t, "openapi.json", served)
}

// isCommitted compares a document with its file in the folder api.
func isCommitted(t *testing.T, name string, served []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join("..", "..", "api", name))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(served) {
		t.Errorf("api/%s is not what the code says: run make openapi", name)
	}
}

func TestDocumentIsCachedAndCompressed(t *testing.T) {
	a := start(t, nil)
	plain := a.do(t, request{method: http.MethodGet, path: OpenAPIPath, header: map[string]string{"Accept-Encoding": "identity"}})
	packed := a.do(t, request{method: http.MethodGet, path: OpenAPIPath, header: map[string]string{"Accept-Encoding": "gzip"}})
	if packed.header.Get("Content-Encoding") != "gzip" || len(packed.body) >= len(plain.body)/4 {
		t.Errorf("compressed %q: %d of %d bytes", packed.header.Get("Content-Encoding"), len(packed.body), len(plain.body))
	}
	if plain.header.Get("ETag") == packed.header.Get("ETag") {
		t.Error("both forms have the same ETag")
	}
	again := a.do(t, request{method: http.MethodGet, path: OpenAPIPath, header: map[string]string{
		"Accept-Encoding": "identity", "If-None-Match": plain.header.Get("ETag"),
	}})
	if again.status != http.StatusNotModified || len(again.body) > 0 {
		t.Errorf("with its ETag: %s", again)
	}
}

func TestTheReferenceAsksNobodyElse(t *testing.T) {
	a := start(t, nil)
	page := a.get(t, "", "/docs/")
	if page.status != http.StatusOK || !strings.Contains(string(page.body), "services.renew") {
		t.Fatal(page)
	}
	policy := page.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("policy %q", policy)
	}
	for _, op := range a.Operations() { // each stands in the list and on its page
		if !strings.Contains(string(page.body), "#"+op.ID+`"`) {
			t.Errorf("%s is not in the reference", op.ID)
		}
	}
	for _, attribute := range []string{`src="`, `href="`} {
		for _, part := range strings.Split(string(page.body), attribute)[1:] {
			address, _, _ := strings.Cut(part, `"`)
			if address, _, _ = strings.Cut(address, "#"); address == "" {
				continue
			}
			if strings.Contains(address, "//") {
				t.Errorf("the page loads %s", address)
			}
			if r := a.get(t, "", address); r.status != http.StatusOK {
				t.Errorf("%s: %d", address, r.status)
			}
		}
	}
	if r := a.get(t, "", "/docs"); r.status != http.StatusMovedPermanently || r.header.Get("Location") != "/docs/" {
		t.Errorf("/docs: %d to %q", r.status, r.header.Get("Location"))
	}
}

// protected operations need a token.
func protected(op api.Info) bool { return op.Auth == api.Token || op.Auth == api.AnyToken }

// scopesBeside are all scopes of third parties that do not open the operation.
func scopesBeside(op api.Info) []string {
	return slices.DeleteFunc(thirdParty(), func(s string) bool { return slices.Contains(op.Scopes, s) })
}
