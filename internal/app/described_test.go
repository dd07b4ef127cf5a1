package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// description is the OpenAPI document as what answers are judged by.
type description struct {
	mux       *http.ServeMux // finds the path of an operation
	doc       openAPIDocument
	compiler  *jsonschema.Compiler
	compiling sync.Mutex
	schemas   map[string]*jsonschema.Schema
}

var theDocument = sync.OnceValues(func() (*description, error) {
	content, err := OpenAPI(context.Background())
	if err != nil {
		return nil, err
	}
	d := &description{mux: http.NewServeMux(), compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	if err := json.Unmarshal(content, &d.doc); err != nil {
		return nil, err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	d.compiler.DefaultDraft(jsonschema.Draft2020) // OpenAPI 3.1
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("openapi.json", parsed); err != nil {
		return nil, err
	}
	for path, item := range d.doc.Paths {
		for method := range item {
			d.mux.Handle(strings.ToUpper(method)+" "+path, http.NotFoundHandler())
		}
	}
	return d, nil
})

// isDescribed fails the test when an answer of an operation is not what the document says: its status, its content type, and the
// members of its JSON with their types.
func isDescribed(t testing.TB, r answer) {
	t.Helper()
	d, err := theDocument()
	if err != nil {
		t.Fatal(err)
	}
	method, path := d.operation(r.method, r.path)
	if path == "" {
		return // a page
	}
	if err := d.judge(method, path, r); err != nil {
		t.Errorf("the document says something else of %s %s: %v\n%s", r.method, r.path, err, r)
	}
}

// operation finds the path of the document that a request's is of.
func (d *description) operation(method, address string) (of, path string) {
	req, err := http.NewRequest(method, address, nil) // it is sent to nobody
	if err != nil {
		return "", "" // an address that is none
	}
	_, pattern := d.mux.Handler(req)
	of, path, _ = strings.Cut(pattern, " ")
	return strings.ToLower(of), path
}

func (d *description) judge(method, path string, r answer) error {
	status := strconv.Itoa(r.status)
	of := d.doc.Paths[path][method]
	response, ok := of.Responses[status]
	if !ok {
		return fmt.Errorf("no answer %s", status)
	}
	contentType := r.header.Get("Content-Type")
	if len(response.Content) == 0 {
		return nil // a redirect, a page of signing in, or an answer whose content the client has
	}
	if !isOffered(response.Content, contentType) && !isOffered(of.Responses["200"].Content, contentType) { // an unknown badge is a picture, too
		return fmt.Errorf("no answer %s of the type %q", status, contentType)
	}
	if !strings.HasPrefix(contentType, "application/json") {
		return nil
	}
	schema, err := d.schema("#/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path) + "/" + method +
		"/responses/" + status + "/content/application~1json/schema")
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.body))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// isOffered tells whether a content type is one of those of an answer, apart from its parameters. Bytes are of any type: a customer's
// file has its own.
func isOffered(content map[string]mediaType, contentType string) bool {
	got, _, err := mime.ParseMediaType(contentType)
	for name := range content {
		if want, _, bad := mime.ParseMediaType(name); err == nil && bad == nil && (want == got || want == "application/octet-stream") {
			return true
		}
	}
	return false
}

func (d *description) schema(at string) (s *jsonschema.Schema, err error) {
	d.compiling.Lock()
	defer d.compiling.Unlock()
	if s = d.schemas[at]; s == nil {
		s, err = d.compiler.Compile("openapi.json" + at)
		d.schemas[at] = s
	}
	return s, err
}
