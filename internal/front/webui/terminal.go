package webui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Terminals opens shells of services.
type Terminals interface {
	// Ticket issues a ticket that opens one, once and within seconds, for the session or the visit that holder names.
	Ticket(ctx context.Context, accountID, serviceID, holder int64) (string, error)
	// UseTicket uses it up; fault.Forbidden when it was issued for something else.
	UseTicket(ctx context.Context, token string, accountID, serviceID, holder int64) error
	// OpenTerminal is panel.Terminal's for one of the account's services.
	OpenTerminal(ctx context.Context, accountID, serviceID int64, size panel.TerminalSize, input io.Reader) (io.ReadCloser, error)
}

// typist is who opens a terminal of a service: its owner by a session, or a reseller's client by a visit.
type typist struct {
	account, service int64
	holder           int64 // of tickets: the session's id, or the visit's below zero, because the two are numbered apart
	client           bool
	// still refuses with fault.Unauthenticated what has ended.
	still func(ctx context.Context) error
}

const (
	// mostTerminals bounds the open terminals of this process, and mostTerminals/10 those of an account, so that one
	// account cannot take all.
	mostTerminals = 200
	// clientTerminals bounds the open terminals of a service whose reseller's client opens them, so that one client cannot
	// take all of the reseller's.
	clientTerminals = 4
	// subprotocol names the protocol: binary messages are input and output, text messages a new size of the window. The
	// ticket comes as a second subprotocol, so that it is in no address.
	subprotocol  = "stead.terminal"
	ticketPrefix = "ticket."
	// mostTyped is the largest accepted message, in bytes.
	mostTyped = 64 << 10
	// stillThere is how long a terminal waits for a sign of life of its browser.
	stillThere = 30 * time.Second
	// recheck is how often a terminal asks whether its typist is still admitted.
	recheck = 5 * time.Second
)

// ownerTyping admits the owner of the service, who has proved a short time ago who they are.
func (ui *UI) ownerTyping(r *http.Request) (typist, error) {
	s, err := ui.owner(r)
	if err == nil && !s.Recent(ui.Clock.Now()) {
		err = fault.ReauthenticationRequired.New()
	}
	if err != nil {
		return typist{}, err
	}
	h, err := ui.hosting(r)
	return typist{account: s.Account.ID, service: h.ID, holder: s.ID, still: func(ctx context.Context) error {
		_, err := ui.Accounts.AuthenticateAgain(auth.Unattended(ctx), *s)
		return err
	}}, err
}

// clientTyping admits a reseller's client to the one service of the visit, which lasts an hour at most: it is the proof of who
// they are. A shell opens nothing that tasks and SSH keys, which the client manages too, do not.
func (ui *UI) clientTyping(r *http.Request) (typist, error) {
	token := ui.cookie(r, clientCookie)
	visit := func(ctx context.Context) (ClientVisit, error) {
		v, err := ui.Clients.Visit(ctx, token)
		if errors.Is(err, fault.NotFound) {
			err = fault.Unauthenticated.Wrap(err)
		}
		return v, err
	}
	v, err := visit(r.Context())
	if err != nil {
		return typist{}, err
	}
	if id, err := pathID(r, "service"); err != nil || id != v.ServiceID {
		return typist{}, fault.NotFound.New()
	}
	return typist{account: v.AccountID, service: v.ServiceID, holder: -v.ID, client: true, still: func(ctx context.Context) error {
		_, err := visit(ctx)
		return err
	}}, nil
}

// terminalTicket answers a ticket to a page whose visitor by admits.
func (ui *UI) terminalTicket(by func(r *http.Request) (typist, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := by(r)
		var token string
		if err == nil {
			token, err = ui.Terminals.Ticket(r.Context(), who.account, who.service, who.holder)
		}
		if err != nil {
			ui.refuse(w, r, err)
			return
		}
		ui.say(w, r, http.StatusOK, map[string]string{"ticket": token})
	}
}

// sameOrigin reports whether a page of this site sent the request. A WebSocket request without an origin is refused,
// other than a form's: browsers always send one.
func (ui *UI) sameOrigin(r *http.Request) bool {
	origin, err := url.Parse(r.Header.Get("Origin"))
	if err != nil || origin.Host == "" {
		return false
	}
	if base, err := url.Parse(ui.BaseURL); err == nil && origin.Scheme == base.Scheme && strings.EqualFold(origin.Host, base.Host) {
		return true
	}
	return !ui.secure && strings.EqualFold(origin.Host, r.Host)
}

