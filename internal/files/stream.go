package files

import (
	"io"
	"net/http"
	"time"
)

// A server's fixed timeouts would cut a large file on a slow line, and none would let a client hold
// a connection for ever. Here every read and every write moves the connection's deadline, so that
// only a client that does nothing is cut.

// deadline is the machine's own time: that of connections, which knows no offset.
func deadline() time.Time {
	return time.Now().Add(idle) //nolint:forbidigo // deadlines of connections are in the machine's time
}

// patientBody is the body of a request whose sender has idle for each piece. The answer comes after
// it, so its deadline moves along.
type patientBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

func newPatientBody(w http.ResponseWriter, r *http.Request) *patientBody {
	return &patientBody{ReadCloser: r.Body, conn: http.NewResponseController(w)}
}

func (b *patientBody) Read(p []byte) (int, error) {
	b.wait(deadline())
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.done() // the panel may need longer than idle for the rest
	}
	return n, err
}

// done takes the deadlines away: the next request on the connection has its own.
func (b *patientBody) done() { b.wait(time.Time{}) }

func (b *patientBody) wait(until time.Time) {
	_ = b.conn.SetReadDeadline(until) // a connection that cannot has no deadlines to move
	_ = b.conn.SetWriteDeadline(until)
}

// patientWriter is the answer to a client who has idle to take each piece.
type patientWriter struct {
	http.ResponseWriter
	conn *http.ResponseController
}

func newPatientWriter(w http.ResponseWriter) *patientWriter {
	return &patientWriter{ResponseWriter: w, conn: http.NewResponseController(w)}
}

func (w *patientWriter) Write(p []byte) (int, error) {
	_ = w.conn.SetWriteDeadline(deadline()) // as above
	return w.ResponseWriter.Write(p)
}

// Unwrap gives http.ResponseController the writer beneath.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// done takes the deadline away, as above.
func (w *patientWriter) done() { _ = w.conn.SetWriteDeadline(time.Time{}) }
