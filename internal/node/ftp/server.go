package ftp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	ftpserver "github.com/fclairamb/ftpserverlib"
	"golang.org/x/crypto/bcrypt"

	"stead.dev/stead/internal/node/accounts"
)

// mainDriver implements the library's driver.
type mainDriver struct{ *Driver }

var (
	_ ftpserver.MainDriver                        = mainDriver{}
	_ ftpserver.MainDriverExtensionPassiveWrapper = mainDriver{}
)

// GetSettings implements ftpserver.MainDriver.
func (d mainDriver) GetSettings() (*ftpserver.Settings, error) {
	s := &ftpserver.Settings{
		Listener: d.crowd, PublicHost: d.cfg.PublicIPv4, Banner: "FTP over TLS",
		IdleTimeout: max(int(d.cfg.Idle/time.Second), 1), ConnectionTimeout: 30,
		TLSRequired: ftpserver.MandatoryEncryption, DisableActiveMode: true, DisableSYST: false,
		DefaultTransferType: ftpserver.TransferTypeBinary, DisableASCIIConversion: true,
		PasvConnectionsCheck: ftpserver.IPMatchRequired,
	}
	if first, last := d.cfg.PassivePorts[0], d.cfg.PassivePorts[1]; first > 0 && last >= first {
		s.PassiveTransferPortRange = ftpserver.PortRange{Start: first, End: last}
	}
	return s, nil
}

// GetTLSConfig implements ftpserver.MainDriver.
func (d mainDriver) GetTLSConfig() (*tls.Config, error) { return d.tls, nil }

// WrapPassiveListener implements ftpserver.MainDriverExtensionPassiveWrapper.
func (d mainDriver) WrapPassiveListener(ln net.Listener) (net.Listener, error) {
	return private{Listener: ln, idle: d.cfg.Idle}, nil
}

// ClientConnected implements ftpserver.MainDriver.
func (d mainDriver) ClientConnected(cc ftpserver.ClientContext) (string, error) {
	if d.guard.refuses(addressOf(cc.RemoteAddr())) {
		return errRefused.Error(), errRefused
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &session{d: d.Driver, cc: cc, conn: d.crowd.find(cc.RemoteAddr())}
	if s.conn == nil {
		return errRefused.Error(), errRefused
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.alarm = time.AfterFunc(unproven, s.close)
	d.sessions[cc.ID()] = s
	return "FTP over TLS only", nil
}

// ClientDisconnected implements ftpserver.MainDriver.
func (d mainDriver) ClientDisconnected(cc ftpserver.ClientContext) {
	d.mu.Lock()
	s := d.sessions[cc.ID()]
	delete(d.sessions, cc.ID())
	d.mu.Unlock()
	if s == nil {
		return
	}
	s.alarm.Stop()
	s.cancel()
	if s.username != "" {
		d.cfg.Log.Info("ftp session ended", "user", s.username, "address", cc.RemoteAddr().String())
	}
}

// errRefused is the one answer to every refused sign-in, so that it reveals nothing.
var errRefused = errors.New("sign-in refused")

// AuthUser implements ftpserver.MainDriver.
func (d mainDriver) AuthUser(cc ftpserver.ClientContext, name, password string) (ftpserver.ClientDriver, error) {
	from := addressOf(cc.RemoteAddr())
	s, err := d.signIn(cc, from, strings.ToLower(name), password)
	if err != nil {
		d.cfg.Log.Warn("ftp sign-in refused", "user", name, "address", from.String(), "reason", err)
		return nil, errRefused
	}
	d.cfg.Log.Info("ftp session begun", "user", s.username, "address", from.String())
	return &fileSystem{s: s}, nil
}

var (
	errNoTLS     = errors.New("no TLS")
	errGuessing  = errors.New("too many wrong passwords")
	errPassword  = errors.New("wrong name or password")
	errSuspended = errors.New("account suspended")
	errCrowded   = errors.New("too many sessions")
)

func (d mainDriver) signIn(cc ftpserver.ClientContext, from netip.Addr, name, password string) (*session, error) {
	switch {
	case !cc.HasTLSForControl():
		return nil, errNoTLS
	case d.guard.refuses(from):
		return nil, errGuessing
	}
	ref, u, known := d.find(name)
	hash := d.dummy
	if known {
		hash = []byte(u.Hash)
	}
	// Two at a time: guessers must not occupy the machine's processors.
	d.slots <- struct{}{}
	wrong := bcrypt.CompareHashAndPassword(hash, []byte(password))
	<-d.slots
	if wrong != nil || !known {
		d.guard.failed(from)
		return nil, errPassword
	}
	d.guard.succeeded(from)
	a, err := d.lookup(ref)
	if err != nil {
		return nil, err
	}
	s, err := d.begin(cc, a, name)
	if err != nil {
		return nil, err
	}
	// Ends a session whose account was suspended, or got another password, between the check and the beginning; Apply
	// and SetFTPAccount end later ones.
	now, err := d.lookup(ref)
	if _, still, there := d.find(name); err != nil || now.Suspended || !there || !sameRights(still, u) {
		s.close()
		return nil, errSuspended
	}
	s.measure()
	at := d.cfg.Now().UTC()
	if u.LastLoginAt == nil || at.Sub(*u.LastLoginAt) >= time.Minute {
		if err := d.update(name, func(u *user) { u.LastLoginAt = &at }); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// begin assigns the session to the account.
func (d mainDriver) begin(cc ftpserver.ClientContext, a accounts.Account, name string) (*session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, other := range d.sessions {
		if other.username != "" && other.account.Name == a.Name && other.cc.ID() != cc.ID() {
			n++
		}
	}
	s := d.sessions[cc.ID()]
	if s == nil || n >= d.cfg.PerAccount {
		return nil, errCrowded
	}
	s.alarm.Stop()
	s.account, s.username = a, name
	return s, nil
}

// session is one control connection.
type session struct {
	d        *Driver
	cc       ftpserver.ClientContext
	conn     net.Conn        // the underlying connection
	ctx      context.Context //nolint:containedctx // the session's own life, which no call has
	cancel   context.CancelFunc
	alarm    *time.Timer // ends the session when nobody signs in
	username string      // empty until it has signed in; set once, with d.mu held
	account  accounts.Account
	gone     atomic.Bool
}

// close ends the session with its transfers.
func (s *session) close() {
	s.gone.Store(true)
	s.cancel()
	// Not by the library, whose Close races with a client that starts TLS at that moment.
	_ = s.conn.Close() // it ends either way
}

// user is the present FTP account.
func (s *session) user() (user, error) {
	if s.gone.Load() {
		return user{}, net.ErrClosed
	}
	_, u, ok := s.d.find(s.username)
	if !ok {
		return user{}, net.ErrClosed
	}
	return u, nil
}
