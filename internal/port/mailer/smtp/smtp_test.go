package smtp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	gosmtp "github.com/emersion/go-smtp"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/mailer"
	"stead.dev/stead/internal/port/mailer/mailertest"
	"stead.dev/stead/internal/port/mailer/smtp"
)

const from = "Stead <no-reply@stead.test>"

// server is a real SMTP server that keeps what it is given.
type server struct {
	addr string

	mu       sync.Mutex
	received [][]byte
	users    []string // who authenticated
	tls      []bool   // whether each message came over TLS
	refuse   *gosmtp.SMTPError
	hangsUp  bool // once it has taken a message
}

func (s *server) messages() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

type session struct {
	server *server
	conn   *gosmtp.Conn
	authed bool
	needs  bool
}

// Reset comes after each message, and when the client asks for it.
func (x *session) Reset() {
	if x.server.hangsUp && len(x.server.messages()) > 0 {
		_ = x.conn.Conn().Close()
	}
}

func (x *session) Logout() error { return nil }

func (x *session) Mail(string, *gosmtp.MailOptions) error {
	if x.needs && !x.authed {
		return gosmtp.ErrAuthRequired
	}
	return nil
}

func (x *session) Rcpt(string, *gosmtp.RcptOptions) error {
	if x.server.refuse != nil {
		return x.server.refuse
	}
	return nil
}

func (x *session) Data(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	_, encrypted := x.conn.TLSConnectionState()
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	x.server.received = append(x.server.received, b)
	x.server.tls = append(x.server.tls, encrypted)
	return nil
}

func (x *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (x *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "stead" || password != "p@ss/word" {
			return gosmtp.ErrAuthFailed
		}
		x.authed = true
		x.server.mu.Lock()
		defer x.server.mu.Unlock()
		x.server.users = append(x.server.users, user)
		return nil
	}), nil
}

// options of a server under test.
type options struct {
	certificate *tls.Certificate // STARTTLS, or TLS at once with atOnce
	atOnce      bool
	auth        bool
}

func start(t *testing.T, o options) *server {
	t.Helper()
	s := &server{}
	srv := gosmtp.NewServer(gosmtp.BackendFunc(func(c *gosmtp.Conn) (gosmtp.Session, error) {
		return &session{server: s, conn: c, needs: o.auth}, nil
	}))
	srv.Domain, srv.AllowInsecureAuth = "mail.test", true
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	if o.certificate != nil {
		srv.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*o.certificate}}
		if o.atOnce {
			l = tls.NewListener(l, srv.TLSConfig)
		}
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		_ = l.Close() // Serve may not have begun when Close was called
		<-served
	})
	return s
}

func open(t *testing.T, url string, trust *tls.Config) *smtp.Mailer {
	t.Helper()
	m, err := smtp.New(smtp.Config{URL: url, From: from, TLS: trust, Clock: clock.NewFake(testkit.Start)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var message = mailer.Message{ID: "a-1", To: "anna@example.com", Subject: "x", Text: "x"}

func TestSMTP(t *testing.T) {
	mailertest.Suite(t, from, func(t *testing.T) mailertest.Adapter {
		s := start(t, options{})
		return mailertest.Adapter{Mailer: open(t, "smtp://"+s.addr, nil), Received: s.messages}
	})
}

func TestTheConnectionIsEncryptedAndAuthenticated(t *testing.T) {
	certificate, trust := certificate(t)
	for name, atOnce := range map[string]bool{"smtp": false, "smtps": true} {
		t.Run(name, func(t *testing.T) {
			s := start(t, options{certificate: certificate, atOnce: atOnce, auth: true})
			m := open(t, name+"://stead:p%40ss%2Fword@"+s.addr+"?tls=on", trust)
			if err := m.Send(t.Context(), message); err != nil {
				t.Fatal(err)
			}
			if len(s.received) != 1 || !s.tls[0] || !slices.Contains(s.users, "stead") {
				t.Errorf("%d messages, over TLS %v, users %v", len(s.received), s.tls, s.users)
			}
		})
	}
}

func TestWithoutTLSNothingIsSent(t *testing.T) {
	s := start(t, options{})
	err := open(t, "smtp://"+s.addr+"?tls=on", nil).Send(t.Context(), message)
	if err == nil || errors.Is(err, mailer.ErrRejected) || len(s.messages()) != 0 {
		t.Errorf("error %v, %d messages", err, len(s.messages()))
	}
}

func TestAStrangersCertificateIsRefused(t *testing.T) {
	certificate, _ := certificate(t)
	s := start(t, options{certificate: certificate})
	if err := open(t, "smtp://"+s.addr+"?tls=on", nil).Send(t.Context(), message); err == nil || len(s.messages()) != 0 {
		t.Errorf("error %v, %d messages", err, len(s.messages()))
	}
}

func TestAWrongPasswordIsTriedAgainLater(t *testing.T) {
	certificate, trust := certificate(t)
	s := start(t, options{certificate: certificate, auth: true})
	err := open(t, "smtp://stead:wrong@"+s.addr+"?tls=on", trust).Send(t.Context(), message)
	if err == nil || errors.Is(err, mailer.ErrRejected) {
		t.Errorf("error %v", err)
	}
	if err != nil && strings.Contains(err.Error(), "wrong") {
		t.Errorf("the error quotes the password: %v", err)
	}
}

func TestOnlyARefusalForGoodIsOne(t *testing.T) {
	for code, forGood := range map[int]bool{550: true, 450: false} {
		s := start(t, options{})
		s.refuse = &gosmtp.SMTPError{Code: code, EnhancedCode: gosmtp.EnhancedCode{code / 100, 1, 1}, Message: "mailbox unavailable"}
		err := open(t, "smtp://"+s.addr, nil).Send(t.Context(), message)
		if err == nil || errors.Is(err, mailer.ErrRejected) != forGood {
			t.Errorf("code %d: error %v", code, err)
		}
	}
}

// TestWhatAServerHasTakenIsSent, also by one that hangs up at once: the job would send it again, twenty times and more.
func TestWhatAServerHasTakenIsSent(t *testing.T) {
	s := start(t, options{})
	s.hangsUp = true
	if err := open(t, "smtp://"+s.addr, nil).Send(t.Context(), message); err != nil {
		t.Errorf("error %v", err)
	}
	if n := len(s.messages()); n != 1 {
		t.Errorf("%d messages", n)
	}
}

func TestMistakesInTheURLAreFoundAtTheStart(t *testing.T) {
	for _, url := range []string{"", "mail.test:25", "http://mail.test", "smtp://", "smtp://mail.test?tls=maybe", "smtp://u:p w@mail.test:x"} {
		_, err := smtp.New(smtp.Config{URL: url, From: from, Clock: clock.NewFake(testkit.Start)})
		if err == nil {
			t.Errorf("%q was accepted", url)
		} else if strings.Contains(err.Error(), "p w") {
			t.Errorf("the error quotes the password: %v", err)
		}
	}
}

// certificate is one for 127.0.0.1 that nobody but the returned configuration
// trusts.
func certificate(t *testing.T) (*tls.Certificate, *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}
