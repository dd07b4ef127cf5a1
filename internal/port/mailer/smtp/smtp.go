// Package smtp hands mails to a mail server (RFC 5321).
package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/port/mailer"
	"stead.dev/stead/internal/port/mailer/letter"
)

// timeout bounds each step of the dialogue with the server.
const timeout = 20 * time.Second

// Mailer sends through one mail server.
type Mailer struct {
	from    *mail.Address
	clock   clock.Clock
	host    string
	options []gomail.Option
}

// Config of a Mailer.
type Config struct {
	// URL is smtp://user:password@host:587, which begins TLS on the open
	// connection (STARTTLS), or smtps://…:465, which speaks TLS at once. Without
	// TLS nothing is sent, except to this machine or with ?tls=off.
	URL string
	// From is the sender, such as "Stead <no-reply@example.com>".
	From string
	// TLS adds trust in a server's own certificate; nil uses the system's.
	TLS   *tls.Config
	Clock clock.Clock
}

// New makes a mailer; it connects when it sends.
func New(c Config) (*Mailer, error) {
	from, err := mail.ParseAddress(c.From)
	if err != nil {
		return nil, fmt.Errorf("smtp: the sender %q is no address: %w", c.From, err)
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("smtp: the URL must be smtp://host:port or smtps://host:port") // the cause would quote the password
	}
	m := &Mailer{from: from, clock: c.Clock, host: u.Hostname(), options: []gomail.Option{
		gomail.WithTimeout(timeout), gomail.WithoutNoop(), gomail.WithTLSConfig(tlsConfig(c.TLS, u.Hostname())),
	}}
	encrypted, port, err := m.transport(u)
	if err != nil {
		return nil, err
	}
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil {
			return nil, fmt.Errorf("smtp: the port %q is no number", p)
		}
	}
	m.options = append(m.options, gomail.WithPort(port))
	if u.User != nil {
		password, _ := u.User.Password()
		way := gomail.SMTPAuthAutoDiscover
		if !encrypted {
			way = gomail.SMTPAuthPlainNoEnc
		}
		m.options = append(m.options, gomail.WithSMTPAuth(way), gomail.WithUsername(u.User.Username()), gomail.WithPassword(password))
	}
	return m, nil
}

func tlsConfig(extra *tls.Config, host string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if extra != nil {
		c = extra.Clone()
	}
	if c.ServerName == "" {
		c.ServerName = host
	}
	return c
}

// transport returns how the connection is encrypted, and the default port.
func (m *Mailer) transport(u *url.URL) (encrypted bool, port int, err error) {
	plain := isLoopback(u.Hostname())
	switch u.Query().Get("tls") {
	case "":
	case "off":
		plain = true
	case "on":
		plain = false
	default:
		return false, 0, errors.New("smtp: tls= is on or off")
	}
	switch {
	case u.Scheme == "smtps":
		m.options = append(m.options, gomail.WithSSL())
		return true, gomail.DefaultPortSSL, nil
	case u.Scheme != "smtp":
		return false, 0, fmt.Errorf("smtp: the scheme is smtp or smtps, not %q", u.Scheme)
	case plain:
		m.options = append(m.options, gomail.WithTLSPolicy(gomail.NoTLS))
		return false, gomail.DefaultPort, nil
	}
	m.options = append(m.options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	return true, gomail.DefaultPortTLS, nil
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// Send implements mailer.Mailer.
func (m *Mailer) Send(ctx context.Context, msg mailer.Message) error {
	if err := intx.Check(ctx); err != nil {
		return err
	}
	l, err := letter.Compose(m.from, msg, m.clock.Now())
	if err != nil {
		return err
	}
	client, err := gomail.NewClient(m.host, m.options...)
	if err != nil {
		return fmt.Errorf("smtp: %w", err)
	}
	// A server that has accepted the message has it, however the dialogue ends after that: some close the connection at
	// once. Sending again would send twice.
	if err := client.DialAndSendWithContext(ctx, l); err != nil && !l.IsDelivered() {
		return refusal(err)
	}
	return nil
}

// refusal identifies errors that no retry can solve: the server refused this sender, this recipient or this content for
// good (RFC 5321, section 4.2.1). A refused password is not one of them: the operator can correct it.
func refusal(err error) error {
	var refused *gomail.SendError
	if errors.As(err, &refused) && !refused.IsTemp() && refused.ErrorCode() >= 500 {
		switch refused.Reason {
		case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
			return errors.Join(mailer.ErrRejected, fmt.Errorf("smtp: %w", err))
		}
	}
	return fmt.Errorf("smtp: %w", err)
}
