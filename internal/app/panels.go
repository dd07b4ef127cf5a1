package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"stead.dev/stead/internal/commerce/catalog"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/labels"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/remote"
)

// panels finds hosting panels by name: those that the configuration opens, and the nodes that have joined.
type panels struct {
	fixed map[string]panel.Panel
	nodes *farPanels // nil in commands: what changes on a panel is done by jobs
}

// Panel implements files.Panels and site.Panels.
func (p *panels) Panel(name string) (panel.Panel, bool) {
	if id, ok := nodes.PanelID(name); ok && p.nodes != nil {
		return p.nodes.panel(id)
	}
	found, ok := p.fixed[name]
	return found, ok
}

// farPanels opens nodes as panels. A node is looked up when it is used first, and again after a signal that it has
// changed.
type farPanels struct {
	nodes *nodes.Service
	hub   *signal.Hub
	log   *slog.Logger

	mu    sync.Mutex
	known map[int64]*farPanel
}

type farPanel struct {
	*remote.Panel
	address string
	stale   bool
}

func newFarPanels(n *nodes.Service, hub *signal.Hub, log *slog.Logger) *farPanels {
	p := &farPanels{nodes: n, hub: hub, log: log, known: map[int64]*farPanel{}}
	hub.Subscribe(nodes.Topic, p.heard)
	return p
}

func (p *farPanels) heard(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id, ok := nodes.PanelID(name); ok && p.known[id] != nil {
		p.known[id].stale = true
	}
}

// lookUp bounds the look-up of a node's address.
const lookUp = 3 * time.Second

func (p *farPanels) panel(id int64) (panel.Panel, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.known[id]
	if known != nil && !known.stale && p.hub.Fresh() {
		return known.Panel, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookUp)
	defer cancel()
	found, ok, err := p.nodes.Find(ctx, id)
	var identity *nodelink.Identity
	if err == nil && ok {
		identity, err = p.nodes.Identity(ctx)
	}
	switch {
	case err != nil:
		p.log.Error("a node cannot be looked up", "node", id, "error", err)
		return nil, false
	case !ok:
		p.forget(id)
		return nil, false
	case known != nil && known.address == found.Address:
		known.Know(found.Capabilities)
		known.stale = false
		return known.Panel, true
	}
	p.forget(id)
	far := remote.New(remote.Config{
		Name: nodes.PanelName(id), Address: found.Address, Capabilities: found.Capabilities,
		TLS: identity.Client(nodelink.NodeName(id)), Job: jobs.Working,
	})
	p.known[id] = &farPanel{Panel: far, address: found.Address}
	return far, true
}

func (p *farPanels) forget(id int64) {
	if known := p.known[id]; known != nil {
		_ = known.Close() // frees idle connections and cannot fail
		delete(p.known, id)
	}
}

// asking tells what services ask of panels, and what of it no panel has.
type asking struct {
	nodes   *nodes.Service
	catalog *catalog.Service
	panel   string // on which services are provisioned: config.PanelNodes, or the only one
	// anyhow asks of panels no more than they have: of services that there are already, and in a demonstration, which shows its whole
	// shop on whatever machine there is.
	anyhow bool
	// noSandboxes refuses the services of sandboxes, which have no machine.
	noSandboxes bool
}

func newAsking(cfg config.Config, n *nodes.Service, c *catalog.Service) asking {
	return asking{nodes: n, catalog: c, panel: cfg.Panel, anyhow: cfg.Demo, noSandboxes: nowhereSimulated(cfg)}
}

// lacking lists those of the wanted capabilities that no panel has.
func (a asking) lacking(ctx context.Context, q db.Querier, wanted []panel.Capability) ([]panel.Capability, error) {
	if a.panel == config.PanelNodes {
		return a.nodes.NobodyHas(ctx, q, wanted)
	}
	return a.nodes.Lacking(ctx, q, a.panel, wanted)
}

// need is what a service asks of a panel.
func (a asking) need(ctx context.Context, q db.Querier, s provisioning.Placement) (nodes.Need, error) {
	plan, err := a.catalog.Asks(ctx, q, s.PlanID)
	if err != nil {
		return nodes.Need{}, err
	}
	plan.Limits = s.Limits
	need := needOf(plan)
	need.ServiceID = s.ServiceID
	if !a.anyhow {
		return need, nil
	}
	missing, err := a.lacking(ctx, q, need.Capabilities)
	need.Capabilities = slices.DeleteFunc(need.Capabilities, func(c panel.Capability) bool { return slices.Contains(missing, c) })
	return need, err
}

