package webui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// terminals repeat what is typed, and tell the size of the window.
type terminals struct {
	mu      sync.Mutex
	tickets map[string][3]int64
	n       int
	open    int
	off     error
}

func (ts *terminals) Ticket(_ context.Context, account, service, holder int64) (string, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.off != nil {
		return "", ts.off
	}
	ts.n++
	token := fmt.Sprintf("st_te_%d", ts.n)
	ts.tickets[token] = [3]int64{account, service, holder}
	return token, nil
}

func (ts *terminals) UseTicket(_ context.Context, token string, account, service, holder int64) error {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	of, ok := ts.tickets[token]
	delete(ts.tickets, token)
	if !ok || of != [3]int64{account, service, holder} {
		return fault.Forbidden.New()
	}
	return nil
}

func (ts *terminals) count(n int) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.open += n
}

func (ts *terminals) running() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.open
}

func (ts *terminals) OpenTerminal(_ context.Context, _, service int64, size panel.TerminalSize, input io.Reader) (io.ReadCloser, error) {
	out, w := io.Pipe()
	ts.count(1)
	go func() {
		defer ts.count(-1)
		_, _ = fmt.Fprintf(w, "service %d of %dx%d\n", service, size.Columns, size.Rows)
		err := panel.ReadTerminalInput(input, func(in panel.TerminalInput) error {
			if in.Resize != nil {
				_, err := fmt.Fprintf(w, "now %dx%d\n", in.Resize.Columns, in.Resize.Rows)
				return err
			}
			if string(in.Data) == "exit" {
				return errors.New("exit")
			}
			_, err := w.Write(in.Data)
			return err
		})
		_ = w.CloseWithError(err)
	}()
	return out, nil
}

const terminalPage = "/panel/services/10/terminal"

func (b *browser) ticket() string { return b.ticketOf(terminalPage) }

func (b *browser) ticketOf(page string) string {
	b.t.Helper()
	a := b.post(page+"/ticket", nil, "X-Stead-Panel", b.holder())
	var body struct{ Ticket string }
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || a.status != http.StatusOK || body.Ticket == "" {
		b.t.Fatalf("%d %s", a.status, a.body)
	}
	return body.Ticket
}

// socket opens the terminal's WebSocket as a page of the site does; change alters the request.
func (b *browser) socket(ticket string, change ...func(header http.Header, q url.Values)) (*websocket.Conn, int) {
	b.t.Helper()
	header, q := http.Header{"Origin": {b.site.url}}, url.Values{"columns": {"80"}, "rows": {"24"}}
	path := terminalPage
	for _, f := range change {
		f(header, q)
	}
	if p := q.Get("path"); p != "" {
		path = p
		q.Del("path")
	}
	protocols := []string{"stead.terminal"}
	if ticket != "" {
		protocols = append(protocols, "ticket."+ticket)
	}
	c, res, err := websocket.Dial(b.t.Context(), b.site.url+path+"/socket?"+q.Encode(), &websocket.DialOptions{
		HTTPClient: &http.Client{Jar: b.client.Jar, CheckRedirect: b.client.CheckRedirect}, HTTPHeader: header, Subprotocols: protocols,
	})
	if err != nil {
		if res == nil {
			b.t.Fatal(err)
		}
		return nil, res.StatusCode
	}
	b.t.Cleanup(func() { _ = c.CloseNow() })
	if c.Subprotocol() != "stead.terminal" {
		b.t.Errorf("it speaks %q", c.Subprotocol())
	}
	return c, http.StatusSwitchingProtocols
}

func reads(t *testing.T, c *websocket.Conn, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var got strings.Builder
	for !strings.Contains(got.String(), want) {
		kind, data, err := c.Read(ctx)
		if err != nil || kind != websocket.MessageBinary {
			t.Fatalf("after %q: %v", got.String(), err)
		}
		got.Write(data)
	}
}

func TestATerminalInTheBrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.browser(t)
	b.register("anna@example.com")
	c, status := b.socket(b.ticket())
	if status != http.StatusSwitchingProtocols {
		t.Fatal(status)
	}
	reads(t, c, "service 10 of 80x24")
	send := func(kind websocket.MessageType, text string) {
		t.Helper()
		if err := c.Write(t.Context(), kind, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	send(websocket.MessageBinary, "echo \x03 ünï")
	reads(t, c, "echo \x03 ünï")
	send(websocket.MessageText, `{"columns":120,"rows":40}`)
	reads(t, c, "now 120x40")
	send(websocket.MessageBinary, "exit")
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("after the end: %v", err)
	}
	testkit.Eventually(t, time.Minute, func() bool { return s.terminals.running() == 0 }, "the terminal ends")
}

