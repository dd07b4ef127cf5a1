// Package yamlfile reads the YAML files that operators write, strictly: what they may have mistyped is told, not guessed.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// whole is the one way to write a whole number. The decoder would take 2.99 for 2, and 0100 for 64.
var whole = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// Decode reads a file of one document. Fields that are not known are refused, and numbers that are not whole where whole ones are
// meant. The error is io.EOF for an empty file, and a *yaml.TypeError that names each line for a document of another form.
func Decode(text []byte, into any) error {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return err
	}
	var problems []string
	numbers(&document, reflect.TypeOf(into), &problems)
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	var typeErr *yaml.TypeError
	switch err := dec.Decode(into); {
	case errors.As(err, &typeErr):
		problems = append(problems, typeErr.Errors...)
	case err != nil:
		return err
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		problems = append(problems, "the file has more than one document")
	}
	if problems != nil {
		return &yaml.TypeError{Errors: problems}
	}
	return nil
}

// numbers reports the scalars below a node that stand where t has an integer, and are none. Nodes of another form than t are the
// decoder's to report, and integers that read themselves, such as a percentage, say what they take.
func numbers(n *yaml.Node, t reflect.Type, problems *[]string) {
	switch n.Kind {
	case yaml.DocumentNode:
		numbers(n.Content[0], t, problems)
		return
	case yaml.AliasNode:
		return // its anchor is looked at where it stands
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		if n.Kind == yaml.ScalarNode && !reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()) && n.Tag != "!!null" && !whole.MatchString(n.Value) {
			*problems = append(*problems, fmt.Sprintf("line %d: %q is not a whole number", n.Line, n.Value))
		}
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		for _, one := range n.Content {
			numbers(one, t.Elem(), problems)
		}
	case (t.Kind() == reflect.Map || t.Kind() == reflect.Struct) && n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if of := member(t, n.Content[i].Value); of != nil {
				numbers(n.Content[i+1], of, problems)
			}
		}
	}
}

// member is the type of a key's value in a map or struct; nil when there is no such field.
func member(t reflect.Type, key string) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case strings.Contains(options, "inline"):
			if of := member(field.Type, key); of != nil {
				return of
			}
		case name == key, name == "" && strings.ToLower(field.Name) == key:
			return field.Type
		}
	}
	return nil
}
