package php

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

// Records of the FastCGI protocol, version 1.
const (
	fcgiVersion  = 1
	fcgiBegin    = 1
	fcgiEnd      = 3
	fcgiParams   = 4
	fcgiStdin    = 5
	fcgiStdout   = 6
	fcgiStderr   = 7
	fcgiResponse = 1 // role: responder
	fcgiID       = 1
	fcgiMost     = 65535
)

// ask sends a request without a body to a FastCGI socket and returns its output, headers first. The driver uses it to
// ask its masters for their configuration; visitors come through the web server.
func ask(ctx context.Context, socket string, params map[string]string) ([]byte, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	var request bytes.Buffer
	frame(&request, fcgiBegin, []byte{0, fcgiResponse, 0, 0, 0, 0, 0, 0})
	var pairs bytes.Buffer
	for name, value := range params {
		length(&pairs, len(name))
		length(&pairs, len(value))
		pairs.WriteString(name + value)
	}
	if pairs.Len() > fcgiMost {
		return nil, errors.New("php: the parameters are too long")
	}
	frame(&request, fcgiParams, pairs.Bytes())
	frame(&request, fcgiParams, nil)
	frame(&request, fcgiStdin, nil)
	if _, err := conn.Write(request.Bytes()); err != nil {
		return nil, err
	}
	var out, complaints bytes.Buffer
	for {
		var head [8]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return nil, err
		}
		content := make([]byte, binary.BigEndian.Uint16(head[4:6]))
		if _, err := io.ReadFull(conn, content); err != nil {
			return nil, err
		}
		if _, err := io.CopyN(io.Discard, conn, int64(head[6])); err != nil {
			return nil, err
		}
		switch head[1] {
		case fcgiStdout:
			out.Write(content)
		case fcgiStderr:
			complaints.Write(content)
		case fcgiEnd:
			if out.Len() == 0 {
				return nil, fmt.Errorf("php: no answer: %s", complaints.Bytes())
			}
			return out.Bytes(), nil
		}
	}
}

func frame(to *bytes.Buffer, kind byte, content []byte) {
	to.Write([]byte{fcgiVersion, kind, 0, fcgiID, byte(len(content) >> 8), byte(len(content)), 0, 0}) //nolint:gosec // G115: at most fcgiMost
	to.Write(content)
}

func length(to *bytes.Buffer, n int) {
	if n < 128 {
		to.WriteByte(byte(n)) //nolint:gosec // G115: below 128
		return
	}
	to.Write([]byte{byte(n>>24) | 0x80, byte(n >> 16), byte(n >> 8), byte(n)}) //nolint:gosec // G115: at most fcgiMost
}
