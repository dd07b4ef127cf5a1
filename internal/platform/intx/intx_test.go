package intx_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/intx"
)

type server struct{ asked, closed int }

func (s *server) RoundTrip(*http.Request) (*http.Response, error) {
	s.asked++
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
}

func (s *server) CloseIdleConnections() { s.closed++ }

type body struct {
	io.Reader
	closed *bool
}

func (b body) Close() error { *b.closed = true; return nil }

func TestRequestsWithinATransactionAreRefused(t *testing.T) {
	s, closed := &server{}, false
	client := &http.Client{Transport: intx.Transport{Next: s}}
	call := func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://a.example", body{strings.NewReader("x"), &closed})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err == nil {
			err = answer.Body.Close()
		}
		return err
	}
	inside := intx.Mark(t.Context())
	for _, ctx := range []context.Context{inside, context.WithoutCancel(inside)} {
		if err := call(ctx); !errors.Is(err, intx.ErrInTransaction) || s.asked != 0 || !closed {
			t.Errorf("within a transaction: %v, asked %d times, body closed: %v", err, s.asked, closed)
		}
	}
	if err := call(t.Context()); err != nil || s.asked != 1 {
		t.Errorf("outside: %v, asked %d times", err, s.asked)
	}
	if client.CloseIdleConnections(); s.closed != 1 {
		t.Error("idle connections stay open")
	}
}
