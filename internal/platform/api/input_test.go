package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/testkit"
)

func TestWhatIsValidatedIsWhatIsDecoded(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, 1000)
	long := strings.Repeat("x", 50)
	for _, c := range []struct{ name, body, member string }{
		{"a second member in capitals", `{"name":"ab","NAME":"` + long + `"}`, "NAME"},
		{"a first member in capitals", `{"Name":"` + long + `","name":"ab"}`, "name"},
		{"another letter that folds to it", `{"name":"ab","count":1,"counT":99}`, "counT"},
		{"the Kelvin sign", `{"name":"ab","k":1,"` + "\u212a" + `":2}`, "\u212a"},
		{"the same name twice", `{"name":"ab","name":"cd"}`, "name"},
		{"an escaped name", `{"name":"ab","n\u0061me":"` + long + `"}`, "name"},
		{"in an unknown member", `{"name":"ab","x":[{"y":1,"y":2}]}`, "y"},
		{"capitals are validated too", `{"name":"ab","Count":99}`, "Count"},
		{"a whole number with a fraction", `{"name":"ab","count":2.0}`, "count"},
		{"a whole number with an exponent", `{"name":"ab","count":1e0}`, "count"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := w.do("POST", "/api/v1/things", "full", c.body)
			var answer struct{ Errors map[string][]string }
			if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil {
				t.Fatal(err)
			}
			if rec.Code != 422 || key(rec) != "validation_failed" || len(answer.Errors) != 1 || !hasFold(answer.Errors, c.member) {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
		})
	}
}

