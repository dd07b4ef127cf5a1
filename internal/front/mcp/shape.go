package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/redact"
)

const (
	// softLimit bounds the length of a list in bytes: above it, the list is cut at a row.
	softLimit = 16 << 10
	// hardLimit bounds the length of any answer in bytes: above it, long texts are cut.
	hardLimit = 64 << 10
)

// answerOf calls a tool and makes its answer fit for a model: the fields that were asked for, no secrets, and no more
// than a context takes. What was cut says so and how to go on.
func (e *Endpoint) answerOf(c call, t *tool, arguments json.RawMessage) (json.RawMessage, error) {
	given, fields, err := t.prepare(arguments)
	if err != nil {
		return nil, err
	}
	answer, err := e.shaped(c, t, given, fields)
	if err != nil {
		return nil, err
	}
	text, err := encode(answer)
	if err != nil || !t.list || len(text) <= softLimit {
		return finish(answer, text, err)
	}
	rows, _ := answer["data"].([]any)
	smaller, ok := t.smaller(given, answer, fitting(rows, softLimit-(len(text)-length(rows))))
	if !ok {
		return finish(answer, text, nil)
	}
	if answer, err = e.shaped(c, t, smaller, fields); err != nil {
		return nil, err
	}
	answer["truncated"] = true
	answer["hint"] = "The list was cut to fit. Go on with these arguments' next page, or choose fewer fields."
	text, err = encode(answer)
	return finish(answer, text, err)
}

// called returns the operation's answer. A panic of it is an error of this call.
func called(c call, operation *api.Tool, arguments json.RawMessage) (said json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	return operation.Call(c.ctx, c.principal, arguments)
}

