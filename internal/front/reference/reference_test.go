package reference

import (
	"compress/gzip"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/brand"
)

// published is the document of the repository.
func published(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "api", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestSamplesAreCode(t *testing.T) {
	_, sections, err := read(published(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections {
		for _, c := range s.Calls {
			for _, sample := range c.Samples {
				if sample.Language == "Go" {
					program := "package p\nfunc call() error {\n" + sample.Code + "\n}"
					if _, err := parser.ParseFile(token.NewFileSet(), c.ID+".go", program, 0); err != nil {
						t.Errorf("%v\n%s", err, program)
					}
				}
				if strings.Contains(sample.Code, "{"+"service}") || strings.Contains(sample.Code, "ZgotmplZ") {
					t.Errorf("%s in %s:\n%s", c.ID, sample.Language, sample.Code)
				}
			}
		}
	}
}

func TestPagesAreWholeWithoutScripts(t *testing.T) {
	h := Handler(Config{
		Brand: brand.Fixed(brand.Brand{Name: "Stead & Sons"}), Client: "client", Missing: http.NotFoundHandler(), Document: func() ([]byte, error) { return published(t), nil },
	})
	get := func(path string) *http.Response {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		h.ServeHTTP(w, r)
		return w.Result()
	}
	text := func(res *http.Response) string {
		z, err := gzip.NewReader(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	index := text(get("/docs/"))
	for _, want := range []string{"Stead &amp; Sons API", `href="/docs/reseller-services#reseller.services.renew"`} {
		if !strings.Contains(index, want) {
			t.Errorf("the index lacks %s", want)
		}
	}
	page := text(get("/docs/orders"))
	for _, want := range []string{`id="orders.create"`, "Idempotency-Key", "shop.example.com", "insufficient_funds", "http.NewRequestWithContext", "await fetch", "curl -X POST"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of orders lacks %s", want)
		}
	}
	for _, inline := range []string{"<style", "style=", "onclick=", "<script>"} {
		if strings.Contains(index+page, inline) {
			t.Errorf("the policy forbids %s", inline)
		}
	}
	if res := get("/docs/nothing"); res.StatusCode != http.StatusNotFound {
		t.Errorf("another address: %d", res.StatusCode)
	}
}
