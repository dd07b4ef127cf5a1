package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/platform/fault"
)

// Unknown names are refused on every write, because a caller who writes dryrun for dry_run would pay. Names are compared
// with their case. Reads ignore unknown names of their query: proxies and browsers add some. The OAuth endpoints ignore
// what they do not know (RFC 6749, sections 3.1 and 3.2); they read their parameters themselves.

// everywhere lists the query parameters that every operation has.
var everywhere = []string{"lang"}

// mostUnknown is how many unknown names an answer mentions.
const mostUnknown = 50

// strict tells whether an operation refuses names that it does not know.
func (d *declared) strict() bool { return d.Method != http.MethodGet && d.Auth != Own }

// refuseBody tells whether an operation refuses any body. A stream may read one that In does not declare.
func (d *declared) refuseBody() bool { return d.strict() && d.input.body == nil && d.stream == nil }

// closeObjects makes the schema of a body refuse unknown members, also in the schemas that it refers to.
func closeObjects(reg huma.Registry, s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		to := reg.SchemaFromRef(s.Ref)
		if to.AdditionalProperties == nil {
			closeObjects(reg, to)
		}
		return
	}
	if s.Type == huma.TypeObject && s.AdditionalProperties == nil {
		s.AdditionalProperties = false
	}
	closeObjects(reg, s.Items)
	for _, p := range s.Properties {
		closeObjects(reg, p)
	}
	for _, p := range slices.Concat(s.AnyOf, s.OneOf, s.AllOf) {
		closeObjects(reg, p)
	}
	if more, ok := s.AdditionalProperties.(*huma.Schema); ok {
		closeObjects(reg, more)
	}
}

// unknownParams adds the query parameters that the operation does not have.
func (d *declared) unknownParams(reg huma.Registry, query url.Values, bad invalid) {
	if !d.strict() {
		return
	}
	known := slices.Concat(d.queryNames(), everywhere)
	members := memberNames(reg, d.input.body)
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case slices.Contains(known, name) || len(bad) >= mostUnknown:
		case slices.Contains(members, name):
			bad.add(name, fault.Text{ID: "invalid.not_in_query"})
		default:
			bad.add(name, unexpected(name, slices.Concat(known, members)))
		}
	}
}

// unknownBody adds the members of a body that an operation does not have.
func (d *declared) unknownBody(body []byte, bad invalid) {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || members == nil {
		bad.add("body", fault.Text{ID: "invalid.no_body"})
		return
	}
	known := d.queryNames()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		switch {
		case len(bad) >= mostUnknown:
			return
		case slices.Contains(known, name):
			bad.add(name, fault.Text{ID: "invalid.not_in_body"})
		default:
			bad.add(name, unexpected(name, known))
		}
	}
}

// unknownCondition refuses a write under a condition that the operation does not judge: it must not happen when the
// condition is false (RFC 9110, section 13.1.1).
func (d *declared) unknownCondition(r *http.Request, bad invalid) {
	const condition = "If-Match"
	if !d.strict() || r.Header.Get(condition) == "" {
		return
	}
	if !slices.ContainsFunc(d.input.params, func(p param) bool { return p.in == "header" && p.name == condition }) {
		bad.add(condition, fault.Text{ID: "invalid.unexpected"})
	}
}

func (d *declared) queryNames() []string {
	var names []string
	for _, p := range d.input.params {
		if p.in == "query" {
			names = append(names, p.name)
		}
	}
	return names
}

// memberNames are the members of an object's schema.
func memberNames(reg huma.Registry, s *huma.Schema) []string {
	for s != nil && s.Ref != "" {
		s = reg.SchemaFromRef(s.Ref)
	}
	if s == nil {
		return nil
	}
	return slices.Collect(maps.Keys(s.Properties))
}

// unknownMembers adds the members of a value that its schema does not have. The path names the value, as the validator
// does.
func unknownMembers(reg huma.Registry, s *huma.Schema, value any, path string, bad invalid) {
	for s != nil && s.Ref != "" {
		s = reg.SchemaFromRef(s.Ref)
	}
	if s == nil {
		return
	}
	for _, choice := range slices.Concat(s.AnyOf, s.OneOf) {
		if choice.Ref != "" { // an object or null
			unknownMembers(reg, choice, value, path, bad)
			return
		}
	}
	switch value := value.(type) {
	case []any:
		for i, v := range value {
			unknownMembers(reg, s.Items, v, path+"["+strconv.Itoa(i)+"]", bad)
		}
	case map[string]any:
		closed, _ := s.AdditionalProperties.(bool)
		closed = s.AdditionalProperties != nil && !closed
		others, _ := s.AdditionalProperties.(*huma.Schema)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			member, known := s.Properties[name]
			switch {
			case known:
				unknownMembers(reg, member, value[name], at, bad)
			case others != nil:
				unknownMembers(reg, others, value[name], at, bad)
			case closed && len(bad) < mostUnknown:
				bad.add(at, unexpected(name, slices.Collect(maps.Keys(s.Properties))))
			}
		}
	}
}

// Unknown refuses a name that the reader of a stream's body does not know.
func Unknown(name string, known ...string) error {
	return invalid{name: {unexpected(name, known)}}.err()
}

// unexpected says that a name is not known, and which one was probably meant.
func unexpected(name string, known []string) fault.Text {
	if meant := nearest(name, known); meant != "" {
		return fault.Text{ID: "invalid.did_you_mean", Data: map[string]any{"Value": meant}}
	}
	return fault.Text{ID: "invalid.unexpected"}
}

// nearest is the known name that differs from a name by its case, by a separator, or by few letters. It is empty when
// there is none.
func nearest(name string, known []string) string {
	const longest = 64 // nobody mistypes a name that is longer than any
	if len(name) > longest {
		return ""
	}
	best, fewest := "", 1+len(name)/3
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := distance(plain(name), plain(k)); d < fewest {
			best, fewest = k, d
		}
	}
	return best
}

// plain removes what writers of names disagree about: the case, and the sign between words.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

// distance counts the letters to insert, remove, replace or swap with the next one to make a into b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
