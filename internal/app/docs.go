package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/contentcoding"
)

// OpenAPIPath is the path of the OpenAPI document.
const OpenAPIPath = "/api/v1/openapi.json"

// StaffOpenAPIPath is the path of the OpenAPI document of the operations of staff, which are all below staffPrefix.
const (
	staffPrefix      = api.StaffPrefix + "/"
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

// served is an OpenAPI document: its text, and the forms in which clients ask for it.
type served struct {
	text []byte
	contentcoding.Content
}

// described makes the OpenAPI document of an edge at the first call, because that takes longer than the rest of a start.
func described(e *api.Edge) func() (served, error) {
	doc := e.OpenAPI() // now, because it adds to the schemas that requests are validated by
	return sync.OnceValues(func() (served, error) {
		plain, err := openAPI(doc)
		if err != nil {
			return served{}, err
		}
		return served{plain, contentcoding.NewContent(plain)}, nil
	})
}

// documentation serves the OpenAPI document of an edge, compressed where the client accepts that.
func documentation(e *api.Edge, written func() (served, error)) http.Handler {
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
		doc.Serve(w, r)
	})
}
