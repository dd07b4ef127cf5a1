// Package whois asks WHOIS servers whether a name is free, and when its registration ends (RFC 3912). Their answers have no
// format, so what a zone's server says of a free name is configured with the zone. Anything else than that, or the name
// itself, says nothing: a server that refuses or throttles is never taken for a free name. The end of a registration is known
// by the labels and the forms of dates that registries use.
package whois

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
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
	srv := s.server(ctx, name)
	if srv.Address == "" || srv.Free == "" {
		return registrar.Availability{Name: name}, nil
	}
	taken, _, err := ask(ctx, srv, name)
	if err != nil {
		return registrar.Availability{Name: name}, err
	}
	return registrar.Known(name, taken), nil
}

// Expires returns when the registration of a name ends, and false when it is not registered; registrar.ErrNoExpiry where nobody
// says it.
func (s *Source) Expires(ctx context.Context, name string) (at time.Time, registered bool, err error) {
	srv := s.server(ctx, name)
	if srv.Address == "" || srv.Free == "" {
		return at, false, registrar.ErrNoExpiry
	}
	registered, at, err = ask(ctx, srv, name)
	if err == nil && registered && at.IsZero() {
		err = registrar.ErrNoExpiry
	}
	return at, registered && err == nil, err
}

// ask asks a server for a name: whether it is taken, and until when; the zero time when the server does not say.
func ask(ctx context.Context, srv Server, name string) (taken bool, until time.Time, err error) {
	if err := intx.Check(ctx); err != nil {
		return false, until, err
	}
	address := srv.Address
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(address, "43")
	}
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false, until, &registrar.Error{Kind: registrar.Unreachable, Cause: err}
	}
	defer func() { _ = conn.Close() }() // all was read, or given up
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return false, until, err
	}
	if _, err := io.WriteString(conn, name+"\r\n"); err != nil {
		return false, until, &registrar.Error{Kind: registrar.Unreachable, Cause: err}
	}
	free := false
	lines := bufio.NewScanner(io.LimitReader(conn, maxAnswer))
	for lines.Scan() {
		written := strings.TrimSpace(lines.Text())
		line := strings.ToLower(written)
		if strings.HasPrefix(line, strings.ToLower(srv.Free)) {
			free = true
		}
		label, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		label, value = strings.TrimSpace(label), strings.TrimSpace(value)
		if (label == "domain name" || label == "domain") && strings.TrimSuffix(value, ".") == name {
			taken = true
		}
		if until.IsZero() && slices.Contains(endLabels, label) {
			_, value, _ = strings.Cut(written, ":")
			until = date(strings.TrimSpace(value))
		}
	}
	if err := lines.Err(); err != nil {
		return false, until, fmt.Errorf("whois: %s: %w", address, err)
	}
	if free == taken {
		return false, until, fmt.Errorf("whois: %s said neither that %s is free nor that it is taken", address, name)
	}
	return taken, until, nil
}

// endLabels are before the end of a registration, in lower case.
var endLabels = []string{
	"registry expiry date", "registrar registration expiration date", "expiration date", "expiry date", "expiration time", "expire date",
	"expires", "expires on", "expire", "expiry", "paid-till", "valid until", "validity", "renewal date", "domain expires",
}

// dateForms are those of the end of a registration, in lower case.
var dateForms = []string{
	time.RFC3339, "2006-01-02 15:04:05Z07:00", time.DateTime, time.DateOnly, "2006.01.02", "2006/01/02",
	"2-Jan-2006", "02.01.2006", "2 January 2006", "January 2 2006", time.ANSIC,
}

// date reads a date of an answer; the zero time when it has an unknown form.
func date(value string) time.Time {
	value = strings.TrimSuffix(value, " UTC")
	for _, form := range dateForms {
		if at, err := time.Parse(form, value); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}
