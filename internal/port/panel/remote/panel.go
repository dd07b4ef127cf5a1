package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/platform/observe"
	"stead.dev/stead/internal/port/panel"
)

// Config describes a remote panel.
type Config struct {
	// Name is the panel's name in settings and logs: "node:7".
	Name string
	// Address is host and port of the node's agent.
	Address string
	// TLS authenticates both sides. It is required, but with a Socket.
	TLS *tls.Config
	// Socket is the path of a socket of this machine at which the panel answers, in the place of Address: who may open it is its
	// permissions' affair, and nothing is encrypted.
	Socket string
	// Capabilities of the node when they are known already; nil: New asks the node once.
	Capabilities []panel.Capability
	// Timeout bounds a call that answers at once, streams aside; 0: two minutes.
	Timeout time.Duration
	// Job recognizes calls of jobs by their contexts: few of them wait at a time for a node that answers nothing. nil:
	// all calls are bounded so.
	Job func(ctx context.Context) bool
	// QuietAfter is the time without answers after which a node counts as quiet; 0: ten seconds.
	QuietAfter time.Duration
}

// defaultTimeout is longer than any caller waits.
const defaultTimeout = 2 * time.Minute

// Panel is a panel behind the wire. It is safe for concurrent use; calls share connections.
type Panel struct {
	cfg    Config
	client *http.Client
	base   string
	line   callTracker

	mu      sync.Mutex
	known   []panel.Capability // nil: not known yet
	version string             // of the program that told them
}

var (
	_ panel.Panel     = (*Panel)(nil)
	_ panel.Selective = (*Panel)(nil)
)

// The timeout of a new connection, and how soon a dead peer is detected.
const (
	dialTimeout = 5 * time.Second
	pingAfter   = 5 * time.Second
	pingTimeout = 5 * time.Second
)

// New is the panel at cfg.Address. It connects when it is first called.
func New(cfg Config) *Panel {
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.QuietAfter == 0 {
		cfg.QuietAfter = quietAfter
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: pingAfter}).DialContext,
		TLSClientConfig:     cfg.TLS,
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		IdleConnTimeout:     5 * time.Minute,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	scheme := "https://"
	if cfg.Socket != "" {
		scheme, cfg.Address = "http://", "local"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, cfg.Socket) }
	}
	return &Panel{
		cfg: cfg, base: scheme + cfg.Address + "/" + Version + "/", known: cfg.Capabilities,
		line:   callTracker{after: cfg.QuietAfter, bounded: cfg.Job},
		client: &http.Client{Transport: intx.Transport{Next: transport}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// Close closes the idle connections. Running calls continue.
func (p *Panel) Close() error {
	p.client.CloseIdleConnections()
	return nil
}

// Name implements panel.Panel.
func (p *Panel) Name() string { return p.cfg.Name }

// Know stores the node's capabilities, which the caller got from the node.
func (p *Panel) Know(capabilities []panel.Capability) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = capabilities
}

// askTimeout bounds the query of the node's capabilities.
const askTimeout = 5 * time.Second

// Can implements panel.Selective. While a node has not told yet what it can do, it is taken to have
// everything: the call itself then says that it cannot be reached.
func (p *Panel) Can(c panel.Capability) bool {
	known, err := p.capabilities()
	return err != nil || slices.Contains(known, c)
}

// PHPVersions implements panel.Interpreters.
func (p *Panel) PHPVersions() (versions []string) {
	known, _ := p.capabilities() // a node that does not answer tells none
	for _, c := range known {
		if version, ok := strings.CutPrefix(string(c), string(panel.PHPVersion(""))); ok {
			versions = append(versions, version)
		}
	}
	return versions
}

// capabilities are those that the node has told, or tells now.
func (p *Panel) capabilities() ([]panel.Capability, error) {
	p.mu.Lock()
	known := p.known
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	n, err := p.Node(ctx)
	return n.Capabilities, err
}

// Node asks the node for its description, and stores its capabilities.
func (p *Panel) Node(ctx context.Context) (Node, error) {
	const op = "node"
	ctx, cancel := context.WithTimeoutCause(ctx, p.cfg.Timeout, errSlow)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+op, http.NoBody)
	if err != nil {
		return Node{}, p.broken(ctx, op, "", err)
	}
	answer, err := p.client.Do(r) //nolint:bodyclose // value closes it
	if err != nil {
		return Node{}, p.broken(ctx, op, "", err)
	}
	n, err := value[Node](ctx, p, op, "", answer)
	if err != nil {
		return Node{}, err
	}
	if n.Capabilities == nil {
		n.Capabilities = []panel.Capability{}
	}
	p.mu.Lock()
	p.known, p.version = n.Capabilities, n.Version
	p.mu.Unlock()
	return n, nil
}

