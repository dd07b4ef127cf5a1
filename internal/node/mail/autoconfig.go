package mail

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// Mail programs find the settings of an address by asking the web server of its domain: Thunderbird and others by "autoconfig",
// Outlook by "autodiscover". The machine's web server hands such requests for domains of mail to this process. The answers are
// the same for every address of a domain, so they tell nobody which addresses there are.

const (
	// autoconfigPrefix and autodiscoverPrefix begin the names at which programs ask besides the domain itself.
	autoconfigPrefix   = "autoconfig."
	autodiscoverPrefix = "autodiscover."

	autoconfigPath   = "/mail/config-v1.1.xml" // at the prefixed name; below /.well-known/autoconfig at the domain
	wellKnownPath    = "/.well-known/autoconfig" + autoconfigPath
	autodiscoverPath = "/autodiscover/autodiscover.xml"

	mostQuestion = 64 << 10 // bytes of a question of Outlook
)

// ConfigSocket is the socket at which the settings of mail programs are asked for, of a machine whose mail is in dir.
func ConfigSocket(dir string) string { return filepath.Join(dir, "s", "settings") }

// ConfigNames are the names besides a domain of mail itself at which its settings are asked for.
func ConfigNames(domain string) []string {
	return []string{autoconfigPrefix + domain, autodiscoverPrefix + domain}
}

// serverSettings is how one protocol is reached.
type serverSettings struct {
	kind   string // imap, pop3, smtp
	port   int
	secure bool // TLS from the start, else STARTTLS
}

// settings are the protocols of the machine, the safest way of each.
func (c Config) settings() (all []serverSettings) {
	for _, s := range []struct{ kind, tls, plain string }{{"imap", c.IMAPS, c.IMAP}, {"pop3", c.POP3S, c.POP3}, {"smtp", c.Submissions, c.Submission}} {
		switch {
		case s.tls != "":
			all = append(all, serverSettings{s.kind, portOf(s.tls), true})
		case s.plain != "":
			all = append(all, serverSettings{s.kind, portOf(s.plain), false})
		}
	}
	return all
}

// hasMail reports whether a domain has mailboxes here.
func (d *Driver) hasMail(domain string) bool {
	d.routes.mu.RLock()
	defer d.routes.mu.RUnlock()
	return slices.ContainsFunc(d.routes.owners[domain], func(account string) bool {
		s := d.routes.states[account]
		return !s.Suspended && slices.Contains(s.mailDomains(), domain)
	})
}

// WithMail lists the domains of an account that have mailboxes.
func (d *Driver) WithMail(account string) []string { return d.store.Get(account).mailDomains() }

// FollowDomains registers changed, which is called when an account's domains with mailboxes have changed.
func (d *Driver) FollowDomains(changed func(ctx context.Context, ref string) error) {
	d.domainsChanged = changed
}

// SetMailbox implements panel.Mail.
func (d *Driver) SetMailbox(ctx context.Context, ref string, m panel.Mailbox) (made panel.Mailbox, err error) {
	err = d.changing(ctx, ref, func() (err error) {
		made, err = d.book.SetMailbox(ctx, ref, m)
		return err
	})
	return made, err
}

// RemoveMailbox implements panel.Mail.
func (d *Driver) RemoveMailbox(ctx context.Context, ref, address string) error {
	return d.changing(ctx, ref, func() error { return d.book.RemoveMailbox(ctx, ref, address) })
}

// changing tells when a change begins or ends the mail of a domain.
func (d *Driver) changing(ctx context.Context, ref string, change func() error) error {
	a, err := d.accounts(ref)
	if err != nil {
		return change() // says so in its own words
	}
	before := d.WithMail(a.Name)
	if err := change(); err != nil {
		return err
	}
	if slices.Equal(before, d.WithMail(a.Name)) {
		return nil
	}
	return d.domainsChanged(ctx, ref)
}

// settingsHandler answers mail programs.
func (d *Driver) settingsHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := strings.ToLower(r.Host)
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		domain := host
		for _, prefix := range []string{autoconfigPrefix, autodiscoverPrefix, "www."} {
			if bare, ok := strings.CutPrefix(host, prefix); ok && !d.hasMail(host) {
				domain = bare
				break
			}
		}
		if !d.hasMail(domain) {
			http.NotFound(w, r)
			return
		}
		switch {
		case r.URL.Path == wellKnownPath, r.URL.Path == autoconfigPath:
			d.answerAutoconfig(w, r, domain)
		case !strings.EqualFold(r.URL.Path, autodiscoverPath):
			http.NotFound(w, r)
		case domain != host && strings.HasPrefix(host, autodiscoverPrefix):
			// Nothing is asked or told in the clear, and Outlook follows this to where the certificate is the customer's.
			http.Redirect(w, r, "https://"+domain+autodiscoverPath, http.StatusFound) //nolint:gosec // G710: a domain with mail here
		default:
			d.answerAutodiscover(w, r)
		}
	})
}

