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

// patientBody is the body of a request whose sender has idle for each piece.
type patientBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

func (b *patientBody) Read(p []byte) (int, error) {
	_ = b.conn.SetReadDeadline(deadline()) // without support there is no deadline to move
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		// The panel may need longer than idle to finish; the client is no longer waited for.
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
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

// done takes the deadline away: the next answer on the connection has its own.
func (w *patientWriter) done() { _ = w.conn.SetWriteDeadline(time.Time{}) }
