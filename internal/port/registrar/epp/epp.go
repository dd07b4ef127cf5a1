// Package epp registers names at a registry that speaks EPP: RFC 5730 to 5734 over TLS, with the grace periods of
// RFC 3915 and the delegation signers of RFC 5910 where the registry's greeting offers them.
//
// Sessions are kept and used again. Before a command that changes something, a session that has been idle is asked
// with a hello, so that one which the registry has closed meanwhile costs nothing. A query whose answer is lost is
// repeated at once; a command that changes something is sent once, ever, and its lost answer is registrar.Unknown:
// the caller asks Info.
//
// A session that ends in the middle of a command is closed, and so is one that answers a command that was not asked:
// every answer must bear the transaction id of its command, but the one that says that it cannot be read.
package epp

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/port/registrar"
)

// Config is how a registry is reached.
type Config struct {
	// Address is host and port; the usual port is 700.
	Address string
	// User and Password are those of the registrar's account: 3 to 16 and 6 to 16 characters (RFC 5730).
	User, Password string
	// Sponsor is the registry's name for the registrar of its objects; User when it is empty.
	Sponsor string
	// TLS holds the authorities for the registry's certificate, and the registrar's own certificate where the registry
	// requires one.
	TLS   *tls.Config
	Clock clock.Clock
	Log   *slog.Logger
	// Sessions bounds the open sessions: registries allow few. 2 when it is 0.
	Sessions int
	// Timeout bounds a command and a connection; a minute when it is 0.
	Timeout time.Duration
}

// Client is the registrar. It is safe for concurrent use.
type Client struct {
	Config

	slots chan struct{} // one for each session that may be open

	mu      sync.Mutex
	idle    []*session
	closed  bool
	refused time.Time // when the registry refused our login
	proved  bool      // the registry has used Sponsor for an object of ours
}

var _ registrar.Registrar = (*Client)(nil)

