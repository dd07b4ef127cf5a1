// Package fastcgi asks programs that speak FastCGI, version 1, as a web server does.
package fastcgi

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Records of the protocol.
const (
	version   = 1
	begin     = 1
	end       = 3
	params    = 4
	stdin     = 5
	stdout    = 6
	stderr    = 7
	responder = 1
	id        = 1
	most      = 65535
	chunk     = 32 << 10 // of a body
)

// mostComplaints bounds what is kept of a program's complaints.
const mostComplaints = 4 << 10

// Ask sends a request to a socket and returns the program's output, headers first, as it comes. The body may be nil. The caller
// closes the output; that, and the end of ctx, end the conversation.
func Ask(ctx context.Context, socket string, parameters map[string]string, body io.Reader) (io.ReadCloser, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	c := &conversation{conn: conn, stop: stop}
	if err := c.begin(parameters); err != nil {
		return nil, errors.Join(err, c.conn.Close())
	}
	// The program may answer before it has read all.
	go c.send(body)
	return c, nil
}

// conversation is a request whose output is read.
type conversation struct {
	conn net.Conn
	stop func() bool

	left       int64 // of the output's present record
	padding    int64
	got        bool
	complaints bytes.Buffer
	over       error
}

func (c *conversation) begin(parameters map[string]string) error {
	var request, pairs bytes.Buffer
	frame(&request, begin, []byte{0, responder, 0, 0, 0, 0, 0, 0})
	for name, value := range parameters {
		length(&pairs, len(name))
		length(&pairs, len(value))
		pairs.WriteString(name + value)
	}
	for pairs.Len() > 0 {
		frame(&request, params, pairs.Next(most))
	}
	frame(&request, params, nil)
	_, err := c.conn.Write(request.Bytes())
	return err
}

// send sends the body. A failure is not told: the program's output then ends too early, or has all that is to be known.
func (c *conversation) send(body io.Reader) {
	part := make([]byte, chunk)
	var record bytes.Buffer
	for body != nil {
		n, err := body.Read(part)
		if n > 0 {
			record.Reset()
			frame(&record, stdin, part[:n])
			if _, err := c.conn.Write(record.Bytes()); err != nil {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // a part of a body must not be taken for the whole
			_ = c.conn.Close()
			return
		}
	}
	record.Reset()
	frame(&record, stdin, nil)
	_, _ = c.conn.Write(record.Bytes()) // as above
}

// Read returns io.EOF when the program has ended its answer.
func (c *conversation) Read(p []byte) (int, error) {
	if c.over != nil {
		return 0, c.over
	}
	for c.left == 0 {
		if err := c.next(); err != nil {
			c.over = err
			return 0, err
		}
	}
	n, err := c.conn.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	c.over = err
	return n, err
}

// next reads up to the content of the next record of output.
func (c *conversation) next() error {
	if _, err := io.CopyN(io.Discard, c.conn, c.padding); err != nil {
		return err
	}
	var head [8]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		return unexpected(err)
	}
	size := int64(binary.BigEndian.Uint16(head[4:6]))
	c.padding = int64(head[6])
	switch head[1] {
	case stdout:
		c.left, c.got = size, c.got || size > 0
		return nil
	case stderr:
		kept := min(size, int64(mostComplaints-c.complaints.Len()))
		if _, err := io.CopyN(&c.complaints, c.conn, kept); err != nil {
			return unexpected(err)
		}
		_, err := io.CopyN(io.Discard, c.conn, size-kept)
		return unexpected(err)
	case end:
		if !c.got {
			return fmt.Errorf("fastcgi: no answer: %s", c.complaints.Bytes())
		}
		return io.EOF
	default:
		_, err := io.CopyN(io.Discard, c.conn, size)
		return unexpected(err)
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Close ends the conversation. The body is not read any more when it returns, unless a read of it is on its way.
func (c *conversation) Close() error {
	c.stop()
	return c.conn.Close()
}

func frame(to *bytes.Buffer, kind byte, content []byte) {
	to.Write([]byte{version, kind, 0, id, byte(len(content) >> 8), byte(len(content)), 0, 0}) //nolint:gosec // G115: at most 65,535
	to.Write(content)
}

func length(to *bytes.Buffer, n int) {
	if n < 128 {
		to.WriteByte(byte(n)) //nolint:gosec // G115: below 128
		return
	}
	to.Write([]byte{byte(n>>24) | 0x80, byte(n >> 16), byte(n >> 8), byte(n)}) //nolint:gosec // G115: at most
}
