package probe

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/registry"
	"github.com/theory/jsonpath/spec"
)

// ErrPathWork is the error of a JSONPath whose evaluation could take more than about linear time and memory. The
// evaluation cannot be interrupted, and both the path and the document are the customer's.
var ErrPathWork = errors.New("the path could take too much work")

// Bounds of a path.
const (
	maxConditions   = 10  // in all filters together
	maxInstructions = 100 // of the compiled regular expression
	// Of documents when a path has a descendant segment, which copies what it selects at each level above it: how deep they
	// are, and how many copies that can be.
	maxDepth  = 32
	maxCopies = 1 << 20
)

// ParsePath reads a JSONPath (RFC 9535). The dollar sign may be left out. ErrPathWork refuses
//
//   - a segment with several selectors, and a second descendant segment;
//   - in filters: queries from the root, descendant segments, filters, and more than maxConditions conditions;
//   - a second match or search, and one whose regular expression is no literal, is large or does not compile.
func ParsePath(path string) (*jsonpath.Path, error) {
	if !strings.HasPrefix(path, "$") {
		if strings.HasPrefix(path, "[") {
			path = "$" + path
		} else {
			path = "$." + path
		}
	}
	var b pathBounds
	parsed, err := jsonpath.NewParser(jsonpath.WithRegistry(b.functions())).Parse(path)
	if err != nil {
		return nil, err
	}
	if b.refused || namesRoot(path[1:]) || !b.query(parsed.Query(), false) {
		return nil, ErrPathWork
	}
	return parsed, nil
}

// namesRoot reports whether part of a path has a dollar sign outside of string literals.
func namesRoot(path string) bool {
	var quote rune
	escaped := false
	for _, r := range path {
		switch {
		case escaped:
			escaped = false
		case quote != 0 && r == '\\':
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case r == '$':
			return true
		}
	}
	return false
}

// pathBounds counts what a path consists of.
type pathBounds struct {
	conditions int
	expression *regexp.Regexp // of the only match or search
	refused    bool           // a function has arguments that are not allowed
}

// query reports whether a query is within the bounds; inFilter tells that it stands in a filter.
func (b *pathBounds) query(q *spec.PathQuery, inFilter bool) bool {
	descendants := 0
	for _, s := range q.Segments() {
		if s.IsDescendant() {
			descendants++
		}
		if len(s.Selectors()) != 1 {
			return false
		}
		if f, ok := s.Selectors()[0].(*spec.FilterSelector); ok && (inFilter || !b.filter(f.LogicalOr)) {
			return false
		}
	}
	return descendants == 0 || descendants == 1 && !inFilter
}

func (b *pathBounds) filter(or spec.LogicalOr) bool {
	for _, and := range or {
		for _, one := range and {
			if !b.condition(one) {
				return false
			}
		}
	}
	return true
}

func (b *pathBounds) condition(e spec.BasicExpr) bool {
	switch e := e.(type) {
	case *spec.ParenExpr:
		return b.filter(e.LogicalOr)
	case *spec.NotParenExpr:
		return b.filter(e.LogicalOr)
	}
	if b.conditions++; b.conditions > maxConditions {
		return false
	}
	switch e := e.(type) {
	case *spec.ExistExpr:
		return b.query(e.PathQuery, true)
	case *spec.NonExistExpr:
		return b.query(e.PathQuery, true)
	case *spec.CompExpr, *spec.FuncExpr, spec.NotFuncExpr: // they hold singular queries, and functions, which judge their own arguments
		return true
	default:
		return false
	}
}

// functions are those of RFC 9535. They judge their arguments while a path is parsed, the only moment at which these can
// be seen.
func (b *pathBounds) functions() *registry.Registry {
	r := registry.New()
	for _, name := range []string{"length", "count", "value", "match", "search"} {
		known := r.Get(name)
		original := *known
		evaluate := original.Evaluate
		expression := name == "match" || name == "search"
		if expression {
			evaluate = b.match
		}
		validate := func(args []spec.FuncExprArg) error {
			if err := original.Validate(args); err != nil {
				return err
			}
			for _, a := range args {
				if q, ok := a.(*spec.PathQuery); ok && !b.query(q, true) {
					b.refused = true
				}
			}
			if expression && !b.compile(args[1], name == "match") {
				b.refused = true
			}
			return nil
		}
		*known = *spec.Extension(name, original.ReturnType(), validate, evaluate)
	}
	return r
}

// match evaluates match and search. Those of the library compile the expression for each node, and panic without a value.
func (b *pathBounds) match(args []spec.PathValue) spec.PathValue {
	v := spec.ValueFrom(args[0])
	if v == nil {
		return spec.LogicalFalse
	}
	s, ok := v.Value().(string)
	return spec.Logical(ok && b.expression.MatchString(s))
}

// compile takes the regular expression (RFC 9485) of a match, which is about the whole text, or of a search.
func (b *pathBounds) compile(arg spec.FuncExprArg, whole bool) bool {
	literal, ok := arg.(*spec.LiteralArg)
	if !ok || b.expression != nil {
		return false
	}
	pattern, ok := literal.Value().(string)
	if !ok {
		return false
	}
	tree, err := syntax.Parse(pattern, syntax.Perl|syntax.DotNL)
	if err != nil {
		return false
	}
	replaceDots(tree)
	if pattern = tree.String(); whole {
		pattern = `\A(?:` + pattern + `)\z`
	}
	if tree, err = syntax.Parse(pattern, syntax.Perl); err != nil {
		return false
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxInstructions {
		return false
	}
	b.expression, err = regexp.Compile(pattern)
	return err == nil
}

// replaceDots has dots stand for what RFC 9485 says: anything but the ends of lines.
func replaceDots(e *syntax.Regexp) {
	if e.Op == syntax.OpAnyChar {
		e.Op, e.Rune = syntax.OpCharClass, []rune{0, '\n' - 1, '\n' + 1, '\r' - 1, '\r' + 1, '\U0010FFFF'}
	}
	for _, sub := range e.Sub {
		replaceDots(sub)
	}
}

// tooDeep reports whether a path has a descendant segment and a document is too deep for that.
func tooDeep(path *jsonpath.Path, document any) bool {
	left := maxCopies
	for _, s := range path.Query().Segments() {
		if s.IsDescendant() {
			return deep(document, 0, &left)
		}
	}
	return false
}

// deep reports whether part of a document lies below maxDepth, or takes more copies than are left.
func deep(v any, level int, left *int) bool {
	if *left -= level; *left < 0 || level > maxDepth {
		return true
	}
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if deep(one, level+1, left) {
				return true
			}
		}
	case map[string]any:
		for _, one := range v {
			if deep(one, level+1, left) {
				return true
			}
		}
	}
	return false
}
