package stead

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Ptr returns a pointer to a value, for members that may be left out.
func Ptr[T any](v T) *T { return &v }

// Optional is a member that may be left out, null, or a value. Its zero value is left out.
type Optional[T any] struct {
	value *T
	set   bool
}

// Value makes a member with a value.
func Value[T any](v T) Optional[T] { return Optional[T]{&v, true} }

// Null makes a member that is null.
func Null[T any]() Optional[T] { return Optional[T]{nil, true} }

// Get returns the value; ok is false when it is null or absent.
func (o Optional[T]) Get() (v T, ok bool) {
	if o.value == nil {
		return v, false
	}
	return *o.value, true
}

// IsNull reports whether the member is there and null.
func (o Optional[T]) IsNull() bool { return o.set && o.value == nil }

// IsZero reports whether the member is left out.
func (o Optional[T]) IsZero() bool { return !o.set }

// MarshalJSON encodes the value or null.
func (o Optional[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.value) }

// UnmarshalJSON decodes a value or null. It is not called for a member that is not there.
func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	*o = Optional[T]{set: true}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	o.value = new(T)
	return json.Unmarshal(data, o.value)
}

// Text is a text of the company: in the language that was asked for, or in all languages.
type Text struct {
	One        string            // when a language was asked for
	ByLanguage map[string]string // otherwise: uz, ru, en
}

// In returns the text in a language, or in the first one that there is of it, English, Russian and Uzbek.
func (t Text) In(language string) string {
	if t.ByLanguage == nil {
		return t.One
	}
	for _, l := range []string{language, "en", "ru", "uz"} {
		if s := t.ByLanguage[l]; s != "" {
			return s
		}
	}
	return ""
}

// String returns the text, in English where there are several languages.
func (t Text) String() string { return t.In("en") }

// MarshalJSON encodes the text as it was decoded.
func (t Text) MarshalJSON() ([]byte, error) {
	if t.ByLanguage != nil {
		return json.Marshal(t.ByLanguage)
	}
	return json.Marshal(t.One)
}

// UnmarshalJSON decodes either form.
func (t *Text) UnmarshalJSON(data []byte) error {
	*t = Text{}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return json.Unmarshal(data, &t.ByLanguage)
	}
	return json.Unmarshal(data, &t.One)
}

// hasMembers reports whether an object has all of the members.
func hasMembers(members map[string]json.RawMessage, names ...string) bool {
	for _, n := range names {
		if _, ok := members[n]; !ok {
			return false
		}
	}
	return true
}

// number is an id in a path.
func number(n int64) string { return strconv.FormatInt(n, 10) }

// set adds a value to a query unless it is its type's zero value.
func set[T string | int64 | bool | float64 | time.Time | []string](v url.Values, name string, value T) {
	text := ""
	switch value := any(value).(type) {
	case time.Time:
		if !value.IsZero() {
			text = value.UTC().Format(time.RFC3339Nano)
		}
	case []string:
		text = strings.Join(value, ",")
	case bool:
		if value {
			text = "true"
		}
	case int64:
		if value != 0 {
			text = number(value)
		}
	default:
		text = fmt.Sprint(value)
	}
	if text != "" {
		v.Set(name, text)
	}
}

// pages iterates over the items of all pages from one on. Get returns a page's items and the number of the last page.
func pages[T any](first int64, get func(page int64) ([]T, int64, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page := max(1, first); ; page++ {
			items, last, err := get(page)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if page >= last {
				return
			}
		}
	}
}
