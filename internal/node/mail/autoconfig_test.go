package mail

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

// question is Outlook's about an address.
func question(address, schema string) string {
	return `<?xml version="1.0" encoding="utf-8"?><Autodiscover xmlns="http://schemas.microsoft.com/exchange/autodiscover/outlook/requestschema/2006">` +
		`<Request><EMailAddress>` + address + `</EMailAddress><AcceptableResponseSchema>` + schema + `</AcceptableResponseSchema></Request></Autodiscover>`
}

func TestMailProgramsFindTheirSettings(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example"))
	client := &http.Client{
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", ConfigSocket(w.cfg.Dir))
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	ask := func(method, address, body string) (int, string, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
		must(t, err)
		res, err := client.Do(req)
		must(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		must(t, err)
		return res.StatusCode, string(text), res.Header.Get("Location")
	}
	type server struct {
		Kind     string `xml:"type,attr"`
		Hostname string `xml:"hostname"`
		Port     int    `xml:"port"`
		Socket   string `xml:"socketType"`
		User     string `xml:"username"`
	}
	for _, address := range []string{
		"http://alice.example/.well-known/autoconfig/mail/config-v1.1.xml", "http://www.alice.example/.well-known/autoconfig/mail/config-v1.1.xml",
		"http://autoconfig.alice.example/mail/config-v1.1.xml?emailaddress=info@alice.example", "http://Autoconfig.Alice.Example:80/mail/config-v1.1.xml",
	} {
		status, text, _ := ask(http.MethodGet, address, "")
		var found struct {
			Domain   string   `xml:"emailProvider>domain"`
			Incoming []server `xml:"emailProvider>incomingServer"`
			Outgoing []server `xml:"emailProvider>outgoingServer"`
		}
		must(t, xml.Unmarshal([]byte(text), &found))
		want := []server{
			{"imap", w.cfg.Hostname, portOf(w.cfg.IMAPS), "SSL", "%EMAILADDRESS%"},
			{"pop3", w.cfg.Hostname, portOf(w.cfg.POP3S), "SSL", "%EMAILADDRESS%"},
			{"smtp", w.cfg.Hostname, portOf(w.cfg.Submissions), "SSL", "%EMAILADDRESS%"},
		}
		if status != 200 || found.Domain != "alice.example" || !slices.Equal(append(found.Incoming, found.Outgoing...), want) {
			t.Errorf("%s: %d %+v", address, status, found)
		}
	}
	const outlook = "http://alice.example/autodiscover/autodiscover.xml"
	status, text, _ := ask(http.MethodPost, outlook, question("Info@Alice.example", outlookSchema))
	var found struct {
		XMLName  xml.Name `xml:"http://schemas.microsoft.com/exchange/autodiscover/responseschema/2006 Autodiscover"`
		Response struct {
			XMLName  xml.Name `xml:"http://schemas.microsoft.com/exchange/autodiscover/outlook/responseschema/2006a Response"`
			Protocol []struct {
				Type, Server, LoginName, SSL string
				Port                         int
			} `xml:"Account>Protocol"`
		}
	}
	must(t, xml.Unmarshal([]byte(text), &found))
	if p := found.Response.Protocol; status != 200 || len(p) != 3 || fmt.Sprint(p[0]) != fmt.Sprintf("{IMAP %s Info@Alice.example on %d}", w.cfg.Hostname, portOf(w.cfg.IMAPS)) || p[2].Type != "SMTP" {
		t.Errorf("%d %s", status, text)
	}
	if status, text, _ := ask(http.MethodPost, outlook, question("nobody@alice.example", outlookSchema)); status != 200 || strings.Contains(text, "info@") {
		t.Errorf("it tells which addresses there are: %d %s", status, text)
	}
	if status, _, to := ask(http.MethodGet, "http://autodiscover.alice.example/autodiscover/autodiscover.xml", ""); status != 302 || to != "https://alice.example/autodiscover/autodiscover.xml" {
		t.Errorf("sent on: %d %s", status, to)
	}
	for name, c := range map[string]struct {
		method, address, body string
		want                  int
	}{
		"no mail":          {"GET", "http://shop.example/.well-known/autoconfig/mail/config-v1.1.xml", "", 404},
		"not here":         {"GET", "http://other.example/.well-known/autoconfig/mail/config-v1.1.xml", "", 404},
		"below a name":     {"GET", "http://x.alice.example/.well-known/autoconfig/mail/config-v1.1.xml", "", 404},
		"something else":   {"GET", "http://alice.example/mail/users.xml", "", 404},
		"a form":           {"POST", "http://alice.example/.well-known/autoconfig/mail/config-v1.1.xml", "x", 405},
		"no question":      {"GET", outlook, "", 405},
		"telephones":       {"POST", outlook, question("info@alice.example", "http://schemas.microsoft.com/exchange/autodiscover/mobilesync/responseschema/2006"), 501},
		"another domain":   {"POST", outlook, question("info@other.example", outlookSchema), 400},
		"nonsense":         {"POST", outlook, "<<", 400},
		"more than enough": {"POST", outlook, question(strings.Repeat("x", mostQuestion), outlookSchema), 400},
		"entities":         {"POST", outlook, `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + question("&x;@alice.example", outlookSchema), 400},
	} {
		if status, text, _ := ask(c.method, c.address, c.body); status != c.want {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}

	// The web server learns which domains have mail.
	var told []string
	w.FollowDomains(func(_ context.Context, ref string) error {
		told = append(told, ref+" "+strings.Join(w.WithMail("alice"), " "))
		return nil
	})
	w.set(alice, box("more@alice.example"))
	w.set(alice, box("info@shop.example"))
	must(t, w.RemoveMailbox(t.Context(), alice, "info@shop.example"))
	must(t, w.RemoveMailbox(t.Context(), alice, "more@alice.example"))
	if _, err := w.SetMailbox(t.Context(), "none", panel.Mailbox{Address: "a@b.example"}); err == nil {
		t.Error("an account that is not here has a mailbox")
	}
	if want := []string{"101 alice.example shop.example", "101 alice.example"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
