package sse_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"stead.dev/stead/internal/platform/sse"
)

func TestEventsAreWrittenWhenTheyAreFlushed(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	s := sse.Begin(w)
	if w.Body.Len() > 0 || !s.Flush() || !w.Flushed || w.Body.String() != "retry: 3000\n\n" {
		t.Errorf("it begins with %q", w.Body)
	}
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	w.Body.Reset()
	s.Event("7", "change", []byte(`{"a":1}`))
	s.Event("8", "", []byte("{}\n"))
	s.Alive()
	if w.Body.Len() > 0 {
		t.Errorf("%q is sent at once", w.Body)
	}
	const want = "id: 7\nevent: change\ndata: {\"a\":1}\n\nid: 8\ndata: {}\n\n: \n\n"
	if !s.Flush() || w.Body.String() != want {
		t.Errorf("%q is sent, want %q", w.Body, want)
	}
	if !s.Flush() || w.Body.String() != want {
		t.Errorf("%q is sent, without a further event", w.Body)
	}
}

// gone is the connection of a client that has left.
type gone struct{ http.ResponseWriter }

func (gone) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestAClientThatHasLeftIsNoticed(t *testing.T) {
	t.Parallel()
	if sse.Begin(gone{httptest.NewRecorder()}).Flush() {
		t.Error("it is still there")
	}
}
