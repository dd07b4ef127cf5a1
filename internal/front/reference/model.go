package reference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// document is what the reference reads of an OpenAPI document.
type document struct {
	Info struct {
		Title, Description string
	}
	Servers    []struct{ URL string }
	Tags       []struct{ Name, Description string }
	Paths      map[string]map[string]operation
	Components struct {
		Schemas map[string]*schema
	}
}

type operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Parameters                        []parameter
	RequestBody                       *struct{ Content map[string]media }
	Responses                         map[string]response
	Security                          []map[string][]string
}

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                schema
}

type media struct {
	Schema  *schema
	Example json.RawMessage
}

type response struct {
	Description string
	Content     map[string]media
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Format, Description  string
	Enum                 []any
	Default              any
	Minimum, Maximum     *float64
	MinLength, MaxLength *int
	Items                *schema
	Properties           map[string]*schema
	Required             []string
	AnyOf, OneOf, AllOf  []*schema
}

// section is a page: the operations with one tag.
type section struct {
	Name, Slug, About string
	Calls             []call
}

// call is an operation as the pages show it.
type call struct {
	ID, Method, Path, Summary, About string
	Access                           string
	Params                           []field
	Body                             []field
	BodyType, BodyExample            string
	Answers                          []answer
	Refusals                         []answer
	Samples                          []sample
}

// Anchor names the operation on its page.
func (c call) Anchor() string { return c.ID }

// Tryable reports whether the page can make the call: its body is JSON or it has none.
func (c call) Tryable() bool { return c.BodyType == "" || c.BodyType == jsonType }

// field is a parameter or a member of an object, with a dotted name.
type field struct {
	Name, In, Type, About string
	Required              bool
	Value                 string // of parameters: an example
}

type answer struct {
	Status, About, Type, Example string
	Members                      []field
}

const (
	jsonType = "application/json"
	// depth is how deep members of members are listed.
	depth = 4
)

// methods are the methods in the order in which a path's operations are shown.
var methods = []string{"get", "post", "put", "patch", "delete"}

// read makes the pages of a document.
func read(content []byte) (d document, all []section, err error) {
	if err := json.Unmarshal(content, &d); err != nil {
		return d, nil, fmt.Errorf("reference: %w", err)
	}
	base := ""
	if len(d.Servers) > 0 {
		base = d.Servers[0].URL
	}
	calls := map[string][]call{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range methods {
			if op, ok := d.Paths[path][method]; ok && len(op.Tags) > 0 {
				calls[op.Tags[0]] = append(calls[op.Tags[0]], d.call(base, method, path, op))
			}
		}
	}
	for _, t := range d.Tags {
		if len(calls[t.Name]) > 0 { // requests to others have a tag, too
			all = append(all, section{Name: t.Name, Slug: slug(t.Name), About: t.Description, Calls: calls[t.Name]})
		}
	}
	return d, all, nil
}

// slug is a name in an address.
func slug(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), "-")
}

func (d document) call(base, method, path string, op operation) call {
	c := call{ID: op.OperationID, Method: strings.ToUpper(method), Path: path, Summary: op.Summary, About: op.Description, Access: access(op)}
	for _, p := range op.Parameters {
		c.Params = append(c.Params, field{
			Name: p.Name, In: p.In, Type: d.kind(&p.Schema), About: d.about(&p.Schema, p.Description), Required: p.Required, Value: d.value(p),
		})
	}
	if op.RequestBody != nil {
		c.BodyType = first(op.RequestBody.Content)
		m := op.RequestBody.Content[c.BodyType]
		c.BodyExample, c.Body = pretty(m.Example), d.members(m.Schema, "", nil)
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		r := op.Responses[status]
		a := answer{Status: status, About: r.Description, Type: first(r.Content)}
		if status < "300" || status == "302" || status == "304" {
			m := r.Content[a.Type]
			a.Example, a.Members = pretty(m.Example), d.members(m.Schema, "", nil)
			c.Answers = append(c.Answers, a)
		} else {
			c.Refusals = append(c.Refusals, a)
		}
	}
	c.Samples = samples(base, c)
	return c
}

// first is the content type that is shown: JSON where there is a choice.
func first(content map[string]media) string {
	if _, ok := content[jsonType]; ok {
		return jsonType
	}
	for _, t := range slices.Sorted(maps.Keys(content)) {
		return t
	}
	return ""
}

// access says in words what a call needs.
func access(op operation) string {
	var scopes []string
	for _, s := range op.Security {
		switch needed, token := s["oauth2"]; {
		case s["apiKey"] != nil, s["apiKeyHeader"] != nil:
			return "A reseller's API key."
		case token && len(needed) == 0:
			return "Any access token."
		default:
			scopes = append(scopes, needed...)
		}
	}
	switch {
	case len(scopes) == 1:
		return "An access token with the scope " + scopes[0] + "."
	case len(scopes) > 1:
		return "An access token with one of the scopes " + strings.Join(scopes, ", ") + "."
	default:
		return "No token."
	}
}

