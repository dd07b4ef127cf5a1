package logs

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	nodelogs "stead.dev/stead/internal/node/logs"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

type bare struct{}

func (bare) Name() string { return "bare" }

// world is the section with a service on the sandbox panel, into whose logs the test writes.
type world struct {
	*testing.T
	*Service
	services sitetest.Services
	store    *nodelogs.Store
	server   *httptest.Server
	ending   chan struct{}
}

func engines(t *testing.T, f func(w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		dir, silent := t.TempDir(), slog.New(slog.DiscardHandler)
		p, err := sandbox.Open(t.Context(), dir, clk.Now, silent)
		must(t, err)
		t.Cleanup(func() { _ = p.Close() })
		_, err = p.CreateAccount(t.Context(), panel.AccountSpec{Ref: "7", Username: "alice", PrimaryDomain: "shop.example"})
		must(t, err)
		w := &world{T: t, services: sitetest.New(t, d), ending: make(chan struct{})}
		w.store, err = nodelogs.Open(nodelogs.Config{Dir: filepath.Join(dir, "logs"), Now: clk.Now, Log: silent})
		must(t, err)
		w.services.Add(t, site.Site{ServiceID: 7, AccountID: 1, Panel: "it", Ref: "7", Status: "active"})
		w.services.Add(t, site.Site{ServiceID: 8, AccountID: 1, Panel: "bare", Ref: "8", Status: "active"})
		w.services.Add(t, site.Site{ServiceID: 9, AccountID: 1, Panel: "it", Status: "provisioning"})
		w.services.Add(t, site.Site{ServiceID: 10, AccountID: 1, Panel: "elsewhere", Ref: "10", Status: "active"})
		w.Service = New(Config{DB: d, Services: w.services, Panels: sitetest.Panels{"it": p, "bare": bare{}}, Ending: w.ending})
		edge := apitest.NewEdge(t, d, clk, apitest.Tokens{
			"own":   {AccountID: 1, ApplicationID: 1, Scopes: []string{"services:read"}},
			"other": {AccountID: 2, ApplicationID: 1, Scopes: auth.Scopes},
			"bad":   {AccountID: 1, ApplicationID: 1, Scopes: []string{"profile"}},
		}, w.Operations())
		w.server = httptest.NewServer(edge)
		t.Cleanup(w.server.Close)
		f(w)
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) write(of panel.LogType, lines ...panel.LogLine) {
	w.Helper()
	must(w.T, w.store.Append("alice", 0, of, lines...))
}

func at(second int) time.Time { return testkit.Start.Add(time.Duration(second) * time.Second) }

func (w *world) ask(ctx context.Context, service int, token string, query url.Values, header ...string) *http.Response {
	w.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s/api/v1/services/%d/logs?%s", w.server.URL, service, query.Encode()), nil)
	must(w.T, err)
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	must(w.T, err)
	return res
}

func (w *world) list(query url.Values) listWire {
	w.Helper()
	res := w.ask(w.Context(), 7, "own", query)
	defer res.Body.Close()
	var l listWire
	must(w.T, json.NewDecoder(res.Body).Decode(&l))
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json" {
		w.Fatalf("%v: %d", query, res.StatusCode)
	}
	return l
}

func TestPagesGoFromTheNewestToTheOldest(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		if l := w.list(url.Values{}); len(l.Data) != 0 || l.Data == nil || l.Meta.NextCursor != nil || l.Meta.PerPage != 100 {
			w.Errorf("empty: %+v", l)
		}
		for i := range 25 {
			w.write(panel.LogCron, panel.LogLine{At: at(i), Level: "info", Message: fmt.Sprintf("Line %d", i), Path: "backup.sh", Status: i % 2})
		}
		var got []string
		query := url.Values{"type": {"cron"}, "limit": {"10"}}
		for range 5 {
			l := w.list(query)
			for _, line := range l.Data {
				got = append(got, line.Message)
				if line.Status == nil || *line.Path != "backup.sh" || line.IP != nil || line.Source != panel.LogCron {
					w.Errorf("%+v", line)
				}
			}
			if l.Meta.NextCursor == nil {
				break
			}
			query.Set("cursor", *l.Meta.NextCursor)
		}
		if len(got) != 25 || got[0] != "Line 24" || got[24] != "Line 0" {
			w.Errorf("%d lines: %v", len(got), got)
		}
		for name, c := range map[string]struct {
			query url.Values
			want  int
		}{
			"q":           {url.Values{"type": {"cron"}, "q": {"lINE 1"}}, 11},
			"since":       {url.Values{"type": {"cron"}, "since": {at(20).Format(time.RFC3339)}}, 5},
			"until":       {url.Values{"type": {"cron"}, "until": {at(20).Format(time.RFC3339)}}, 20},
			"both":        {url.Values{"type": {"cron"}, "since": {at(5).Format(time.RFC3339)}, "until": {at(7).Format(time.RFC3339)}}, 2},
			"another log": {url.Values{"type": {"mail"}}, 0},
		} {
			if l := w.list(c.query); len(l.Data) != c.want {
				w.Errorf("%s: %d lines, want %d", name, len(l.Data), c.want)
			}
		}
	})
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		for name, c := range map[string]struct {
			service int
			token   string
			query   url.Values
			status  int
			key     string
		}{
			"type":            {7, "own", url.Values{"type": {"shadow"}}, 422, "validation_failed"},
			"limit":           {7, "own", url.Values{"limit": {"501"}}, 422, "validation_failed"},
			"since":           {7, "own", url.Values{"since": {"yesterday"}}, 422, "validation_failed"},
			"cursor":          {7, "own", url.Values{"cursor": {"../../etc/passwd"}}, 422, "validation_failed"},
			"future cursor":   {7, "own", url.Values{"cursor": {"999-0"}}, 422, "validation_failed"},
			"followed cursor": {7, "own", url.Values{"cursor": {"x"}, "follow": {"1"}}, 422, "validation_failed"},
			"stranger":        {7, "other", url.Values{}, 404, "not_found"},
			"stream":          {7, "other", url.Values{"follow": {"1"}}, 404, "not_found"},
			"scope":           {7, "bad", url.Values{}, 403, "insufficient_scope"},
			"no logs":         {8, "own", url.Values{}, 422, "unsupported_operation"},
			"not yet":         {9, "own", url.Values{}, 422, "service_not_active"},
			"unreachable":     {10, "own", url.Values{}, 502, "panel_unreachable"},
		} {
			res := w.ask(w.Context(), c.service, c.token, c.query)
			var e struct{ Error string }
			must(w.T, json.NewDecoder(res.Body).Decode(&e))
			_ = res.Body.Close()
			if res.StatusCode != c.status || e.Error != c.key {
				w.Errorf("%s: %d %s", name, res.StatusCode, e.Error)
			}
		}
	})
}

