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
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

// world is the section with a service on the sandbox panel, into whose logs the test writes.
type world struct {
	sitetest.World
	*Service
	store  *nodelogs.Store
	server *httptest.Server
	ending chan struct{}
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	sitetest.Engines(t, func(base sitetest.World) {
		t, dir, silent := base.T, base.T.TempDir(), slog.New(slog.DiscardHandler)
		w := &world{World: base, ending: make(chan struct{})}
		p, err := sandbox.Open(t.Context(), dir, w.Clock.Now, silent)
		w.Must(err)
		t.Cleanup(func() { _ = p.Close() })
		w.store, err = nodelogs.Open(nodelogs.Config{Dir: filepath.Join(dir, "logs"), Now: w.Clock.Now, Log: silent})
		w.Must(err)
		w.Sell(p, site.Site{ServiceID: 7, AccountID: sitetest.Owner, Username: "alice", Domain: "shop.example"})
		for id, on := range map[int64]site.Site{
			8: {Panel: "bare", Ref: "8", Status: "active"}, 9: {Panel: "it", Status: "provisioning"}, 10: {Panel: "elsewhere", Ref: "10", Status: "active"},
		} {
			on.ServiceID, on.AccountID = id, sitetest.Owner
			w.Services.Add(t, on)
		}
		w.Service = New(Config{DB: w.DB, Services: base.Services, Panels: sitetest.Panels{"it": p, "bare": sitetest.Bare{}}, Ending: w.ending})
		w.Mount(w.Operations(), apitest.Tokens{
			"own":   {AccountID: sitetest.Owner, ApplicationID: 1, Scopes: []string{"services:read"}},
			"visit": {AccountID: sitetest.Owner, OnlyService: 7, FirstParty: true, Scopes: []string{"services:read"}},
			"bad":   {AccountID: sitetest.Owner, ApplicationID: 1, Scopes: []string{"profile"}},
		})
		w.server = httptest.NewServer(w.Edge)
		t.Cleanup(w.server.Close)
		f(t, w)
	})
}

func (w *world) write(of panel.LogType, lines ...panel.LogLine) {
	w.T.Helper()
	w.Must(w.store.Append("alice", 0, of, lines...))
}

func at(second int) time.Time { return testkit.Start.Add(time.Duration(second) * time.Second) }

func (w *world) ask(ctx context.Context, service int, token string, query url.Values, header ...string) *http.Response {
	w.T.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s/api/v1/services/%d/logs?%s", w.server.URL, service, query.Encode()), nil)
	w.Must(err)
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	w.Must(err)
	return res
}

func (w *world) list(query url.Values) listWire {
	w.T.Helper()
	res := w.ask(w.T.Context(), 7, "own", query)
	defer res.Body.Close()
	var l listWire
	w.Must(json.NewDecoder(res.Body).Decode(&l))
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json" {
		w.T.Fatalf("%v: %d", query, res.StatusCode)
	}
	return l
}

func TestPagesGoFromTheNewestToTheOldest(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		if l := w.list(url.Values{}); len(l.Data) != 0 || l.Data == nil || l.Meta.NextCursor != nil || l.Meta.PerPage != 100 {
			w.T.Errorf("empty: %+v", l)
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
					w.T.Errorf("%+v", line)
				}
			}
			if l.Meta.NextCursor == nil {
				break
			}
			query.Set("cursor", *l.Meta.NextCursor)
		}
		if len(got) != 25 || got[0] != "Line 24" || got[24] != "Line 0" {
			w.T.Errorf("%d lines: %v", len(got), got)
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
				w.T.Errorf("%s: %d lines, want %d", name, len(l.Data), c.want)
			}
		}
	})
}

// TestLinesAreRevalidated: a client that polls gets no line again while there is no new one.
func TestLinesAreRevalidated(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.write(panel.LogCron, panel.LogLine{At: at(1), Level: "info", Message: "first"})
		ask := func(etag string) (status int, now string) {
			t.Helper()
			res := w.ask(t.Context(), 7, "own", url.Values{"type": {"cron"}}, "If-None-Match", etag)
			defer res.Body.Close()
			return res.StatusCode, res.Header.Get("ETag")
		}
		status, etag := ask(`"x"`)
		if status != 200 || etag == "" {
			t.Fatalf("%d %q", status, etag)
		}
		if status, _ := ask(etag); status != 304 {
			t.Errorf("nothing is new: %d", status)
		}
		w.write(panel.LogCron, panel.LogLine{At: at(2), Level: "info", Message: "second"})
		if status, now := ask(etag); status != 200 || now == etag {
			t.Errorf("a line is new: %d %q", status, now)
		}
	})
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
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
			res := w.ask(w.T.Context(), c.service, c.token, c.query)
			var e struct{ Error string }
			w.Must(json.NewDecoder(res.Body).Decode(&e))
			_ = res.Body.Close()
			if res.StatusCode != c.status || e.Error != c.key {
				w.T.Errorf("%s: %d %s", name, res.StatusCode, e.Error)
			}
		}
	})
}

