package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/front/mcp"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
)

type said struct {
	Text string `json:"text"`
}

// few is the throttle of the operation of tests.
const few = "few"

// newTool is an endpoint with one tool, "test", that calls handle, and the edge on which its operation is mounted.
func newTool(t *testing.T, handle func(context.Context, auth.Principal, *struct{}) (*said, error)) (*api.Edge, *mcp.Endpoint) {
	t.Helper()
	clk := clock.NewFake(testkit.Start)
	edge := apitest.NewEdge(t, testkit.SQLite(t, clk), clk, apitest.Tokens{"key": caller}, nil)
	edge.Policies[few] = throttle.Policy{Name: few, Limit: 3, Window: time.Minute}
	err := edge.Mount(api.Operation[struct{}, said]{
		ID: "test.get", Method: http.MethodGet, Path: "/api/v1/reseller/test", Section: api.Reseller, Auth: api.Key, Throttle: few,
		Summary: "A test", Handle: handle,
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := mcp.New(mcp.Config{Edge: edge, Version: "1", Brand: brand.Fixed(brand.Brand{Name: "Test"}), Tools: []mcp.Tool{{Name: "test", Title: "A test", Operation: "test.get"}}})
	if err != nil {
		t.Fatal(err)
	}
	return edge, e
}

var caller = auth.Principal{AccountID: 1, KeyID: 1}

// call calls the tool.
func call(t *testing.T, e *mcp.Endpoint) *httptest.ResponseRecorder {
	t.Helper()
	return callWith(t, e, `{}`)
}

func callWith(t *testing.T, e *mcp.Endpoint, arguments string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, apitest.BaseURL+"/api/v1/reseller/mcp", strings.NewReader(
		`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "test", "arguments": `+arguments+`}}`))
	if err := e.Answer(t.Context(), caller, nil, w, r); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAToolIsThrottledWithItsOperation(t *testing.T) {
	t.Parallel()
	edge, e := newTool(t, func(context.Context, auth.Principal, *struct{}) (*said, error) { return &said{"done"}, nil })
	for range 2 {
		if got := call(t, e).Body.String(); !strings.Contains(got, "done") {
			t.Fatal(got)
		}
	}
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} { // by its address, for the same key
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, apitest.BaseURL+"/api/v1/reseller/test", nil)
		r.Header.Set("X-Api-Key", "key")
		if edge.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%d %s, want %d", w.Code, w.Body, want)
		}
	}
	if got := call(t, e).Body.String(); !strings.Contains(got, "rate_limited") || !strings.Contains(got, "retry_after") || strings.Contains(got, "done") {
		t.Error(got)
	}
}

func TestAFaultOfAToolIsAnErrorOfItsCall(t *testing.T) {
	t.Parallel()
	_, e := newTool(t, func(context.Context, auth.Principal, *struct{}) (*said, error) {
		var none *db.DB
		return &said{none.Engine()}, nil
	})
	w := call(t, e)
	if got := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(got, "internal_error") || !strings.Contains(got, `"isError":true`) || strings.Contains(got, "goroutine") {
		t.Errorf("%d %s", w.Code, got)
	}
}

// TestBothEndpointsRefuseOtherSites: a page of another site reaches neither, by its own name or by ours.
func TestBothEndpointsRefuseOtherSites(t *testing.T) {
	t.Parallel()
	edge, e := newTool(t, func(context.Context, auth.Principal, *struct{}) (*said, error) { return &said{}, nil })
	if err := edge.Mount(e.Customer(), e.Reseller()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(edge)
	t.Cleanup(server.Close)
	for _, path := range []string{"/api/v1/mcp", "/api/v1/reseller/mcp"} {
		for _, c := range []struct {
			name, host, origin string
			status             int
		}{
			{"this site", "stead.test", apitest.BaseURL, http.StatusOK},
			{"a foreign host", "evil.example.com", "", http.StatusForbidden},
			{"a foreign origin", "stead.test", "https://evil.example.com", http.StatusForbidden},
		} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(`{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = c.host
			r.Header.Set("Authorization", "Bearer key")
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			res, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != c.status {
				t.Errorf("%s by %s: %d, want %d", path, c.name, res.StatusCode, c.status)
			}
		}
	}
}

// limited is a list that has a default as a tool.
type limited struct {
	Limit int `query:"limit" minimum:"1" maximum:"500"`
}

func TestArgumentsMayBeNull(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	edge := apitest.NewEdge(t, testkit.SQLite(t, clk), clk, apitest.Tokens{"key": caller}, nil)
	err := edge.Mount(api.Operation[limited, said]{
		ID: "test.get", Method: http.MethodGet, Path: "/api/v1/reseller/test", Section: api.Reseller, Auth: api.Key, Summary: "A test",
		Handle: func(_ context.Context, _ auth.Principal, in *limited) (*said, error) {
			return &said{fmt.Sprintf("%d lines", in.Limit)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := mcp.New(mcp.Config{Edge: edge, Version: "1", Brand: brand.Fixed(brand.Brand{Name: "Test"}), Tools: []mcp.Tool{
		{Name: "test", Title: "A test", Operation: "test.get", Defaults: map[string]any{"limit": 50}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{`null`, `{}`} {
		if got := callWith(t, e, arguments).Body.String(); !strings.Contains(got, "50 lines") {
			t.Errorf("arguments of %s: %s", arguments, got)
		}
	}
}
