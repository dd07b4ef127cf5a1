package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/testkit"
)

// TestAPanicOfAMessageIsItsAnswer: wherever it is, since nobody above recovers it.
func TestAPanicOfAMessageIsItsAnswer(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	e := &Endpoint{cfg: Config{Edge: apitest.NewEdge(t, testkit.SQLite(t, clk), clk, nil, nil)}}
	handle := e.guarded(func(context.Context, string, sdk.Request) (sdk.Result, error) { panic("secret") })
	res, err := handle(context.WithValue(t.Context(), callKey{}, call{ctx: t.Context()}), "tools/call", nil)
	var said *jsonrpc.Error
	if res != nil || !errors.As(err, &said) || !strings.Contains(said.Message, "internal_error") || strings.Contains(said.Message, "secret") {
		t.Errorf("%v, %v", res, err)
	}
}
