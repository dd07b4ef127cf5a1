// Package wire is what the adapters that speak HTTP share: a request, its failures, and a stream of server-sent events
// under the limits of time and size.
package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/port/llm"
)

// The bounds of an answer.
const (
	maxLine   = 1 << 20
	maxStream = 16 << 20
	maxRefuse = 4 << 10 // of a refusal's body, which nobody sees
)

// Sender posts requests to one provider.
type Sender struct {
	client *http.Client
	limits llm.Limits
}

// NewSender returns a Sender. It follows no redirects: the key would go with them.
func NewSender(limits llm.Limits) *Sender {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	return &Sender{limits: limits, client: &http.Client{
		Transport:     intx.Transport{Next: transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// errTimeout is the cause with which a watch ends a request.
var errTimeout = errors.New("the provider sent nothing for too long")

// Stream is an answer on its way. Close it.
type Stream struct {
	body   io.ReadCloser
	reader *bufio.Reader
	ctx    context.Context
	watch  *watch
	left   int
}

// Post sends a JSON body and returns the stream that answers. Every failure is an *llm.Error or ctx's.
func (s *Sender) Post(ctx context.Context, url string, header http.Header, body []byte) (*Stream, error) {
	w := newWatch(ctx, s.limits)
	stream, err := s.post(w, url, header, body)
	if err != nil {
		w.stop()
	}
	return stream, err
}

func (s *Sender) post(w *watch, url string, header http.Header, body []byte) (*Stream, error) {
	request, err := http.NewRequestWithContext(w.ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, &llm.Error{Kind: llm.Refused, Cause: errors.New("the address is invalid")}
	}
	request.Header = header.Clone()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, w.failure(err, llm.Unavailable)
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		_, _ = io.CopyN(io.Discard, response.Body, maxRefuse)
		return nil, refusal(response)
	}
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		defer response.Body.Close()
		return nil, &llm.Error{Kind: llm.Garbage, Cause: errors.New("the answer is no event stream")}
	}
	return &Stream{body: response.Body, reader: bufio.NewReaderSize(response.Body, 16<<10), ctx: w.ctx, watch: w, left: maxStream}, nil
}

func refusal(r *http.Response) error {
	failure := &llm.Error{Kind: llm.Refused, Status: r.StatusCode}
	switch {
	case r.StatusCode == http.StatusTooManyRequests:
		failure.Kind = llm.Busy
	case r.StatusCode >= http.StatusInternalServerError:
		failure.Kind = llm.Unavailable
	}
	if seconds, err := strconv.ParseUint(r.Header.Get("Retry-After"), 10, 16); err == nil {
		failure.After = time.Duration(seconds) * time.Second
	}
	return failure
}

// Next returns the data of the next event, and io.EOF at the end.
func (s *Stream) Next() ([]byte, error) {
	var data []byte
	for {
		line, err := s.line()
		if err != nil {
			return nil, err
		}
		switch {
		case len(line) == 0 && len(data) > 0:
			return data, nil
		case bytes.HasPrefix(line, []byte("data:")):
			data = append(data, bytes.TrimPrefix(line[len("data:"):], []byte(" "))...)
		}
	}
}

func (s *Stream) line() ([]byte, error) {
	var line []byte
	for {
		part, err := s.reader.ReadSlice('\n')
		if len(part) > 0 {
			s.watch.alive()
		}
		line = append(line, part...)
		s.left -= len(part)
		switch {
		case s.left < 0 || len(line) > maxLine:
			return nil, &llm.Error{Kind: llm.Garbage, Cause: errors.New("the answer is too long")}
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		default:
			return nil, s.watch.failure(err, llm.Cut)
		}
	}
}

// Close ends the request.
func (s *Stream) Close() {
	s.watch.stop()
	_ = s.body.Close()
}

// watch ends a request that takes too long.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	total  *time.Timer
	idle   time.Duration
	done   atomic.Bool
}

func newWatch(parent context.Context, limits llm.Limits) *watch {
	ctx, cancel := context.WithCancelCause(parent)
	expire := func() { cancel(errTimeout) }
	return &watch{
		ctx: ctx, cancel: cancel, idle: limits.Idle,
		timer: time.AfterFunc(limits.First, expire), total: time.AfterFunc(limits.Total, expire),
	}
}

func (w *watch) alive() {
	if !w.done.Load() {
		w.timer.Reset(w.idle)
	}
}

func (w *watch) stop() {
	w.done.Store(true)
	w.timer.Stop()
	w.total.Stop()
	w.cancel(nil)
}

// failure returns why a request failed: its context, its time, or what the network says.
func (w *watch) failure(err error, kind llm.Kind) error {
	switch cause := context.Cause(w.ctx); {
	case errors.Is(err, intx.ErrInTransaction):
		return err
	case errors.Is(cause, errTimeout):
		return &llm.Error{Kind: llm.Timeout, Cause: errTimeout}
	case cause != nil:
		return cause
	default:
		return &llm.Error{Kind: kind, Cause: fmt.Errorf("request: %w", err)}
	}
}
