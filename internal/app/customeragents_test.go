package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"stead.dev/stead/internal/front/mcp"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/testkit"
)

// agentOf connects an agent that speaks the protocol by its own library.
func (a *App) agentOf(t *testing.T, token string) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: a.local() + "/api/v1/mcp", HTTPClient: &http.Client{Transport: bearing{token}}, MaxRetries: -1, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// textOf is the answer of a tool as text.
func textOf(t *testing.T, session *sdk.ClientSession, name string, arguments map[string]any) (text string, refused bool) {
	t.Helper()
	res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res.Content[0].(*sdk.TextContent).Text, res.IsError
}

// A customer's agent sees what its token may, service by service, and nothing of anybody else.
func TestAnAgentReadsWhatACustomersTokenDoes(t *testing.T) {
	settings := maps.Clone(simulated)
	settings["content_library"] = "true"
	a := start(t, settings)
	app := a.application(t, false)
	owner, stranger := a.customer(t, app, 1_000_000), a.customer(t, app, 0)
	w := &world{App: a, t: t, owner: owner}
	w.plan = w.aPlan()
	order := w.newOrder(owner, unique("agent")+".example.com")
	w.post(t, owner.token, fmt.Sprintf("/api/v1/orders/%d/pay", order), "")
	service := w.serviceOf(owner)
	w.service = service
	for path, content := range map[string]string{"index.html": "<h1>salom</h1>", ".env": "DB_PASSWORD=hunter2\nNAME=shop\n"} {
		content, err := json.Marshal(map[string]string{"path": "/public_html/" + path, "content": content})
		if err != nil {
			t.Fatal(err)
		}
		if r := a.do(t, request{method: http.MethodPut, path: w.files("/content"), token: owner.token, body: string(content)}); r.status != http.StatusOK {
			t.Fatal(r)
		}
	}
	agent := a.agentOf(t, owner.token)

	list, err := agent.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != len(mcp.CustomerTools) || len(list.Tools) > 36 || len(whole) > 60<<10 {
		t.Errorf("%d tools of %d, %d bytes", len(list.Tools), len(mcp.CustomerTools), len(whole))
	}
	for _, tool := range list.Tools {
		if len(tool.Description) > 600 || !tool.Annotations.ReadOnlyHint || *tool.Annotations.DestructiveHint ||
			*tool.Annotations.OpenWorldHint != (tool.Name == "check_domain") {
			t.Errorf("%s: %d characters, %+v", tool.Name, len(tool.Description), tool.Annotations)
		}
	}

	// Every tool that is about a service answers the owner, and tells a stranger that there is none.
	other := a.agentOf(t, stranger.token)
	for _, tool := range list.Tools {
		properties, _ := tool.InputSchema.(map[string]any)["properties"].(map[string]any)
		if properties["service"] == nil {
			continue
		}
		arguments := map[string]any{"service": service}
		for name, value := range map[string]any{"path": "/public_html/index.html", "q": "salom", "in": "content"} {
			if properties[name] != nil {
				arguments[name] = value
			}
		}
		if tool.Name == "list_files" || tool.Name == "search_files" {
			arguments["path"] = "/public_html"
		}
		if text, refused := textOf(t, agent, tool.Name, arguments); refused && !strings.Contains(text, "unsupported_operation") {
			t.Errorf("%s: %s", tool.Name, text)
		}
		text, refused := textOf(t, other, tool.Name, arguments)
		if filters := tool.Name == "list_monitors" || tool.Name == "list_scans"; filters { // lists of the account, which may be about a service
			if refused || !strings.Contains(text, `"data":[]`) {
				t.Errorf("%s of a stranger: %s", tool.Name, text)
			}
		} else if !refused || !strings.Contains(text, "not_found") {
			t.Errorf("%s of a stranger: %s", tool.Name, text)
		}
	}
	var watched struct {
		Data []struct{ ID int64 }
	}
	heartbeat := w.id(w.post(t, owner.token, "/api/v1/monitors", `{"type": "heartbeat", "interval_s": 300}`))
	text, _ := textOf(t, agent, "list_monitors", map[string]any{})
	if err := json.Unmarshal([]byte(text), &watched); err != nil || len(watched.Data) != 1 || strings.Contains(text, "push_url") || strings.Contains(text, "/heartbeat/") {
		t.Errorf("monitors: %v, %s", err, text)
	}
	if text, refused := textOf(t, agent, "get_monitor", map[string]any{"monitor": heartbeat}); refused || strings.Contains(text, "heartbeat/") || strings.Contains(text, `"history"`) {
		t.Errorf("a monitor: %s", text)
	}
	if text, refused := textOf(t, agent, "get_monitor", map[string]any{"monitor": heartbeat, "fields": []string{"history"}}); refused || !strings.Contains(text, `"history"`) {
		t.Errorf("its history: %s", text)
	}
	if text, refused := textOf(t, agent, "get_monitor", map[string]any{"monitor": heartbeat, "fields": []string{"push_url"}}); !refused {
		t.Errorf("the address that says that a job runs: %s", text)
	}
	if text, refused := textOf(t, other, "get_monitor", map[string]any{"monitor": heartbeat}); !refused || !strings.Contains(text, "not_found") {
		t.Errorf("a stranger's monitor: %s", text)
	}
	if text, refused := textOf(t, agent, "get_service_uptime", map[string]any{"service": "x"}); !refused || !strings.Contains(text, `"service":[`) {
		t.Errorf("a refusal names the argument: %s", text)
	}
	if text, refused := textOf(t, agent, "get_wallet", map[string]any{"fields": []string{"balance"}}); refused || strings.Contains(text, "transactions") {
		t.Errorf("the wallet: %s", text)
	}
	if text, _ := textOf(t, agent, "get_platform_status", nil); strings.Contains(text, `"history"`) || !strings.Contains(text, `"components"`) {
		t.Errorf("the platform: %s", text)
	}
	if text, _ := textOf(t, agent, "read_file", map[string]any{"service": service, "path": "/public_html/.env"}); strings.Contains(text, "hunter2") ||
		!strings.Contains(text, "NAME=shop") || !strings.Contains(text, `"untrusted":true`) {
		t.Errorf("a file of secrets: %s", text)
	}

	// Resources and prompts.
	testkit.Eventually(t, time.Minute, func() bool {
		var list struct{ Data []struct{ Slug string } }
		a.get(t, "", "/api/v1/kb?lang=en").decode(t, &list)
		return len(list.Data) > 0
	}, "the knowledge base has articles")
	resources, err := agent.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	uri := fmt.Sprintf("stead://services/%d/overview", service)
	found := false
	for _, r := range resources.Resources {
		found = found || r.URI == uri
	}
	read, err := agent.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil || !found || !strings.Contains(read.Contents[0].Text, `"get_service_usage"`) {
		t.Errorf("overview: %v, listed %v", err, found)
	}
	article, err := agent.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "stead://kb/uz/" + slugOf(t, resources)})
	if err != nil || article.Contents[0].MIMEType != "text/markdown" || !strings.HasPrefix(article.Contents[0].Text, "# ") {
		t.Errorf("article: %+v, %v", article, err)
	}
	for _, absent := range []string{uri + "x", "stead://services/x/overview", "stead://services/999999999/overview", "stead://kb/en/none", "stead://kb/xx/none", "file:///etc/passwd"} {
		if _, err := agent.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: absent}); err == nil {
			t.Errorf("%s is a resource", absent)
		}
	}
	if _, err := other.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
		t.Error("a stranger reads an overview")
	}
	prompt, err := agent.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "why_is_my_site_slow", Arguments: map[string]string{"service": "12"}})
	if err != nil || !strings.Contains(prompt.Messages[0].Content.(*sdk.TextContent).Text, "my service 12 is slow") {
		t.Errorf("prompt: %v, %v", prompt, err)
	}
	if _, err := agent.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "why_is_my_site_slow"}); err == nil {
		t.Error("a prompt without its argument")
	}

	// Fewer scopes, fewer tools; the tools that there are need no scope that the token lacks.
	money := a.agentOf(t, a.token(t, owner.id, app, auth.ScopeWalletRead))
	few, err := money.ListTools(t.Context(), nil)
	if err != nil || len(few.Tools) >= len(list.Tools) {
		t.Errorf("%d tools, %v", len(few.Tools), err)
	}
	for _, tool := range few.Tools {
		if strings.Contains(tool.Name, "service") || strings.Contains(tool.Name, "file") || strings.Contains(tool.Name, "order") {
			t.Errorf("wallet:read has %s", tool.Name)
		}
	}
	if _, err := money.CallTool(t.Context(), &sdk.CallToolParams{Name: "list_services"}); err == nil {
		t.Error("a tool beyond the scopes answers")
	}
}

