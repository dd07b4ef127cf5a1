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
	// CheckTerminal reports whether one of the account's services has a terminal now, or why not.
	CheckTerminal(ctx context.Context, accountID, serviceID int64) error
	// Ticket issues a ticket that opens one, once and within seconds, for the session that holder names.
	Ticket(ctx context.Context, accountID, serviceID, holder int64) (string, error)
	// UseTicket uses it up; fault.Forbidden when it was issued for something else.
	UseTicket(ctx context.Context, token string, accountID, serviceID, holder int64) error
	// OpenTerminal is panel.Terminal's for one of the account's services.
	OpenTerminal(ctx context.Context, accountID, serviceID int64, size panel.TerminalSize, input io.Reader) (io.ReadCloser, error)
}

const (
	// mostTerminals bounds the open terminals of this process, and mostTerminals/10 those of an account, so that one
	// account cannot take all.
	mostTerminals = 200
	// subprotocol names the protocol: binary messages are input and output, text messages a new size of the window. The
	// ticket comes as a second subprotocol, so that it is in no address.
	subprotocol  = "stead.terminal"
	ticketPrefix = "ticket."
	// mostTyped is the largest accepted message, in bytes.
	mostTyped = 64 << 10
	// stillThere is how often a terminal checks that its browser is connected and signed in.
	stillThere = 30 * time.Second
)

func (ui *UI) terminalTicket(w http.ResponseWriter, r *http.Request) {
	s := ui.session(r)
	h, err := ui.hosting(r)
	var token string
	if err == nil {
		token, err = ui.Terminals.Ticket(r.Context(), s.Account.ID, h.ID, s.ID)
	}
	if err != nil {
		ui.refuse(w, r, err)
		return
	}
	ui.say(w, r, http.StatusOK, map[string]string{"ticket": token})
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

// terminalSocket opens a terminal of the visitor's service. A failure before it opens is an HTTP status.
func (ui *UI) terminalSocket(w http.ResponseWriter, r *http.Request) {
	s := ui.session(r)
	token, size, ok := askedTerminal(r)
	switch {
	case !ui.sameOrigin(r):
		ui.failPage(w, r, http.StatusForbidden, "cross_site")
		return
	case !ok:
		ui.fail(w, r, fault.Forbidden.New())
		return
	}
	h, err := ui.hosting(r)
	if err == nil {
		err = ui.Terminals.UseTicket(r.Context(), token, s.Account.ID, h.ID, s.ID)
	}
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	leave, ok := ui.terminals.Acquire(s.Account.ID)
	if !ok {
		ui.fail(w, r, fault.PanelBusy.New())
		return
	}
	defer leave()
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}, InsecureSkipVerify: true}) // sameOrigin has checked
	if err != nil {
		return // Accept has answered
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(mostTyped)
	code, reason := ui.terminal(r, c, h.ID, size)
	_ = c.Close(code, reason) // the browser may have disconnected
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
func (ui *UI) terminal(r *http.Request, c *websocket.Conn, serviceID int64, size panel.TerminalSize) (websocket.StatusCode, string) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	account := ui.session(r).Account.ID
	input, typing := io.Pipe()
	defer func() { _ = typing.Close() }()
	screen, err := ui.Terminals.OpenTerminal(ctx, account, serviceID, size, input)
	if err != nil {
		f := fault.From(err)
		if f.Def == fault.Internal {
			ui.Log.ErrorContext(ctx, "terminal cannot be opened", "service", serviceID, "error", err)
		}
		return websocket.StatusTryAgainLater, f.Def.Key
	}
	ui.Log.InfoContext(ctx, "terminal opened", "account", account, "service", serviceID, "address", ui.ClientAddr(r).String())
	go func() {
		defer cancel()
		// Any end of the connection ends the terminal. This read needs the request's context: a read whose context ends
		// drops the connection, and the browser would not learn that its shell has ended.
		_ = typed(r.Context(), c, panel.NewTerminalWriter(typing))
	}()
	go func() {
		defer cancel()
		ui.watch(ctx, r, c)
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

// watch returns when the browser has disconnected, or is no longer signed in.
func (ui *UI) watch(ctx context.Context, r *http.Request, c *websocket.Conn) {
	session := *ui.session(r)
	tick := time.NewTicker(stillThere)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := ui.Accounts.AuthenticateAgain(auth.Unattended(ctx), session); errors.Is(err, fault.Unauthenticated) {
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
