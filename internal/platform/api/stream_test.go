package api_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
)

// verdict is a verifier that answers what it was told last.
type verdict struct{ now atomic.Pointer[error] }

func (v *verdict) is(err error) { v.now.Store(&err) }

func (v *verdict) Verify(context.Context, string) (auth.Principal, error) {
	return auth.Principal{AccountID: 1, Scopes: []string{"orders:read", "orders:write"}}, *v.now.Load()
}

// TestAStreamEndsWithTheRightToReadIt: a followed log would go on for an hour after its token is revoked.
func TestAStreamEndsWithTheRightToReadIt(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	for name, refusal := range map[string]error{
		"the token is revoked": fault.TokenRevoked.New(), "the account is suspended": fault.AccountSuspended.New(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, off := &verdict{}, sections{}
			v.is(nil)
			c := config(testkit.SQLite(t, clk), clk, 1000)
			c.Verifier, c.Switches, c.Recheck = v, off, 5*time.Millisecond
			ended, uploaded := make(chan error, 1), make(chan error, 1)
			edge := api.NewEdge(c)
			err := edge.Mount(
				api.Operation[struct{}, api.Empty]{
					ID: "things.follow", Method: "GET", Path: "/api/v1/things/follow", Section: api.Orders, Auth: api.Token,
					Scopes: []string{"orders:read"}, Summary: "Follow",
					Stream: func(ctx context.Context, _ auth.Principal, _ *struct{}, w http.ResponseWriter, _ *http.Request) error {
						_, _ = io.WriteString(w, "data: 1\n\n")
						_ = http.NewResponseController(w).Flush()
						<-ctx.Done()
						_, err := io.WriteString(w, "data: secret\n\n")
						ended <- err
						return nil
					},
				},
				api.Operation[struct{}, api.Empty]{
					ID: "things.upload", Method: "PUT", Path: "/api/v1/things/upload", Section: api.Orders, Auth: api.Token,
					Scopes: []string{"orders:write"}, Summary: "Upload",
					Stream: func(ctx context.Context, _ auth.Principal, _ *struct{}, _ http.ResponseWriter, r *http.Request) error {
						first := make([]byte, 1)
						if _, err := io.ReadFull(r.Body, first); err != nil {
							return err
						}
						v.is(refusal)
						<-ctx.Done()
						_, err := io.ReadAll(r.Body)
						uploaded <- err
						return err
					},
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(api.Outer(slog.New(slog.DiscardHandler), clk, nil, edge))
			t.Cleanup(srv.Close)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/api/v1/things/follow", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer x")
			follow, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = follow.Body.Close() }()
			first := make([]byte, len("data: 1\n\n"))
			if _, err := io.ReadFull(follow.Body, first); err != nil {
				t.Fatal(err)
			}
			v.is(errors.New("the database does not answer"))
			select {
			case <-ended:
				t.Fatal("a stream ends because nobody can be asked")
			case <-time.After(50 * time.Millisecond):
			}
			v.is(refusal)
			rest, err := io.ReadAll(follow.Body)
			if err == nil || len(rest) != 0 {
				t.Errorf("the follower read %q, %v", rest, err)
			}
			if err := <-ended; !errors.Is(err, fault.From(refusal).Def) {
				t.Errorf("what was written afterwards: %v", err)
			}

			v.is(nil)
			upload := httptest.NewRequest(http.MethodPut, "/api/v1/things/upload", strings.NewReader("abc"))
			upload.Header.Set("Authorization", "Bearer x")
			answer := httptest.NewRecorder()
			edge.ServeHTTP(answer, upload)
			if answer.Code != fault.From(refusal).Def.Kind.Status() || !strings.Contains(answer.Body.String(), fault.From(refusal).Def.Key) {
				t.Errorf("the upload: %d %s", answer.Code, answer.Body)
			}
			if err := <-uploaded; !errors.Is(err, fault.From(refusal).Def) {
				t.Errorf("what was read afterwards: %v", err)
			}
		})
	}
}