func pretty(example json.RawMessage) string {
	if len(example) == 0 {
		return ""
	}
	var out bytes.Buffer
	if json.Indent(&out, example, "", "  ") != nil {
		return string(example)
	}
	return out.String()
}

// resolve follows a reference.
func (d document) resolve(s *schema) *schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok && d.Components.Schemas[name] != nil {
		return d.Components.Schemas[name]
	}
	return s
}

// alternatives are the forms of a schema that is one of several, or itself.
func (d document) alternatives(s *schema) []*schema {
	for _, all := range [][]*schema{s.AnyOf, s.OneOf, s.AllOf} {
		if len(all) > 0 {
			return all
		}
	}
	return []*schema{s}
}

// members lists the members of an object, those of its members below them. within are the references that are open.
func (d document) members(s *schema, prefix string, within []string) (all []field) {
	if s == nil || len(within) > depth || s.Ref != "" && slices.Contains(within, s.Ref) {
		return nil
	}
	if s.Ref != "" {
		within = append(slices.Clone(within), s.Ref)
	}
	for _, s := range d.alternatives(d.resolve(s)) {
		if s.Ref != "" {
			all = append(all, d.members(s, prefix, within)...)
			continue
		}
		if s.Items != nil {
			all = append(all, d.members(s.Items, prefix+"[]", within)...)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			of := s.Properties[name]
			at := strings.TrimPrefix(prefix+"."+name, ".")
			all = append(all, field{Name: at, Type: d.kind(of), About: d.about(of, of.Description), Required: slices.Contains(s.Required, name)})
			if !d.money(of) {
				all = append(all, d.members(of, at, within)...)
			}
		}
	}
	return all
}

// money reports whether a member is an amount, whose members the introduction describes.
func (d document) money(s *schema) bool {
	return slices.ContainsFunc(d.alternatives(s), func(s *schema) bool { return strings.HasSuffix(s.Ref, "/Money") })
}

// kind is the type of a schema in words.
func (d document) kind(s *schema) string {
	if d.money(s) {
		return "money"
	}
	r := d.resolve(s)
	text := ""
	switch t := r.Type.(type) {
	case string:
		text = t
	case []any:
		var names []string
		for _, one := range t {
			names = append(names, fmt.Sprint(one))
		}
		text = strings.Join(names, " or ")
	}
	if text == "" {
		var names []string
		for _, one := range d.alternatives(r) {
			if one != r {
				names = append(names, d.kind(one))
			}
		}
		text = cmp.Or(strings.Join(names, " or "), "any")
	}
	if r.Format != "" && r.Format != "int64" && r.Format != "int32" && r.Format != "double" {
		text += ", " + r.Format
	}
	if r.Items != nil {
		text += " of " + d.kind(r.Items)
	}
	return text
}

// about completes the description of a member by its bounds.
func (d document) about(s *schema, text string) string {
	r := d.resolve(s)
	if text == "" {
		text = r.Description
	}
	var notes []string
	if text != "" {
		notes = append(notes, strings.TrimSuffix(text, ".")+".")
	}
	values := r.Enum
	if r.Items != nil {
		values = r.Items.Enum
	}
	if len(values) > 0 {
		var names []string
		for _, v := range values {
			if v != nil {
				names = append(names, fmt.Sprint(v))
			}
		}
		if len(names) > 0 {
			notes = append(notes, "One of: "+strings.Join(names, ", ")+".")
		}
	}
	if r.Minimum != nil {
		notes = append(notes, fmt.Sprintf("At least %v.", *r.Minimum))
	}
	if r.Maximum != nil {
		notes = append(notes, fmt.Sprintf("At most %v.", *r.Maximum))
	}
	if r.MaxLength != nil {
		notes = append(notes, fmt.Sprintf("At most %d characters.", *r.MaxLength))
	}
	if r.Default != nil {
		notes = append(notes, fmt.Sprintf("%v when left out.", r.Default))
	}
	return strings.Join(notes, " ")
}

// value is what samples put in the place of a parameter.
func (d document) value(p parameter) string {
	r := d.resolve(&p.Schema)
	switch {
	case r.Default != nil:
		return fmt.Sprint(r.Default)
	case len(r.Enum) > 0:
		return fmt.Sprint(r.Enum[0])
	case r.Type == "integer":
		return "1"
	case p.Name == "path":
		return "/public_html"
	case p.Name == "event":
		return "evt_01JD"
	default:
		return strings.ToUpper(p.Name)
	}
}