// events reads n events of a stream.
func events(t *testing.T, in *bufio.Reader, n int) (ids, messages []string) {
	t.Helper()
	for len(messages) < n {
		line, err := in.ReadString('\n')
		must(t, err)
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			ids = append(ids, strings.TrimSpace(id))
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var l lineWire
			must(t, json.Unmarshal([]byte(data), &l))
			messages = append(messages, l.Message)
		}
	}
	return ids, messages
}

func TestAStreamGoesOnWhereItBroke(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		w.write(panel.LogMail, panel.LogLine{At: at(0), Level: "info", Message: "before"})
		ctx, leave := context.WithCancel(w.Context())
		res := w.ask(ctx, 7, "own", url.Values{"type": {"mail"}, "follow": {"1"}})
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
			w.Fatalf("%d %v", res.StatusCode, res.Header)
		}
		in := bufio.NewReader(res.Body)
		if first, err := in.ReadString('\n'); err != nil || first != "retry: 3000\n" {
			w.Fatalf("%q %v", first, err)
		}
		w.write(panel.LogMail, panel.LogLine{At: at(1), Level: "info", Message: "one"}, panel.LogLine{At: at(1), Level: "info", Message: "two\nlines <b>"})
		ids, messages := events(w.T, in, 2)
		if messages[0] != "one" || messages[1] != "two\nlines <b>" {
			w.Errorf("%q", messages)
		}
		leave()
		_ = res.Body.Close()
		testkit.Eventually(w.T, time.Minute, func() bool { return w.streams.InUse() == 0 }, "a stream ends with its client")
		w.write(panel.LogMail, panel.LogLine{At: at(2), Level: "info", Message: "three"})
		res = w.ask(w.Context(), 7, "own", url.Values{"type": {"mail"}, "follow": {"1"}}, "Last-Event-ID", ids[0])
		defer res.Body.Close()
		if _, messages := events(w.T, bufio.NewReader(res.Body), 2); messages[0] != "two\nlines <b>" || messages[1] != "three" {
			w.Errorf("again: %q", messages)
		}
	})
}

func TestAStreamEndsWithItsServer(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		ctx, leave := context.WithTimeout(w.Context(), 5*time.Minute)
		defer leave()
		res := w.ask(ctx, 7, "own", url.Values{"type": {"mail"}, "follow": {"1"}})
		defer res.Body.Close()
		in := bufio.NewReader(res.Body)
		if first, err := in.ReadString('\n'); err != nil || first != "retry: 3000\n" {
			w.Fatalf("%q %v", first, err)
		}
		close(w.ending)
		if rest, err := io.ReadAll(in); err != nil {
			w.Errorf("after %q: %v", rest, err)
		}
	})
}

func TestAnAccountHasSoManyStreams(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		ctx, leave := context.WithCancel(w.Context())
		defer leave()
		refused := ""
		for range streamsMost + 1 {
			res := w.ask(ctx, 7, "own", url.Values{"follow": {"1"}})
			if res.StatusCode == 200 {
				w.Cleanup(func() { _ = res.Body.Close() })
				continue
			}
			body, err := io.ReadAll(res.Body)
			must(w.T, err)
			_ = res.Body.Close()
			refused = string(body)
			break
		}
		if !strings.Contains(refused, "panel_busy") && !strings.Contains(refused, "limit_reached") {
			w.Errorf("%s", refused)
		}
	})
}
