package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stead.dev/stead/internal/mcp"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

type said struct {
	Text string `json:"text"`
}

func TestAFaultOfAToolIsAnErrorOfItsCall(t *testing.T) {
	clk := clock.NewFake(testkit.Start)
	edge := apitest.NewEdge(t, testkit.SQLite(t, clk), clk, apitest.Tokens{}, []api.Route{
		api.Operation[struct{}, said]{
			ID: "test.fault", Method: http.MethodGet, Path: "/api/v1/reseller/fault", Section: api.Reseller, Auth: api.Key, Summary: "A fault",
			Handle: func(context.Context, auth.Principal, *struct{}) (*said, error) {
				var none *db.DB
				return &said{none.Engine()}, nil
			},
		},
	})
	e, err := mcp.New(mcp.Config{Edge: edge, Version: "1", Title: "Test", Tools: []mcp.Tool{{"fault", "A fault", "test.fault"}}})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/api/v1/reseller/mcp", strings.NewReader(
		`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fault", "arguments": {}}}`))
	if err := e.Answer(t.Context(), auth.Principal{AccountID: 1, KeyID: 1}, nil, w, r); err != nil {
		t.Fatal(err)
	}
	if got := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(got, "internal_error") || !strings.Contains(got, `"isError":true`) || strings.Contains(got, "goroutine") {
		t.Errorf("%d %s", w.Code, got)
	}
}