// shaped is the answer of one call of the operation, with the chosen fields and without secrets.
func (e *Endpoint) shaped(c call, t *tool, given map[string]json.RawMessage, fields []string) (map[string]any, error) {
	parameters := given
	if len(t.Arguments) > 0 {
		parameters = maps.Clone(given)
		for parameter, name := range t.Arguments {
			if value, ok := parameters[name]; ok {
				delete(parameters, name)
				parameters[parameter] = value
			}
		}
	}
	text, err := json.Marshal(parameters)
	if err != nil {
		return nil, err
	}
	said, err := called(c, t.operation, text)
	if err != nil {
		return nil, t.asArguments(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(said))
	decoder.UseNumber()
	answer := map[string]any{}
	if err := decoder.Decode(&answer); err != nil {
		return nil, err
	}
	for _, path := range t.Omit {
		var from any = answer
		if t.list {
			from = answer["data"]
		}
		omit(from, path)
	}
	if len(fields) > 0 {
		choose(answer, t.list, fields)
	}
	if t.Untrusted {
		mask(&redact.Masker{}, "", answer)
		answer["untrusted"] = true
	}
	return answer, nil
}

// choose leaves the given members, and the id, in an answer or in the rows of a list.
func choose(answer map[string]any, list bool, fields []string) {
	keep := func(m map[string]any) {
		maps.DeleteFunc(m, func(name string, _ any) bool { return name != "id" && !slices.Contains(fields, name) })
	}
	if !list {
		keep(answer)
		return
	}
	rows, _ := answer["data"].([]any)
	for _, row := range rows {
		if m, ok := row.(map[string]any); ok {
			keep(m)
		}
	}
}

// omit removes a member of an object, or of each object of an array.
func omit(from any, path string) {
	switch from := from.(type) {
	case []any:
		for _, item := range from {
			omit(item, path)
		}
	case map[string]any:
		if name, rest, deeper := strings.Cut(path, "."); deeper {
			omit(from[name], rest)
		} else {
			delete(from, name)
		}
	}
}

// mask redacts the texts in a value. file is the file that they are from: what says a path is from there.
func mask(m *redact.Masker, file string, v any) any {
	switch v := v.(type) {
	case string:
		return m.Mask(file, v)
	case []any:
		for i := range v {
			v[i] = mask(m, file, v[i])
		}
	case map[string]any:
		if path, ok := v["path"].(string); ok {
			file = path
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = mask(m, file, v[name])
		}
	}
	return v
}

// fitting is how many of the first rows fit into room; at least one.
func fitting(rows []any, room int) int {
	for i := range rows {
		if room -= length(rows[i]) + 1; room < 0 {
			return max(i, 1)
		}
	}
	return len(rows)
}

// smaller returns the arguments with which the operation answers the first rows of its answer, at most n, as a page of
// its own, so that the pages that follow go on with the next row. It is false where the operation cannot.
func (t *tool) smaller(given map[string]json.RawMessage, answer map[string]any, n int) (map[string]json.RawMessage, bool) {
	given = maps.Clone(given)
	if slices.Contains(t.arguments, "limit") {
		given["limit"] = json.RawMessage(strconv.Itoa(n))
		return given, true
	}
	meta, _ := answer["meta"].(map[string]any)
	page, okPage := whole(meta["page"])
	perPage, okPer := whole(meta["per_page"])
	if !okPage || !okPer || !slices.Contains(t.arguments, "per_page") {
		return nil, false
	}
	before := (page - 1) * perPage
	for before%n != 0 {
		n--
	}
	given["per_page"], given["page"] = json.RawMessage(strconv.Itoa(n)), json.RawMessage(strconv.Itoa(before/n+1))
	return given, true
}

func whole(v any) (int, bool) {
	number, _ := v.(json.Number)
	n, err := strconv.Atoi(number.String())
	return n, err == nil
}

// finish cuts the longest texts of an answer that is too long even so, and where there are none, the end of its longest
// array.
func finish(answer map[string]any, text json.RawMessage, err error) (json.RawMessage, error) {
	for err == nil && len(text) > hardLimit {
		if longest := longestText(answer); longest != nil {
			longest.cut(len(text) - hardLimit + 256) // what is said about it takes room as well
		} else if _, halve := longestArray(answer); halve != nil {
			halve()
		} else {
			return nil, fmt.Errorf("mcp: an answer of %d bytes has nothing to cut", len(text))
		}
		answer["truncated"] = true
		text, err = encode(answer)
	}
	return text, err
}

// member is a text in an answer, and how it is replaced.
type member struct {
	text string
	set  func(string)
}

// cut removes n bytes of the end, or what there is.
func (m *member) cut(n int) {
	end := max(len(m.text)-n, 0)
	for end > 0 && !utf8.RuneStart(m.text[end]) {
		end--
	}
	m.set(m.text[:end])
}

// longestText finds the longest text in a value that is worth cutting.
func longestText(v any) *member {
	const worth = 512
	var longest *member
	consider := func(m *member) {
		if m != nil && len(m.text) > worth && (longest == nil || len(m.text) > len(longest.text)) {
			longest = m
		}
	}
	visit := func(v any, set func(any)) {
		if text, ok := v.(string); ok {
			consider(&member{text, func(s string) { set(s) }})
		} else {
			consider(longestText(v))
		}
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			visit(v[i], func(to any) { v[i] = to })
		}
	case map[string]any:
		for name := range v {
			visit(v[name], func(to any) { v[name] = to })
		}
	}
	return longest
}

// longestArray finds the array in an object that takes the most room, and how it loses the second half of its items; nil
// when there is none of several items.
func longestArray(v map[string]any) (longest int, halve func()) {
	for name, member := range v {
		n, cut := 0, func() {}
		switch member := member.(type) {
		case []any:
			if len(member) < 2 {
				continue
			}
			n, cut = length(member), func() { v[name] = member[:len(member)/2] }
		case map[string]any:
			if n, cut = longestArray(member); cut == nil {
				continue
			}
		}
		if n > longest {
			longest, halve = n, cut
		}
	}
	return longest, halve
}

// encode is the JSON of v, in which < and > stand for themselves: pages and logs are full of them.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// length is that of v as JSON, in bytes.
func length(v any) int {
	text, _ := encode(v) // it was decoded from JSON
	return len(text)
}
