package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// refused is an error object of the interface.
type refused struct {
	Method    string `json:"-"`
	Path      string `json:"-"`
	Status    int    `json:"-"`
	Key       string `json:"error"`
	Message   string `json:"message"`
	RequestID string `json:"request_id"`
}

func (e *refused) Error() string {
	return fmt.Sprintf("%s %s answered %d %s: %s (request %s)", e.Method, e.Path, e.Status, e.Key, e.Message, e.RequestID)
}

// client is the application's client, with the customer's token.
func (d *demonstration) client() *http.Client {
	return &http.Client{
		Timeout:   d.Timeout,
		Transport: &oauth2.Transport{Source: oauth2.StaticTokenSource(d.token), Base: d.report.recorded(calls, d.network)},
	}
}

// call calls one operation of the interface with a JSON body, when in is not nil, and decodes its answer into out, when
// that is not nil. An unsuccessful answer is a *refused. When the throttle asks to wait, it waits.
func (d *demonstration) call(ctx context.Context, method, path string, in, out any, header ...string) (http.Header, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
		header = append(header, "Content-Type", "application/json")
	}
	for {
		h, err := d.send(ctx, method, path, bytes.NewReader(body), out, header...)
		var e *refused
		if !errors.As(err, &e) || e.Key != "rate_limited" {
			return h, err
		}
		seconds, convErr := strconv.Atoi(h.Get("Retry-After"))
		if convErr != nil || seconds < 1 {
			return h, fmt.Errorf("a throttled call is not told when to come back: %w", err)
		}
		select {
		case <-ctx.Done():
			return h, ctx.Err()
		case <-time.After(time.Duration(seconds) * time.Second):
		}
	}
}

func (d *demonstration) send(ctx context.Context, method, path string, body io.Reader, out any, header ...string) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, d.base.String()+path, body)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := d.client().Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // read whole by the recorder
	if res.StatusCode >= http.StatusBadRequest {
		e := &refused{Method: method, Path: path, Status: res.StatusCode}
		if err := json.NewDecoder(res.Body).Decode(e); err != nil || e.Key == "" {
			return nil, fmt.Errorf("%s %s answered %d without an error object", method, path, res.StatusCode)
		}
		return res.Header, e
	}
	if out != nil {
		if err := json.NewDecoder(res.Body).Decode(out); err != nil {
			return nil, fmt.Errorf("%s %s: the answer is not what is documented: %w", method, path, err)
		}
	}
	return res.Header, nil
}

// expect checks that err is the refusal with the given key.
func expect(err error, key, what string) error {
	var e *refused
	if err == nil {
		return fmt.Errorf("%s was not refused", what)
	}
	if !errors.As(err, &e) || e.Key != key {
		return fmt.Errorf("%s was not refused as %s: %w", what, key, err)
	}
	return nil
}

// await polls done, first at short and then at longer intervals, for no longer than the timeout.
func (d *demonstration) await(ctx context.Context, what string, done func(ctx context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	pause := 20 * time.Millisecond
	for {
		ok, err := done(ctx)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not happen within %s", what, d.Timeout)
		case <-time.After(pause):
		}
		pause = min(pause*3/2, 2*time.Second)
	}
}

// randomName is part of a name that nobody has.
func randomName() string { return strings.ToLower(rand.Text()[:10]) }
