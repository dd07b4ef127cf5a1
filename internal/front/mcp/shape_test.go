package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stead.dev/stead/internal/front/mcp"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

type row struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Text string `json:"text"`
}

type rowsIn struct{ page.Params }

type document struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

type everythingIn struct {
	ID int64 `query:"id" minimum:"1" default:"1"`
}

type everything struct {
	Of     int64  `json:"of"`
	Secret string `json:"secret"`
	Aside  string `json:"aside"`
	Rows   []row  `json:"rows"`
}

// newShop is an endpoint with a list of rows of about 1 KB and a document of a given length, whose secrets are masked.
func newShop(t *testing.T, rows, long int) *mcp.Endpoint {
	t.Helper()
	clk := clock.NewFake(testkit.Start)
	edge := apitest.NewEdge(t, testkit.SQLite(t, clk), clk, apitest.Tokens{"key": caller}, nil)
	err := edge.Mount(api.Operation[rowsIn, page.List[row]]{
		ID: "rows.list", Method: http.MethodGet, Path: "/api/v1/rows", Section: api.Files, Auth: api.AnyToken, Summary: "Rows",
		Handle: func(_ context.Context, _ auth.Principal, in *rowsIn) (*page.List[row], error) {
			var all []row
			for i := in.Offset(); i < min(in.Offset()+in.Limit(), rows); i++ {
				all = append(all, row{int64(i + 1), fmt.Sprintf("row %d", i+1), strings.Repeat("é", 500)})
			}
			return page.Of(in.Params, rows, all), nil
		},
	}, api.Operation[struct{}, document]{
		ID: "rows.text", Method: http.MethodGet, Path: "/api/v1/text", Section: api.Files, Auth: api.AnyToken, Summary: "A text",
		Handle: func(context.Context, auth.Principal, *struct{}) (*document, error) {
			return &document{"/wp-config.php", "define('DB_PASSWORD', 'hunter2'); <b>" + strings.Repeat("ж", long)}, nil
		},
	}, api.Operation[everythingIn, everything]{
		ID: "rows.all", Method: http.MethodGet, Path: "/api/v1/everything", Section: api.Files, Auth: api.AnyToken, Summary: "Everything",
		Handle: func(_ context.Context, _ auth.Principal, in *everythingIn) (*everything, error) {
			out := &everything{Of: in.ID, Secret: "hunter2", Aside: "on request"}
			for i := range rows {
				out.Rows = append(out.Rows, row{int64(i), "row", strings.Repeat("x", 400)})
			}
			return out, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := mcp.New(mcp.Config{
		Edge: edge, Version: "1", Brand: brand.Fixed(brand.Brand{Name: "Test"}),
		Tools: []mcp.Tool{
			{Name: "rows", Title: "Rows", Operation: "rows.list"},
			{
				Name: "everything", Title: "Everything", Operation: "rows.all", Arguments: map[string]string{"id": "service"},
				Omit: []string{"secret"}, OnRequest: []string{"aside"},
			},
			{Name: "text", Title: "Text", Operation: "rows.text", Untrusted: true},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// result is what a tool answered.
type result struct {
	Result struct {
		IsError           bool `json:"isError"`
		StructuredContent struct {
			Data      []map[string]any `json:"data"`
			Meta      page.Meta
			Text      string
			Path      string
			Of        int
			Secret    string
			Rows      []row
			Truncated bool
			Untrusted bool
		} `json:"structuredContent"`
		Content []struct{ Text string }
	}
}

func ask(t *testing.T, e *mcp.Endpoint, tool, arguments string) (r result) {
	t.Helper()
	w := httptest.NewRecorder()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	if err := e.Answer(t.Context(), caller, nil, w, httptest.NewRequest(http.MethodPost, apitest.BaseURL+"/api/v1/mcp", strings.NewReader(body))); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return r
}

func TestFieldsChooseMembersOfRows(t *testing.T) {
	t.Parallel()
	e := newShop(t, 2, 0)
	got := ask(t, e, "rows", `{"fields":["name"]}`).Result.StructuredContent.Data
	if len(got) != 2 || len(got[0]) != 2 || got[0]["name"] != "row 1" || got[0]["id"] == nil {
		t.Errorf("%v", got)
	}
	for _, bad := range []string{`{"fields":["secret"]}`, `{"fields":"name"}`, `{"fields":[1]}`} {
		r := ask(t, e, "rows", bad).Result
		if !r.IsError || !strings.Contains(r.Content[0].Text, `"validation_failed"`) || !strings.Contains(r.Content[0].Text, `"fields"`) {
			t.Errorf("%s: %+v", bad, r)
		}
	}
}

// A list that is cut can be read to its end by the pages that its answer names, each row once.
func TestAListThatIsTooLongIsCutAtARow(t *testing.T) {
	t.Parallel()
	e := newShop(t, 120, 0)
	for _, start := range []string{`{"per_page":50}`, `{"per_page":50,"page":2}`, `{"per_page":7,"page":3}`} {
		first := ask(t, e, "rows", start).Result.StructuredContent
		if len(first.Data) == 0 || (len(first.Data) < 50) != first.Truncated && len(first.Data) != 7 {
			t.Fatalf("%s: %d rows, truncated %v", start, len(first.Data), first.Truncated)
		}
		next, per := int(first.Data[0]["id"].(float64)), first.Meta.PerPage
		seen := ask(t, e, "rows", start).Result.StructuredContent
		for at := seen.Meta.Page; ; at++ {
			rows := ask(t, e, "rows", fmt.Sprintf(`{"per_page":%d,"page":%d}`, per, at)).Result.StructuredContent.Data
			for _, r := range rows {
				if int(r["id"].(float64)) != next {
					t.Fatalf("%s: row %v, want %d", start, r["id"], next)
				}
				next++
			}
			if len(rows) == 0 {
				break
			}
		}
		if next != 121 {
			t.Errorf("%s: read up to row %d", start, next-1)
		}
	}
	if r := ask(t, e, "rows", `{"per_page":50,"fields":["name"]}`).Result.StructuredContent; r.Truncated || len(r.Data) != 50 {
		t.Errorf("few fields: %d rows", len(r.Data))
	}
}

func TestATextThatIsTooLongIsCutAndMasked(t *testing.T) {
	t.Parallel()
	r := ask(t, newShop(t, 0, 100_000), "text", `{}`).Result
	s := r.StructuredContent
	if !s.Truncated || !s.Untrusted || len(r.Content[0].Text) > 64<<10 || len(s.Text) < 60<<10 || strings.Contains(s.Text, "\ufffd") {
		t.Errorf("%d bytes, truncated %v, untrusted %v", len(r.Content[0].Text), s.Truncated, s.Untrusted)
	}
	if strings.Contains(s.Text, "hunter2") || !strings.HasPrefix(s.Text, "define('DB_PASSWORD', '⟦secret:db_password⟧'); <b>") {
		t.Errorf("%.40s", s.Text)
	}
	if s := ask(t, newShop(t, 0, 10), "text", `{"fields":["path"]}`).Result.StructuredContent; s.Text != "" || s.Truncated {
		t.Errorf("%+v", s)
	}
}

// An answer of many small things is cut, too: it says so, and never fails.
func TestAnAnswerWithoutLongTextsIsCutAtItsLongestList(t *testing.T) {
	t.Parallel()
	r := ask(t, newShop(t, 400, 0), "everything", `{}`).Result
	if s := r.StructuredContent; r.IsError || !s.Truncated || len(r.Content[0].Text) > 64<<10 || len(s.Rows) < 50 {
		t.Errorf("%d bytes, %d rows, truncated %v", len(r.Content[0].Text), len(s.Rows), s.Truncated)
	}
}

func TestArgumentsAndMembersAreThoseOfTheTool(t *testing.T) {
	t.Parallel()
	e := newShop(t, 3, 0)
	if r := ask(t, e, "everything", `{"service":7}`).Result; r.IsError || r.StructuredContent.Of != 7 || r.StructuredContent.Secret != "" {
		t.Errorf("%+v", r)
	}
	if r := ask(t, e, "everything", `{"service":0}`).Result; !r.IsError || !strings.Contains(r.Content[0].Text, `"service":[`) {
		t.Errorf("%+v", r)
	}
	for _, bad := range []string{`{"id":7}`, `{"fields":["secret"]}`} {
		if r := ask(t, e, "everything", bad).Result; !r.IsError {
			t.Errorf("%s: %+v", bad, r)
		}
	}
	if r := ask(t, e, "everything", `{}`).Result; strings.Contains(r.Content[0].Text, "aside") {
		t.Errorf("not asked for: %s", r.Content[0].Text)
	}
	if r := ask(t, e, "everything", `{"fields":["aside"]}`).Result; !strings.Contains(r.Content[0].Text, "aside") {
		t.Errorf("asked for: %s", r.Content[0].Text)
	}
}
