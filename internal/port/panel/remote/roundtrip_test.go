package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/port/panel"
)

// TestEveryMethodOfThePortCrossesTheWire calls each method of the client with values in every field of
// every argument, has the server's decoder read them, answers with values in every field, and compares
// both ends. It fails for a method that the client does not have, for a type that loses something on
// the way, and for arguments that come in another order.
func TestEveryMethodOfThePortCrossesTheWire(t *testing.T) {
	var (
		got    []reflect.Value
		answer func(w http.ResponseWriter, r *http.Request, m method)
	)
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/"+Version+"/")
		m, ok := methods()[name]
		if !ok {
			t.Errorf("the client calls %q", name)
			http.NotFound(w, r)
			return
		}
		in, err := arguments(w, r, m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i, v := range in {
			if src, ok := v.Interface().(io.Reader); ok {
				data, err := io.ReadAll(src)
				if err != nil {
					t.Errorf("%s: stream: %v", name, err)
				}
				in[i] = reflect.ValueOf(string(data))
			}
		}
		got = in[1:]
		answer(w, r, m)
	}))
	defer srv.Close()
	client := New(Config{Name: "node:1", Address: srv.Listener.Addr().String(), TLS: srv.Client().Transport.(*http.Transport).TLSClientConfig})
	defer func() { _ = client.Close() }()

	h := handler{version: "v1"}
	for name, m := range methods() {
		t.Run(name, func(t *testing.T) {
			if !reflect.TypeFor[*Panel]().Implements(m.Interface) {
				t.Fatalf("the client is no %v: run go test ./internal/port/panel/remote/generate -update", m.Interface)
			}
			fill := &filler{}
			want := []reflect.Value{}
			in := []reflect.Value{reflect.ValueOf(t.Context())}
			for _, typ := range m.args {
				if typ == readerType {
					in = append(in, reflect.ValueOf(io.Reader(strings.NewReader("what is sent"))))
					want = append(want, reflect.ValueOf("what is sent"))
					continue
				}
				v := fill.value(typ)
				in, want = append(in, v), append(want, v)
			}
			var sent reflect.Value
			answer = func(w http.ResponseWriter, r *http.Request, m method) {
				switch m.kind {
				case answerNothing:
					h.answer(w, struct{}{})
				case answerValue:
					sent = fill.value(m.answer)
					h.answer(w, sent.Interface())
				case answerBody:
					h.stream(w, r, m, io.NopCloser(strings.NewReader("what comes")))
				case answerFile:
					h.file(w, r, m, &memory{Reader: bytes.NewReader([]byte("what comes"))})
				}
			}
			out := reflect.ValueOf(client).MethodByName(m.name).Call(in)
			if err, _ := out[len(out)-1].Interface().(error); err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Fatalf("%d arguments arrived, want %d", len(got), len(want))
			}
			for i := range want {
				if diff := cmp.Diff(want[i].Interface(), got[i].Interface()); diff != "" {
					t.Errorf("argument %d (-sent +arrived):\n%s", i, diff)
				}
			}
			switch m.kind {
			case answerValue:
				if diff := cmp.Diff(sent.Interface(), out[0].Interface()); diff != "" {
					t.Errorf("answer (-sent +arrived):\n%s", diff)
				}
			case answerBody, answerFile:
				stream, _ := out[0].Interface().(io.ReadCloser)
				data, err := io.ReadAll(stream)
				if string(data) != "what comes" || err != nil || stream.Close() != nil {
					t.Errorf("stream: %q, %v", data, err)
				}
			}
		})
	}
}

// memory is a file in memory.
type memory struct{ *bytes.Reader }

func (*memory) Close() error { return nil }

func (m *memory) Entry() panel.Entry { return panel.Entry{Path: "/x", SizeBytes: m.Size(), ETag: "1"} }

// filler makes values of which no two are equal and no field is empty.
type filler struct{ n int64 }

func (f *filler) value(t reflect.Type) reflect.Value {
	f.n++
	v := reflect.New(t).Elem()
	switch t {
	case reflect.TypeFor[time.Time]():
		return reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, int(f.n), time.UTC))
	case reflect.TypeFor[json.RawMessage]():
		return reflect.ValueOf(json.RawMessage(fmt.Sprintf(`{"n":%d}`, f.n)))
	}
	switch t.Kind() {
	case reflect.String:
		if t == reflect.TypeFor[panel.Kind]() {
			v.SetString("kind_" + string(rune('a'+f.n%26)))
			break
		}
		v.SetString("text " + strconv.FormatInt(f.n, 10) + " ўзб\n\"<&>")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.n))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.n) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(f.value(t.Elem()))
	case reflect.Slice:
		v = reflect.Append(v, f.value(t.Elem()), f.value(t.Elem()))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(f.value(t.Key()), f.value(t.Elem()))
	case reflect.Struct:
		for i := range t.NumField() {
			v.Field(i).Set(f.value(t.Field(i).Type))
		}
	default:
		panic("no value of " + t.String())
	}
	return v
}

func TestShapesThatDoNotCrossAreRefused(t *testing.T) {
	type hidden struct{ Shown, kept string }
	type dropped struct {
		Secret string `json:"-"`
	}
	for _, f := range []any{
		func() error { return nil },
		func(string) error { return nil },
		func(context.Context) {},
		func(context.Context) string { return "" },
		func(context.Context, chan int) error { return nil },
		func(context.Context, func()) error { return nil },
		func(context.Context, any) error { return nil },
		func(context.Context, hidden) error { return nil },
		func(context.Context, dropped) error { return nil },
		func(context.Context, ...string) error { return nil },
		func(context.Context) (io.Writer, error) { return nil, nil },
		func(context.Context, io.Reader, io.Reader) error { return nil },
		func(context.Context) (map[int]string, error) { return nil, nil },
	} {
		if s, err := shapeOf(reflect.TypeOf(f)); err == nil {
			t.Errorf("%T has the shape %+v", f, s)
		}
	}
	_ = hidden{kept: ""}
}
