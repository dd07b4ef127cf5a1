package contentcoding_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/contentcoding"
)

func TestContentIsServedInTheCodingThatIsTaken(t *testing.T) {
	text := strings.Repeat("the same again ", 200)
	c := contentcoding.NewContent([]byte(text))
	get := func(headers ...string) *http.Response {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		c.Serve(w, r)
		return w.Result()
	}
	plain, packed := get(), get("Accept-Encoding", "gzip")
	if body, err := io.ReadAll(plain.Body); err != nil || string(body) != text || plain.Header.Get("Content-Encoding") != "" {
		t.Errorf("as it is: %q, %v", plain.Header, err)
	}
	z, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(z); err != nil || string(body) != text || packed.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("packed: %q, %v", packed.Header, err)
	}
	if plain.Header.Get("ETag") == packed.Header.Get("ETag") {
		t.Error("both codings have the same ETag")
	}
	for _, r := range []*http.Response{plain, packed} {
		if r.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Vary: %q", r.Header.Get("Vary"))
		}
	}
	if r := get("Accept-Encoding", "gzip", "If-None-Match", packed.Header.Get("ETag")); r.StatusCode != http.StatusNotModified {
		t.Errorf("asked for a change: %d", r.StatusCode)
	}
}
