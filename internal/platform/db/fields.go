package db

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fields names the columns of a row, or expressions over them, and where each is read to. The destinations are those of
// Row.Scan.
type Fields map[string]any

// A Mapping reads rows of a table into values of type T by the names of their columns.
type Mapping[T any] struct {
	list    string
	targets sync.Pool // of *target[T], which rows are read to one after another
}

// target is a value, and where each column of a row is read to in it.
type target[T any] struct {
	value T
	dest  []any
}

// Map makes the mapping of which fields returns the fields of a value. It must name the same columns for every value, and
// nothing outside of the value as a destination.
func Map[T any](fields func(*T) Fields) *Mapping[T] {
	columns := slices.Sorted(maps.Keys(fields(new(T))))
	return &Mapping[T]{list: strings.Join(columns, ", "), targets: sync.Pool{New: func() any {
		t := &target[T]{dest: make([]any, len(columns))}
		named := fields(&t.value)
		for i, c := range columns {
			t.dest[i] = named[c]
		}
		return t
	}}}
}

// Columns are the columns for a SELECT or a RETURNING, in the order in which Scan reads them.
func (m *Mapping[T]) Columns() string { return m.list }

// Scan reads a row that a query with Columns returned.
func (m *Mapping[T]) Scan(row Row) (v T, err error) {
	t := m.targets.Get().(*target[T])
	if err = row.Scan(t.dest...); err == nil {
		v = t.value
	}
	var empty T
	t.value = empty
	m.targets.Put(t)
	return v, err
}

// JSON is the destination of a column that holds JSON, which is decoded into v. NULL leaves v as it is.
func JSON(v any) any { return jsonField{v} }

type jsonField struct{ v any }

// Scan implements sql.Scanner.
func (f jsonField) Scan(src any) error {
	switch text := src.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(text), f.v)
	case []byte:
		return json.Unmarshal(text, f.v)
	}
	return fmt.Errorf("db: JSON in a column of %T", src)
}

// OrNull is nil where v is its zero value, of a time in whatever zone: what a column, or a member of an answer, then has as null.
func OrNull[T comparable](v T) *T {
	var nothing T
	if t, ok := any(v).(time.Time); v == nothing || ok && t.IsZero() {
		return nil
	}
	return &v
}

// OrZero is the destination of a time that is NULL where t is to be zero.
func OrZero(t *time.Time) any { return zeroTime{t} }

type zeroTime struct{ t *time.Time }

// Scan implements sql.Scanner.
func (z zeroTime) Scan(src any) error {
	switch micros := src.(type) {
	case nil:
		*z.t = time.Time{}
	case int64:
		*z.t = time.UnixMicro(micros).UTC()
	default:
		return fmt.Errorf("db: a time in a column of %T", src)
	}
	return nil
}