// terminalSocket opens a terminal for the visitor whom by admits. A failure before it opens is an HTTP status.
func (ui *UI) terminalSocket(by func(r *http.Request) (typist, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := by(r)
		if err != nil {
			ui.refuse(w, r, err)
			return
		}
		token, size, ok := askedTerminal(r)
		if !ok || !ui.sameOrigin(r) {
			ui.refuse(w, r, fault.Forbidden.New())
			return
		}
		if err := ui.Terminals.UseTicket(r.Context(), token, who.account, who.service, who.holder); err != nil {
			ui.refuse(w, r, err)
			return
		}
		leave, ok := ui.acquireTerminal(who)
		if !ok {
			ui.refuse(w, r, fault.PanelBusy.New())
			return
		}
		defer leave()
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}, InsecureSkipVerify: true}) // sameOrigin has checked
		if err != nil {
			return // Accept has answered
		}
		defer func() { _ = c.CloseNow() }()
		c.SetReadLimit(mostTyped)
		code, reason := ui.terminal(r, c, who, size)
		_ = c.Close(code, reason) // the browser may have disconnected
	}
}

// acquireTerminal counts a terminal until it is left; ok is false where too many are open.
func (ui *UI) acquireTerminal(who typist) (leave func(), ok bool) {
	leaveAccount, ok := ui.terminals.Acquire(who.account)
	if !ok || !who.client {
		return leaveAccount, ok
	}
	leaveService, ok := ui.clientTerminals.Acquire(who.service)
	if !ok {
		leaveAccount()
		return nil, false
	}
	return func() { leaveService(); leaveAccount() }, true
}

// askedTerminal parses the ticket and the size of the window.
func askedTerminal(r *http.Request) (ticket string, size panel.TerminalSize, ok bool) {
	for _, list := range r.Header.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(list, ",") {
			if t, is := strings.CutPrefix(strings.TrimSpace(p), ticketPrefix); is {
				ticket = t
			}
		}
	}
	q := r.URL.Query()
	var errColumns, errRows error
	size.Columns, errColumns = strconv.Atoi(q.Get("columns"))
	size.Rows, errRows = strconv.Atoi(q.Get("rows"))
	return ticket, size, ticket != "" && len(ticket) <= 128 && errors.Join(errColumns, errRows) == nil && size.Valid()
}

// terminal copies input and output until one side ends, and returns the reason.
func (ui *UI) terminal(r *http.Request, c *websocket.Conn, who typist, size panel.TerminalSize) (websocket.StatusCode, string) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	input, typing := io.Pipe()
	defer func() { _ = typing.Close() }()
	screen, err := ui.Terminals.OpenTerminal(ctx, who.account, who.service, size, input)
	if err != nil {
		f := fault.From(err)
		if f.Def == fault.Internal {
			ui.Log.ErrorContext(ctx, "terminal cannot be opened", "service", who.service, "error", err)
		}
		return websocket.StatusTryAgainLater, f.Def.Key
	}
	ui.Log.InfoContext(ctx, "terminal opened", "account", who.account, "service", who.service, "client", who.client, "address", ui.ClientAddr(r).String())
	go func() {
		defer cancel()
		// Any end of the connection ends the terminal. This read needs the request's context: a read whose context ends
		// drops the connection, and the browser would not learn that its shell has ended.
		_ = typed(r.Context(), c, panel.NewTerminalWriter(typing))
	}()
	go func() {
		defer cancel()
		ui.watch(ctx, c, who)
	}()
	go func() { // a silent stream ends only by being closed
		<-ctx.Done()
		_ = typing.Close()
		_ = screen.Close()
	}()
	relay(ctx, c, screen)
	return websocket.StatusNormalClosure, ""
}

// relay sends the terminal's output until it ends.
func relay(ctx context.Context, c *websocket.Conn, screen io.Reader) {
	b := make([]byte, 32<<10)
	for {
		n, err := screen.Read(b)
		if n > 0 {
			if err := c.Write(ctx, websocket.MessageBinary, b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// typed copies the browser's input until it disconnects.
func typed(ctx context.Context, c *websocket.Conn, to *panel.TerminalWriter) error {
	for {
		kind, data, err := c.Read(ctx)
		if err != nil {
			return err
		}
		if kind == websocket.MessageBinary {
			if _, err := to.Write(data); err != nil {
				return err
			}
			continue
		}
		var size panel.TerminalSize
		if err := json.Unmarshal(data, &size); err != nil {
			return err
		}
		if !size.Valid() {
			return fmt.Errorf("terminal of %d by %d", size.Columns, size.Rows)
		}
		if err := to.Resize(size); err != nil {
			return err
		}
	}
}

// watch returns when the browser has disconnected, or its typist is admitted no more.
func (ui *UI) watch(ctx context.Context, c *websocket.Conn, who typist) {
	tick := time.NewTicker(ui.Recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := who.still(ctx); errors.Is(err, fault.Unauthenticated) {
			return
		}
		once, done := context.WithTimeout(ctx, stillThere)
		err := c.Ping(once)
		done()
		if err != nil {
			return
		}
	}
}
