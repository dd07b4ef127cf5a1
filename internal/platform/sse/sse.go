// Package sse writes server-sent events (WHATWG HTML, section 9.2).
package sse

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

// ContentType is the media type of a stream of events.
const ContentType = "text/event-stream"

const (
	// Life is how long a stream lasts at most; its client comes again then.
	Life = time.Hour
	// AliveEvery is how often a stream on which nothing happens shows that it lives.
	AliveEvery = 15 * time.Second
	// retry is how long a client waits before it comes again.
	retry = 3 * time.Second
)

// Writer writes events to one client. What is written is sent by Flush.
type Writer struct {
	to   http.ResponseWriter
	text bytes.Buffer
}

// Begin makes an answer a stream of events; Flush sends its head.
func Begin(w http.ResponseWriter) *Writer {
	h := w.Header()
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy in front must not hold events back
	s := &Writer{to: w}
	fmt.Fprintf(&s.text, "retry: %d\n\n", retry.Milliseconds())
	return s
}

// Event writes an event. An empty name is the default, "message". The data are one line, with or without its end.
func (s *Writer) Event(id, name string, data []byte) {
	fmt.Fprintf(&s.text, "id: %s\n", id)
	if name != "" {
		fmt.Fprintf(&s.text, "event: %s\n", name)
	}
	fmt.Fprintf(&s.text, "data: %s\n\n", bytes.TrimSuffix(data, []byte("\n")))
}

// Alive writes a comment, which shows that the stream lives.
func (s *Writer) Alive() { s.text.WriteString(": \n\n") }

// Flush sends what was written, and reports whether the client is still there.
func (s *Writer) Flush() bool {
	if s.text.Len() == 0 {
		return true
	}
	if _, err := s.text.WriteTo(s.to); err != nil {
		return false
	}
	return http.NewResponseController(s.to).Flush() == nil
}