// New makes the registrar; it connects at the first command.
func New(c Config) *Client {
	if c.Sessions == 0 {
		c.Sessions = 2
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	if c.Sponsor == "" {
		c.Sponsor = c.User
	}
	return &Client{Config: c, slots: make(chan struct{}, c.Sessions)}
}

// Name implements registrar.Registrar.
func (c *Client) Name() string { return "epp" }

// Close logs out the idle sessions, and closes those in use after their command.
func (c *Client) Close() error {
	c.mu.Lock()
	idle := c.idle
	c.idle, c.closed = nil, true
	c.mu.Unlock()
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	for _, s := range idle {
		_, _ = s.exchange(ctx, frame{Command: &command{Logout: &empty{}, ClientID: transaction("")}})
		_ = s.conn.Close()
	}
	return nil
}

// How long a session may be idle before it is tested with a hello, and how long no login is tried after the registry
// refused one: registries lock accounts that keep trying.
const (
	trusted    = 10 * time.Second
	loginPause = 5 * time.Minute
)

// transaction makes the id of one command: the caller's id, for the registry's log, and a unique part, as RFC 5730
// requires.
func transaction(id string) string {
	if id == "" {
		id = "stead"
	}
	return id[:min(len(id), 40)] + "." + rand.Text()[:12]
}

// acquire takes a session, an idle one if one is alive. fresh says that it was just opened.
func (c *Client) acquire(ctx context.Context) (s *session, fresh bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err // keep the session, which is alive
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	defer func() {
		if err != nil {
			<-c.slots
		}
	}()
	for {
		c.mu.Lock()
		n := len(c.idle)
		if n == 0 {
			break // still holding the lock
		}
		s, c.idle = c.idle[n-1], c.idle[:n-1]
		c.mu.Unlock()
		age := c.Clock.Now().Sub(s.used)
		if age >= 0 && age < trusted {
			return s, false, nil
		}
		if answer, err := s.timed(ctx, c.Timeout, frame{Hello: &empty{}}); err == nil && answer.Greeting != nil {
			return s, false, nil
		}
		_ = s.conn.Close()
	}
	closed, refused := c.closed, c.refused
	c.mu.Unlock()
	if closed {
		return nil, false, errors.New("epp: closed")
	}
	if since := c.Clock.Now().Sub(refused); !refused.IsZero() && since >= 0 && since < loginPause {
		return nil, false, errors.New("epp: the registry refused the login a moment ago")
	}
	s, err = c.open(ctx)
	return s, true, err
}

// Ready reports whether the registry can be reached and accepts our login.
func (c *Client) Ready(ctx context.Context) error {
	s, _, err := c.acquire(ctx)
	if err != nil {
		return err
	}
	c.release(s, true)
	return nil
}

// release keeps a session for the next command, or closes it.
func (c *Client) release(s *session, keep bool) {
	s.used = c.Clock.Now()
	c.mu.Lock()
	if keep = keep && !c.closed; keep {
		c.idle = append(c.idle, s)
	}
	c.mu.Unlock()
	if !keep {
		_ = s.conn.Close()
	}
	<-c.slots
}

// request is a command and its conditions.
type request struct {
	what    string // for the log
	command command
	// id is the caller's transaction.
	id string
	// changes says that the command must not be sent twice.
	changes bool
	// needs is the extension that the command requires, or empty.
	needs string
}

// do sends a command and returns the registry's positive answer. Every other answer is a *registrar.Error.
func (c *Client) do(ctx context.Context, r request) (*response, error) {
	if err := intx.Check(ctx); err != nil {
		return nil, err
	}
	for {
		s, fresh, err := c.acquire(ctx)
		if err != nil {
			return nil, &registrar.Error{Kind: registrar.Unreachable, Cause: err}
		}
		if r.needs != "" && !s.offers[r.needs] {
			c.release(s, true)
			return nil, &registrar.Error{Kind: registrar.Unsupported, Message: "the registry does not have it"}
		}
		r.command.ClientID = transaction(r.id)
		answer, err := s.timed(ctx, c.Timeout, frame{Command: &r.command})
		if err == nil && !answer.to(r.command.ClientID) {
			err = errors.New("epp: the answer is that of another command")
		}
		if err != nil {
			c.release(s, false)
			if !r.changes && !fresh && ctx.Err() == nil {
				continue // each iteration uses an idle session up
			}
			c.Log.WarnContext(ctx, "epp: no answer", "command", r.what, "transaction", r.command.ClientID, "error", err)
			return nil, lost(r, fmt.Errorf("%s %s: %w", r.what, r.command.ClientID, err))
		}
		code := answer.Response.Result[0].Code
		c.release(s, code < 2500 && code != 2002 && code != 2200 && answer.Response.ClientID != "")
		c.Log.DebugContext(ctx, "epp", "command", r.what, "transaction", r.command.ClientID, "server_transaction", answer.Response.ServerID,
			"code", code)
		if code < 2000 {
			return answer.Response, nil
		}
		return nil, c.failure(ctx, r, answer.Response)
	}
}

// to reports whether a frame answers the command with the id. A registry that cannot parse a command does not know its
// id, and answers with a code of syntax (RFC 5730, section 3).
func (f frame) to(id string) bool {
	r := f.Response
	return r != nil && (r.ClientID == id || r.ClientID == "" && r.Result[0].Code >= 2000 && r.Result[0].Code < 2100)
}

// lost is the error of a command without an answer.
func lost(r request, err error) error {
	if r.changes {
		return &registrar.Error{Kind: registrar.Unknown, Cause: err}
	}
	return &registrar.Error{Kind: registrar.Unreachable, Cause: err}
}

// refusals maps the registry's codes (RFC 5730, section 3). All others are registrar.Rejected.
var refusals = map[int]registrar.Kind{
	2000: registrar.Unsupported, 2101: registrar.Unsupported, 2102: registrar.Unsupported, 2103: registrar.Unsupported,
	2307: registrar.Unsupported,
	2002: registrar.Unreachable, // the session is in an unexpected state
	2104: registrar.Unreachable, // our credit at the registry is used up
	2200: registrar.Unreachable, 2501: registrar.Unreachable, 2502: registrar.Unreachable,
	2105: registrar.Locked, 2106: registrar.Locked, 2304: registrar.Locked,
	2201: registrar.NotOurs, 2202: registrar.AuthCode,
	2300: registrar.Exists, 2302: registrar.Exists,
	2301: registrar.NotFound, 2303: registrar.NotFound,
}

// failure converts a negative answer of the registry.
func (c *Client) failure(ctx context.Context, r request, answer *response) error {
	result := answer.Result[0]
	cause := fmt.Errorf("%s %s: code %d", r.what, answer.ClientID, result.Code)
	switch result.Code {
	case 2400, 2500: // the registry's own failure: the command may have been executed
		return lost(r, cause)
	case 2000, 2001, 2002, 2103, 2104, 2200, 2307, 2501, 2502:
		c.Log.ErrorContext(ctx, "epp: the operator is needed", "command", r.what, "transaction", answer.ClientID, "code", result.Code,
			"message", result.Message)
	}
	kind, ok := refusals[result.Code]
	if !ok {
		kind = registrar.Rejected
	}
	message := result.Message
	for _, why := range result.Reasons {
		message += "; " + why
	}
	if kind == registrar.Unreachable {
		return &registrar.Error{Kind: kind, Cause: fmt.Errorf("%w: %s", cause, message)} // not for customers
	}
	return &registrar.Error{Kind: kind, Message: strings.TrimSpace(message), Cause: cause}
}

// undecided is the error of a command that the registry has accepted and not decided.
func undecided(what string) error {
	return &registrar.Error{Kind: registrar.Undecided, Message: "the registry has not decided yet", Cause: errors.New(what + " is pending")}
}

func rejected(message string) error {
	return &registrar.Error{Kind: registrar.Rejected, Message: message}
}
