package remote

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"stead.dev/stead/internal/platform/plaintext"
	"stead.dev/stead/internal/port/panel"
)

// Version is the wire's. A later one has another path, so that both can be served for a time.
const Version = "v1"

// Headers and trailers of the wire.
const (
	offsetHeader  = "Stead-Offset"  // request: where a file's body begins
	entryHeader   = "Stead-Entry"   // answer: the file's entry, JSON in base64
	versionHeader = "Stead-Version" // answer: the node's program
	errorTrailer  = "Stead-Failure" // answer: what ended the body early, JSON in base64
	streamType    = "application/vnd.stead.stream"
	maxArguments  = 64 << 20 // a file's content among them
	maxAnswer     = 64 << 20
	// maxValues bounds the values of an answer, or of arguments: a list of 64 MB of empty objects takes gigabytes when it is decoded.
	// A directory of 40,000 files has 500,000 values; whoever wants more of one takes it in pages.
	maxValues = 500_000
)

// Capability is one of the port's, and the interface of its methods.
type Capability struct {
	Name      panel.Capability
	Interface reflect.Type
}

// shape is what a method takes and answers besides the context and the error.
type shape struct {
	args   []reflect.Type // those that go as JSON
	reader bool           // the last argument is an io.Reader
	answer reflect.Type   // nil: only an error
	kind   answerKind
}

type answerKind int

const (
	answerNothing answerKind = iota
	answerValue
	answerBody
	answerFile
)

var (
	contextType    = reflect.TypeFor[context.Context]()
	readerType     = reflect.TypeFor[io.Reader]()
	readCloserType = reflect.TypeFor[io.ReadCloser]()
	fileType       = reflect.TypeFor[panel.File]()
	errorType      = reflect.TypeFor[error]()
)

// shapeOf reads the type of a method, without receiver.
func shapeOf(m reflect.Type) (shape, error) {
	var s shape
	if m.NumIn() == 0 || m.In(0) != contextType || m.IsVariadic() {
		return s, fmt.Errorf("%v: a method takes a context first and no list last", m)
	}
	for i := 1; i < m.NumIn(); i++ {
		in := m.In(i)
		switch {
		case in == readerType && !s.reader:
			s.reader = true
		case !crosses(in):
			return s, fmt.Errorf("%v: %v does not cross the wire", m, in)
		}
		s.args = append(s.args, in)
	}
	switch {
	case m.NumOut() == 1 && m.Out(0) == errorType:
	case m.NumOut() == 2 && m.Out(1) == errorType:
		s.answer = m.Out(0)
	default:
		return s, fmt.Errorf("%v: a method answers an error, or a value and an error", m)
	}
	switch {
	case s.answer == nil:
		s.kind = answerNothing
	case s.answer == readCloserType:
		s.kind = answerBody
	case s.answer == fileType:
		s.kind = answerFile
	case crosses(s.answer):
		s.kind = answerValue
	default:
		return s, fmt.Errorf("%v: %v does not cross the wire", m, s.answer)
	}
	return s, nil
}

// crosses tells whether values of the type survive JSON.
func crosses(t reflect.Type) bool { return crossesBelow(t, map[reflect.Type]bool{}) }

func crossesBelow(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || t == reflect.TypeFor[json.RawMessage]() {
		return true
	}
	seen[t] = true
	if t.Kind() == reflect.Pointer {
		return crossesBelow(t.Elem(), seen)
	}
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return true
	case reflect.Slice, reflect.Array:
		return crossesBelow(t.Elem(), seen)
	case reflect.Map:
		return t.Key().Kind() == reflect.String && crossesBelow(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if tag := f.Tag.Get("json"); tag == "-" || (!f.IsExported() && !f.Anonymous) || !crossesBelow(f.Type, seen) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// failure is an error on the wire.
type failure struct {
	Kind    panel.Kind `json:"kind"`
	Op      string     `json:"op,omitempty"`
	Ref     string     `json:"ref,omitempty"`
	Message string     `json:"message,omitempty"`
}

func failureOf(err error) failure {
	f := failure{Kind: panel.KindOf(err)}
	var e *panel.Error
	if errors.As(err, &e) {
		f.Op, f.Ref = e.Op, e.Ref
		if e.Err != nil {
			f.Message = e.Err.Error()
		}
	} else {
		f.Message = err.Error()
	}
	f.Message = plaintext.Line(f.Message, mostMessage) // it may go in a trailer
	return f
}

// Bounds of what a failure says, in bytes.
const (
	mostFailure = 1 << 20 // encoded; those of earlier releases did not bound their message
	mostMessage = 4 << 10
	mostName    = 300 // of an operation, and of an account
)

// remoteMessage is the text of an error on the other side, as messageOf makes it.
type remoteMessage string

func (s remoteMessage) Error() string { return string(s) }

// messageOf makes what the other side says harmless: callers store it, and operators read it in their terminals.
func messageOf(said string) remoteMessage { return remoteMessage(plaintext.Line(said, mostMessage)) }

func (f failure) err(op string) error {
	if f.Kind == "" {
		f.Kind = panel.ErrInternal
	}
	if f.Op == "" {
		f.Op = op
	}
	e := &panel.Error{Kind: f.Kind, Op: plaintext.Line(f.Op, mostName), Ref: plaintext.Line(f.Ref, mostName)}
	if f.Message != "" {
		e.Err = messageOf(f.Message)
	}
	return e
}

// decode is json.Unmarshal of what the other side says, unless that has more than maxValues.
func decode(data []byte, into any) error {
	if countValues(data) > maxValues {
		return errManyValues
	}
	return json.Unmarshal(data, into)
}

var errManyValues = errors.New("there are too many values")

// countValues counts the values in a text of JSON: what is behind each bracket and each comma. An empty list or object counts as if it
// had one.
func countValues(data []byte) (n int) {
	text := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			text = !text
		case text && c == '\\':
			i++
		case !text && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// writeFrame writes data after its length.
func writeFrame(w io.Writer, data []byte) error {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(data))) //nolint:gosec // bounded by what was marshalled
	if _, err := w.Write(append(head, data...)); err != nil {
		return err
	}
	return nil
}

// readFrame reads what writeFrame wrote, at most limit bytes.
func readFrame(r io.Reader, limit int64) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n > limit {
		return nil, fmt.Errorf("a frame of %d bytes is too large", n)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, err
	}
	return data, nil
}
