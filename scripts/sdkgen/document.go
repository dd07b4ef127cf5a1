package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// document is the part of an OpenAPI document that the generator reads.
type document struct {
	Info struct {
		Version string `json:"version"`
	} `json:"info"`
	Paths      map[string]map[string]*operation `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	ID          string              `json:"operationId"`
	Summary     string              `json:"summary"`
	Description string              `json:"description"`
	Parameters  []parameter         `json:"parameters"`
	RequestBody *content            `json:"requestBody"`
	Responses   map[string]*content `json:"responses"`

	method, path string
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Description string  `json:"description"`
	Required    bool    `json:"required"`
	Schema      *schema `json:"schema"`
}

type content struct {
	Content map[string]struct {
		Schema *schema `json:"schema"`
	} `json:"content"`
}

type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 types              `json:"type"`
	Format               string             `json:"format"`
	Description          string             `json:"description"`
	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	Items                *schema            `json:"items"`
	Enum                 []any              `json:"enum"`
	Examples             examples           `json:"examples"`
	AnyOf                []*schema          `json:"anyOf"`
	OneOf                []*schema          `json:"oneOf"`
	AdditionalProperties json.RawMessage    `json:"additionalProperties"`
}

// types is the member type: one name or a list of them.
type types []string

func (t *types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// examples are those that are texts.
type examples []string

func (e *examples) UnmarshalJSON(data []byte) error {
	var all []any
	err := json.Unmarshal(data, &all)
	*e = texts(all)
	return err
}

// name returns the name of the schema that s refers to, or "".
func (s *schema) name() string { return strings.TrimPrefix(s.Ref, "#/components/schemas/") }

// plain returns s without null, and whether null is one of its values.
func (s *schema) plain() (*schema, bool) {
	if len(s.AnyOf) == 2 && slices.Equal(s.AnyOf[1].Type, types{"null"}) {
		p := *s.AnyOf[0]
		p.Description = s.Description
		return &p, true
	}
	if len(s.Type) == 2 && s.Type[1] == "null" {
		p := *s
		p.Type = s.Type[:1]
		return &p, true
	}
	return s, false
}

// isTranslated reports whether s is a text in one language, or in all of them by their codes.
func (s *schema) isTranslated() bool {
	return len(s.OneOf) == 2 && slices.Equal(s.OneOf[0].Type, types{"object"}) && slices.Equal(s.OneOf[1].Type, types{"string"})
}

// values returns the schema of the values of an object without named properties; nil when anything may be a value.
func (s *schema) values() (*schema, error) {
	if len(s.AdditionalProperties) == 0 {
		return nil, nil
	}
	var v schema
	if err := json.Unmarshal(s.AdditionalProperties, &v); err != nil {
		return nil, err
	}
	if v.Ref == "" && len(v.Type) == 0 {
		return nil, nil
	}
	return &v, nil
}

// operations returns the operations that clients get methods for, in the order of their ids.
func (d *document) operations() []*operation {
	var all []*operation
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			o := d.Paths[path][method]
			o.path, o.method = path, strings.ToUpper(method)
			// Outside the API are the OAuth endpoints, which have helpers of their own, and what browsers load. MCP is a
			// protocol with clients of its own.
			if !strings.HasPrefix(path, "/api/v1/") || strings.HasSuffix(path, "/mcp") {
				continue
			}
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *operation) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// success returns what the operation answers: the media types of its successes with their schemas.
func (o *operation) success() map[string]*schema {
	found := map[string]*schema{}
	for status, r := range o.Responses {
		if strings.HasPrefix(status, "2") {
			for kind, c := range r.Content {
				found[kind] = c.Schema
			}
		}
	}
	return found
}

// body returns the media type and the schema of what the operation takes.
func (o *operation) body() (kind string, s *schema) {
	if o.RequestBody == nil {
		return "", nil
	}
	for kind, c := range o.RequestBody.Content {
		return kind, c.Schema
	}
	return "", nil
}

func (o *operation) parameters(in string) []parameter {
	var found []parameter
	for _, p := range o.Parameters {
		if p.In == in {
			found = append(found, p)
		}
	}
	return found
}

func (o *operation) takes(in, name string) bool {
	return slices.ContainsFunc(o.parameters(in), func(p parameter) bool { return p.Name == name })
}

// page returns the schema of the items when the answer is a numbered page of them.
func (d *document) page(o *operation) *schema {
	answer := o.success()["application/json"]
	if answer == nil || !o.takes("query", "page") {
		return nil
	}
	list := d.Components.Schemas[answer.name()]
	if list == nil || list.Properties["data"] == nil || list.Properties["meta"] == nil {
		return nil
	}
	return list.Properties["data"].Items
}

// group is a node of the tree of methods: monitors.list is the method list of the group monitors.
type group struct {
	words   []string
	groups  map[string]*group
	methods map[string]*operation
}

// tree arranges operations by the words of their ids. An operation whose id is also the beginning of others is the
// method get or list of that group.
func tree(d *document, all []*operation) *group {
	root := &group{groups: map[string]*group{}, methods: map[string]*operation{}}
	groups := map[string]bool{}
	for _, o := range all {
		words := strings.Split(o.ID, ".")
		for n := 1; n < len(words); n++ {
			groups[strings.Join(words[:n], ".")] = true
		}
	}
	for _, o := range all {
		words := strings.Split(o.ID, ".")
		if groups[o.ID] {
			last := "get"
			if d.page(o) != nil && len(d.Components.Schemas[o.success()["application/json"].name()].Properties) == 2 {
				last = "list"
			}
			words = append(words, last)
		}
		g := root
		for n, w := range words[:len(words)-1] {
			if g.groups[w] == nil {
				g.groups[w] = &group{words: words[:n+1], groups: map[string]*group{}, methods: map[string]*operation{}}
			}
			g = g.groups[w]
		}
		last := words[len(words)-1]
		if g.methods[last] != nil {
			panic(fmt.Sprintf("%s and %s have the same name", o.ID, g.methods[last].ID))
		}
		g.methods[last] = o
	}
	return root
}

// sortedGroups and sortedMethods give maps an order.
func (g *group) sortedGroups() []string  { return slices.Sorted(maps.Keys(g.groups)) }
func (g *group) sortedMethods() []string { return slices.Sorted(maps.Keys(g.methods)) }

// used returns the schemas that the operations need, with those that these refer to.
func (d *document) used(all []*operation) []string {
	found := map[string]bool{}
	var visit func(s *schema)
	visit = func(s *schema) {
		if s == nil {
			return
		}
		if name := s.name(); name != "" && !found[name] {
			found[name] = true
			visit(d.Components.Schemas[name])
		}
		for _, p := range s.Properties {
			visit(p)
		}
		for _, p := range slices.Concat(s.AnyOf, s.OneOf) {
			visit(p)
		}
		visit(s.Items)
		if v, err := s.values(); err == nil {
			visit(v)
		}
	}
	for _, o := range all {
		if kind, s := o.body(); kind == "application/json" {
			visit(s)
		}
		for _, s := range o.success() {
			visit(s)
		}
	}
	return slices.Sorted(maps.Keys(found))
}