func TestAListIsNotNull(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, 1000, tagging)
	for body, status := range map[string]int{
		`{"tags":["a"]}`: 200, `{"tags":[]}`: 422, `{"tags":null}`: 422, `{"tags":[null]}`: 422, `{"tags":["a"],"more":null}`: 200,
		`{"tags":["a"],"owner":null}`: 200, `{"tags":["a"],"owner":{"name":5}}`: 422,
		`{"tags":["a"],"owner":{"name":"x","names":"y"}}`: 422, `{"tags":["a"],"owner":{"name":"x"},"free":{"x":{"y":1},"z":2}}`: 200,
	} {
		if rec := w.do("POST", "/api/v1/tags", "full", body); rec.Code != status {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
}

type tagsIn struct {
	Like []string `query:"like"`
	Body struct {
		Tags  []string `json:"tags" minItems:"1"`
		More  []string `json:"more,omitempty" minItems:"1"`
		Owner *ownerIn `json:"owner,omitempty"`

		Free map[string]any `json:"free,omitempty"`
	}
}

type ownerIn struct {
	Name string `json:"name"`
}

type ownerWire struct {
	Name string `json:"name"`
}

type tagsWire struct {
	Owner *ownerWire `json:"owner"`
	Tags  []string   `json:"tags"`
}

var tagging = api.Operation[tagsIn, api.Empty]{
	ID: "test.tag", Method: "POST", Path: "/api/v1/tags", Section: api.Orders, Auth: api.Token, Scopes: []string{"orders:write"}, Summary: "Tag",
	Handle: func(context.Context, auth.Principal, *tagsIn) (*api.Empty, error) { return nil, nil },
}

func TestTheDocumentSaysWhatMayBeNull(t *testing.T) {
	edge := api.NewEdge(api.Config{})
	err := edge.Mount(tagging, api.Operation[struct{}, tagsWire]{
		ID: "test.tags", Method: "GET", Path: "/api/v1/tags", Section: api.Orders, Auth: api.Open, Summary: "Tags",
		Handle: func(context.Context, auth.Principal, *struct{}) (*tagsWire, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(edge.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"owner":{"anyOf":[{"$ref":"#/components/schemas/Api_testOwner"},{"enum":[null],"type":"null"}]}`,
		`"tags":{"items":{"type":"string"},"type":"array"}`,
		`"Api_testTagsBody":{"additionalProperties":false,`,
		`"Api_testOwnerIn":{"additionalProperties":false,`,
		`"Api_testOwner":{"properties"`,
		`"explode":false`,
	} {
		if !strings.Contains(string(content), want) {
			t.Errorf("no %s in %s", want, content)
		}
	}
}

type madeWire struct {
	partWire
	Key string `json:"key"`
}

type partWire struct {
	corePartWire
	Owner *ownerWire `json:"owner"`
}

type corePartWire struct {
	ID   int64   `json:"id"`
	Note *string `json:"note,omitempty"`
}

func TestTheDocumentHasTheMembersOfEmbeddedTypes(t *testing.T) {
	edge := api.NewEdge(api.Config{})
	err := edge.Mount(api.Operation[struct{}, madeWire]{
		ID: "test.made", Method: "GET", Path: "/api/v1/made", Section: api.Orders, Auth: api.Open, Summary: "Made",
		Handle: func(context.Context, auth.Principal, *struct{}) (*madeWire, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(edge.OpenAPI().Components.Schemas.Map()["Api_testMade"])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"properties":{"id":{"format":"int64","type":"integer"},"key":{"type":"string"},"note":{"type":"string"},` +
		`"owner":{"anyOf":[{"$ref":"#/components/schemas/Api_testOwner"},{"enum":[null],"type":"null"}]}},` +
		`"required":["id","key","owner"],"type":"object"}`
	if string(content) != want {
		t.Errorf("%s\nwant %s", content, want)
	}
}

func hasFold(m map[string][]string, name string) bool {
	for k := range m {
		if strings.EqualFold(k, name) {
			return true
		}
	}
	return false
}

func TestAnAddressIsReadStrictly(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(t, testkit.SQLite(t, clk), clk, 1000)
	for _, path := range []string{"/api/v1/things/05", "/api/v1/things/+5", "/api/v1/things/%2B5", "/api/v1/things/5%20", "/api/v1/things/0x5"} {
		if rec := w.do("GET", path, "full", ""); rec.Code != 404 || key(rec) != "not_found" {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	for _, path := range []string{"/api/v1/things/5?mode=%zz", "/api/v1/things?page=1;per_page=2"} {
		if rec := w.do("GET", path, "full", ""); rec.Code != 400 || key(rec) != "invalid_request" {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	if rec := w.do("GET", "/api/v1/things?page=&per_page=", "", ""); rec.Code != 200 {
		t.Errorf("empty numbers are not the defaults: %d %s", rec.Code, rec.Body)
	}
}

// Checks that whatever the body, the function gets values within the declared bounds.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		`{"name":"ab","count":3,"note":"x"}`, `{"NAME":"ab","name":"a"}`, `{"name":"ab","count":1e0}`, `[1]`, `null`, `{"name":`,
		`{"name":"ab","x":{"a":[{"a":1,"A":2}]}}`, "{\"name\":\"\xff\"}", `{"name":"a\u0000b"}`, `{"n\u0061me":"ab"}`, strings.Repeat(`[`, 500),
		`{"name":"a\ud83d\ude00"}`, `{"name":"a\ud83d\u0061"}`, `{"name":"a\ud83d`, `{"name":"a\ud83d\`, `{"name":"a\\ud83d"}`,
	} {
		f.Add(s)
	}
	clk := clock.NewFake(testkit.Start)
	w := newWorld(f, testkit.SQLite(f, clk), clk, 0)
	f.Fuzz(func(t *testing.T, body string) {
		rec := w.do("POST", "/api/v1/things", "full", body)
		if rec.Code >= 500 || rec.Code == 200 {
			t.Fatalf("%q: %d %s", body, rec.Code, rec.Body)
		}
		if rec.Code != 201 {
			return
		}
		var got thing // ID is the count and Mode the name
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if n := utf8.RuneCountInString(got.Mode); n < 2 || n > 10 || got.ID < 0 || got.ID > 9 {
			t.Fatalf("%q passed as %+v", body, got)
		}
	})
}