// A client that has no token learns where to get one, and a directory learns what there is.
func TestAnAgentFindsItsWay(t *testing.T) {
	a := start(t, nil)
	token := a.customer(t, a.application(t, false), 0).token
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	r := a.post(t, "", "/api/v1/mcp", list)
	challenge := r.header.Get("WWW-Authenticate")
	if r.status != http.StatusUnauthorized || !strings.Contains(challenge, "/.well-known/oauth-protected-resource/api/v1/mcp\"") ||
		!strings.Contains(challenge, `scope="profile services:read`) || strings.Contains(challenge, "write") {
		t.Errorf("%d %s", r.status, challenge)
	}
	var manifest struct {
		Schema, Name, Description, Version string
		Title                              string
		WebsiteURL                         string
		Remotes                            []struct {
			Type, URL string
			Headers   []struct {
				Name string
			}
		}
		Meta map[string]struct {
			Tools []struct{ Name, Description string }
		} `json:"_meta"`
	}
	m := a.get(t, "", "/.well-known/mcp/server.json")
	if err := json.Unmarshal(m.body, &manifest); err != nil {
		t.Fatal(err)
	}
	tools := manifest.Meta["io.modelcontextprotocol.registry/publisher-provided"].Tools
	if strings.Count(manifest.Name, "/") != 1 || len(manifest.Description) > 100 || len(manifest.Remotes) != 1 ||
		!strings.HasSuffix(manifest.Remotes[0].URL, "/api/v1/mcp") || len(tools) != len(mcp.CustomerTools) {
		t.Errorf("%s", m.body)
	}
	// What the registry's schema of 2025-12-11 asks of each member.
	if !regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(manifest.Name) || len(manifest.Name) > 200 || manifest.Description == "" ||
		manifest.Title == "" || len(manifest.Title) > 100 || manifest.Version == "" || manifest.Remotes[0].Type != "streamable-http" ||
		!regexp.MustCompile(`^https?://[^\s]+$`).MatchString(manifest.Remotes[0].URL) || len(manifest.Remotes[0].Headers) != 1 ||
		manifest.Remotes[0].Headers[0].Name != "Authorization" {
		t.Errorf("by the registry's schema: %s", m.body)
	}

	// The era of stateless requests: each says its version, and nothing is kept between them.
	modern := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_services","arguments":{},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	call := request{
		method: http.MethodPost, path: "/api/v1/mcp", token: token, body: modern,
		header: map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "list_services"},
	}
	if r := a.do(t, call); r.status != http.StatusOK || !strings.Contains(string(r.body), `"resultType":"complete"`) || r.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%d %s", r.status, r.body)
	}
	call.header["Mcp-Name"] = "get_wallet"
	if r := a.do(t, call); r.status != http.StatusBadRequest || !strings.Contains(string(r.body), "-32020") {
		t.Errorf("a header that says something else: %d %s", r.status, r.body)
	}
	discover := strings.Replace(strings.Replace(modern, `"tools/call"`, `"server/discover"`, 1), `"name":"list_services","arguments":{},`, "", 1)
	r = a.do(t, request{
		method: http.MethodPost, path: "/api/v1/mcp", token: token, body: discover,
		header: map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"},
	})
	for _, has := range []string{`"2026-07-28"`, `"2025-11-25"`, `"cacheScope":"private"`, `"ttlMs":300000`} {
		if !strings.Contains(string(r.body), has) {
			t.Errorf("discover lacks %s: %s", has, r.body)
		}
	}
	w := &world{App: a, t: t}
	w.setSection("mcp", false)
	if r := a.post(t, token, "/api/v1/mcp", list); r.status != http.StatusNotFound {
		t.Errorf("switched off: %d", r.status)
	}
}

// slugOf is the slug of an article among the resources.
func slugOf(t *testing.T, list *sdk.ListResourcesResult) string {
	t.Helper()
	for _, r := range list.Resources {
		if slug, ok := strings.CutPrefix(r.URI, "stead://kb/en/"); ok {
			return slug
		}
	}
	t.Fatalf("no article is a resource: %+v", list.Resources)
	return ""
}
