// Package fault is the one error type that reaches a client.
//
// A section declares each refusal it knows as a Def: a Kind, which gives the
// HTTP status in one table, and a key, which is the public `error` of the
// specification's error object and which clients branch on. The message is
// looked up in the catalogue of the caller's language under `error.<key>`, unless
// the refusal has a text of its own (Saying); the cause is logged and never sent.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// Kind is the class of a refusal; it alone decides the HTTP status.
type Kind int

// The kinds, in the order of their statuses.
const (
	KindBadRequest Kind = iota
	KindUnauthenticated
	KindForbidden
	KindNotFound
	KindMethodNotAllowed
	KindConflict
	KindTooLarge
	KindUnsupportedMedia
	KindRange
	KindUnprocessable
	KindTooMany
	KindInternal
	KindBadGateway
	KindUnavailable
)

var statuses = map[Kind]int{
	KindBadRequest:       http.StatusBadRequest,
	KindUnauthenticated:  http.StatusUnauthorized,
	KindForbidden:        http.StatusForbidden,
	KindNotFound:         http.StatusNotFound,
	KindMethodNotAllowed: http.StatusMethodNotAllowed,
	KindConflict:         http.StatusConflict,
	KindTooLarge:         http.StatusRequestEntityTooLarge,
	KindUnsupportedMedia: http.StatusUnsupportedMediaType,
	KindRange:            http.StatusRequestedRangeNotSatisfiable,
	KindUnprocessable:    http.StatusUnprocessableEntity,
	KindTooMany:          http.StatusTooManyRequests,
	KindInternal:         http.StatusInternalServerError,
	KindBadGateway:       http.StatusBadGateway,
	KindUnavailable:      http.StatusServiceUnavailable,
}

// Status is the HTTP status of the kind.
func (k Kind) Status() int { return statuses[k] }

// Def is a declared refusal.
type Def struct {
	Kind Kind
	Key  string
}

var defs = map[string]*Def{}

// Define declares a refusal. Keys are unique in the program: a second
// definition of a key is a programming error and panics at start.
func Define(kind Kind, key string) *Def {
	if defs[key] != nil {
		panic("fault: the key " + key + " is defined twice")
	}
	d := &Def{Kind: kind, Key: key}
	defs[key] = d
	return d
}

// Defs are all declared refusals, sorted by key.
func Defs() []*Def {
	out := slices.Collect(maps.Values(defs))
	slices.SortFunc(out, func(a, b *Def) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return out
}

// Error makes a Def a target for errors.Is; it is never returned itself.
func (d *Def) Error() string { return d.Key }

// New returns the refusal without details.
func (d *Def) New() *Error { return &Error{Def: d} }

// Wrap returns the refusal with its cause, which is logged and never sent.
func (d *Def) Wrap(cause error) *Error { return &Error{Def: d, Cause: cause} }

// Wrapf is Wrap with a cause formatted as by fmt.Errorf.
func (d *Def) Wrapf(format string, args ...any) *Error { return d.Wrap(fmt.Errorf(format, args...)) }

// With returns the refusal with additional members in its error object, such as the balance of insufficient_funds.
func (d *Def) With(f Fields) *Error { return &Error{Def: d, Fields: f} }

// Fields are additional public members of the error object. They are also the
// data of the message's template.
type Fields map[string]any

// Error is one refusal on its way to the client.
type Error struct {
	Def    *Def
	Fields Fields
	// Invalid names the members that failed validation, each with the ids of
	// its texts in the catalogue.
	Invalid map[string][]Text
	Cause   error
	textID  string
}

// Saying returns the refusal with a text of its own in the catalogue instead of the general one of its key.
func (e *Error) Saying(textID string) *Error {
	e.textID = textID
	return e
}

// TextID is the id of the refusal's text in the catalogue; its data are the Fields.
func (e *Error) TextID() string {
	if e.textID != "" {
		return e.textID
	}
	return "error." + e.Def.Key
}

// Text is an entry of the catalogue with its data; Plain is used as it is when
// ID is empty.
type Text struct {
	ID    string
	Data  map[string]any
	Plain string
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Def.Key + ": " + e.Cause.Error()
	}
	if len(e.Invalid) > 0 {
		return fmt.Sprintf("%s: %v", e.Def.Key, slices.Sorted(maps.Keys(e.Invalid)))
	}
	return e.Def.Key
}

// Unwrap gives errors.Is both the Def and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Def}
	}
	return []error{e.Def, e.Cause}
}

// From finds the refusal in err's chain. Anything else is Internal with err as
// its cause.
func From(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var d *Def
	if errors.As(err, &d) {
		return d.Wrap(err)
	}
	return Internal.Wrap(err)
}

// IsRefusal reports whether err is a refusal with a reason for the customer (422), and no failure.
func IsRefusal(err error) bool { return From(err).Def.Kind == KindUnprocessable }

// Invalid is a validation_failed refusal for one member, with the id of a text
// in the catalogue (`invalid.<id>`).
func Invalid(field, id string) *Error {
	return InvalidData(field, id, nil)
}

// InvalidData is Invalid with data for the text's template.
func InvalidData(field, id string, data map[string]any) *Error {
	return &Error{Def: Validation, Invalid: map[string][]Text{field: {{ID: "invalid." + id, Data: data}}}}
}
