package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"stead.dev/stead/internal/front/mcp"
	"stead.dev/stead/internal/front/reseller"
)

// bearing bears a key in every request.
type bearing struct{ key string }

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

// An agent that speaks the protocol by its own library sees what the key sees: services by tag, status and date of
// renewal, and whether the renewal is covered.
func TestAnAgentReadsWhatAResellersKeyDoes(t *testing.T) {
	a := start(t, simulated)
	owner := a.customer(t, a.application(t, false), 1_000_000)
	keys := &world{App: a, t: t}
	w := &world{App: a, t: t, owner: owner, ownersKey: keys.aKey(owner, reseller.NewKey{})}
	reading, sandbox := keys.aKey(owner, reseller.NewKey{ReadOnly: true}), keys.aKey(owner, reseller.NewKey{Sandbox: true})
	w.plan = w.aPlan()
	var made []int64
	for _, tag := range []string{"anna", "boris"} {
		made = append(made, w.id(w.post(t, w.ownersKey, "/api/v1/reseller/services",
			fmt.Sprintf(`{"plan_id": %d, "domain": "%s.example.com", "client_ref": %q}`, w.plan, unique(tag), tag))))
	}
	for _, id := range made {
		w.rests(fmt.Sprintf("/api/v1/reseller/services/%d", id), "active")
	}
	connect := func(key string) *sdk.ClientSession {
		client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
			Endpoint: a.local() + "/api/v1/reseller/mcp", HTTPClient: &http.Client{Transport: bearing{key}}, MaxRetries: -1, DisableStandaloneSSE: true,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		return session
	}
	agent := connect(reading) // a key that only reads is enough

	list, err := agent.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != len(mcp.ResellerTools) {
		t.Errorf("%d tools, want %d", len(list.Tools), len(mcp.ResellerTools))
	}
	for _, tool := range list.Tools {
		schema, err := json.Marshal(tool.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || tool.Description == "" || strings.Contains(string(schema), "#/components/") {
			t.Errorf("tool %s: %+v %s", tool.Name, tool.Annotations, schema)
		}
	}
	at := slices.IndexFunc(list.Tools, func(t *sdk.Tool) bool { return t.Name == "list_client_services" })
	properties, _ := list.Tools[at].InputSchema.(map[string]any)["properties"].(map[string]any)
	for _, name := range []string{"client_ref", "status", "renews_before"} {
		if properties[name] == nil {
			t.Errorf("services cannot be filtered by %s: %v", name, properties)
		}
	}

	call := func(session *sdk.ClientSession, name string, arguments map[string]any) (*sdk.CallToolResult, string) {
		t.Helper()
		res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return res, res.Content[0].(*sdk.TextContent).Text
	}
	type services struct {
		Data []struct {
			ID             int64  `json:"id"`
			ClientRef      string `json:"client_ref"`
			RenewalCovered *bool  `json:"renewal_covered"`
		} `json:"data"`
	}
	read := func(res *sdk.CallToolResult) (s services) {
		t.Helper()
		text, err := json.Marshal(res.StructuredContent)
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	res, text := call(agent, "list_client_services", map[string]any{"client_ref": "anna", "per_page": 5})
	if got := read(res); len(got.Data) != 1 || got.Data[0].ID != made[0] || got.Data[0].RenewalCovered == nil || !*got.Data[0].RenewalCovered {
		t.Errorf("anna's services: %s", text)
	}
	if !strings.Contains(text, `"client_ref":"anna"`) {
		t.Errorf("as text: %s", text)
	}
	past := a.clock.Now().UTC().Format("2006-01-02T15:04:05Z")
	for arguments, want := range map[string]int{
		`{}`: 2, `{"status": "terminated"}`: 0, fmt.Sprintf(`{"renews_before": %q}`, past): 0, `{"renews_before": "2999-01-01T00:00:00Z", "client_ref": null}`: 2,
	} {
		var given map[string]any
		if err := json.Unmarshal([]byte(arguments), &given); err != nil {
			t.Fatal(err)
		}
		if res, text := call(agent, "list_client_services", given); len(read(res).Data) != want {
			t.Errorf("%s: %s", arguments, text)
		}
	}
	if res, text := call(agent, "get_client_service", map[string]any{"service": made[1]}); res.IsError || !strings.Contains(text, `"client_ref":"boris"`) {
		t.Errorf("boris's service: %s", text)
	}

	// What is refused is told in the words of the interface, for the model to read.
	for name, c := range map[string]struct {
		session   *sdk.ClientSession
		arguments map[string]any
		key       string
	}{
		"another world": {connect(sandbox), map[string]any{"service": made[0]}, "not_found"},
		"no such":       {agent, map[string]any{"service": 999_999_999}, "not_found"},
		"a word":        {agent, map[string]any{"service": "mine"}, "validation_failed"},
		"none":          {agent, map[string]any{}, "validation_failed"},
		"unknown":       {agent, map[string]any{"service": made[0], "password": true}, "validation_failed"},
		"an object":     {agent, map[string]any{"service": map[string]any{}}, "validation_failed"},
	} {
		res, text := call(c.session, "get_client_service", c.arguments)
		var refused struct {
			Error, Message string
		}
		if err := json.Unmarshal([]byte(text), &refused); err != nil || !res.IsError || refused.Error != c.key || refused.Message == "" {
			t.Errorf("%s: %v %s", name, res.IsError, text)
		}
	}
	if _, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: "terminate_service"}); err == nil {
		t.Error("a tool that there is not answers")
	}
}

// Clients without a library send a line of JSON, and read the errors of JSON-RPC or of the interface.
func TestAnAgentsMessagesByHand(t *testing.T) {
	a := start(t, simulated)
	w := &world{App: a, t: t}
	key := w.aKey(a.customer(t, a.application(t, false), 0), reseller.NewKey{})
	const path = "/api/v1/reseller/mcp"
	for body, want := range map[string]struct {
		status int
		has    string
	}{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`:                                                  {200, `"name":"list_client_services"`},
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_balance","arguments":{}}}`: {200, `"id":"a"`},
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`:                                                        {200, `"result"`},
		`{"jsonrpc":"2.0","id":3,"method":"services/destroy"}`:                                            {400, `"code":-32601`},
		`{"jsonrpc":"2.0","id":4,"method":"tools/call"}`:                                                  {400, `"code":-32600`},
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"nothing"}}`:                      {200, `"error"`},
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                                          {202, ``},
		`[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`:                                                {400, `"code":-32600`},
		`"tools/list"`:         {400, `"code":-32600`},
		`{"id":{},"method":1}`: {400, `"id":null`},
		`{"jsonrpc":`:          {400, `"code":-32700`},
		``:                     {400, `"code":-32700`},
		`{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{"x":"` + strings.Repeat("x", 300<<10) + `"}}`: {413, `"error":"payload_too_large"`},
	} {
		r := a.post(t, key, path, body)
		if r.status != want.status || !strings.Contains(string(r.body), want.has) {
			t.Errorf("%.80s: %d %.300s, want %d with %s", body, r.status, r.body, want.status, want.has)
		}
	}
	if r := a.post(t, "", path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); r.status != http.StatusUnauthorized {
		t.Errorf("without a key: %s", r)
	}
	if r := a.get(t, key, path); r.status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %s", r)
	}
}
