package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/fault"
)

// Config configures an endpoint.
type Config struct {
	Edge    *api.Edge    // on which the tools are mounted
	Version string       // of the program
	Brand   brand.Source // of the company
	// Instructions explain to a model what the tools are for.
	Instructions string
	Tools        []Tool
	// Overview lists the tools whose answers together are the resource of a service; without it there is none.
	Overview []string
	// Articles are the tools that list and read the articles of the knowledge base, which are resources; or empty.
	Articles Articles
	Prompts  []Prompt
}

// Endpoint answers the messages of agents.
type Endpoint struct {
	cfg     Config
	tools   []*tool
	handler *sdk.StreamableHTTPHandler
	servers sync.Map // *sdk.Server by its set of tools: creating one takes longer than a call
}

// call is a request in progress; it travels in the context of the protocol's library.
type call struct {
	// The request's own context: it has the caller's language and currency, and ends with the request.
	ctx       context.Context
	principal auth.Principal
}

type callKey struct{}

// New makes an endpoint. A tool whose operation is not mounted, or is not read-only, is an error.
func New(cfg Config) (*Endpoint, error) {
	e := &Endpoint{cfg: cfg}
	e.handler = sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		c, _ := r.Context().Value(callKey{}).(call)
		return e.server(c.principal)
	}, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: -1,
		// Answer has checked Origin and Host; behind a proxy the address is local.
		DisableLocalhostProtection: true,
	})
	for _, t := range cfg.Tools {
		made, err := newTool(cfg.Edge, t)
		if err != nil {
			return nil, fmt.Errorf("mcp: tool %s: %w", t.Name, err)
		}
		e.tools = append(e.tools, made)
	}
	return e, nil
}

const (
	// maxMessage bounds a message: tools have few and short arguments.
	maxMessage = 256 << 10
	// patience bounds the time of a call.
	patience = 30 * time.Second
)

// Answer handles the message of a request for a principal; it is the Stream of a read-only api.Operation.
func (e *Endpoint) Answer(_ context.Context, p auth.Principal, _ *struct{}, w http.ResponseWriter, r *http.Request) error {
	if !sameSite(e.cfg.Edge.BaseURL, r) {
		return fault.Forbidden.Wrap(errors.New("mcp: a request for another site, or from one"))
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return fault.PayloadTooLarge.With(fault.Fields{"limit_bytes": maxMessage})
	case err != nil:
		return fault.InvalidRequest.Wrap(err)
	}
	m, wrong := read(body)
	if wrong != nil {
		return sendError(w, nil, *wrong)
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	r = r.Clone(context.WithValue(ctx, callKey{}, call{ctx, p}))
	r.Body = io.NopCloser(bytes.NewReader(body))
	// Clients that only know JSON send neither; the answer is JSON in any case.
	r.Header.Set("Accept", "application/json, text/event-stream")
	if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	e.handler.ServeHTTP(a, r)
	return a.send(w, m)
}

// message is the part of a message that this package reads.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// read reads a message, or says what is wrong with it (JSON-RPC 2.0, section 5.1).
func read(body []byte) (m message, wrong *jsonrpc.Error) {
	trimmed := bytes.TrimSpace(body)
	switch err := json.Unmarshal(trimmed, &m); {
	case !json.Valid(trimmed):
		return m, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "The body is not JSON."}
	case trimmed[0] == '[':
		return m, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Batches are not supported: send one message at a time."}
	case err != nil || trimmed[0] != '{':
		return m, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "The body is not a message of JSON-RPC 2.0."}
	}
	return m, nil
}

// sendError refuses a message as JSON-RPC; id is null when it is not known.
func sendError(w http.ResponseWriter, id json.RawMessage, refusal jsonrpc.Error) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": refusal})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, err = w.Write(body)
	return err
}

// server returns a server with the tools that a principal may call.
func (e *Endpoint) server(p auth.Principal) *sdk.Server {
	var allowed []*tool
	var names strings.Builder
	for _, t := range e.tools {
		if t.operation.Allows(p) {
			allowed = append(allowed, t)
			names.WriteString(t.described.Name + " ")
		}
	}
	title := e.cfg.Brand().Name
	names.WriteString(title)
	if s, ok := e.servers.Load(names.String()); ok {
		return s.(*sdk.Server) //nolint:forcetypeassert // nothing else is stored
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "stead", Title: title, Version: e.cfg.Version}, &sdk.ServerOptions{
		Instructions: e.cfg.Instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		PageSize:     1 + len(e.tools),
		SetCacheable: cacheable,
	})
	byName := map[string]*tool{}
	for _, t := range allowed {
		byName[t.described.Name] = t
		s.AddTool(t.described, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return e.call(ctx, t, req.Params.Arguments)
		})
	}
	e.addResources(s, byName)
	s.AddReceivingMiddleware(e.guarded)
	e.addPrompts(s, byName)
	e.servers.Store(names.String(), s)
	return s
}

