package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/api"
)

func TestSlowBodiesOfOneAddressAreBounded(t *testing.T) {
	edge := api.NewEdge(api.Config{ClientAddr: func(r *http.Request) netip.Addr { return netip.MustParseAddr(r.RemoteAddr) }, Language: "en"})
	begun, ended := make(chan struct{}), make(chan struct{})
	h := edge.BoundBodies(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Slow") != "" {
			begun <- struct{}{}
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("Slow") != "" {
			ended <- struct{}{}
			<-begun // goes on after its body has arrived
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	send := func(from string, body io.Reader, slow string) int {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/orders", body)
		r.RemoteAddr = from
		r.Header.Set("Slow", slow)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	var open []*io.PipeWriter
	for range 200 {
		read, write := io.Pipe()
		open = append(open, write)
		go send("2001:db8::1", read, "yes")
		<-begun
	}
	if code := send("2001:db8::2", strings.NewReader("{}"), ""); code != http.StatusTooManyRequests {
		t.Errorf("one more of the same network: %d", code)
	}
	if code := send("2001:db8::2", http.NoBody, ""); code != http.StatusNoContent {
		t.Errorf("one without a body: %d", code)
	}
	if code := send("203.0.113.7", strings.NewReader("{}"), ""); code != http.StatusNoContent {
		t.Errorf("another address: %d", code)
	}
	_ = open[0].Close()
	<-ended // its body has arrived; its answer has not been written
	if code := send("2001:db8::2", strings.NewReader("{}"), ""); code != http.StatusNoContent {
		t.Errorf("after one has arrived: %d", code)
	}
	for _, w := range open[1:] {
		_ = w.Close()
		<-ended
	}
	for range open {
		begun <- struct{}{}
	}
}
