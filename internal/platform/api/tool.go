package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// Tool is a mounted read operation for a program that knows no paths and queries. It is called by the names of its
// parameters.
type Tool struct {
	edge     *Edge
	declared *declared
	params   []param // those that are arguments
	// Input and Output are the JSON Schemas (2020-12) of the arguments and the answer.
	Input, Output json.RawMessage
}

// Tool is the operation of an id. It must be a GET that answers JSON. Its parameters are the tool's arguments, except
// headers and those that are hidden, such as the ones that choose another form of the answer.
func (e *Edge) Tool(id string, hidden ...string) (*Tool, error) {
	at := slices.IndexFunc(e.ops, func(d *declared) bool { return d.ID == id })
	if at < 0 {
		return nil, fmt.Errorf("there is no operation %q to be a tool", id)
	}
	d := e.ops[at]
	if d.Method != http.MethodGet || d.commit != nil {
		return nil, fmt.Errorf("operation %q does more than read an answer, so it is no tool", id)
	}
	t := &Tool{edge: e, declared: d}
	input := map[string]any{"type": "object", "additionalProperties": false}
	properties := map[string]any{}
	var required []string
	for _, p := range d.input.params {
		if p.in == "header" || slices.Contains(hidden, p.name) {
			if p.required {
				return nil, fmt.Errorf("operation %q needs %s, so it is no tool without it", id, p.name)
			}
			continue
		}
		t.params = append(t.params, p)
		s := *p.schema
		if s.Description == "" {
			s.Description = p.doc
		}
		properties[p.name] = &s
		if p.required {
			required = append(required, p.name)
		}
	}
	input["properties"] = properties
	if required != nil {
		input["required"] = required
	}
	var err error
	if t.Input, err = e.standalone(input); err == nil {
		t.Output, err = e.standalone(e.registry.Schema(d.out, true, d.ID))
	}
	return t, err
}

// Summary is the operation's, with its description.
func (t *Tool) Summary() string {
	return strings.TrimSpace(t.declared.summary + ".\n" + t.declared.description)
}

// Scopes are those of which a token needs one; none when any token will do.
func (t *Tool) Scopes() []string { return t.declared.Scopes }

// ByKey reports whether resellers call the operation with their keys.
func (t *Tool) ByKey() bool { return t.declared.Auth == Key }

// Allows reports whether a principal may call the operation: its section is on, and one of its scopes is granted.
func (t *Tool) Allows(p auth.Principal) bool {
	d := t.declared
	return t.edge.Switches.Enabled(d.Section) && (len(d.Scopes) == 0 || p.HasAny(d.Scopes)) && (!d.FirstParty || p.FirstParty) && (!d.Session || p.SessionID != 0) && (!d.Recent || p.Recent || !d.Session && p.SessionID == 0)
}

// Call calls the operation for a principal that was admitted to another operation, whose request was counted. It
// returns what a client would get: JSON, in the language and currency of ctx. When the operation has a throttle of its
// own, the call counts there.
func (t *Tool) Call(ctx context.Context, p auth.Principal, arguments json.RawMessage) (json.RawMessage, error) {
	ctx, in, r, err := t.open(ctx, p, arguments)
	if err != nil {
		return nil, err
	}
	if t.declared.stream != nil {
		return t.streamed(ctx, p, in, r)
	}
	out, err := t.declared.handle(ctx, p, in)
	if err != nil {
		return nil, err
	}
	_, body, err := encode(t.declared, out)
	return body, err
}

// Download calls an operation that streams, as Call does, and returns what it answers, of any type.
func (t *Tool) Download(ctx context.Context, p auth.Principal, arguments json.RawMessage) ([]byte, error) {
	ctx, in, r, err := t.open(ctx, p, arguments)
	if err != nil {
		return nil, err
	}
	if t.declared.stream == nil {
		return nil, fmt.Errorf("operation %q is no stream", t.declared.ID)
	}
	w := &bufferedAnswer{header: http.Header{}}
	err = t.declared.stream(ctx, p, in, w, r)
	return w.body.Bytes(), err
}

// open admits a call, counts it and decodes its arguments.
func (t *Tool) open(ctx context.Context, p auth.Principal, arguments json.RawMessage) (context.Context, any, *http.Request, error) {
	if !t.Allows(p) {
		return ctx, nil, nil, fault.Forbidden.New()
	}
	if err := t.throttle(ctx, p); err != nil {
		return ctx, nil, nil, err
	}
	r, err := t.request(ctx, arguments)
	if err != nil {
		return ctx, nil, nil, err
	}
	if asked, ok := i18n.Lookup(r.URL.Query().Get("lang")); ok {
		ctx = i18n.WithResolvedLang(ctx, asked)
	}
	in, err := t.edge.decode(t.declared, r, nil)
	return ctx, in, r, err
}

