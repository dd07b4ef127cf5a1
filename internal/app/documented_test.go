package app

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// textual are the types of bodies and answers that have an example; others are files.
var textual = []string{"application/json", "application/x-www-form-urlencoded"}

// exampleIsValid reports what is wrong with the example of a type, which stands at a place of the document.
func (d *description) exampleIsValid(t *testing.T, m mediaType, at string) {
	t.Helper()
	if len(m.Example) == 0 {
		t.Errorf("%s has no example", at)
		return
	}
	schema, err := d.schema(at + "/schema")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(m.Example))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		t.Errorf("the example of %s is not of its schema: %v\n%s", at, err, m.Example)
	}
}

// pointer is a place in the document, as a JSON pointer.
func pointer(parts ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	at := "#"
	for _, p := range parts {
		at += "/" + escape.Replace(p)
	}
	return at
}

func TestTheDocumentOfStaffDescribesEachOperation(t *testing.T) {
	text, err := StaffOpenAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID, Description string
			Parameters               []parameter
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, item := range doc.Paths {
		for _, op := range item {
			if op.Description == "" {
				t.Errorf("%s is not described", op.OperationID)
			}
			for _, p := range op.Parameters {
				if p.Description == "" {
					t.Errorf("%s does not describe %s", op.OperationID, p.Name)
				}
			}
		}
	}
	if len(doc.Paths) < 50 {
		t.Errorf("%d paths", len(doc.Paths))
	}
}

func TestDocumentDescribesEachOperationWithExamples(t *testing.T) {
	d, err := theDocument()
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]bool{}
	for _, tag := range d.doc.Tags {
		tags[tag.Name] = tag.Description != ""
	}
	for path, item := range d.doc.Paths {
		for method, op := range item {
			if len(op.Description) < 20 {
				t.Errorf("%s is not described", op.OperationID)
			}
			if len(op.Tags) != 1 || !tags[op.Tags[0]] || op.Tags[0] == "Reseller" {
				t.Errorf("%s has the tags %q: one that is described, of resellers' operations their subject (api.subjects)", op.OperationID, op.Tags)
			}
			for _, p := range op.Parameters {
				if p.Description == "" {
					t.Errorf("%s does not describe %s", op.OperationID, p.Name)
				}
				if p.Name == "Idempotency-Key" && p.Schema["pattern"] == nil {
					t.Errorf("%s: the key has no pattern", op.OperationID)
				}
			}
			for _, form := range textual {
				if op.RequestBody != nil {
					if m, ok := op.RequestBody.Content[form]; ok {
						d.exampleIsValid(t, m, pointer("paths", path, method, "requestBody", "content", form))
					}
				}
				for status, r := range op.Responses {
					if m, ok := r.Content[form]; ok && strings.HasPrefix(status, "2") {
						d.exampleIsValid(t, m, pointer("paths", path, method, "responses", status, "content", form))
					}
				}
			}
		}
	}
}
