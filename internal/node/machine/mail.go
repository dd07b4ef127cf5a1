package machine

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/logs"
	"stead.dev/stead/internal/node/mail"
	"stead.dev/stead/internal/port/panel"
)

// openMail opens the mailboxes: Postfix, Dovecot and rspamd.
func openMail(cfg Config, n *node.Node, s daemon.Supervisor, written *logs.Store) (*mail.Driver, error) {
	m, p := cfg.Mail, cfg.Mail.Ports
	program := m.Program
	if len(program) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("machine: %w", err)
		}
		program = []string{self}
	}
	return mail.Open(mail.Config{
		Dir: mailDir(cfg), Store: filepath.Join(cfg.Dir, "mailboxes"),
		Hostname: m.Hostname, IPv4: cfg.IPv4, IPv6: cfg.IPv6, Relay: m.Relay, Postmaster: m.Postmaster, ClamAV: m.ClamAV, Program: program, Resolver: net.DefaultResolver,
		SMTP: cfg.listenOne(p.SMTP, 25), Submission: cfg.listenOne(p.Submission, 587), Submissions: cfg.listenOne(p.Submissions, 465),
		IMAP: cfg.listenOne(p.IMAP, 143), IMAPS: cfg.listenOne(p.IMAPS, 993), POP3: cfg.listenOne(p.POP3, 110), POP3S: cfg.listenOne(p.POP3S, 995),
		Sieve:       cfg.listenOne(p.Sieve, 4190),
		Submit:      net.JoinHostPort("127.0.0.1", strconv.Itoa(cmp.Or(p.Submit, 10587))),
		Signin:      net.JoinHostPort("127.0.0.1", strconv.Itoa(cmp.Or(p.Signin, 10588))),
		Certificate: m.certificate, Accounts: n.Lookup, Supervisor: s, Now: cfg.Now, Log: cfg.Log,
		Lines: func(account string, gid int, l panel.LogLine) error {
			return written.Append(account, gid, panel.LogMail, l)
		},
	})
}

// mailDir is where the mail facility keeps what is not mail.
func mailDir(cfg Config) string { return filepath.Join(cfg.Dir, "mail") }

// certificate implements mail.Config.Certificate.
func (m Mail) certificate(string) (chain, key []byte, ok bool) {
	if m.CertFile == "" {
		return nil, nil, false
	}
	chain, chainErr := os.ReadFile(m.CertFile)
	key, keyErr := os.ReadFile(m.KeyFile)
	return chain, key, chainErr == nil && keyErr == nil
}

// listenOne is the single address on which a mail daemon listens; "[::]" stands for IPv4 and IPv6.
func (c Config) listenOne(port, usual int) string {
	all := c.listen(cmp.Or(port, usual))
	return all[len(all)-1]
}
