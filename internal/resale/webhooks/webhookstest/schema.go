// Package webhookstest judges the bodies of events by the schemas that receivers are given.
package webhookstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/resale/webhooks"
)

// schemas compiles them from the OpenAPI document, by type.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	edge := api.NewEdge(api.Config{})
	edge.Send(webhooks.Webhooks())
	doc, err := json.Marshal(edge.OpenAPI())
	if err != nil {
		return nil, err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020) // OpenAPI 3.1
	c.AssertFormat()
	if err := c.AddResource("openapi.json", parsed); err != nil {
		return nil, err
	}
	all := map[string]*jsonschema.Schema{}
	for _, v := range webhooks.Webhooks().Events {
		if all[v.Type] != nil {
			return nil, fmt.Errorf("%s is described twice", v.Type)
		}
		all[v.Type], err = c.Compile("openapi.json#/webhooks/" + v.Type + "/post/requestBody/content/application~1json/schema")
		if err != nil {
			return nil, err
		}
	}
	return all, nil
})

// Check says what is wrong with a body of the type. Types that are not published are the platform's own: nothing is
// wrong with them, and known is false.
func Check(typ string, body []byte) (known bool, err error) {
	all, err := schemas()
	if err != nil {
		return false, err
	}
	schema, known := all[typ]
	if !known {
		return false, nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		return true, fmt.Errorf("an event %s is not as its schema says: %w\n%s", typ, err, body)
	}
	return true, nil
}
