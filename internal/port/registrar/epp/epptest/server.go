package epptest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
)

// The registrar's account.
const (
	User     = "stead-test"
	Password = "s3cret-word"
	other    = "other-registrar"
)

// Moment is when a connection is cut.
type Moment int

// The moments.
const (
	// BeforeSent: before the client sends the frame.
	BeforeSent Moment = iota + 1
	// Unread: when the client has sent it, and the registry has done nothing.
	Unread
	// Unanswered: when the registry has done it, before the answer.
	Unanswered
	// InAnswer: in the middle of the answer.
	InAnswer
	// Never: the registry does what it is asked and says nothing; it is the client who has to end it.
	Never
	// Spoiled: what Spoil makes of the answer is sent.
	Spoiled
)

// Server is the registry.
type Server struct {
	*registry

	// Address is where it listens; Authority is the PEM of the certificate that it shows, and Key of its key.
	Address        string
	Authority, Key []byte
	// Spoil makes another packet of an answer's, its length included.
	Spoil func(packet []byte) []byte
	// Extensions are those of its greeting.
	Extensions []string
	// LoginCode answers every login, when it is not 0.
	LoginCode int

	listener net.Listener
	wait     sync.WaitGroup

	mu       sync.Mutex
	frames   [][]byte
	received int
	cutAt    int
	moment   Moment
	answers  int // how often one code is given in place of doing what is asked
	code     int
	open     []net.Conn
	logins   int
	hellos   int
	demands  bool
}

// New starts a registry, and stops it with the test.
func New(t testing.TB, clk clock.Clock) *Server {
	t.Helper()
	certificate, authority, key := certificate(t, clk.Now())
	s := &Server{
		registry: newRegistry(clk), Authority: authority, Key: key,
		Extensions: []string{"urn:ietf:params:xml:ns:secDNS-1.1", "urn:ietf:params:xml:ns:rgp-1.0", "urn:example:params:xml:ns:else-1.0"},
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		this := config.Clone()
		if s.demands {
			this.ClientAuth = tls.RequireAnyClientCert
		}
		return this, nil
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	s.listener, s.Address = listener, listener.Addr().String()
	s.wait.Go(s.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		s.Drop()
		s.wait.Wait()
		if err := Judge(t, s.frames); err != nil {
			t.Errorf("of %d frames: %v", len(s.frames), err)
		}
	})
	return s
}

// Trust is what a client knows the registry by.
func (s *Server) Trust() *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.Authority)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, ServerName: "registry.test"}
}

// Demand lets in only who shows a certificate.
func (s *Server) Demand() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.demands = true
}

func certificate(t testing.TB, now time.Time) (_ tls.Certificate, chain, private []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// The handshake is dated by the machine's clock and not by the test's.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry.test"}, DNSNames: []string{"registry.test"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   now.AddDate(-20, 0, 0), NotAfter: now.AddDate(50, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// Cut cuts the connection at the nth frame that comes from now on, the first being 1. A login is a frame, and so is a
// hello.
func (s *Server) Cut(n int, at Moment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received, s.cutAt, s.moment = 0, n, at
}

// Received is how many frames came since the last Cut.
func (s *Server) Received() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

// Answer has the next command, login aside, answered with a code, and nothing done.
func (s *Server) Answer(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code, s.answers = code, 1
}

// Drop closes the open connections.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.open {
		_ = conn.Close()
	}
	s.open = nil
}

// Logins is how often somebody tried to log in.
func (s *Server) Logins() int { s.mu.Lock(); defer s.mu.Unlock(); return s.logins }

// Hellos is how often somebody said hello.
func (s *Server) Hellos() int { s.mu.Lock(); defer s.mu.Unlock(); return s.hellos }

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.open = append(s.open, conn)
		s.mu.Unlock()
		s.wait.Go(func() {
			defer conn.Close()
			_ = s.serve(conn)
		})
	}
}

// serve is one session.
func (s *Server) serve(conn net.Conn) error {
	if err := conn.(*tls.Conn).HandshakeContext(context.Background()); err != nil {
		return err
	}
	if err := s.send(conn, s.greeting(), 0); err != nil {
		return err
	}
	in := false
	for {
		if s.cut(1) == BeforeSent {
			s.count()
			return nil
		}
		content, err := receive(conn)
		if err != nil {
			return err
		}
		moment := s.cut(1)
		s.count()
		s.keep(content)
		if moment == Unread {
			return nil
		}
		frame, err := parse(content)
		if err != nil {
			return err
		}
		answer, end := s.answer(frame, &in)
		switch moment {
		case Unanswered:
			return nil
		case Never:
			_, err := io.Copy(io.Discard, conn)
			return err
		case BeforeSent, Unread, InAnswer, Spoiled:
		}
		if err := s.send(conn, answer, moment); err != nil || end || moment == InAnswer {
			return err
		}
	}
}

// cut answers the moment at which the connection is cut in the frame that is so many ahead, or 0.
func (s *Server) cut(ahead int) Moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.received+ahead == s.cutAt {
		return s.moment
	}
	return 0
}

func (s *Server) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received++
}

func (s *Server) keep(frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = append(s.frames, frame)
}

func receive(conn net.Conn) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length < 5 || length > 1<<20 {
		return nil, fmt.Errorf("a frame of %d octets", length)
	}
	content := make([]byte, length-4)
	_, err := io.ReadFull(conn, content)
	return content, err
}

func (s *Server) send(conn net.Conn, content string, moment Moment) error {
	s.keep([]byte(content))
	packet := append(binary.BigEndian.AppendUint32(nil, uint32(len(content)+4)), content...) //nolint:gosec // far below the limit
	switch moment {
	case InAnswer:
		packet = packet[:len(packet)/2]
	case Spoiled:
		packet = s.Spoil(packet)
	case BeforeSent, Unread, Unanswered, Never:
	}
	_, err := conn.Write(packet)
	return err
}

// answer is what the registry says to a frame, and whether it ends the session then.
func (s *Server) answer(frame *node, in *bool) (text string, end bool) {
	if frame.first("hello").there() {
		s.mu.Lock()
		s.hellos++
		s.mu.Unlock()
		return s.greeting(), false
	}
	command := frame.first("command")
	id := command.value("clTRID")
	reply := func(code int, more string) (string, bool) {
		return s.response(code, id, more), code >= 2500 || code == 1500
	}
	s.mu.Lock()
	code, instead := s.code, s.answers > 0
	s.mu.Unlock()
	switch login := command.first("login"); {
	case login.there():
		s.mu.Lock()
		s.logins++
		s.mu.Unlock()
		switch {
		case s.LoginCode != 0:
			return reply(s.LoginCode, "")
		case *in:
			return reply(2002, "")
		case login.value("clID") != User || login.value("pw") != Password || login.first("newPW").there():
			return reply(2200, "")
		}
		for _, uri := range login.first("svcs", "svcExtension").values("extURI") {
			if !slices.Contains(s.Extensions, uri) {
				return reply(2103, "")
			}
		}
		*in = true
		return reply(1000, "")
	case !*in:
		return reply(2002, "")
	case command.first("logout").there():
		return reply(1500, "")
	case instead:
		s.mu.Lock()
		s.answers--
		s.mu.Unlock()
		return reply(code, "")
	}
	return reply(s.do(command))
}