// heard drops the stored capabilities when another version of the node answers.
func (p *Panel) heard(version string) {
	if p.cfg.Capabilities != nil || version == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.version != "" && p.version != version {
		p.known, p.version = nil, ""
	}
}

// errSlow is the cause of a call that this package ended, rather than its caller.
var errSlow = errors.New("no answer in time")

// broken is the error of a call without an answer. The cause is the caller's own end, or the connection's.
func (p *Panel) broken(ctx context.Context, op, ref string, err error) error {
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errSlow) {
		return ctx.Err()
	}
	return &panel.Error{Kind: panel.ErrUnreachable, Op: op, Ref: ref, Err: fmt.Errorf("%s: %w", p.cfg.Name, err)}
}

// refOf is the account of a call, for errors: the first argument of most.
func refOf(args []any) string {
	if len(args) == 0 {
		return ""
	}
	switch first := args[0].(type) {
	case string:
		return first
	case panel.AccountSpec:
		return first.Ref
	default:
		return ""
	}
}

// send calls a method and returns its answer, unless that is a failure.
func (p *Panel) send(ctx context.Context, op string, body io.Reader, header http.Header, ref string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+op, body)
	if err != nil {
		return nil, p.broken(ctx, op, ref, err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, values := range header {
		r.Header[name] = values
	}
	span := observe.Call(ctx, p.cfg.Name+" "+op, r.Header)
	defer span.End()
	answer, err := p.client.Do(r)
	if err != nil {
		return nil, p.broken(ctx, op, ref, err)
	}
	p.line.answered()
	p.heard(answer.Header.Get(versionHeader))
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }()
	var f failure
	switch answer.StatusCode {
	case http.StatusUnprocessableEntity:
		data, err := io.ReadAll(io.LimitReader(answer.Body, mostFailure))
		if err == nil {
			err = decode(data, &f)
		}
		if err != nil {
			return nil, p.broken(ctx, op, ref, err)
		}
	case http.StatusNotFound: // an older node does not know the method
		f = failure{Kind: panel.ErrUnsupported, Message: "the node does not know the method"}
	case http.StatusForbidden:
		f = failure{Kind: panel.ErrUnreachable, Message: "the node refuses this caller"}
	default:
		f = failure{Kind: panel.ErrInternal, Message: "the node answers " + answer.Status}
	}
	if f.Ref == "" {
		f.Ref = ref
	}
	return nil, f.err(op)
}

func encode(op, ref string, args []any) ([]byte, error) {
	if args == nil {
		args = []any{}
	}
	// JSON would replace invalid UTF-8 by another character: another file's name.
	if !isText(reflect.ValueOf(args)) {
		return nil, panel.Wrap(op, ref, fmt.Errorf("%w: an argument is not UTF-8", panel.ErrInvalid))
	}
	data, err := json.Marshal(args)
	if err != nil {
		return nil, panel.Wrap(op, ref, fmt.Errorf("%w: %w", panel.ErrInvalid, err))
	}
	return data, nil
}

// isText reports whether all strings within v are UTF-8.
func isText(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || isText(v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return true // bytes are encoded in base64
		}
		for i := range v.Len() {
			if !isText(v.Index(i)) {
				return false
			}
		}
	case reflect.Map:
		for k, e := range v.Seq2() {
			if !isText(k) || !isText(e) {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !isText(v.Field(i)) {
				return false
			}
		}
	}
	return true
}

