package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
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

// isDescribed fails the test when an answer of an operation is not what the document says: its status, and the members
// of its JSON with their types.
func isDescribed(t testing.TB, r answer) {
	t.Helper()
	d, err := theDocument()
	if err != nil {
		t.Fatal(err)
	}
	method, path := d.operation(r.method, r.path)
	if path == "" || r.status >= http.StatusInternalServerError || !strings.HasPrefix(r.header.Get("Content-Type"), "application/json") {
		return // a page, or a fault of ours
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
	responses := d.doc.Paths[path][method].Responses
	status := strconv.Itoa(r.status)
	if _, ok := responses[status]; !ok {
		if slices.Contains([]string{"invalid_request"}, r.key()) {
			return nil // of every operation: a query that cannot be read
		}
		return fmt.Errorf("no answer %s", status)
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

func (d *description) schema(at string) (s *jsonschema.Schema, err error) {
	d.compiling.Lock()
	defer d.compiling.Unlock()
	if s = d.schemas[at]; s == nil {
		s, err = d.compiler.Compile("openapi.json" + at)
		d.schemas[at] = s
	}
	return s, err
}