// slowBody arrives when arrive has been called.
type slowBody struct {
	io.Reader
	arrive func()
}

func (b slowBody) Read(p []byte) (int, error) {
	b.arrive()
	return b.Reader.Read(p)
}

// TestALateBodyIsNotCarriedOutForACallerWhoLostTheRight: the caller is admitted before the body arrives.
func TestALateBodyIsNotCarriedOutForACallerWhoLostTheRight(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	v := &verdict{}
	c := config(testkit.SQLite(t, clk), clk, 1000)
	c.Verifier, c.Switches, c.Recheck = v, sections{}, 20*time.Millisecond
	edge := api.NewEdge(c)
	type in struct {
		Body struct {
			Name string `json:"name"`
		}
	}
	var done atomic.Int64
	err := edge.Mount(api.Operation[in, api.Empty]{
		ID: "things.name", Method: "POST", Path: "/api/v1/things/name", Section: api.Orders, Auth: api.Token,
		Scopes: []string{"orders:write"}, Summary: "Name", Example: `{"name": "x"}`,
		Handle: func(context.Context, auth.Principal, *in) (*api.Empty, error) {
			done.Add(1)
			return &api.Empty{}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, refusal := range map[string]error{"the token is revoked": fault.TokenRevoked.New(), "the token is good": nil} {
		v.is(nil)
		done.Store(0)
		var once atomic.Bool
		body := slowBody{strings.NewReader(`{"name": "x"}`), func() {
			if once.CompareAndSwap(false, true) {
				v.is(refusal)
				time.Sleep(100 * time.Millisecond) // sleeps: the body is late
			}
		}}
		r := httptest.NewRequest(http.MethodPost, "/api/v1/things/name", body)
		r.Header.Set("Authorization", "Bearer x")
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		edge.ServeHTTP(answer, r)
		if refused := answer.Code == http.StatusUnauthorized; refused != (refusal != nil) || refused == (done.Load() == 1) {
			t.Errorf("%s: %d %s, carried out %d times", name, answer.Code, answer.Body, done.Load())
		}
	}
}

// TestWhatOnlyReadsKnowsItsCaller: the security log of an account says from where its archive was downloaded.
func TestWhatOnlyReadsKnowsItsCaller(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	edge := api.NewEdge(config(testkit.SQLite(t, clk), clk, 1000))
	callers := make(chan auth.Caller, 2)
	err := edge.Mount(
		api.Operation[struct{}, api.Empty]{
			ID: "things.archive", Method: "GET", Path: "/api/v1/things/archive", Section: api.Orders, Auth: api.Token, Scopes: []string{"orders:read"}, Summary: "Download",
			Stream: func(ctx context.Context, _ auth.Principal, _ *struct{}, _ http.ResponseWriter, _ *http.Request) error {
				callers <- auth.CallerOf(ctx)
				return nil
			},
		},
		api.Operation[struct{}, api.Empty]{
			ID: "things.read", Method: "GET", Path: "/api/v1/things/read", Section: api.Orders, Auth: api.Token, Scopes: []string{"orders:read"}, Summary: "Read",
			Handle: func(ctx context.Context, _ auth.Principal, _ *struct{}) (*api.Empty, error) {
				callers <- auth.CallerOf(ctx)
				return new(api.Empty), nil
			},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"archive", "read"} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/things/"+path, http.NoBody)
		r.Header.Set("Authorization", "Bearer full")
		r.Header.Set("User-Agent", "a browser")
		edge.ServeHTTP(httptest.NewRecorder(), r)
		select {
		case c := <-callers:
			if c.Address.String() != "203.0.113.9" || c.UserAgent != "a browser" {
				t.Errorf("%s: %+v", path, c)
			}
		default:
			t.Errorf("%s was refused", path)
		}
	}
}