// call calls a method that returns a value.
func call[T any](ctx context.Context, p *Panel, op string, args ...any) (T, error) {
	var none T
	ref := refOf(args)
	data, err := encode(op, ref, args)
	if err != nil {
		return none, err
	}
	end, err := p.line.begin(ctx)
	if err != nil {
		return none, p.broken(ctx, op, ref, err)
	}
	defer end()
	ctx, cancel := context.WithTimeoutCause(ctx, p.cfg.Timeout, errSlow)
	defer cancel()
	answer, err := p.send(ctx, op, bytes.NewReader(data), nil, ref) //nolint:bodyclose // value closes it
	if err != nil {
		return none, err
	}
	return value[T](ctx, p, op, ref, answer)
}

// act calls a method that returns nothing.
func act(ctx context.Context, p *Panel, op string, args ...any) error {
	_, err := call[struct{}](ctx, p, op, args...)
	return err
}

// value decodes an answer and closes it.
func value[T any](ctx context.Context, p *Panel, op, ref string, answer *http.Response) (T, error) {
	var v T
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return v, p.broken(ctx, op, ref, messageOf(answer.Status))
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return v, p.broken(ctx, op, ref, err)
	case len(data) > maxAnswer:
		return v, &panel.Error{Kind: panel.ErrInternal, Op: op, Ref: ref, Err: errors.New("the answer is too large")}
	}
	if err := decode(data, &v); err != nil {
		return v, &panel.Error{Kind: panel.ErrInternal, Op: op, Ref: ref, Err: err}
	}
	return v, nil
}

// source records why it could not be read to its end.
type source struct {
	src io.Reader
	mu  sync.Mutex
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.src.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.mu.Lock()
		s.err = err
		s.mu.Unlock()
	}
	return n, err
}

func (s *source) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// upload is call with a stream. It may take as long as the stream.
func upload[T any](ctx context.Context, p *Panel, op string, src io.Reader, args ...any) (T, error) {
	var none T
	ref := refOf(args)
	data, err := encode(op, ref, args)
	if err != nil {
		return none, err
	}
	var head bytes.Buffer
	if err := writeFrame(&head, data); err != nil {
		return none, panel.Wrap(op, ref, err)
	}
	sent := &source{src: src}
	// An early answer ends the upload, which must not read src after the return.
	body := &ending{r: io.MultiReader(&head, sent)}
	defer body.end()
	answer, err := p.send(ctx, op, body, http.Header{"Content-Type": {streamType}}, ref)
	if failed := sent.failed(); failed != nil {
		if answer != nil {
			_ = answer.Body.Close()
		}
		return none, panel.Wrap(op, ref, failed)
	}
	if err != nil {
		return none, err
	}
	return value[T](ctx, p, op, ref, answer)
}

// uploadOnly is upload for a method that returns nothing.
func uploadOnly(ctx context.Context, p *Panel, op string, src io.Reader, args ...any) error {
	_, err := upload[struct{}](ctx, p, op, src, args...)
	return err
}

// ending is a body that is not read after end returns.
type ending struct {
	mu    sync.Mutex
	r     io.Reader
	ended bool
}

func (e *ending) Read(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return 0, io.ErrClosedPipe
	}
	return e.r.Read(b)
}

func (e *ending) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
}

// download is a stream that a method returns.
type download struct {
	ctx    context.Context //nolint:containedctx // of the call, which lasts as long as the stream
	cancel context.CancelFunc
	panel  *Panel
	op     string
	ref    string
	answer *http.Response
}

// open calls a method that returns a stream.
func open(ctx context.Context, p *Panel, op string, args ...any) (io.ReadCloser, error) {
	d, err := p.open(ctx, op, nil, args)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (p *Panel) open(ctx context.Context, op string, header http.Header, args []any) (*download, error) {
	ref := refOf(args)
	data, err := encode(op, ref, args)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	answer, err := p.send(ctx, op, bytes.NewReader(data), header, ref) //nolint:bodyclose // the download's Close does
	if err != nil {
		cancel()
		return nil, err
	}
	return &download{ctx: ctx, cancel: cancel, panel: p, op: op, ref: ref, answer: answer}, nil
}

// Read implements io.Reader. A stream that broke off is an error, never an end.
func (d *download) Read(b []byte) (int, error) {
	n, err := d.answer.Body.Read(b)
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, d.panel.broken(d.ctx, d.op, d.ref, err)
	}
	if text := d.answer.Trailer.Get(errorTrailer); text != "" {
		var f failure
		if err := decodeHeader(text, &f); err != nil {
			return n, d.panel.broken(d.ctx, d.op, d.ref, err)
		}
		return n, f.err(d.op)
	}
	return n, io.EOF
}