func TestWhoOpensNoTerminal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	anna, boris, nobody := s.browser(t), s.browser(t), s.browser(t)
	anna.register("anna@example.com")
	boris.register("boris@example.com")
	refused := func(what string, status, want int) {
		t.Helper()
		if status != want {
			t.Errorf("%s: %d, want %d", what, status, want)
		}
	}
	used := anna.ticket()
	if _, status := anna.socket(used); status != http.StatusSwitchingProtocols {
		t.Fatal(status)
	}
	_, status := anna.socket(used)
	refused("a ticket a second time", status, http.StatusForbidden)
	_, status = anna.socket("")
	refused("no ticket", status, http.StatusForbidden)
	_, status = anna.socket("st_te_999")
	refused("an invented ticket", status, http.StatusForbidden)
	_, status = boris.socket(anna.ticket())
	refused("a stranger with a ticket", status, http.StatusNotFound)
	_, status = nobody.socket(anna.ticket())
	refused("nobody with a ticket", status, http.StatusUnauthorized)
	for _, origin := range []string{"https://evil.example", "null", "", s.url + ".evil.example", "http://127.0.0.1:1"} {
		_, status = anna.socket(anna.ticket(), func(h http.Header, _ url.Values) {
			h.Del("Origin")
			if origin != "" {
				h.Set("Origin", origin)
			}
		})
		refused("from "+origin, status, http.StatusForbidden)
	}
	for _, bad := range [][2]string{{"0", "24"}, {"80", "-1"}, {"80", "100000"}, {"x", "24"}, {"", ""}} {
		_, status = anna.socket(anna.ticket(), func(_ http.Header, q url.Values) { q.Set("columns", bad[0]); q.Set("rows", bad[1]) })
		refused(fmt.Sprint("a window of ", bad), status, http.StatusForbidden)
	}
	_, status = anna.socket(anna.ticket(), func(_ http.Header, q url.Values) { q.Set("path", "/panel/services/11/terminal") })
	refused("another service", status, http.StatusNotFound)

	if a := anna.post(terminalPage+"/ticket", nil, "Sec-Fetch-Site", "cross-site"); a.status != http.StatusForbidden {
		t.Errorf("a ticket for another site: %d", a.status)
	}
	if a := boris.post(terminalPage+"/ticket", nil, "X-Stead-Panel", boris.holder()); a.status != http.StatusNotFound || strings.Contains(a.body, "st_te_") {
		t.Errorf("a ticket for a stranger: %d %s", a.status, a.body)
	}
	if a := anna.get(terminalPage + "/ticket"); strings.Contains(a.body, "st_te_") {
		t.Error("a ticket by a link")
	}
	s.terminals.mu.Lock()
	s.terminals.off = fault.UnsupportedOperation.New()
	s.terminals.mu.Unlock()
	if ticket := anna.post(terminalPage+"/ticket", nil, "X-Stead-Panel", anna.holder()); ticket.status != http.StatusUnprocessableEntity {
		t.Errorf("without a shell: %d", ticket.status)
	}
	s.terminals.mu.Lock()
	s.terminals.off = nil
	s.terminals.mu.Unlock()
	s.clk.Advance(20 * time.Minute)
	if ticket := anna.post(terminalPage+"/ticket", nil, "X-Stead-Panel", anna.holder()); ticket.status != http.StatusForbidden || !strings.Contains(ticket.body, "reauthentication_required") {
		t.Errorf("a sign-in of long ago: %d %s", ticket.status, ticket.body)
	}
}

// TestNobodyHasAllTerminals: an account with many services, or one that opens terminals which its machine refuses.
func TestNobodyHasAllTerminals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.browser(t)
	b.register("anna@example.com")
	open := 0
	for ; open < 200; open++ {
		if _, status := b.socket(b.ticket()); status == http.StatusServiceUnavailable {
			break
		}
	}
	if open == 0 || open > 20 {
		t.Errorf("one account has %d terminals", open)
	}
}

func TestNonsenseEndsATerminal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.browser(t)
	b.register("anna@example.com")
	for _, text := range []string{"{", `{"columns":0,"rows":1}`, `[]`, strings.Repeat("x", 70_000)} {
		c, _ := b.socket(b.ticket())
		reads(t, c, "service 10")
		if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		if _, _, err := c.Read(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("after %.20q: %v", text, err)
		}
		cancel()
	}
	c, _ := b.socket(b.ticket())
	_ = c.CloseNow()
	testkit.Eventually(t, time.Minute, func() bool { return s.terminals.running() == 0 }, "no terminal is left without a browser")
}

// at has a socket be that of another page.
func at(page string) func(http.Header, url.Values) {
	return func(_ http.Header, q url.Values) { q.Set("path", page) }
}

const clientTerminal = "/client" + terminalPage

