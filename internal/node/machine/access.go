package machine

import (
	"net"
	"net/url"
	"strconv"

	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/certificates"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/ftp"
	"stead.dev/stead/internal/node/shell"
	"stead.dev/stead/internal/node/ssh"
)

// The ports of FTP's data connections. A firewall in front of the machine must let them through.
const (
	ftpDataFirst = 30000
	ftpDataLast  = 30999
)

// openAccess opens the access to accounts' files: FTP, and where sshd is installed SSH and the terminal in the browser.
func openAccess(cfg Config, n *node.Node, s daemon.Supervisor, keeper *certificates.Driver) ([]facility.Facility, error) {
	transfers, err := ftp.New(ftp.Config{
		Dir: cfg.Dir, Lookup: n.Lookup, Disk: n.Files, Now: cfg.Now, Log: cfg.Log, Listen: net.JoinHostPort(cfg.Host, strconv.Itoa(cfg.Ports.FTP)),
		Host: cfg.publicHost(), PublicIPv4: cfg.IPv4, PassivePorts: [2]int{ftpDataFirst, ftpDataLast}, Certificate: keeper.ForHandshake,
	})
	if err != nil {
		return nil, err
	}
	if !ssh.Installed() {
		cfg.Log.Warn("without openssh-server there is no SSH and no terminal")
		return []facility.Facility{transfers}, nil
	}
	program, err := ssh.Program(cfg.Dir)
	if err != nil {
		return nil, err
	}
	var terminals *shell.Driver
	sessions, err := ssh.New(ssh.Config{
		Dir: cfg.Dir, Lookup: n.Lookup, Supervisor: s, Now: cfg.Now, Log: cfg.Log, Listen: cfg.Host, Port: cfg.Ports.SSH, Host: cfg.publicHost(),
		Session: program, Off: func(a accounts.Account) { terminals.End(a) },
	})
	if err != nil {
		return nil, err
	}
	terminals, err = shell.New(shell.Config{Lookup: n.Lookup, Enabled: sessions.Enabled, Log: cfg.Log, Session: program})
	if err != nil {
		return nil, err
	}
	return []facility.Facility{transfers, sessions, terminals}, nil
}

// publicHost is the machine's name for customers.
func (c Config) publicHost() string {
	if c.IPv4 != "" {
		return c.IPv4
	}
	if c.IPv6 != "" {
		return c.IPv6
	}
	u, err := url.Parse(c.OriginURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
