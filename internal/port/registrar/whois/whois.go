// Package whois asks WHOIS servers whether a name is free (RFC 3912). Their answers have no format, so
// what a zone's server says of a free name is configured with the zone. Anything else than that, or the
// name itself, says nothing: a server that refuses or throttles is never taken for a free name.
package whois

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/port/registrar"
)

const (
	waitFor   = 8 * time.Second
	maxAnswer = 256 << 10
)

// Server is the WHOIS server of a zone. Free is how a line begins that says that a name is free.
type Server struct{ Address, Free string }

// Source asks by TCP.
type Source struct {
	server func(ctx context.Context, name string) Server
}

// New makes a source. server answers the zero Server where there is none.
func New(server func(ctx context.Context, name string) Server) *Source { return &Source{server} }

// Name implements registrar.Source.
func (*Source) Name() string { return "whois" }

// Lookup implements registrar.Source.
func (s *Source) Lookup(ctx context.Context, name string) (registrar.Availability, error) {
	out := registrar.Availability{Name: name}
	if err := intx.Check(ctx); err != nil {
		return out, err
	}
	srv := s.server(ctx, name)
	if srv.Address == "" || srv.Free == "" {
		return out, nil
	}
	address := srv.Address
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(address, "43")
	}
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return out, &registrar.Error{Kind: registrar.Unreachable, Cause: err}
	}
	defer func() { _ = conn.Close() }() // all was read, or given up
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return out, err
	}
	if _, err := io.WriteString(conn, name+"\r\n"); err != nil {
		return out, &registrar.Error{Kind: registrar.Unreachable, Cause: err}
	}
	free, taken := false, false
	lines := bufio.NewScanner(io.LimitReader(conn, maxAnswer))
	for lines.Scan() {
		line := strings.ToLower(strings.TrimSpace(lines.Text()))
		if strings.HasPrefix(line, strings.ToLower(srv.Free)) {
			free = true
		}
		label, value, ok := strings.Cut(line, ":")
		if ok && (label == "domain name" || label == "domain") && strings.TrimSuffix(strings.TrimSpace(value), ".") == name {
			taken = true
		}
	}
	if err := lines.Err(); err != nil {
		return out, fmt.Errorf("whois: %s: %w", address, err)
	}
	if free == taken {
		return out, fmt.Errorf("whois: %s said neither that %s is free nor that it is taken", address, name)
	}
	out.Available = &free
	if taken {
		out.Reason = "taken"
	}
	return out, nil
}
