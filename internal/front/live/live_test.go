package live_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/front/live"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

// patience bounds what a test waits for.
const patience = 30 * time.Second

// tokens are those that are valid now.
type tokens struct {
	mu sync.Mutex
	of map[string]auth.Principal
}

func (k *tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, ok := k.of[token]
	if !ok {
		return p, fault.Unauthenticated.New()
	}
	return p, nil
}

func (k *tokens) revoke(token string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, token)
}

// world is a server with two services of the owner, and one of a stranger.
type world struct {
	t        *testing.T
	db       *db.DB
	clock    *clock.Fake
	services site.Services
	out      *outbox.Outbox
	tokens   *tokens
	url      string
	stop     func()
}

func engines(t *testing.T, f func(w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		services := sitetest.New(t, d)
		for id, owner := range map[int64]int64{7: sitetest.Owner, 8: sitetest.Owner, 9: sitetest.Stranger} {
			services.Add(t, site.Site{ServiceID: id, AccountID: owner, Panel: "it", Ref: fmt.Sprint(id), Status: "active"})
		}
		owner := func(only int64, scopes ...string) auth.Principal {
			return auth.Principal{AccountID: sitetest.Owner, ApplicationID: 1, OnlyService: only, Scopes: scopes}
		}
		w := &world{t: t, db: d, clock: clk, services: services, out: outbox.New(d), tokens: &tokens{of: map[string]auth.Principal{
			"own":      owner(0, auth.ReadScopes()...),
			"services": owner(0, auth.ScopeServicesRead),
			"profile":  owner(0, auth.ScopeProfile),
			"client":   owner(7, auth.ScopeServicesRead, auth.ScopeServicesWrite),
			"another":  owner(8, auth.ScopeServicesRead, auth.ScopeServicesWrite),
			"stranger": {AccountID: sitetest.Stranger, ApplicationID: 1, Scopes: auth.ReadScopes()},
		}}}
		w.start()
		t.Cleanup(func() { w.stop() })
		f(w)
	})
}

// start serves the streams by a process of their own.
func (w *world) start() {
	w.t.Helper()
	ending := make(chan struct{})
	feed := outbox.NewFeed(w.db, w.clock, slog.New(slog.DiscardHandler))
	s := live.New(live.Config{DB: w.db, Feed: feed, Services: w.services, Ending: ending})
	edge := apitest.NewEdge(w.t, w.db, w.clock, w.tokens, s.Operations())
	edge.Recheck = 50 * time.Millisecond
	server := httptest.NewServer(edge)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	var running sync.WaitGroup
	running.Go(func() { feed.Run(ctx) })
	w.url = server.URL
	w.stop = sync.OnceFunc(func() {
		close(ending)
		server.Close()
		cancel()
		running.Wait()
	})
}

// emit tells of an event of a service, with an object.
func (w *world) emit(account int64, typ, subject string, id int64, data map[string]any) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return w.out.Emit(ctx, tx, outbox.Event{Type: typ, AccountID: account, Subject: subject, SubjectID: id, Data: data})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) backup(account, service, id int64) {
	w.t.Helper()
	w.emit(account, "backup.completed", "service", service, map[string]any{"id": id, "service_id": service, "status": "completed", "note": "private"})
}

// stream is an open stream.
type stream struct {
	t    *testing.T
	ctx  context.Context // ends with the test's patience
	body *bufio.Scanner
	last string
	end  func()
}

func (w *world) open(token, path, last string) (*stream, int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/api/v1"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = answer.Body.Close() })
	return &stream{t: w.t, ctx: ctx, body: bufio.NewScanner(answer.Body), end: cancel}, answer.StatusCode
}

// follow opens a stream and reads until it is ready; it returns what came before that.
func (w *world) follow(token, path, last string) (*stream, []string) {
	w.t.Helper()
	s, status := w.open(token, path, last)
	if status != http.StatusOK {
		w.t.Fatalf("%s %s: %d", token, path, status)
	}
	var before []string
	for {
		name, data := s.next()
		if name == "ready" {
			return s, before
		}
		before = append(before, told(s.t, name, data))
	}
}

// next reads an event; its name is empty when the stream ends.
func (s *stream) next() (name, data string) {
	s.t.Helper()
	for s.body.Scan() {
		line := s.body.Text()
		field, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && name != "":
			return name, data
		case field == "id":
			s.last = value
		case field == "event":
			name = value
		case field == "data":
			data = value
		}
	}
	return "", ""
}

// told is an event in short.
func told(t *testing.T, name, data string) string {
	t.Helper()
	if name != "change" {
		return name
	}
	if strings.Contains(data, "private") {
		t.Errorf("it tells more than that something has changed: %s", data)
	}
	var c struct {
		Type      string  `json:"type"`
		ServiceID *int64  `json:"service_id"`
		ObjectID  *int64  `json:"object_id"`
		Status    *string `json:"status"`
	}
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Fatal(err)
	}
	text := c.Type
	if c.ServiceID != nil {
		text += fmt.Sprintf(" of %d", *c.ServiceID)
	}
	if c.ObjectID != nil {
		text += fmt.Sprintf(" #%d", *c.ObjectID)
	}
	return text
}

