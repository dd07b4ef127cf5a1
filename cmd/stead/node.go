package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stead.dev/stead/internal/app"
	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/node/agent"
	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/node/mailguard"
	"stead.dev/stead/internal/node/setup"
	"stead.dev/stead/internal/node/trial"
	"stead.dev/stead/internal/node/upgrade"
	"stead.dev/stead/internal/platform/labels"
	"stead.dev/stead/internal/platform/observe"
)

// nodeCmd has the commands of a separate hosting machine.
type nodeCmd struct {
	Run      nodeRun      `cmd:"" default:"1" help:"Serve as a node until told to stop (SIGTERM, SIGINT)."`
	Join     nodeJoin     `cmd:"" help:"Make this machine a node, with what stead admin nodes add printed."`
	Setup    nodeSetup    `cmd:"" help:"Prepare this Debian machine for hosting: packages, settings, unit. May be run again."`
	Selftest nodeSelftest `cmd:"" help:"Try whether this machine holds the limits of accounts and keeps them apart."`
}

type nodeRun struct{}

// Run serves until the process is told to stop, or is to go on as another program.
func (nodeRun) Run(e *environment) error {
	program, ctx, err := upgrade.Begin(e.ctx, e.version, observe.NewLog(e.stderr, slog.LevelInfo))
	if err != nil {
		return err
	}
	if ctx.Err() == nil {
		err = e.serveNode(ctx, program)
	}
	return program.End(err, os.Args, e.environ)
}

func (e *environment) serveNode(ctx context.Context, program *upgrade.Program) error {
	cfg, err := e.load(nil)
	if err != nil {
		return err
	}
	return app.RunNode(ctx, cfg, app.Options{Version: e.version, Upgrade: program})
}

type nodeJoin struct {
	URL        string `help:"Address of the control plane for nodes, such as https://panel.example.com:8444." required:""`
	Token      string `help:"Token that stead admin nodes add printed." xor:"token"`
	TokenStdin bool   `help:"Read the token from standard input, so that it stands in no list of processes." xor:"token"`
	Address    string `help:"Host and port where the control plane calls this machine, such as node1.example.com:8443." required:""`
	Again      bool   `help:"Join anew though this machine has joined before."`
}

// Run joins the machine to a control plane.
func (c *nodeJoin) Run(e *environment) error {
	cfg, err := e.load(nil)
	if err != nil {
		return err
	}
	token := c.Token
	if token == "" {
		line, err := io.ReadAll(io.LimitReader(e.stdin, 4096))
		if err != nil {
			return fmt.Errorf("read the token: %w", err)
		}
		if token = strings.TrimSpace(string(line)); token == "" {
			return usageError{errors.New("give --token, or --token-stdin and the token on standard input")}
		}
	}
	m, err := app.JoinNode(e.ctx, cfg, agent.Invitation{
		URL: c.URL, Token: token, Address: c.Address, Version: e.version, Again: c.Again,
	})
	if err != nil {
		return err
	}
	return e.show(map[string]any{"id": m.ID, "name": m.Name, "location": m.Location}, func(w io.Writer) {
		row(w, "joined as", m.Name)
		row(w, "next", "stead node")
	})
}

type nodeSetup struct {
	DryRun      bool     `help:"Say what would be done, and do nothing."`
	DataDir     string   `help:"Where the node keeps everything." default:"/var/lib/stead"`
	Settings    string   `help:"File of the node's settings; one that is there is left alone." default:"/etc/stead/node.yaml"`
	AgentListen string   `help:"Address where the control plane calls this machine." default:"0.0.0.0:8443"`
	IPv4        string   `name:"ipv4" help:"Address of this machine for customers' DNS."`
	IPv6        string   `name:"ipv6" help:"The same for IPv6."`
	Nameservers []string `help:"Names of the public name servers."`
}

// Run sets the machine up.
func (c *nodeSetup) Run(e *environment) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if !c.DryRun && os.Geteuid() != 0 {
		return errors.New("only root can set a machine up; --dry-run says what it would do")
	}
	settings := setup.Settings{
		DataDir: c.DataDir, ConfigFile: c.Settings, AgentListen: c.AgentListen, Program: program,
		IPv4: c.IPv4, IPv6: c.IPv6, Nameservers: c.Nameservers,
	}
	if err := setup.Execute(e.ctx, setup.Local(), setup.Plan(settings), c.DryRun, e.stdout); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(e.stdout, setup.Next(setup.Local(), settings))
	return nil
}

type nodeSelftest struct{}