// read reads n events of a stream.
func (w *world) read(in *bufio.Reader, n int) (ids, messages []string) {
	w.T.Helper()
	for len(messages) < n {
		line, err := in.ReadString('\n')
		w.Must(err)
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			ids = append(ids, strings.TrimSpace(id))
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var l lineWire
			w.Must(json.Unmarshal([]byte(data), &l))
			messages = append(messages, l.Message)
		}
	}
	return ids, messages
}

func TestAStreamGoesOnWhereItBroke(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.write(panel.LogMail, panel.LogLine{At: at(0), Level: "info", Message: "before"})
		ctx, leave := context.WithCancel(w.T.Context())
		res := w.ask(ctx, 7, "own", url.Values{"type": {"mail"}, "follow": {"1"}})
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
			w.T.Fatalf("%d %v", res.StatusCode, res.Header)
		}
		in := bufio.NewReader(res.Body)
		if first, err := in.ReadString('\n'); err != nil || first != "retry: 3000\n" {
			w.T.Fatalf("%q %v", first, err)
		}
		w.write(panel.LogMail, panel.LogLine{At: at(1), Level: "info", Message: "one"}, panel.LogLine{At: at(1), Level: "info", Message: "two\nlines <b>"})
		ids, messages := w.read(in, 2)
		if messages[0] != "one" || messages[1] != "two\nlines <b>" {
			w.T.Errorf("%q", messages)
		}
		leave()
		_ = res.Body.Close()
		testkit.Eventually(w.T, time.Minute, func() bool { return w.streams.InUse() == 0 }, "a stream ends with its client")
		w.write(panel.LogMail, panel.LogLine{At: at(2), Level: "info", Message: "three"})
		res = w.ask(w.T.Context(), 7, "own", url.Values{"type": {"mail"}, "follow": {"1"}}, "Last-Event-ID", ids[0])
		defer res.Body.Close()
		if _, messages := w.read(bufio.NewReader(res.Body), 2); messages[0] != "two\nlines <b>" || messages[1] != "three" {
			w.T.Errorf("again: %q", messages)
		}
	})
}

func TestAStreamEndsWithItsServer(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx, leave := context.WithTimeout(w.T.Context(), 5*time.Minute)
		defer leave()
		res := w.ask(ctx, 7, "own", url.Values{"type": {"mail"}, "follow": {"1"}})
		defer res.Body.Close()
		in := bufio.NewReader(res.Body)
		if first, err := in.ReadString('\n'); err != nil || first != "retry: 3000\n" {
			w.T.Fatalf("%q %v", first, err)
		}
		close(w.ending)
		if rest, err := io.ReadAll(in); err != nil {
			w.T.Errorf("after %q: %v", rest, err)
		}
	})
}

func TestAnAccountHasSoManyStreams(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx, leave := context.WithCancel(w.T.Context())
		defer leave()
		refused := ""
		for range streamsMost + 1 {
			res := w.ask(ctx, 7, "own", url.Values{"follow": {"1"}})
			if res.StatusCode == 200 {
				w.T.Cleanup(func() { _ = res.Body.Close() })
				continue
			}
			body, err := io.ReadAll(res.Body)
			w.Must(err)
			_ = res.Body.Close()
			refused = string(body)
			break
		}
		if !strings.Contains(refused, "panel_busy") && !strings.Contains(refused, "limit_reached") {
			w.T.Errorf("%s", refused)
		}
	})
}

// TestAClientTakesNoStreamOfOthers: the streams of a reseller's client are counted for its service, and not for the account.
func TestAClientTakesNoStreamOfOthers(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx, leave := context.WithCancel(w.T.Context())
		defer leave()
		follow := func(token string) int {
			t.Helper()
			res := w.ask(ctx, 7, token, url.Values{"follow": {"1"}})
			t.Cleanup(func() { _ = res.Body.Close() })
			return res.StatusCode
		}
		for range clientsMost {
			if status := follow("visit"); status != http.StatusOK {
				t.Fatalf("a client's stream: %d", status)
			}
		}
		if status := follow("visit"); status == http.StatusOK {
			t.Error("the client has one more")
		}
		if n := w.streams.InUse(); n != 0 {
			t.Errorf("%d of the account's are taken", n)
		}
		if status := follow("own"); status != http.StatusOK {
			t.Errorf("the owner's stream: %d", status)
		}
	})
}
