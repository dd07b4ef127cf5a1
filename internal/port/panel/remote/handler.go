package remote

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"stead.dev/stead/internal/port/panel"
)

// method is a method of the port as it is served.
type method struct {
	Capability
	shape
	name string
}

// methods are all methods of the port, by their name on the wire.
var methods = sync.OnceValue(func() map[string]method {
	all := map[string]method{}
	for _, c := range Interfaces {
		for i := range c.Interface.NumMethod() {
			m := c.Interface.Method(i)
			s, err := shapeOf(m.Type)
			if err != nil {
				panic(fmt.Sprintf("remote: %s.%s: %v", c.Name, m.Name, err)) // a test fails first
			}
			all[string(c.Name)+"."+m.Name] = method{Capability: c, shape: s, name: m.Name}
		}
	}
	return all
})

// Node is a node's description of itself.
type Node struct {
	Version      string             `json:"version"`
	Capabilities []panel.Capability `json:"capabilities"`
}

type handler struct {
	panel   panel.Panel
	version string
}

// Handler answers for p on the wire. version is the program's.
func Handler(p panel.Panel, version string) http.Handler {
	h := handler{panel: p, version: version}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /"+Version+"/node", h.node)
	mux.HandleFunc("POST /"+Version+"/{method}", h.call)
	return mux
}

// Ending ends long calls to next with ctx: a followed log, a terminal. Other calls get the server's shutdown time.
func Ending(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := path.Ext(r.URL.Path); name == ".FollowLog" || name == ".OpenTerminal" {
			within, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			r = r.WithContext(within)
		}
		next.ServeHTTP(w, r)
	})
}

func (h handler) node(w http.ResponseWriter, _ *http.Request) {
	h.answer(w, Node{Version: h.version, Capabilities: panel.Capabilities(h.panel)})
}

func (h handler) call(w http.ResponseWriter, r *http.Request) {
	m, ok := methods()[r.PathValue("method")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	part, err := h.part(m)
	if err != nil {
		h.refuse(w, r, m, err)
		return
	}
	in, err := arguments(w, r, m)
	if err != nil {
		h.refuse(w, r, m, err)
		return
	}
	// A panic in one method is the failure of that call.
	defer func() {
		if v := recover(); v != nil && v != http.ErrAbortHandler { //nolint:errorlint // the value itself is thrown
			stack := debug.Stack()
			h.refuse(w, r, m, fmt.Errorf("%w: panic: %v\n%s", panel.ErrInternal, v, stack[:min(len(stack), maxStack)]))
		}
	}()
	out := part.MethodByName(m.name).Call(in)
	if err, _ := out[len(out)-1].Interface().(error); err != nil {
		h.refuse(w, r, m, err)
		return
	}
	switch m.kind {
	case answerNothing:
		h.answer(w, struct{}{})
	case answerValue:
		h.answer(w, out[0].Interface())
	case answerBody:
		body, _ := out[0].Interface().(io.ReadCloser)
		h.stream(w, r, m, body)
	case answerFile:
		file, _ := out[0].Interface().(panel.File)
		h.file(w, r, m, file)
	}
}

// maxStack bounds the stack trace in a log line.
const maxStack = 2000

// part returns the panel as the method's capability; ErrUnsupported when it does not have it.
func (h handler) part(m method) (reflect.Value, error) {
	has := reflect.TypeOf(h.panel).Implements(m.Interface)
	if s, ok := h.panel.(panel.Selective); ok && has {
		has = s.Can(m.Name)
	}
	if !has {
		return reflect.Value{}, panel.ErrUnsupported
	}
	return reflect.ValueOf(h.panel), nil
}

// arguments parses the arguments of a method.
func arguments(w http.ResponseWriter, r *http.Request, m method) ([]reflect.Value, error) {
	var (
		data []byte
		err  error
	)
	if m.reader {
		data, err = readFrame(r.Body, maxArguments)
	} else {
		data, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxArguments))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: arguments: %w", panel.ErrInvalid, err)
	}
	var values []json.RawMessage
	if err := decode(data, &values); err != nil {
		return nil, fmt.Errorf("%w: arguments: %w", panel.ErrInvalid, err)
	}
	in := []reflect.Value{reflect.ValueOf(r.Context())}
	for _, t := range m.args {
		if t == readerType {
			in = append(in, reflect.ValueOf(io.Reader(r.Body)))
			continue
		}
		if len(values) == 0 {
			return nil, fmt.Errorf("%w: too few arguments", panel.ErrInvalid)
		}
		v := reflect.New(t)
		if err := json.Unmarshal(values[0], v.Interface()); err != nil {
			return nil, fmt.Errorf("%w: arguments: %w", panel.ErrInvalid, err)
		}
		in, values = append(in, v.Elem()), values[1:]
	}
	if len(values) > 0 {
		return nil, fmt.Errorf("%w: too many arguments", panel.ErrInvalid)
	}
	return in, nil
}

func (h handler) answer(w http.ResponseWriter, v any) {
	w.Header().Set(versionHeader, h.version)
	data, err := json.Marshal(v)
	if err != nil {
		writeFailure(w, failureOf(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // a caller that has disconnected needs no answer
}

func (h handler) refuse(w http.ResponseWriter, r *http.Request, m method, err error) {
	if r.Context().Err() != nil {
		return // the caller has disconnected
	}
	w.Header().Set(versionHeader, h.version)
	f := failureOf(err)
	if f.Op == "" {
		f.Op = string(m.Name) + "." + m.name
	}
	writeFailure(w, f)
}

func writeFailure(w http.ResponseWriter, f failure) {
	data, err := json.Marshal(f)
	if err != nil {
		data = []byte(`{"kind":"internal"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_, _ = w.Write(data)
}

// stream sends body until it ends or the caller disconnects.
func (h handler) stream(w http.ResponseWriter, r *http.Request, m method, body io.ReadCloser) {
	closeBody := sync.OnceFunc(func() { _ = body.Close() })
	defer closeBody()
	// A body that waits for more, such as a followed log, ends when the caller disconnects.
	defer context.AfterFunc(r.Context(), closeBody)()
	w.Header().Set(versionHeader, h.version)
	w.Header().Set("Content-Type", streamType)
	w.Header().Set("Trailer", errorTrailer)
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w).Flush
	if err := flush(); err != nil {
		return
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if _, writeErr := w.Write(buf[:n]); writeErr != nil || flush() != nil {
				return
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return
		case r.Context().Err() != nil:
			return
		case err != nil:
			f := failureOf(err)
			if f.Op == "" {
				f.Op = string(m.Name) + "." + m.name
			}
			w.Header().Set(errorTrailer, encodeHeader(f))
			return
		}
	}
}

func (h handler) file(w http.ResponseWriter, r *http.Request, m method, file panel.File) {
	offset, err := strconv.ParseInt(r.Header.Get(offsetHeader), 10, 64)
	if err == nil {
		_, err = file.Seek(offset, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		h.refuse(w, r, m, fmt.Errorf("%w: offset: %w", panel.ErrInvalid, err))
		return
	}
	w.Header().Set(entryHeader, encodeHeader(file.Entry()))
	h.stream(w, r, m, file)
}

func encodeHeader(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		data = []byte("{}")
	}
	return base64.StdEncoding.EncodeToString(data)
}

func decodeHeader(text string, into any) error {
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	return decode(data, into)
}