// Check implements provisioning.Placer.
func (a asking) Check(ctx context.Context, q db.Querier, s provisioning.Placement) error {
	switch {
	case s.Sandbox && a.noSandboxes:
		return fault.OutOfStock.With(fault.Fields{"missing": []string{config.PanelSandbox}})
	case s.Sandbox, a.anyhow: // the simulated machine has everything
		return nil
	}
	need, err := a.need(ctx, q, s)
	if err != nil {
		return err
	}
	missing, err := a.lacking(ctx, q, need.Capabilities)
	return errors.Join(err, nodes.Lacks(missing))
}

// unfulfillable lists the plans on sale that promise what no panel has; none in a demonstration.
func (a asking) unfulfillable(ctx context.Context, q db.Querier) (found []catalog.Unfulfillable, err error) {
	if a.anyhow {
		return nil, nil
	}
	plans, err := a.catalog.OnSale(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, plan := range plans {
		missing, err := a.lacking(ctx, q, needOf(plan).Capabilities)
		if err != nil {
			return nil, err
		}
		names := nodes.Names(missing)
		if lacking, err := a.noNodeWith(ctx, q, plan.NodeLabels); err != nil {
			return nil, err
		} else if lacking {
			names = append(names, "labels "+plan.NodeLabels.String())
		}
		if len(names) > 0 {
			found = append(found, catalog.Unfulfillable{Plan: plan.Slug, Missing: names})
		}
	}
	return found, nil
}

// noNodeWith tells that nodes have joined, and none has these labels.
func (a asking) noNodeWith(ctx context.Context, q db.Querier, wanted labels.Set) (bool, error) {
	if a.panel != config.PanelNodes || len(wanted) == 0 {
		return false, nil
	}
	serving := func(t nodes.Target) (bool, error) {
		found, err := a.nodes.Meaning(ctx, q, t)
		return slices.ContainsFunc(found, nodes.Node.Serves), err
	}
	if some, err := serving(nodes.Target{}); err != nil || !some {
		return false, err
	}
	has, err := serving(nodes.Target{Labels: wanted})
	return !has, err
}

// needOf is what a service of a plan asks of a panel.
func needOf(plan catalog.Sold) nodes.Need {
	limits := site.Limits(plan.Limits)
	need := nodes.Need{
		DiskMB: max(0, limits.Of("disk_mb")), Locations: plan.Locations, Labels: plan.NodeLabels,
		Capabilities: []panel.Capability{panel.CapAccounts, panel.CapSites, panel.CapFiles},
	}
	for _, p := range sold {
		if limits.Of(p.limit) != 0 {
			need.Capabilities = append(need.Capabilities, p.needs)
		}
	}
	for _, version := range plan.PHPVersions {
		need.Capabilities = append(need.Capabilities, panel.PHPVersion(version))
	}
	return need
}

// places adapts the nodes to the provisioning of services.
type places struct{ asking }

// Place implements provisioning.Placer.
func (p places) Place(ctx context.Context, tx *db.Tx, s provisioning.Placement) (string, error) {
	need, err := p.need(ctx, tx, s)
	if err != nil {
		return "", err
	}
	return p.nodes.Place(ctx, tx, need)
}

// PlaceElsewhere implements provisioning.Placer.
func (p places) PlaceElsewhere(ctx context.Context, tx *db.Tx, s provisioning.Placement, failed []string) (string, error) {
	need, err := p.need(ctx, tx, s)
	if err != nil {
		return "", err
	}
	return p.nodes.PlaceElsewhere(ctx, tx, need, failed)
}

// Resize implements provisioning.Placer.
func (p places) Resize(ctx context.Context, tx *db.Tx, s provisioning.Placement) error {
	return p.nodes.Resize(ctx, tx, s.ServiceID, max(0, s.Limits["disk_mb"]))
}

// onePlace adapts the only panel of an installation to the provisioning of services.
type onePlace struct {
	provisioning.OnePanel
	asking asking
}

// Check implements provisioning.Placer.
func (p onePlace) Check(ctx context.Context, q db.Querier, s provisioning.Placement) error {
	return p.asking.Check(ctx, q, s)
}

// Place implements provisioning.Placer.
func (p onePlace) Place(ctx context.Context, tx *db.Tx, s provisioning.Placement) (string, error) {
	if err := p.Check(ctx, tx, s); err != nil {
		return "", err
	}
	return p.OnePanel.Place(ctx, tx, s)
}

// placer chooses the panels of services.
func placer(a asking) provisioning.Placer {
	if a.panel == config.PanelNodes {
		return places{a}
	}
	return onePlace{provisioning.OnePanel(a.panel), a}
}

// sold are the capabilities that a plan promises by a limit that is not zero.
var sold = []struct {
	limit string
	needs panel.Capability
}{
	{"databases", panel.CapDatabases},
	{"mailboxes", panel.CapMail},
	{"ftp_accounts", panel.CapFTP},
	{"cron_jobs", panel.CapCron},
	{"backups", panel.CapBackups},
}

// roomOf keeps the room that services take on nodes.
type roomOf struct{ nodes *nodes.Service }

// follow keeps the room that services take on nodes: it frees that of services that ended, changes it with the plan, and
// takes it again for services that were restored.
func (p roomOf) follow(s *services.Service) outbox.Subscriber {
	return func(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
		if e.Type != "service.tariff_changed" && e.Type != "service.restored" {
			return p.nodes.Follow(ctx, tx, e)
		}
		of, err := s.Site(ctx, tx, e.AccountID, e.SubjectID)
		if err != nil {
			return err
		}
		if e.Type == "service.restored" {
			return p.nodes.Return(ctx, tx, e.SubjectID, of.Panel, max(0, of.Limits["disk_mb"]))
		}
		return p.nodes.Resize(ctx, tx, e.SubjectID, max(0, of.Limits["disk_mb"]))
	}
}

// panelsElsewhere reports whether a process without an embedded node can do the jobs of panels.
func panelsElsewhere(cfg config.Config) bool {
	return slices.Contains([]string{config.PanelSandbox, config.PanelNodes, config.PanelHestia}, cfg.Panel)
}

// withoutPanels reports whether this process leaves what needs the panels to others.
func withoutPanels(cfg config.Config) bool {
	return cfg.NodeListen == config.Off && !panelsElsewhere(cfg)
}

// simulates reports whether this process has the simulated machine on which the services of resellers' sandboxes are. Its
// state lies in the data directory, so one process alone may have it: the one with the embedded node, or the only one of a
// SQLite database.
func simulates(cfg config.Config) bool {
	return cfg.SQLite() || cfg.NodeListen != config.Off || cfg.Panel == config.PanelSandbox
}

// nowhereSimulated reports whether no process has that machine: none of replicas that all do the jobs of panels.
func nowhereSimulated(cfg config.Config) bool { return !simulates(cfg) && !withoutPanels(cfg) }

// panelSocket is where a server answers for its own node, to the commands of operators on the same machine.
func panelSocket(cfg config.Config) string { return filepath.Join(cfg.DataDir, "local", "panel.sock") }

// serveNode answers for the node of this process at a socket, so that a command can send it content. A server does its work without it.
func (c *core) serveNode(ctx context.Context, p panel.Panel) {
	ln, err := remote.ListenSocket(ctx, panelSocket(c.cfg))
	if err != nil {
		c.log.WarnContext(ctx, "commands cannot send content to the node of this process", "error", err)
		return
	}
	srv := &http.Server{Handler: remote.Handler(p, c.version), ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelWarn)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			c.log.Warn("commands cannot send content to the node of this process", "error", err)
		}
	}()
	c.onClose(func(context.Context) error {
		err := srv.Close()
		<-ended
		return err
	})
}

// contentPanels are the hosting machines to which content can be sent: in a command those that have joined, and the node of the server on
// this machine.
func (c *core) contentPanels(as role) site.Panels {
	if as == server {
		return c.panels
	}
	far := &panels{fixed: map[string]panel.Panel{}, nodes: newFarPanels(c.nodes, c.hub, c.log)}
	if c.cfg.NodeListen != config.Off {
		far.fixed[config.PanelNode] = remote.New(remote.Config{Name: config.PanelNode, Socket: panelSocket(c.cfg)})
	}
	return far
}

// servedHere tells whether the sites on a panel may be asked at loopback addresses: those of the node in this process.
func servedHere(cfg config.Config, panelName string) bool {
	return panelName == config.PanelNode || cfg.AllowLoopbackTargets
}
