package ftp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	ftpserver "github.com/fclairamb/ftpserverlib"
	"golang.org/x/crypto/bcrypt"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/port/panel"
)

// Config configures the facility. Required members have no default.
type Config struct {
	Dir    string // state of the machine; needed
	Lookup facility.Lookup
	Disk   Disk // needed
	Now    func() time.Time
	Log    *slog.Logger

	// Listen is the address for control connections, such as ":21"; needed.
	Listen string
	// Host is the name or address that customers see; PublicIPv4 is sent to clients that request a data connection by
	// PASV, when it is not the address that they connected to. Both may be empty.
	Host, PublicIPv4 string
	// PassivePorts are the first and last port of data connections; zero takes any free one. A machine
	// behind a firewall opens them.
	PassivePorts [2]int
	// Certificate returns the certificate of a name that a client requests, or an error when there is none. Then, and
	// when it is nil, the machine's own is used.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

	// Connections bounds the control connections of the machine (zero: 500), PerAddress those of one
	// address (20), PerAccount the sessions of one account (20).
	Connections, PerAddress, PerAccount int
	// Idle is how long a session may do nothing; zero: 5 minutes.
	Idle time.Duration
}

// Disk enforces the accounts' limits; files.Driver does.
type Disk interface {
	Take(ctx context.Context, ref string, bytes, inodes int64) error
	Give(ref string, bytes, inodes int64)
	// Changed is told of a file, or a directory with what is in it, that has been written, removed, renamed or has other
	// permissions now. name is its path in the home that the session shows.
	Changed(ref, name string, dir bool)
}

// unproven is how long a connection may take to sign in.
const unproven = time.Minute

// Driver is the FTP server of a machine.
type Driver struct {
	*book
	cfg   Config
	guard *guard
	tls   *tls.Config // one for all connections: a data connection resumes the control connection's session
	dummy []byte      // hash that is compared for unknown names
	slots chan struct{}

	mu       sync.Mutex
	server   *ftpserver.FtpServer
	crowd    *crowd
	served   chan struct{} // closed when the server has ended
	sessions map[uint32]*session
	meters   map[string]*meter // by user name
}

var (
	_ panel.FTP         = (*Driver)(nil)
	_ facility.Facility = (*Driver)(nil)
	_ facility.Starter  = (*Driver)(nil)
	_ facility.Stopper  = (*Driver)(nil)
)

// New opens the facility; Start makes it listen.
func New(c Config) (*Driver, error) {
	if c.Dir == "" || c.Lookup == nil || c.Disk == nil || c.Now == nil || c.Log == nil || c.Listen == "" {
		return nil, errors.New("ftp: Dir, Lookup, Disk, Now, Log and Listen are needed")
	}
	for _, d := range []struct {
		v *int
		n int
	}{{&c.Connections, 500}, {&c.PerAddress, 20}, {&c.PerAccount, 20}} {
		if *d.v == 0 {
			*d.v = d.n
		}
	}
	if c.Idle == 0 {
		c.Idle = 5 * time.Minute
	}
	b, err := openBook(filepath.Join(c.Dir, "ftp"), c.Lookup)
	if err != nil {
		return nil, err
	}
	certificate, err := c.openCertificate()
	if err != nil {
		return nil, err
	}
	dummy, err := bcrypt.GenerateFromPassword([]byte("nobody"), cost)
	if err != nil {
		return nil, fmt.Errorf("ftp: %w", err)
	}
	d := &Driver{
		book: b, cfg: c, guard: newGuard(c.Now), dummy: dummy, slots: make(chan struct{}, 2), sessions: map[uint32]*session{},
		meters: map[string]*meter{},
		tls:    &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate},
	}
	b.host, b.port = c.Host, d.Port
	b.changed = func(username string, moved bool) {
		if moved {
			d.mu.Lock()
			delete(d.meters, username)
			d.mu.Unlock()
		}
		d.end(func(s *session) bool { return s.username == username })
	}
	return d, nil
}

// Capability implements facility.Facility.
func (d *Driver) Capability() panel.Capability { return panel.CapFTP }

// Apply implements facility.Facility: who is suspended loses the sessions.
func (d *Driver) Apply(_ context.Context, a accounts.Account) error {
	if a.Suspended {
		d.endAccount(a.Name)
	}
	return nil
}

// Remove implements facility.Facility.
func (d *Driver) Remove(_ context.Context, a accounts.Account) error {
	err := d.records.Delete(a.Name) // nobody can sign in from here on
	d.endAccount(a.Name)
	return err
}

func (d *Driver) endAccount(name string) {
	d.end(func(s *session) bool { return strings.HasPrefix(s.username, name+"_") })
}

// Start implements facility.Starter.
func (d *Driver) Start(ctx context.Context) error {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", d.cfg.Listen)
	if err != nil {
		return fmt.Errorf("ftp: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crowd = newCrowd(ln, d.cfg.Connections, d.cfg.PerAddress)
	d.server = ftpserver.NewFtpServer(mainDriver{d})
	if err := d.server.Listen(); err != nil {
		return errors.Join(fmt.Errorf("ftp: %w", err), ln.Close())
	}
	served := make(chan struct{})
	d.served = served
	go func(s *ftpserver.FtpServer) {
		defer close(served)
		if err := s.Serve(); err != nil {
			d.cfg.Log.Error("FTP has ended", "error", err)
		}
	}(d.server)
	return nil
}

// Stop implements facility.Stopper: it ends the server and all sessions.
func (d *Driver) Stop(context.Context) error { return d.Close() }

// Close ends the server and all sessions.
func (d *Driver) Close() error {
	d.mu.Lock()
	server, crowd, served := d.server, d.crowd, d.served
	d.server = nil
	d.mu.Unlock()
	if server == nil {
		return nil
	}
	err := server.Stop()
	d.end(func(*session) bool { return true })
	crowd.closeAll()
	<-served
	return err
}

// Port is the port of control connections; 0 while the server does not listen.
func (d *Driver) Port() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.crowd == nil {
		return 0
	}
	if t, ok := d.crowd.Addr().(*net.TCPAddr); ok {
		return t.Port
	}
	return 0
}

// end ends the sessions that which selects.
func (d *Driver) end(which func(*session) bool) {
	d.mu.Lock()
	var gone []*session
	for _, s := range d.sessions {
		if which(s) {
			gone = append(gone, s)
		}
	}
	d.mu.Unlock()
	for _, s := range gone {
		s.close()
	}
}