// answerAutoconfig answers with a file of the form that Thunderbird reads. Programs put in the address themselves.
func (d *Driver) answerAutoconfig(w http.ResponseWriter, r *http.Request, domain string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "GET", http.StatusMethodNotAllowed)
		return
	}
	type server struct {
		XMLName        xml.Name
		Type           string `xml:"type,attr"`
		Hostname       string `xml:"hostname"`
		Port           int    `xml:"port"`
		SocketType     string `xml:"socketType"`
		Authentication string `xml:"authentication"`
		Username       string `xml:"username"`
	}
	type provider struct {
		ID      string `xml:"id,attr"`
		Domain  string `xml:"domain"`
		Name    string `xml:"displayName"`
		Short   string `xml:"displayShortName"`
		Servers []server
	}
	answer := struct {
		XMLName  xml.Name `xml:"clientConfig"`
		Version  string   `xml:"version,attr"`
		Provider provider `xml:"emailProvider"`
	}{Version: "1.1", Provider: provider{ID: domain, Domain: domain, Name: domain, Short: domain}}
	for _, s := range d.cfg.settings() {
		one := server{
			XMLName: xml.Name{Local: "incomingServer"}, Type: s.kind, Hostname: d.cfg.Hostname, Port: s.port, SocketType: "SSL",
			Authentication: "password-cleartext", Username: "%EMAILADDRESS%",
		}
		if s.kind == "smtp" {
			one.XMLName.Local = "outgoingServer"
		}
		if !s.secure {
			one.SocketType = "STARTTLS"
		}
		answer.Provider.Servers = append(answer.Provider.Servers, one)
	}
	writeXML(w, answer)
}

// The schemas of Outlook's questions and answers ([MS-OXDSCLI]).
const (
	autodiscoverSchema = "http://schemas.microsoft.com/exchange/autodiscover/responseschema/2006"
	outlookSchema      = "http://schemas.microsoft.com/exchange/autodiscover/outlook/responseschema/2006a"
)

// answerAutodiscover answers Outlook's question about an address.
func (d *Driver) answerAutodiscover(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST", http.StatusMethodNotAllowed)
		return
	}
	var question struct {
		Address string `xml:"Request>EMailAddress"`
		Schema  string `xml:"Request>AcceptableResponseSchema"`
	}
	err := xml.NewDecoder(http.MaxBytesReader(w, r.Body, mostQuestion)).Decode(&question)
	address := strings.TrimSpace(question.Address)
	if err != nil || len(address) > mostAddress || !d.hasMail(strings.ToLower(domainOf(address))) {
		http.Error(w, "no question about an address that has its mail here", http.StatusBadRequest)
		return
	}
	if question.Schema != "" && question.Schema != outlookSchema { // such as that of telephones (ActiveSync)
		http.Error(w, "only IMAP, POP3 and SMTP are offered", http.StatusNotImplemented)
		return
	}
	type protocol struct {
		Type, Server           string
		Port                   int
		DomainRequired         string
		LoginName              string
		SPA, SSL, AuthRequired string
		Encryption             string
		UsePOPAuth             string `xml:",omitempty"`
		SMTPLast               string `xml:",omitempty"`
	}
	type account struct {
		AccountType, Action string
		Protocol            []protocol
	}
	type response struct {
		XMLName xml.Name
		Account account
	}
	answer := struct {
		XMLName  xml.Name
		Response response
	}{
		XMLName:  xml.Name{Space: autodiscoverSchema, Local: "Autodiscover"},
		Response: response{XMLName: xml.Name{Space: outlookSchema, Local: "Response"}, Account: account{AccountType: "email", Action: "settings"}},
	}
	for _, s := range d.cfg.settings() {
		one := protocol{
			Type: strings.ToUpper(s.kind), Server: d.cfg.Hostname, Port: s.port, DomainRequired: "off", LoginName: address, SPA: "off", SSL: "on",
			AuthRequired: "on", Encryption: "SSL",
		}
		if !s.secure {
			one.Encryption = "TLS"
		}
		if s.kind == "smtp" {
			one.UsePOPAuth, one.SMTPLast = "on", "off"
		}
		answer.Response.Account.Protocol = append(answer.Response.Account.Protocol, one)
	}
	writeXML(w, answer)
}

// mostAddress is the length of an address of mail (RFC 5321, 4.5.3.1.3).
const mostAddress = 254

func writeXML(w http.ResponseWriter, v any) {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	if err := e.Encode(v); err != nil {
		http.Error(w, "no answer", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/xml; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(b.Bytes()) // the program may be gone
}

// serveSettings answers mail programs until stop is called.
func (d *Driver) serveSettings(ctx context.Context) (stop func(), err error) {
	socket := ConfigSocket(d.cfg.Dir)
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	// The web server's workers ask; what is answered is public.
	if err := os.Chmod(socket, 0o666); err != nil { //nolint:gosec // G302: as is said above
		return nil, errors.Join(fmt.Errorf("mail: %w", err), l.Close())
	}
	const timeout = 10 * time.Second
	s := &http.Server{Handler: d.settingsHandler(), ReadTimeout: timeout, WriteTimeout: timeout, IdleTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			d.cfg.Log.Error("mail programs do not find their settings", "error", err)
		}
	}()
	return func() {
		_ = s.Close()
		<-done
	}, nil
}
