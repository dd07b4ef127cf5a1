package db

import (
	"strconv"
	"strings"
)

// Values are the rows that one INSERT writes. The zero one has none.
type Values struct {
	text strings.Builder
	args []any
}

// Add adds a row.
func (v *Values) Add(row ...any) {
	if len(v.args) > 0 {
		v.text.WriteString(", ")
	}
	v.text.WriteString("(" + places(len(v.args)+1, len(row)) + ")")
	v.args = append(v.args, row...)
}

// String is what comes after VALUES, with placeholders from $1 on.
func (v *Values) String() string { return v.text.String() }

// Args are the values of the placeholders.
func (v *Values) Args() []any { return v.args }

// In is what stands between the parentheses of IN (…), with placeholders from $first on, and their values. There must
// be some items.
func In[T any](first int, items []T) (string, []any) {
	args := make([]any, len(items))
	for i, item := range items {
		args[i] = item
	}
	return places(first, len(items)), args
}

// places are n placeholders from $first on.
func places(first, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = "$" + strconv.Itoa(first+i)
	}
	return strings.Join(all, ", ")
}
