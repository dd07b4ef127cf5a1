package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	// Arguments are other names for parameters of the operation, by the parameter: what identifies a service has one name
	// in all tools.
	Arguments map[string]string
	// Defaults are values of arguments that a call leaves out, where the operation's own are too large for a model.
	Defaults map[string]any
	// Omit are members of the answer, or of the rows of a list, that no model gets: secrets that the caller needs
	// elsewhere, and what is too much for a model. A dot leads to a member of a member. An answer that is a list beside
	// other things is none without its `data`.
	Omit []string
	// OnRequest are members that come only when `fields` names them.
	OnRequest []string
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
	brief     []string // those that come when a call names no fields; empty: all
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
	if err := t.rename(schema, properties); err != nil {
		return nil, err
	}
	t.arguments = slices.Sorted(maps.Keys(properties))
	what := "Members of the answer to return"
	if t.list {
		what = "Members of each row to return"
	}
	usual := "all of them"
	if len(t.OnRequest) > 0 {
		usual = "all but " + strings.Join(t.OnRequest, ", ")
	}
	properties[fieldsArgument] = map[string]any{
		"type": "array", "items": map[string]any{"type": "string"}, "description": what + "; " + usual + " when left out",
	}
	return json.Marshal(schema)
}

// rename gives parameters of the operation their names as arguments.
func (t *tool) rename(schema, properties map[string]any) error {
	for parameter, name := range t.Arguments {
		property, ok := properties[parameter]
		if _, taken := properties[name]; !ok || taken {
			return fmt.Errorf("parameter %q of the operation cannot be called %q", parameter, name)
		}
		delete(properties, parameter)
		properties[name] = property
		required, _ := schema["required"].([]any)
		for i := range required {
			if required[i] == parameter {
				required[i] = name
			}
		}
	}
	return nil
}

// asArguments is a refusal that names the tool's arguments instead of the operation's parameters.
func (t *tool) asArguments(err error) error {
	var refusal *fault.Error
	if len(t.Arguments) == 0 || !errors.As(err, &refusal) || len(refusal.Invalid) == 0 {
		return err
	}
	renamed := *refusal
	renamed.Invalid = map[string][]fault.Text{}
	for name, texts := range refusal.Invalid {
		if to := t.Arguments[name]; to != "" {
			name = to
		}
		renamed.Invalid[name] = texts
	}
	return &renamed
}

// output is the schema of the answer, and what fields there are. Since fields leaves members out, only ids are required.
// It goes no deeper than the members of a row and describes none of them: a model reads the answers themselves, and the
// whole list of tools has to fit into its context.
func (t *tool) output() (json.RawMessage, error) {
	var root map[string]any
	if err := json.Unmarshal(t.operation.Output, &root); err != nil {
		return nil, err
	}
	properties, _ := root["properties"].(map[string]any)
	data, isList := properties["data"].(map[string]any)
	t.list = isList && properties["meta"] != nil && !slices.Contains(t.Omit, "data")
	row := root
	if t.list {
		row = item(root, data)
	}
	members, _ := row["properties"].(map[string]any)
	for _, path := range t.Omit {
		name, _, deeper := strings.Cut(path, ".")
		if members[name] == nil {
			return nil, fmt.Errorf("the answer has no member %q to omit", name)
		}
		if !deeper {
			delete(members, name)
		}
	}
	t.fields = slices.Sorted(maps.Keys(members))
	if len(t.OnRequest) > 0 {
		for _, name := range t.OnRequest {
			if members[name] == nil {
				return nil, fmt.Errorf("the answer has no member %q to be asked for", name)
			}
		}
		t.brief = slices.DeleteFunc(slices.Clone(t.fields), func(name string) bool { return slices.Contains(t.OnRequest, name) })
	}
	outline := outlineOf(root, row)
	if t.list {
		meta, _ := properties["meta"].(map[string]any)
		outline = map[string]any{"type": "object", "properties": map[string]any{
			"data": map[string]any{"type": "array", "items": outline},
			"meta": outlineOf(root, resolve(root, meta)),
		}}
	}
	return json.Marshal(outline)
}

// outlineOf is the schema of an object with the types of its members.
func outlineOf(root, schema map[string]any) map[string]any {
	properties := map[string]any{}
	members, _ := schema["properties"].(map[string]any)
	for name, member := range members {
		m, _ := member.(map[string]any)
		outline := map[string]any{}
		if kind := resolve(root, m)["type"]; kind != nil {
			outline["type"] = kind
		}
		properties[name] = outline
	}
	outline := map[string]any{"type": "object", "properties": properties}
	if properties["id"] != nil {
		outline["required"] = []string{"id"}
	}
	return outline
}

// item is the schema of the items of an array.
func item(root, array map[string]any) map[string]any {
	items, _ := array["items"].(map[string]any)
	return resolve(root, items)
}

// resolve follows a reference within a schema.
func resolve(root, schema map[string]any) map[string]any {
	ref, ok := schema["$ref"].(string)
	if !ok {
		return schema
	}
	defs, _ := root["$defs"].(map[string]any)
	def, _ := defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	return def
}

// prepare separates the fields from the arguments of the operation, and fills in the defaults.
func (t *tool) prepare(arguments json.RawMessage) (given map[string]json.RawMessage, fields []string, err error) {
	given = map[string]json.RawMessage{}
	if len(bytes.TrimSpace(arguments)) > 0 {
		if err := json.Unmarshal(arguments, &given); err != nil {
			return nil, nil, fault.MalformedJSON.Wrap(err)
		}
	}
	if given == nil { // the arguments are null
		given = map[string]json.RawMessage{}
	}
	for parameter := range t.Arguments {
		if _, ok := given[parameter]; ok {
			return nil, nil, fault.Invalid(parameter, "unexpected")
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
	if len(fields) == 0 {
		fields = t.brief
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