// TestAResellersClientHasATerminalOfTheOneService: as long as the visit lasts, and no more of it than of one service.
func TestAResellersClientHasATerminalOfTheOneService(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, link := range []string{"one", "two"} {
		s.clients.links[link] = true
	}
	visitor, other, nobody, owner := s.browser(t), s.browser(t), s.browser(t), s.browser(t)
	owner.register("anna@example.com") // whose service it is
	visitor.post("/client/one", nil)
	other.post("/client/two", nil)

	c, status := visitor.socket(visitor.ticketOf(clientTerminal), at(clientTerminal))
	if status != http.StatusSwitchingProtocols {
		t.Fatal(status)
	}
	reads(t, c, "service 10 of 80x24")
	if err := c.Write(t.Context(), websocket.MessageBinary, []byte("whoami")); err != nil {
		t.Fatal(err)
	}
	reads(t, c, "whoami")

	refused := func(what string, status, want int) {
		t.Helper()
		if status != want {
			t.Errorf("%s: %d, want %d", what, status, want)
		}
	}
	refused("a ticket for another service", visitor.post("/client/panel/services/11/terminal/ticket", nil).status, http.StatusNotFound)
	refused("a ticket as the owner", visitor.post(terminalPage+"/ticket", nil).status, http.StatusUnauthorized)
	refused("a ticket without a visit", nobody.post(clientTerminal+"/ticket", nil).status, http.StatusUnauthorized)
	refused("a ticket by the owner's session", owner.post(clientTerminal+"/ticket", nil).status, http.StatusUnauthorized)
	refused("a ticket for another site", visitor.post(clientTerminal+"/ticket", nil, "Sec-Fetch-Site", "cross-site").status, http.StatusForbidden)
	_, status = visitor.socket(visitor.ticketOf(clientTerminal), at("/client/panel/services/11/terminal"))
	refused("another service", status, http.StatusNotFound)
	_, status = visitor.socket(visitor.ticketOf(clientTerminal))
	refused("the owner's terminal", status, http.StatusUnauthorized)
	_, status = other.socket(visitor.ticketOf(clientTerminal), at(clientTerminal))
	refused("the ticket of another visit", status, http.StatusForbidden)
	_, status = owner.socket(visitor.ticketOf(clientTerminal))
	refused("the owner with a visitor's ticket", status, http.StatusForbidden)
	_, status = visitor.socket(owner.ticket(), at(clientTerminal))
	refused("a visitor with the owner's ticket", status, http.StatusForbidden)
	_, status = visitor.socket(visitor.ticketOf(clientTerminal), at(clientTerminal), func(h http.Header, _ url.Values) {
		h.Set("Origin", "https://evil.example")
	})
	refused("from another site", status, http.StatusForbidden)

	// It ends with the visit, and with it alone.
	visitor.post("/client/leave", nil)
	if _, _, err := c.Read(t.Context()); err == nil {
		t.Error("the terminal is still open after the visit")
	}
	testkit.Eventually(t, time.Minute, func() bool { return s.terminals.running() == 0 }, "the terminal ends with the visit")
	refused("a ticket after the visit", visitor.post(clientTerminal+"/ticket", nil).status, http.StatusUnauthorized)
}

// TestAClientHasNotAllTerminalsOfTheReseller: others of the reseller's services keep theirs.
func TestAClientHasNotAllTerminalsOfTheReseller(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.clients.links["one"] = true
	owner, visitor := s.browser(t), s.browser(t)
	owner.register("anna@example.com")
	visitor.post("/client/one", nil)
	var open []*websocket.Conn
	for len(open) < 20 {
		c, status := visitor.socket(visitor.ticketOf(clientTerminal), at(clientTerminal))
		if status == http.StatusServiceUnavailable {
			break
		}
		open = append(open, c)
	}
	if len(open) == 0 || len(open) > 4 {
		t.Fatalf("one client has %d terminals", len(open))
	}
	if _, status := owner.socket(owner.ticket()); status != http.StatusSwitchingProtocols {
		t.Errorf("the reseller has none left: %d", status)
	}
	// More than an account may have at once, one after the other.
	for range 30 {
		_ = open[0].Close(websocket.StatusNormalClosure, "") // the server may have ended it first
		testkit.Eventually(t, time.Minute, func() bool {
			c, status := visitor.socket(visitor.ticketOf(clientTerminal), at(clientTerminal))
			open[0] = c
			return status == http.StatusSwitchingProtocols
		}, "one that is closed makes room for another")
	}
}

func TestATerminalEndsWithItsSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.browser(t)
	b.register("anna@example.com")
	c, _ := b.socket(b.ticket())
	reads(t, c, "service 10")
	b.post("/logout", nil)
	if _, _, err := c.Read(t.Context()); err == nil {
		t.Error("the terminal is still open after signing out")
	}
}
