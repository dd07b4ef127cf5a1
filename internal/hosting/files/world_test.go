package files_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/files"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
	"stead.dev/stead/internal/port/panel/sandbox"
)

// owner is the account whose services the tests have; stranger has none.
const (
	owner    = 1
	stranger = 2
)

// The services of the owner.
const (
	active = iota + 10
	pastDue
	suspended
	provisioning
	onBarePanel
	onLostPanel
	onBrokenPanel
)

// bare is a panel that can do nothing with files.
type bare struct{}

func (bare) Name() string { return "bare" }

// broken is a panel whose every listing fails in the way that the path names.
type broken struct{ panel.Files }

func (broken) Name() string { return "broken" }

func (broken) List(_ context.Context, ref, path string, _, _ int) (panel.Listing, error) {
	return panel.Listing{}, panel.Wrap("files.list", ref, panel.Kind(path))
}

type world struct {
	http.Handler
	panel panel.Panel
}

// onEachPanel runs f against the node and against the sandbox.
func onEachPanel(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	silent := slog.New(slog.DiscardHandler)
	t.Run("node", func(t *testing.T) {
		n, err := node.New(t.Context(), node.Config{Dir: t.TempDir(), Now: time.Now, Log: silent})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Close() })
		f(t, newWorld(t, panelnode.New(n), panel.Limits{}))
	})
	t.Run("sandbox", func(t *testing.T) {
		p, err := sandbox.Open(t.Context(), t.TempDir(), time.Now, silent)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		f(t, newWorld(t, p, panel.Limits{}))
	})
}

func onNode(t testing.TB, limits panel.Limits) *world {
	t.Helper()
	n, err := node.New(t.Context(), node.Config{Dir: t.TempDir(), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return newWorld(t, panelnode.New(n), limits)
}

const maxUpload = 210 << 20

func newWorld(t testing.TB, p panel.Panel, limits panel.Limits) *world {
	t.Helper()
	_, err := p.(panel.Accounts).CreateAccount(t.Context(), panel.AccountSpec{
		Ref: "s10", Username: "anna", PrimaryDomain: "anna.example.com", Limits: limits,
	})
	if err != nil {
		t.Fatal(err)
	}
	clk := clock.NewFake(testkit.Start)
	d := testkit.SQLite(t, clk)
	services := sitetest.New(t, d)
	for id, on := range map[int64]site.Site{
		active:        {Panel: "it", Ref: "s10", Status: "active"},
		pastDue:       {Panel: "it", Ref: "s10", Status: "past_due"},
		suspended:     {Panel: "it", Ref: "s10", Status: "suspended"},
		provisioning:  {Panel: "it", Ref: "s11", Status: "provisioning"},
		onBarePanel:   {Panel: "bare", Ref: "s12", Status: "active"},
		onLostPanel:   {Panel: "lost", Ref: "s13", Status: "active"},
		onBrokenPanel: {Panel: "broken", Ref: "panel-account-14", Status: "active"},
	} {
		on.ServiceID, on.AccountID = id, owner
		services.Add(t, on)
	}
	section := files.New(d, services,
		sitetest.Panels{"it": p, "bare": bare{}, "broken": broken{}}, maxUpload)
	edge := apitest.NewEdge(t, d, clk, apitest.Tokens{
		"owner":    {AccountID: owner, ApplicationID: 1, Scopes: []string{"services:read", "services:write"}},
		"agent":    {AccountID: owner, ApplicationID: 2, Scopes: []string{"ai:read", "ai:write"}},
		"reader":   {AccountID: owner, ApplicationID: 3, Scopes: []string{"services:read"}},
		"profile":  {AccountID: owner, ApplicationID: 4, Scopes: []string{"profile"}},
		"sandbox":  {AccountID: owner, ApplicationID: 5, Scopes: []string{"services:read", "services:write"}, Sandbox: true},
		"visit":    {AccountID: owner, OnlyService: active, FirstParty: true, Scopes: []string{"services:read", "services:write"}},
		"stranger": {AccountID: stranger, ApplicationID: 1, Scopes: auth.Scopes},
	}, section.Operations())
	return &world{Handler: api.Outer(slog.New(slog.DiscardHandler), clock.System(0), nil, edge), panel: p}
}

func url(service int, rest string) string {
	return "/api/v1/services/" + itoa(service) + "/files" + rest
}

func itoa(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// do sends a request; the rest are pairs of header names and values.
func (w *world) do(method, target, token, body string, header ...string) *httptest.ResponseRecorder {
	return apitest.Call(w, token, method, target, body, header...)
}

// put writes a file over the interface.
func (w *world) put(t testing.TB, path, content string) {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"path": path, "content": content})
	if rec := w.do("PUT", url(active, "/content"), "owner", string(body)); rec.Code != 200 {
		t.Fatalf("put %s: %d %s", path, rec.Code, rec.Body)
	}
}

// read is what the panel has at path, or the kind of its refusal.
func (w *world) read(path string) string {
	c, err := w.panel.(panel.Files).Read(context.Background(), "s10", path, panel.ReadOptions{})
	if err != nil {
		return string(panel.KindOf(err))
	}
	return string(c.Data)
}

// field is one field or, with a file name, one file of an upload.
type field struct{ name, file, value string }

func (w *world) upload(t testing.TB, query string, fields ...field) *httptest.ResponseRecorder {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, f := range fields {
		create := func() (io.Writer, error) { return form.CreateFormField(f.name) }
		if f.file != "" {
			create = func() (io.Writer, error) { return form.CreateFormFile(f.name, f.file) }
		}
		part, err := create()
		if err == nil {
			_, err = io.WriteString(part, f.value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return w.do("POST", url(active, "/upload"+query), "owner", body.String(), "Content-Type", form.FormDataContentType())
}

func key(rec *httptest.ResponseRecorder) string {
	var e struct{ Error string }
	_ = json.Unmarshal(rec.Body.Bytes(), &e)
	return e.Error
}

var varying = regexp.MustCompile(`"(etag|modified_at)":"[^"]+"`)

// stable is a body without what differs from run to run.
func stable(rec *httptest.ResponseRecorder) string {
	return strings.TrimSpace(varying.ReplaceAllString(rec.Body.String(), `"$1":"*"`))
}
