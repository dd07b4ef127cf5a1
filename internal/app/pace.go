package app

import (
	"io"
	"net/http"
	"time"
)

// pace bounds the pauses of transfers. A transfer may take as long as it needs but must not stand still: a body that stops
// arriving and an answer that is no longer read end their connection. A deadline for the whole request would end large
// uploads and event streams, and without any a client could hold a connection for ever.
type pace struct {
	read, write time.Duration
	// leftover is how long the unread rest of a body may hold the connection after the answer.
	leftover time.Duration
}

var defaultPace = pace{read: 30 * time.Second, write: 60 * time.Second, leftover: 5 * time.Second}

// around bounds the pauses of the requests to next.
func (p pace) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		// The connection may still have the deadlines of its last request.
		_ = c.SetWriteDeadline(time.Time{}) // a writer without deadlines, in tests, has no pauses either
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &pacedBody{r.Body, c, p.read}
		}
		next.ServeHTTP(&pacedWriter{w, c, p.write}, r)
		_ = c.SetReadDeadline(deadline(p.leftover))
		_ = c.SetWriteDeadline(deadline(p.write)) // for what is still buffered
	})
}

// deadline returns a time by the clock of the machine, which sockets use. Stead's own clock may have an offset.
func deadline(d time.Duration) time.Time {
	return time.Now().Add(d) //nolint:forbidigo // the kernel's timers know no other clock
}

type pacedBody struct {
	io.ReadCloser
	c     *http.ResponseController
	pause time.Duration
}

func (b *pacedBody) Read(p []byte) (int, error) {
	_ = b.c.SetReadDeadline(deadline(b.pause))
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		// A handler that still works on the request must not be mistaken for a client that stands still.
		_ = b.c.SetReadDeadline(time.Time{})
	}
	return n, err
}

type pacedWriter struct {
	http.ResponseWriter
	c     *http.ResponseController
	pause time.Duration
}

func (w *pacedWriter) Write(p []byte) (int, error) {
	_ = w.c.SetWriteDeadline(deadline(w.pause))
	n, err := w.ResponseWriter.Write(p)
	_ = w.c.SetWriteDeadline(time.Time{})
	return n, err
}

// FlushError serves http.ResponseController. It is where what is written in small pieces, such as the events of a
// stream, meets the connection.
func (w *pacedWriter) FlushError() error {
	_ = w.c.SetWriteDeadline(deadline(w.pause))
	err := w.c.Flush()
	_ = w.c.SetWriteDeadline(time.Time{})
	return err
}

// Unwrap gives http.ResponseController the writer beneath.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