// Close implements io.Closer; the other side ends too.
func (d *download) Close() error {
	d.cancel()
	return d.answer.Body.Close()
}

// converse is open with a stream in the other direction at the same time. It reads src until the answer is closed or
// ends.
func converse(ctx context.Context, p *Panel, op string, src io.Reader, args ...any) (io.ReadCloser, error) {
	ref := refOf(args)
	data, err := encode(op, ref, args)
	if err != nil {
		return nil, err
	}
	var head bytes.Buffer
	if err := writeFrame(&head, data); err != nil {
		return nil, panel.Wrap(op, ref, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	// The transport waits for its reads even after the call has ended, so another goroutine reads src. It ends with
	// src.
	body, w := io.Pipe()
	stop := func() {
		cancel()
		_ = body.CloseWithError(context.Canceled)
	}
	go func() {
		_, err := io.Copy(w, io.MultiReader(&head, src))
		_ = w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, stop)
	// The node answers before src has content.
	answer, err := p.send(ctx, op, body, http.Header{"Content-Type": {streamType}}, ref) //nolint:bodyclose // the download's Close does
	if err != nil {
		stop()
		return nil, err
	}
	return &download{ctx: ctx, cancel: stop, panel: p, op: op, ref: ref, answer: answer}, nil
}

// openFile calls a method that returns a panel.File.
func openFile(ctx context.Context, p *Panel, op string, args ...any) (panel.File, error) {
	f := &file{ctx: ctx, panel: p, op: op, args: args}
	if err := f.begin(); err != nil {
		return nil, err
	}
	return f, nil
}

// file is a panel.File whose content is read from the last offset.
type file struct {
	ctx   context.Context //nolint:containedctx // of the call that opened it
	panel *Panel
	op    string
	args  []any

	entry  panel.Entry
	body   *download // nil: to be opened at offset
	at     int64     // the offset of body
	offset int64     // the offset of the next Read
	closed bool
}

func (f *file) begin() error {
	body, err := f.panel.open(f.ctx, f.op, http.Header{offsetHeader: {strconv.FormatInt(f.offset, 10)}}, f.args)
	if err != nil {
		return err
	}
	var e panel.Entry
	if err := decodeHeader(body.answer.Header.Get(entryHeader), &e); err != nil {
		_ = body.Close()
		return &panel.Error{Kind: panel.ErrInternal, Op: f.op, Ref: refOf(f.args), Err: fmt.Errorf("entry: %w", err)}
	}
	if f.entry.Path != "" && e.ETag != f.entry.ETag {
		_ = body.Close()
		return &panel.Error{Kind: panel.ErrETagMismatch, Op: f.op, Ref: refOf(f.args), Err: errors.New("the file changed while it was read")}
	}
	f.entry, f.body, f.at = e, body, f.offset
	return nil
}

// Entry implements panel.File.
func (f *file) Entry() panel.Entry { return f.entry }

// Read implements io.Reader.
func (f *file) Read(b []byte) (int, error) {
	if f.closed {
		return 0, errors.New("remote: the file is closed")
	}
	if f.offset >= f.entry.SizeBytes {
		return 0, io.EOF
	}
	if f.body != nil && f.at != f.offset {
		_ = f.body.Close()
		f.body = nil
	}
	if f.body == nil {
		if err := f.begin(); err != nil {
			return 0, err
		}
	}
	n, err := f.body.Read(b)
	f.at += int64(n)
	f.offset = f.at
	return n, err
}

// Seek implements io.Seeker. It asks nobody; the next Read does.
func (f *file) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.entry.SizeBytes
	}
	if offset < 0 {
		return 0, errors.New("remote: a position before the beginning of the file")
	}
	f.offset = offset
	return offset, nil
}

// Close implements io.Closer.
func (f *file) Close() error {
	f.closed = true
	if f.body == nil {
		return nil
	}
	return f.body.Close()
}
