package stead

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
)

// Event is a server-sent event.
type Event struct {
	ID   string
	Type string // "message" when the server names none
	Data json.RawMessage
}

// maxEvent bounds a line of an event stream.
const maxEvent = 4 << 20

// events yields the events of a stream. A stream that breaks off is continued behind the last event that was read; one
// that the server ends is over.
func (c *caller) events(ctx context.Context, r request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r.accept = "text/event-stream"
		last := ""
		for failures := 0; ; failures++ {
			if last != "" {
				r.options = append(r.options, WithHeader("Last-Event-ID", last))
			}
			response, err := c.do(ctx, r)
			if err != nil {
				yield(Event{}, err)
				return
			}
			stopped := false
			err = readEvents(response, func(e Event) bool {
				failures = 0
				if e.ID != "" {
					last = e.ID
				}
				stopped = !yield(e, nil)
				return !stopped
			})
			_ = response.Body.Close()
			// What begins something, such as a run, is not begun again; without an id there is nowhere to continue.
			again := last != "" && r.method == http.MethodGet && failures < c.retries
			switch {
			case stopped, err == nil:
				return
			case ctx.Err() != nil || !again:
				yield(Event{}, errors.Join(ctx.Err(), fmt.Errorf("stead: the stream broke off: %w", err)))
				return
			}
			if err := c.sleep(ctx, jitter(min(longestDelay, firstDelay<<failures))); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// readEvents reads a stream to its end, or until read returns false.
func readEvents(response *http.Response, read func(Event) bool) error {
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxEvent)
	var e Event
	var data []string
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if len(data) > 0 {
				e.Data = json.RawMessage(strings.Join(data, "\n"))
				if e.Type == "" {
					e.Type = "message"
				}
				if !read(e) {
					return nil
				}
			}
			e, data = Event{}, nil
		case name == "id":
			e.ID = value
		case name == "event":
			e.Type = value
		case name == "data":
			data = append(data, value)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if len(data) > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}
