package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/fault"
)

// Tool names an operation for agents.
type Tool struct {
	Name      string // snake_case
	Title     string
	Operation string // its id
	// Description says what the tool answers, which neighbour to use when, and one example. It is the operation's own
	// when it is empty.
	Description string
	// Hidden are parameters of the operation that are not offered, such as the one that makes a list a stream.
	Hidden []string
	// Defaults are values of arguments that a call leaves out, where the operation's own are too large for a model.
	Defaults map[string]any
	// Untrusted answers hold what others wrote, such as files and logs. Their secrets are redacted, and they say that
	// they are data.
	Untrusted bool
	// OpenWorld tools ask other parties than this company.
	OpenWorld bool
}

// fieldsArgument is the argument that every tool has beside those of its operation.
const fieldsArgument = "fields"

// tool is a Tool that is bound to its operation.
type tool struct {
	Tool
	operation *api.Tool
	described *sdk.Tool
	list      bool     // its answer is a list with pages
	fields    []string // the members of an answer, or of a row of one
	arguments []string
}

// newTool binds a tool to its operation.
func newTool(edge *api.Edge, t Tool) (*tool, error) {
	operation, err := edge.Tool(t.Operation, t.Hidden...)
	if err != nil {
		return nil, err
	}
	made := &tool{Tool: t, operation: operation}
	if made.Description == "" {
		made.Description = operation.Summary()
	}
	output, err := made.output()
	if err != nil {
		return nil, err
	}
	input, err := made.input()
	if err != nil {
		return nil, err
	}
	no := false
	made.described = &sdk.Tool{
		Name: t.Name, Title: t.Title, Description: made.Description, InputSchema: input, OutputSchema: output,
		Annotations: &sdk.ToolAnnotations{
			Title: t.Title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &t.OpenWorld,
		},
	}
	return made, nil
}

// input is the schema of the arguments: those of the operation, and fields.
func (t *tool) input() (json.RawMessage, error) {
	var schema map[string]any
	if err := json.Unmarshal(t.operation.Input, &schema); err != nil {
		return nil, err
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, value := range t.Defaults {
		property, ok := properties[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the operation has no parameter %q to have a default", name)
		}
		property["default"] = value
	}
	t.arguments = slices.Sorted(maps.Keys(properties))
	what := "Members of the answer to return; all of them when left out"
	if t.list {
		what = "Members of each row to return; all of them when left out"
	}
	properties[fieldsArgument] = map[string]any{
		"type": "array", "items": map[string]any{"type": "string"}, "description": what,
	}
	return json.Marshal(schema)
}

// output is the schema of the answer. Since fields leaves members out, only ids are required; and since a model reads
// the answers themselves, it has no descriptions: the whole list of tools has to fit into a context.
func (t *tool) output() (json.RawMessage, error) {
	var schema map[string]any
	if err := json.Unmarshal(t.operation.Output, &schema); err != nil {
		return nil, err
	}
	row := schema
	properties, _ := schema["properties"].(map[string]any)
	if data, ok := properties["data"].(map[string]any); ok && properties["meta"] != nil {
		t.list = true
		row, _ = data["items"].(map[string]any)
	}
	row = resolve(schema, row)
	members, _ := row["properties"].(map[string]any)
	t.fields = slices.Sorted(maps.Keys(members))
	loosen(schema)
	return json.Marshal(schema)
}

// resolve follows a reference within a schema.
func resolve(root, schema map[string]any) map[string]any {
	ref, ok := schema["$ref"].(string)
	if !ok {
		return schema
	}
	defs, _ := root["$defs"].(map[string]any)
	def, _ := defs[ref[len("#/$defs/"):]].(map[string]any)
	return def
}

// loosen removes from a schema and those below it what an answer with chosen fields need not keep, and what only people
// read.
func loosen(schema map[string]any) {
	for _, name := range []string{"required", "additionalProperties", "examples", "description", "format", "minimum", "default"} {
		delete(schema, name)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		loosen(items)
	}
	for _, kind := range []string{"properties", "$defs"} {
		members, _ := schema[kind].(map[string]any)
		for _, member := range members {
			if m, ok := member.(map[string]any); ok {
				loosen(m)
			}
		}
		if kind == "properties" && members["id"] != nil {
			schema["required"] = []string{"id"}
		}
	}
}

// prepare separates the fields from the arguments of the operation, and fills in the defaults.
func (t *tool) prepare(arguments json.RawMessage) (given map[string]json.RawMessage, fields []string, err error) {
	given = map[string]json.RawMessage{}
	if len(bytes.TrimSpace(arguments)) > 0 {
		if err := json.Unmarshal(arguments, &given); err != nil {
			return nil, nil, fault.MalformedJSON.Wrap(err)
		}
	}
	if text, ok := given[fieldsArgument]; ok {
		if err := json.Unmarshal(text, &fields); err != nil {
			return nil, nil, fault.Invalid(fieldsArgument, "expected_array")
		}
		delete(given, fieldsArgument)
	}
	for _, f := range fields {
		if !slices.Contains(t.fields, f) {
			return nil, nil, fault.InvalidData(fieldsArgument, "one_of", map[string]any{"Value": t.fields})
		}
	}
	for name, value := range t.Defaults {
		if _, ok := given[name]; !ok {
			if given[name], err = json.Marshal(value); err != nil {
				return nil, nil, err
			}
		}
	}
	return given, fields, nil
}
