package rdap

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestLookup(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(media string, code int, body string) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, body)
		}
		const own = "application/rdap+json; charset=utf-8"
		switch r.URL.Path {
		case "/domain/free.example":
			answer(own, 404, `{"errorCode": 404}`)
		case "/domain/taken.example":
			answer(own, 200, `{"objectClassName": "domain", "ldhName": "TAKEN.EXAMPLE"}`)
		case "/domain/other.example":
			answer(own, 200, `{"objectClassName": "domain", "ldhName": "another.example"}`)
		case "/domain/broken.example":
			answer(own, 200, `{"objectClassName"`)
		case "/domain/busy.example":
			answer(own, 429, `{}`)
		case "/domain/web.example":
			answer("text/html", 404, `not here`)
		}
	}))
	defer srv.Close()
	s := New(srv.Client(), func(_ context.Context, name string) string {
		if name == "nowhere.example" {
			return ""
		}
		return srv.URL + "/"
	})
	yes, no := true, false
	for name, want := range map[string]*bool{
		"free.example": &yes, "taken.example": &no, "other.example": nil, "broken.example": nil, "busy.example": nil,
		"web.example": nil, "nowhere.example": nil,
	} {
		got, err := s.Lookup(t.Context(), name)
		if (got.Available == nil) != (want == nil) || want != nil && *want != *got.Available {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}