// Run tries what the kernel holds, and fails when it does not hold what it has.
func (nodeSelftest) Run(e *environment) error {
	cfg, err := e.load(nil)
	if err != nil {
		return err
	}
	results, err := trial.Run(e.ctx, trial.Config{
		Dir: filepath.Join(cfg.DataDir, "node"), UID: machine.LastUID + 1, Users: mailguard.Users{First: machine.FirstUID, Last: machine.LastUID},
	})
	if err != nil {
		return err
	}
	broken := 0
	for _, r := range results {
		if r.Outcome == trial.Broken {
			broken++
		}
	}
	err = e.show(map[string]any{"data": results}, func(w io.Writer) {
		for _, r := range results {
			row(w, r.Outcome, r.Check, r.Detail)
		}
	})
	if err == nil && broken > 0 {
		err = fmt.Errorf("%d of %d checks found a rule that this machine does not hold", broken, len(results))
	}
	return err
}

// nodesCmd has the commands for nodes.
type nodesCmd struct {
	List        nodesList        `cmd:"" help:"List all nodes."`
	Add         nodesAdd         `cmd:"" help:"Invite a machine to become a node; prints what to run there."`
	Set         nodesSet         `cmd:"" help:"Change where a node is and how much is placed on it."`
	Rejoin      nodesRejoin      `cmd:"" help:"Invite the machine that stands in for a node, or one that lost its key."`
	Maintenance nodesMaintenance `cmd:"" help:"Say that a node is worked at: nothing new is placed on it, and nobody is alarmed."`
	Drain       nodesDrain       `cmd:"" help:"Place no more services on a node; it keeps those it has."`
	Resume      nodesResume      `cmd:"" help:"Place services on a drained node again."`
	Upgrade     nodesUpgrade     `cmd:"" help:"Have nodes run this program's version, one after the other; ends at the first that does not come back."`
	Checks      nodesChecks      `cmd:"" help:"Say whether a node makes checks of monitors, and for which region."`
	Evacuate    nodesEvacuate    `cmd:"" help:"Move all services of a living node to others, and place no more on it."`
	Recover     nodesRecover     `cmd:"" help:"Make the services of a dead node on others, out of their newest backups."`
	Accounts    nodesAccounts    `cmd:"" help:"List the accounts about which machines and the database disagree, such as after a restore."`
	Release     nodesRelease     `cmd:"" help:"Have a machine let go of an account of which no service is known: its domains are free, its files stay."`
	Remove      nodesRemove      `cmd:"" help:"End a node: its certificate is good for nothing from then on."`
}

type nodesList struct{}

// Run lists nodes.
func (nodesList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		list, err := a.ListNodes(e.ctx)
		if err != nil {
			return err
		}
		return e.show(map[string]any{"data": list}, func(w io.Writer) {
			row(w, "ID", "NAME", "LOCATION", "LABELS", "CHECKS FOR", "STATE", "SERVICES", "DISK SOLD", "DISK FREE", "LOAD", "SEEN", "VERSION")
			for _, n := range list {
				row(w, n.ID, n.Name, dash(n.Location), dash(labels.Set(n.Labels).String()), checksFor(n), n.State, services(n), gib(n.SoldDiskMB)+"/"+gib(n.SellableDiskMB),
					gib(n.Capacity.DiskFreeMB)+"/"+gib(n.Capacity.DiskMB), fmt.Sprintf("%.2f/%d", n.Capacity.Load, n.Capacity.CPUs),
					seen(n.LastSeenAt), dash(n.Version))
			}
		})
	})
}

// checksFor is the region for which a node checks monitors.
func checksFor(n admin.Node) string {
	if !n.Checks {
		return "-"
	}
	return n.Region
}

func services(n admin.Node) string {
	if n.MaxAccounts == 0 {
		return fmt.Sprint(n.Services)
	}
	return fmt.Sprintf("%d/%d", n.Services, n.MaxAccounts)
}

// gib formats mebibytes in gibibytes.
func gib(mb int64) string { return fmt.Sprintf("%.1fG", float64(mb)/1024) }

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func seen(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.Format("2006-01-02 15:04:05")
}

// showInvitation prints the command to run on the machine.
func (e *environment) showInvitation(i admin.Invitation, err error) error {
	if err != nil {
		return err
	}
	return e.show(i, func(w io.Writer) {
		row(w, "node", fmt.Sprintf("%s (%d)", i.Node.Name, i.Node.ID))
		row(w, "good until", i.ExpiresAt.Format("2006-01-02 15:04:05 MST"))
		row(w, "run there", i.Command)
		if i.URL == "" {
			row(w, "note", "STEAD_NODES_URL is not set: put the address of STEAD_NODES_LISTEN in the place of URL")
		}
		if i.Warning != "" {
			row(w, "warning", i.Warning)
		}
	})
}

