package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/node/agent"
	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/observe"
	"stead.dev/stead/internal/platform/probe"
	panelnode "stead.dev/stead/internal/port/panel/node"
)

// messageTimeout bounds a message of a node together with its answer.
const messageTimeout = 20 * time.Second

// newMachines makes the server where hosting machines join and report.
func (a *App) newMachines(ctx context.Context, ln net.Listener) (*endpoint, error) {
	identity, err := a.nodes.Identity(ctx)
	if err != nil {
		return nil, err
	}
	srv := a.httpServer(a.nodes.Handler())
	srv.TLSConfig = identity.Server(nodes.Accept, true)
	// The bounds are low: messages are small, and anybody may connect.
	srv.ReadTimeout, srv.WriteTimeout = messageTimeout, messageTimeout
	return &endpoint{name: "nodes", ln: ln, url: address(ln, true), srv: srv}, nil
}

// agentDir is the folder of an agent's identity: its key and its certificate.
func agentDir(cfg config.Config) string { return filepath.Join(cfg.DataDir, "agent") }

// makeNodeDir makes the data directory of a node. Users of accounts pass through to their homes.
func makeNodeDir(cfg config.Config) error {
	err := os.MkdirAll(cfg.DataDir, 0o711)
	if err == nil {
		err = os.Chmod(cfg.DataDir, 0o711) //nolint:gosec // see above; what is in it has modes of its own
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// JoinNode joins this machine to a control plane as a node.
func JoinNode(ctx context.Context, cfg config.Config, in agent.Invitation) (agent.Member, error) {
	if err := makeNodeDir(cfg); err != nil {
		return agent.Member{}, err
	}
	in.Dir, in.Now = agentDir(cfg), clock.System(cfg.ClockOffset).Now
	return agent.Join(ctx, in)
}

// RunNode runs this machine for the control plane that it has joined, until ctx ends. It is the command "stead node".
func RunNode(ctx context.Context, cfg config.Config, opts Options) (err error) {
	log, now := opts.Log, opts.Clock
	if now == nil {
		now = clock.System(cfg.ClockOffset)
	}
	if log == nil {
		log = observe.NewLog(os.Stderr, cfg.LogLevel)
	}
	if err := makeNodeDir(cfg); err != nil {
		return err
	}
	release, err := lockDataDir(cfg.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	traces, err := observe.NewTraces(ctx, cfg.OTLPEndpoint, "stead-node", opts.Version)
	if err != nil {
		return err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.ShutdownTimeout)
		defer cancel()
		err = errors.Join(err, traces.Close(last))
	}()
	a := agent.Config{Dir: agentDir(cfg), Version: opts.Version, Now: now.Now, Log: log, Traces: traces, Program: opts.Upgrade}
	if a.Program != nil {
		a.Program.Allowed = cfg.NodeUpgrades
	}
	member, err := agent.Joined(a.Dir)
	if err != nil {
		return err
	}
	var sites net.Listener
	var lc net.ListenConfig
	if cfg.NodeMachine == config.MachineDirectories && cfg.NodeListen != config.Off {
		if sites, err = lc.Listen(ctx, "tcp", cfg.NodeListen); err != nil {
			return taken(ctx, err, "STEAD_NODE_LISTEN", cfg.NodeListen)
		}
		if cfg.NodeURL == "" {
			cfg.NodeURL = address(sites, false)
		}
	}
	mc := machineConfig(cfg, now.Now, log)
	mc.Location = member.Location
	if host, _, err := net.SplitHostPort(member.Address); err == nil {
		mc.Names = append(mc.Names, host)
	}
	left, err := agent.Left(ctx, a.Dir, now.Now)
	if err != nil {
		log.WarnContext(ctx, "the control plane cannot be asked which accounts have left this machine; all are served until it reports", "error", err)
	}
	mc.Left = map[string]int64{}
	for _, l := range left {
		mc.Left[l.Ref] = l.Epoch
	}
	m, err := machine.Open(ctx, mc)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	a.Panel = panelnode.New(m.Node)
	if cfg.Monitors {
		a.Prober = probe.New(probe.Config{Clock: now, AllowLoopback: cfg.AllowLoopbackTargets, Log: log})
	}
	a.Measure = func() (nodelink.Capacity, error) {
		c, err := agent.Measure(mc.Dir, len(m.Refs()))
		if err == nil {
			c.MailQueue, err = m.MailQueue()
		}
		return c, err
	}
	ag, err := agent.Open(a)
	if err != nil {
		return err
	}
	ln, err := lc.Listen(ctx, "tcp", cfg.AgentListen)
	if err != nil {
		return taken(ctx, err, "STEAD_AGENT_LISTEN", cfg.AgentListen)
	}
	log.InfoContext(ctx, "serving as a node", "node", member.Name, "agent", ln.Addr().String(), "sites", cfg.NodeURL, "version", opts.Version)

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	broken := make(chan error, 2)
	running.Go(func() {
		defer stop()
		broken <- ag.Run(ctx, ln, cfg.ShutdownTimeout)
	})
	if sites != nil {
		running.Go(func() {
			defer stop()
			broken <- m.Serve(ctx, sites, cfg.ShutdownTimeout)
		})
	} else {
		broken <- nil
	}
	running.Wait()
	return errors.Join(<-broken, <-broken)
}

// machineConfig is the machine of the embedded node, or of stead node.
func machineConfig(cfg config.Config, now func() time.Time, log *slog.Logger) machine.Config {
	v4, v6 := cfg.NodeAddresses()
	ports := cfg.Ports()
	return machine.Config{
		Kind: machine.Kind(cfg.NodeMachine), Dir: nodeDir(cfg), Now: now, Log: log, OriginURL: cfg.NodeURL, IPv4: v4, IPv6: v6,
		Nameservers: cfg.Nameservers, Location: cfg.NodeLocation, PreviewDomain: cfg.PreviewDomain, Names: ownNames(cfg),
		Host: cfg.NodeHost, UserPrefix: cfg.NodeUserPrefix,
		Ports: machine.Ports{
			HTTP: ports["http"], HTTPS: ports["https"], FTP: ports["ftp"], SSH: ports["ssh"], MariaDB: ports["mariadb"],
			PostgreSQL: ports["postgresql"],
		},
		Mail: machine.Mail{
			Hostname: cfg.MailHost, Relay: cfg.MailRelay, Postmaster: cfg.MailPostmaster, ClamAV: cfg.MailClamAV, CertFile: cfg.MailCertFile, KeyFile: cfg.MailKeyFile,
			Ports: machine.MailPorts{
				SMTP: ports["smtp"], Submission: ports["submission"], Submissions: ports["submissions"], IMAP: ports["imap"],
				IMAPS: ports["imaps"], POP3: ports["pop3"], POP3S: ports["pop3s"], Sieve: ports["sieve"], Submit: ports["submit"], Signin: ports["signin"],
			},
		},
		Backups: machine.Backups{Repository: cfg.BackupStore, CredentialsFile: cfg.BackupS3File, Region: cfg.BackupS3Region},
	}
}