// streamed returns what a stream answers, which must be JSON of a bounded length.
func (t *Tool) streamed(ctx context.Context, p auth.Principal, in any, r *http.Request) (json.RawMessage, error) {
	w := &bufferedAnswer{header: http.Header{}}
	if err := t.declared.stream(ctx, p, in, w, r); err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(w.header.Get("Content-Type")); kind != "application/json" {
		return nil, fmt.Errorf("operation %q answered %q instead of JSON", t.declared.ID, kind)
	}
	return w.body.Bytes(), nil
}

// maxStreamed bounds what a stream may answer to a tool, in bytes.
const maxStreamed = 4 << 20

// bufferedAnswer keeps the answer of a stream.
type bufferedAnswer struct {
	header http.Header
	body   bytes.Buffer
}

func (w *bufferedAnswer) Header() http.Header { return w.header }
func (w *bufferedAnswer) WriteHeader(int)     {}

func (w *bufferedAnswer) Write(b []byte) (int, error) {
	if w.body.Len()+len(b) > maxStreamed {
		return 0, fault.PayloadTooLarge.With(fault.Fields{"limit_bytes": maxStreamed})
	}
	return w.body.Write(b)
}

// throttle counts the call of an operation that has a throttle of its own, together with the principal's other calls of
// it.
func (t *Tool) throttle(ctx context.Context, p auth.Principal) error {
	policy := t.edge.Policies[t.declared.throttle]
	if policy.Limit <= 0 {
		return nil
	}
	res, err := t.edge.Limiter.Take(ctx, p.Key(), policy)
	if err != nil || res.Allowed {
		return err
	}
	_, err = tooMany(res)
	return err
}

// request is the HTTP request that a client would have sent for the call.
func (t *Tool) request(ctx context.Context, arguments json.RawMessage) (*http.Request, error) {
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(arguments)) > 0 {
		if err := json.Unmarshal(arguments, &given); err != nil {
			return nil, fault.MalformedJSON.Wrap(err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, t.declared.Path, nil)
	if err != nil {
		return nil, err
	}
	query, bad := url.Values{}, invalid{}
	for _, p := range t.params {
		value, ok := given[p.name]
		delete(given, p.name)
		if !ok || string(value) == "null" {
			if p.in == "path" {
				bad.add(p.name, fault.Text{ID: "invalid.required"})
			}
			continue
		}
		text, ok := argument(p.schema, value)
		switch {
		case !ok:
			bad.add(p.name, fault.Text{ID: "invalid.expected_" + p.schema.Type})
		case p.in == "path":
			r.SetPathValue(p.name, text)
		default:
			query.Set(p.name, text)
		}
	}
	for name := range given {
		var known []string
		for _, p := range t.params {
			known = append(known, p.name)
		}
		bad.add(name, unexpected(name, known))
	}
	r.URL.RawQuery = query.Encode()
	return r, bad.err()
}

// argument formats a JSON value as it appears in an address. It is false when the value has another type than the
// schema.
func argument(s *huma.Schema, value json.RawMessage) (string, bool) {
	if s.Type == huma.TypeArray {
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil {
			return "", false
		}
		var parts []string
		for _, i := range items {
			part, ok := argument(s.Items, i)
			if !ok || strings.Contains(part, ",") {
				return "", false
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ","), true
	}
	if s.Type == huma.TypeString {
		var text string
		err := json.Unmarshal(value, &text)
		return text, err == nil
	}
	text := string(value) // a number or a boolean; decode checks which
	return text, text != "" && text[0] != '"' && text[0] != '{' && text[0] != '['
}

// standalone is a schema together with all schemas that it refers to.
func (e *Edge) standalone(schema any) (json.RawMessage, error) {
	const local = "#/$defs/"
	whole, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var root map[string]any
	if err := json.Unmarshal(whole, &root); err != nil {
		return nil, err
	}
	defs := map[string]any{}
	var resolve func(v any) error
	resolve = func(v any) error {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				if err := resolve(x); err != nil {
					return err
				}
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				ref, ok := v[name].(string)
				if name != "$ref" || !ok {
					if err := resolve(v[name]); err != nil {
						return err
					}
					continue
				}
				to := strings.TrimPrefix(ref, schemaPrefix)
				v[name] = local + to
				if _, known := defs[to]; known {
					continue
				}
				text, err := json.Marshal(e.registry.Map()[to])
				if err != nil {
					return err
				}
				var def map[string]any
				if err := json.Unmarshal(text, &def); err != nil {
					return err
				}
				defs[to] = def
				if err := resolve(def); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := resolve(root); err != nil {
		return nil, err
	}
	if ref, ok := root["$ref"].(string); ok { // clients need the type of the answer at the top
		to := strings.TrimPrefix(ref, local)
		if def, ok := defs[to].(map[string]any); ok {
			root = maps.Clone(def)
		}
	}
	if len(defs) > 0 {
		root["$defs"] = defs
	}
	return json.Marshal(root)
}

// ErrorBody is the error object of err, as a client of the interface gets it.
func (e *Edge) ErrorBody(ctx context.Context, err error) []byte {
	f := Fault(err)
	requestLogOf(ctx).fail(f)
	return e.errorBody(ctx, f)
}