type nodesAdd struct {
	Name        string   `arg:"" help:"Its name, such as node1."`
	Location    string   `help:"Where it is, in the words of plans' locations."`
	Region      string   `help:"What monitors call its place; its location, or else its name, when it is left out."`
	MaxAccounts int64    `help:"Services that it takes at most; 0: no bound but its disk."`
	DiskPercent int64    `help:"How much of its disk is sold." default:"100"`
	Label       []string `help:"A label, such as disk=nvme or gpu; may be given more than once." placeholder:"KEY=VALUE" sep:"none"`
}

// Run invites a machine.
func (c *nodesAdd) Run(e *environment) error {
	set, err := parseLabels(c.Label)
	if err != nil {
		return err
	}
	return e.administer(func(a *admin.Admin) error {
		return e.showInvitation(a.AddNode(e.ctx, nodes.NewNode{
			Name: c.Name, Location: c.Location, Region: c.Region, MaxAccounts: c.MaxAccounts, DiskPercent: c.DiskPercent,
			Labels: set,
		}))
	})
}

type nodeName struct {
	Name string `arg:"" help:"Its name."`
}

type nodesRejoin struct{ nodeName }

// Run invites a machine to replace a node's.
func (c *nodesRejoin) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showInvitation(a.RejoinNode(e.ctx, c.Name)) })
}

func (e *environment) showNode(n admin.Node, err error) error {
	if err != nil {
		return err
	}
	return e.show(n, func(w io.Writer) {
		row(w, "node", fmt.Sprintf("%s (%d)", n.Name, n.ID))
		row(w, "state", n.State)
		row(w, "services", services(n))
	})
}

type nodesSet struct {
	nodeName
	Location    *string  `help:"Where it is, in the words of plans' locations; empty for none."`
	MaxAccounts *int64   `help:"Services that it takes at most; 0: no bound but its disk."`
	DiskPercent *int64   `help:"How much of its disk is sold."`
	Label       []string `help:"Set a label, such as disk=nvme or gpu; may be given more than once." placeholder:"KEY=VALUE" sep:"none"`
	Unlabel     []string `help:"Remove the label of this key." placeholder:"KEY"`
}

// Run changes a node.
func (c *nodesSet) Run(e *environment) error {
	set, err := parseLabels(c.Label)
	if err != nil {
		return err
	}
	return e.administer(func(a *admin.Admin) error {
		n, err := a.SetNode(e.ctx, c.Name, nodes.Change{
			Location: c.Location, MaxAccounts: c.MaxAccounts, DiskPercent: c.DiskPercent, Labels: set, RemoveLabels: c.Unlabel,
		})
		if err != nil {
			return err
		}
		return e.show(n, func(w io.Writer) {
			row(w, "node", fmt.Sprintf("%s (%d)", n.Name, n.ID))
			row(w, "location", dash(n.Location))
			row(w, "labels", dash(labels.Set(n.Labels).String()))
			row(w, "services", services(n.Node))
			row(w, "disk sold", gib(n.SoldDiskMB)+"/"+gib(n.SellableDiskMB))
			if n.Warning != "" {
				row(w, "warning", n.Warning)
			}
		})
	})
}

type nodesMaintenance struct {
	nodeName
	Switch string `arg:"" enum:"on,off" help:"on or off."`
	Reason string `help:"Why, for the audit log."`
}

// Run says whether a node is worked at.
func (c *nodesMaintenance) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		return e.showNode(a.SetNodeMaintenance(admin.Because(e.ctx, c.Reason), c.Name, c.Switch == "on"))
	})
}

type nodesDrain struct{ nodeName }

// Run drains a node.
func (c *nodesDrain) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showNode(a.DrainNode(e.ctx, c.Name)) })
}

type nodesResume struct{ nodeName }

// Run undoes draining.
func (c *nodesResume) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showNode(a.ResumeNode(e.ctx, c.Name)) })
}

type nodesChecks struct {
	nodeName
	On     bool    `help:"It makes checks of monitors." xor:"switch"`
	Off    bool    `help:"It makes none." xor:"switch"`
	Region *string `help:"What monitors call its place; empty for its location, or else its name."`
}

// Run says whether a node makes checks, and for which region.
func (c *nodesChecks) Run(e *environment) error {
	var on *bool
	if c.On || c.Off {
		on = &c.On
	}
	return e.administer(func(a *admin.Admin) error {
		n, err := a.SetNodeChecks(e.ctx, c.Name, on, c.Region)
		if err != nil {
			return err
		}
		return e.show(n, func(w io.Writer) {
			row(w, "node", fmt.Sprintf("%s (%d)", n.Name, n.ID))
			row(w, "region", n.Region)
			row(w, "checks", map[bool]string{true: "on", false: "off"}[n.Checks])
		})
	})
}

type nodesRemove struct {
	nodeName
	Force bool `help:"Though services are on it: they are lost."`
}

// Run removes a node.
func (c *nodesRemove) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showNode(a.RemoveNode(e.ctx, c.Name, c.Force)) })
}
