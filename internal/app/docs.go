package app

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/contentcoding"
)

// OpenAPIPath is the path of the OpenAPI document.
const OpenAPIPath = "/api/v1/openapi.json"

// StaffOpenAPIPath is the path of the OpenAPI document of the operations of staff, which are all below staffPrefix.
const (
	staffPrefix      = "/api/v1/admin/"
	StaffOpenAPIPath = staffPrefix + "openapi.json"
)

// openAPI is the OpenAPI 3.1 document as it is committed and served: stable
// and indented, so that a change of the interface is a readable difference.
func openAPI(doc *huma.OpenAPI) ([]byte, error) {
	compact, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		return nil, fmt.Errorf("OpenAPI: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// served is a document in the forms in which clients ask for it.
type served struct {
	plain, packed []byte
	tag           string
}

func pack(plain []byte) (served, error) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(plain)
	}
	if err == nil {
		err = z.Close()
	}
	sum := sha256.Sum256(plain)
	return served{plain, packed.Bytes(), hex.EncodeToString(sum[:12])}, err
}

// documentation serves the OpenAPI document of an edge, compressed where the client accepts that. The document is made at the first
// request, because making it takes longer than the rest of a start.
func (a *App) documentation(e *api.Edge) http.Handler {
	described := e.OpenAPI() // now, because it adds to the schemas that requests are validated by
	written := sync.OnceValues(func() (served, error) {
		plain, err := openAPI(described)
		if err != nil {
			return served{}, err
		}
		return pack(plain)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		doc, err := written()
		if err != nil {
			e.WriteError(w, r, err)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "public, max-age=60")
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Vary", "Accept-Encoding")
		body, etag := doc.plain, `"`+doc.tag+`"`
		if contentcoding.AcceptsGzip(r.Header.Values("Accept-Encoding")) {
			body, etag = doc.packed, `"`+doc.tag+`-gzip"`
			h.Set("Content-Encoding", "gzip")
		}
		h.Set("ETag", etag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	})
}

var inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// What Swagger UI's page lacks: a width that fits phones, a heading for screen readers, and a link back to the site.
const (
	referenceHead = `<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
.site { padding: .8rem 1.25rem; background: #fff; border-bottom: 1px solid #d9dfe7; font: 700 1.1rem system-ui, sans-serif; }
.site a { color: #17202b; text-decoration: none; }
.site h1 { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }
.swagger-ui .responses-inner, .swagger-ui .table-container { overflow-x: auto; }
</style>`
	referenceTop = `<header class="site"><a href="/">%[1]s</a><h1>%[1]s API</h1></header>`
)

// reference serves the reference of the API at /docs/: Swagger UI, which is part of the binary and loads nothing from
// other servers.
func reference(company string) http.Handler {
	ui := v5emb.NewHandlerWithConfig(swgui.Config{
		Title:       company + " API",
		SwaggerJSON: OpenAPIPath,
		BasePath:    "/docs/",
		AppendHead:  referenceHead,
		PrependHTML: template.HTML(fmt.Sprintf(referenceTop, template.HTMLEscapeString(company))), //nolint:gosec // escaped
		SettingsUI: map[string]string{
			"defaultModelsExpandDepth": "1",
			"docExpansion":             `"list"`,
			"persistAuthorization":     "false",
		},
	})
	// The page has inline scripts; their hashes in the policy allow these and no others.
	var page pageRecorder
	ui.ServeHTTP(&page, &http.Request{Method: http.MethodGet, URL: docsURL})
	scripts := "'self'"
	for _, m := range inlineScript.FindAllSubmatch(page.body.Bytes(), -1) {
		sum := sha256.Sum256(m[1])
		scripts += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := "default-src 'none'; script-src " + scripts + "; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
		"font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		if r.URL.Path != docsURL.Path {
			w.Header().Set("Cache-Control", "public, max-age=3600")
		}
		ui.ServeHTTP(w, r)
	})
}

var docsURL = &url.URL{Path: "/docs/"}

// pageRecorder records what a handler writes.
type pageRecorder struct {
	header http.Header
	body   bytes.Buffer
}

func (p *pageRecorder) Header() http.Header {
	if p.header == nil {
		p.header = http.Header{}
	}
	return p.header
}

func (p *pageRecorder) WriteHeader(int) {}

func (p *pageRecorder) Write(b []byte) (int, error) { return p.body.Write(b) }
