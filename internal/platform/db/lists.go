package db

import (
	"strconv"
	"strings"
)

// Values are the rows that one statement writes. The zero one has none.
type Values struct {
	text  strings.Builder
	args  []any
	types []string
}

// Typed makes Values whose columns have SQL types. An INSERT knows them; where rows are read as a table, PostgreSQL
// does not.
func Typed(types ...string) *Values { return &Values{types: types} }

// Add adds a row.
func (v *Values) Add(row ...any) {
	if len(v.args) > 0 {
		v.text.WriteString(", ")
	}
	v.text.WriteByte('(')
	for i := range row {
		if i > 0 {
			v.text.WriteString(", ")
		}
		place := "$" + strconv.Itoa(len(v.args)+i+1)
		if len(v.args) == 0 && v.types != nil { // the first row's types are those of all
			place = "CAST(" + place + " AS " + v.types[i] + ")"
		}
		v.text.WriteString(place)
	}
	v.text.WriteByte(')')
	v.args = append(v.args, row...)
}

// String is what comes after VALUES, with placeholders from $1 on.
func (v *Values) String() string { return v.text.String() }

// Args are the values of the placeholders.
func (v *Values) Args() []any { return v.args }

// In is what stands between the parentheses of IN (…), with placeholders from $first on, and their values. There must
// be some items.
func In[T any](first int, items []T) (string, []any) {
	places, args := make([]string, len(items)), make([]any, len(items))
	for i, item := range items {
		places[i], args[i] = "$"+strconv.Itoa(first+i), item
	}
	return strings.Join(places, ", "), args
}