// listsLive is how long a client may keep the lists of tools, resources and prompts.
const listsLive = 5 * time.Minute

// cacheable tells clients how long they may keep a result. The lists are a caller's own. Resources say it themselves.
func cacheable(_ context.Context, req sdk.Request, c *sdk.Cacheable) {
	if _, read := req.(*sdk.ReadResourceRequest); read {
		return
	}
	c.CacheScope, c.TTLMs = "private", int(listsLive.Milliseconds())
}

// call calls a tool for the principal of the request.
func (e *Endpoint) call(ctx context.Context, t *tool, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	c, ok := ctx.Value(callKey{}).(call)
	if !ok {
		return nil, errors.New("mcp: a call without a principal")
	}
	said, err := e.answerOf(c, t, arguments)
	if err != nil {
		text := string(bytes.TrimSpace(e.cfg.Edge.ErrorBody(c.ctx, err)))
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	}
	return &sdk.CallToolResult{StructuredContent: said, Content: []sdk.Content{&sdk.TextContent{Text: string(said)}}}, nil
}

// guarded answers a message although its handling panics. The library handles messages in goroutines of its own, where a panic would end
// the program.
func (e *Endpoint) guarded(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				c, ok := ctx.Value(callKey{}).(call)
				if !ok {
					c.ctx = ctx
				}
				res, err = nil, e.refusal(c, panicked(v))
			}
		}()
		return next(ctx, method, req)
	}
}

// panicked is the error of a recovered panic.
func panicked(v any) error { return fmt.Errorf("mcp: panic: %v\n%s", v, debug.Stack()) }

// refusal is an error as JSON-RPC has it: what the interface says of it, and nothing of what only the log should have.
func (e *Endpoint) refusal(c call, err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: string(bytes.TrimSpace(e.cfg.Edge.ErrorBody(c.ctx, err)))}
}

// answer buffers the library's answer until it is known to be JSON.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// send sends the answer. A refusal of the library in plain text is converted to the interface's error object, or to
// JSON-RPC when it is about the message.
func (a *answer) send(w http.ResponseWriter, m message) error {
	body := a.body.Bytes()
	if a.status >= http.StatusBadRequest && !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		text := strings.TrimSpace(a.body.String())
		switch {
		case a.status == http.StatusUnsupportedMediaType:
			return fault.UnsupportedMediaType.With(fault.Fields{"expected": "application/json"})
		case a.status != http.StatusBadRequest || len(m.ID) == 0:
			return fault.InvalidRequest.Wrap(errors.New("mcp: " + text))
		}
		code := jsonrpc.CodeInvalidRequest
		if strings.HasSuffix(text, fmt.Sprintf("%q unsupported", m.Method)) {
			code = jsonrpc.CodeMethodNotFound
		}
		return sendError(w, m.ID, jsonrpc.Error{Code: int64(code), Message: text})
	}
	if len(body) > 0 {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.status)
	_, err := w.Write(body)
	return err
}

// Document describes the request and the answer of an operation.
func Document(op *huma.Operation) {
	text := func(description string) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, Description: description}
	}
	request := &huma.Schema{
		Type: huma.TypeObject, Required: []string{"jsonrpc", "method"},
		Properties: map[string]*huma.Schema{
			"jsonrpc": {Type: huma.TypeString, Enum: []any{"2.0"}},
			"id":      {Description: "A string or a number; notifications have none"},
			"method":  text("`tools/list`, `tools/call`, `initialize`, `ping` and others of the protocol"),
			"params":  {Type: huma.TypeObject, Description: "With `tools/call`: `name` and `arguments`"},
		},
	}
	response := &huma.Schema{
		Type: huma.TypeObject, Required: []string{"jsonrpc", "id"},
		Properties: map[string]*huma.Schema{
			"jsonrpc": {Type: huma.TypeString, Enum: []any{"2.0"}},
			"id":      {Description: "That of the request"},
			"result":  {Type: huma.TypeObject},
			"error":   {Type: huma.TypeObject, Description: "`code` and `message` of JSON-RPC 2.0"},
		},
	}
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: request}}}
	op.Responses["200"].Content = map[string]*huma.MediaType{"application/json": {Schema: response, Example: map[string]any{
		"jsonrpc": "2.0", "id": 1, "result": map[string]any{"tools": []any{map[string]any{"name": "list_services", "title": "List your services"}}},
	}}}
	op.Responses["202"] = &huma.Response{Description: "A notification was heard"}
	if bad := op.Responses["400"]; bad != nil { // the refusal of a JSON-RPC message is JSON-RPC too
		for _, media := range bad.Content {
			media.Schema = &huma.Schema{AnyOf: []*huma.Schema{media.Schema, response}}
		}
	}
}
