package db

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Fields names the columns of a row, or expressions over them, and where each is read to. The destinations are those of
// Row.Scan.
type Fields map[string]any

// A Mapping reads rows of a table into values of type T by the names of their columns.
type Mapping[T any] struct {
	columns []string
	list    string
	fields  func(*T) Fields
}

// Map makes the mapping of which fields returns the fields of a value. It must name the same columns for every value.
func Map[T any](fields func(*T) Fields) *Mapping[T] {
	columns := slices.Sorted(maps.Keys(fields(new(T))))
	return &Mapping[T]{columns: columns, list: strings.Join(columns, ", "), fields: fields}
}

// Columns are the columns for a SELECT or a RETURNING, in the order in which Scan reads them.
func (m *Mapping[T]) Columns() string { return m.list }

// Scan reads a row that a query with Columns returned.
func (m *Mapping[T]) Scan(row Row) (v T, err error) {
	fields := m.fields(&v)
	dest := make([]any, len(m.columns))
	for i, c := range m.columns {
		dest[i] = fields[c]
	}
	if err := row.Scan(dest...); err != nil {
		var none T
		return none, err
	}
	return v, nil
}

// JSON is the destination of a column that holds JSON, which is decoded into v.
func JSON(v any) any { return jsonField{v} }

type jsonField struct{ v any }

// Scan implements sql.Scanner.
func (f jsonField) Scan(src any) error {
	switch text := src.(type) {
	case string:
		return json.Unmarshal([]byte(text), f.v)
	case []byte:
		return json.Unmarshal(text, f.v)
	}
	return fmt.Errorf("db: JSON in a column of %T", src)
}
