package db

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Values are the rows that one statement reads or writes, all with the same columns. The zero value has none.
type Values struct{ rows [][]any }

// Add adds a row. A nil pointer of the column's type is NULL.
func (v *Values) Add(row ...any) { v.rows = append(v.rows, row) }

// Empty reports whether there are no rows.
func (v *Values) Empty() bool { return len(v.rows) == 0 }

// Table returns the text that stands for the rows after INSERT INTO … (…), or in parentheses for a table, and its
// arguments, from $1 on. There must be at least one row, and no placeholder before the text.
func (v *Values) Table(q Querier) (query string, args []any) {
	if hasArrays(q) {
		return arraysTable(v.rows)
	}
	return valuesTable(v.rows)
}

// In returns the condition that a column is one of the items, of which there may be none, with the placeholder $place, and
// its argument. The statement is the same for any number of items on either engine: on SQLite they are one array in JSON.
func In[T ~int | ~int64 | ~string](q Querier, place int, items []T) (condition string, args []any) {
	placeholder := "$" + strconv.Itoa(place)
	if items == nil {
		items = []T{} // no list would be NULL, of which nothing is true
	}
	if hasArrays(q) {
		return "= ANY(" + placeholder + ")", []any{items}
	}
	list, err := json.Marshal(items)
	if err != nil {
		panic(err) // numbers and strings have a form in JSON
	}
	return "IN (SELECT value FROM json_each(" + placeholder + "))", []any{string(list)}
}

// hasArrays reports whether arguments may be arrays: the statement is then the same for any number of items, and
// PostgreSQL parses and plans it once.
func hasArrays(q Querier) bool { return q.Engine() == "postgres" }

// valuesTable is the table in SQL with a placeholder for each value. The placeholders have no numbers: SQLite compares each
// one that has a name with all before it, so what a statement costs would grow with the square of its values.
func valuesTable(rows [][]any) (query string, args []any) {
	var b strings.Builder
	b.WriteString("VALUES ")
	for n, row := range rows {
		if n > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for i := range row {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteByte('?')
		}
		b.WriteByte(')')
		args = append(args, row...)
	}
	return b.String(), args
}

// arraysTable is the table with a placeholder for each column, whose values are one array.
func arraysTable(rows [][]any) (query string, args []any) {
	places := make([]string, len(rows[0]))
	args = make([]any, len(places))
	for c := range places {
		column := make([]any, len(rows))
		for n, row := range rows {
			column[n] = row[c]
		}
		places[c], args[c] = "$"+strconv.Itoa(c+1)+"::"+sqlType(column)+"[]", encode(column)
	}
	return "SELECT * FROM unnest(" + strings.Join(places, ", ") + ")", args
}

var timeType = reflect.TypeFor[time.Time]()

// sqlType is the SQL type of a column of values.
func sqlType(column []any) string {
	for _, value := range column {
		t := reflect.TypeOf(value)
		if t == nil {
			continue
		}
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case t == timeType, t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
			return "BIGINT"
		case t.Kind() == reflect.Bool:
			return "BOOLEAN"
		case t.Kind() == reflect.Slice:
			return "BYTEA"
		}
	}
	return "TEXT"
}