func (s *stream) comes(want ...string) {
	s.t.Helper()
	for _, one := range want {
		name, data := s.next()
		if got := told(s.t, name, data); got != one {
			s.t.Fatalf("%q comes, want %q", got, one)
		}
	}
}

// TestAStreamTellsEachCallerOfWhatTheyMayRead: never of a neighbour's, never beyond the scopes, and a reseller's client of the
// management of their service alone.
func TestAStreamTellsEachCallerOfWhatTheyMayRead(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		own, _ := w.follow("own", "/events/stream", "")
		some, _ := w.follow("services", "/events/stream", "")
		one, _ := w.follow("services", "/services/8/events", "")
		client, _ := w.follow("client", "/services/7/events", "")
		stranger, _ := w.follow("stranger", "/events/stream", "")

		w.backup(sitetest.Owner, 8, 80)
		w.emit(sitetest.Owner, "wallet.adjusted", "wallet", sitetest.Owner, map[string]any{"type": "refund"})
		w.emit(sitetest.Owner, "service.renewed", "service", 7, map[string]any{"id": 7, "status": "active"})
		w.emit(sitetest.Owner, "api_key.created", "api_key", 3, map[string]any{"id": 3})
		w.backup(sitetest.Owner, 7, 70)
		w.emit(sitetest.Owner, "service.provisioned", "service", 8, map[string]any{"id": 8, "status": "active"})
		w.backup(sitetest.Stranger, 9, 90)

		own.comes("backup.completed of 8 #80", "wallet.adjusted", "service.renewed of 7 #7", "backup.completed of 7 #70", "service.provisioned of 8 #8")
		some.comes("backup.completed of 8 #80", "service.renewed of 7 #7", "backup.completed of 7 #70", "service.provisioned of 8 #8")
		one.comes("backup.completed of 8 #80", "service.provisioned of 8 #8")
		client.comes("backup.completed of 7 #70")
		stranger.comes("backup.completed of 9 #90")

		for token, paths := range map[string][]string{
			"profile": {"/events/stream", "/services/7/events"}, "client": {"/events/stream", "/services/8/events"},
			"stranger": {"/services/7/events"}, "nobody": {"/events/stream"},
		} {
			for _, path := range paths {
				if _, status := w.open(token, path, ""); status < 400 {
					t.Errorf("%s opens %s: %d", token, path, status)
				}
			}
		}
	})
}

// TestAStreamEndsWithTheRightToReadIt.
func TestAStreamEndsWithTheRightToReadIt(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		s, _ := w.follow("own", "/events/stream", "")
		w.tokens.revoke("own")
		if name, _ := s.next(); name != "" || s.ctx.Err() != nil {
			t.Errorf("%q comes after the token was revoked; %v", name, s.ctx.Err())
		}
	})
}

// TestAStreamGoesOnAfterTheServer: what happened while no server was there comes first, and what is too much is not sent at all.
func TestAStreamGoesOnAfterTheServer(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		s, _ := w.follow("own", "/events/stream", "")
		w.backup(sitetest.Owner, 7, 70)
		s.comes("backup.completed of 7 #70")
		w.stop()
		w.backup(sitetest.Owner, 7, 71)
		w.backup(sitetest.Stranger, 9, 90)
		w.start()
		again, missed := w.follow("own", "/events/stream", s.last)
		if !slices.Contains(missed, "backup.completed of 7 #71") || slices.Contains(missed, "backup.completed of 9 #90") {
			t.Errorf("%v comes first", missed)
		}
		w.backup(sitetest.Owner, 7, 72)
		again.comes("backup.completed of 7 #72")

		for id := range int64(501) {
			w.backup(sitetest.Owner, 7, 1000+id)
		}
		if _, missed = w.follow("own", "/events/stream", s.last); !slices.Equal(missed, []string{"reset"}) {
			t.Errorf("%d events come first, such as %v", len(missed), missed[:min(3, len(missed))])
		}
	})
}

// TestAClientTakesNoStreamOfOthers: a reseller's client has few for its service, and the reseller and other clients have theirs.
func TestAClientTakesNoStreamOfOthers(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		for range 5 {
			w.follow("client", "/services/7/events", "")
		}
		if _, status := w.open("client", "/services/7/events", ""); status == http.StatusOK {
			t.Error("the client has one more")
		}
		w.follow("another", "/services/8/events", "")
		for range 20 {
			w.follow("own", "/events/stream", "")
		}
	})
}

// TestAnAccountHasSoManyStreams, and a closed one makes room.
func TestAnAccountHasSoManyStreams(t *testing.T) {
	t.Parallel()
	engines(t, func(w *world) {
		var all []*stream
		for range 20 {
			s, _ := w.follow("own", "/events/stream", "")
			all = append(all, s)
		}
		if _, status := w.open("own", "/events/stream", ""); status != http.StatusUnprocessableEntity && status != http.StatusConflict && status != http.StatusTooManyRequests {
			t.Errorf("one more: %d", status)
		}
		w.follow("stranger", "/events/stream", "")
		all[0].end()
		testkit.Eventually(t, patience, func() bool {
			s, status := w.open("own", "/events/stream", "")
			s.end()
			return status == http.StatusOK
		}, "a closed stream makes room")
	})
}
