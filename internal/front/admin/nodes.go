package admin

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/release"
)

// Node is a hosting machine as operators see it.
type Node struct {
	ID             int64             `json:"id"`
	Name           string            `json:"name"`
	Location       string            `json:"location"`
	Labels         map[string]string `json:"labels" doc:"By their keys; a plain tag has an empty value."`
	Region         string            `json:"region"` // what monitors call its place
	Checks         bool              `json:"checks"` // whether it makes checks of monitors
	State          string            `json:"state"`
	Maintenance    bool              `json:"maintenance"` // whether operators work at it
	Services       int64             `json:"services"`
	MaxAccounts    int64             `json:"max_accounts"`
	SoldDiskMB     int64             `json:"sold_disk_mb"`
	SellableDiskMB int64             `json:"sellable_disk_mb"`
	DiskPercent    int64             `json:"disk_percent" doc:"How much of its disk may be sold: 150 is half as much again as there is."`
	Address        string            `json:"address"`
	Version        string            `json:"version"`
	Behind         bool              `json:"behind" doc:"Whether the control plane runs a newer release than the node: *Have a node run the version of the control plane* upgrades it."`
	Capabilities   []string          `json:"capabilities"`
	Capacity       nodelink.Capacity `json:"capacity"`
	CertificateEnd *time.Time        `json:"certificate_ends_at"`
	JoinedAt       *time.Time        `json:"joined_at"`
	LastSeenAt     *time.Time        `json:"last_seen_at"`
}

func (a *Admin) node(n nodes.Node) Node {
	shown := Node{
		ID: n.ID, Name: n.Name, Location: n.Location, Labels: n.Labels, Region: n.Region(), Checks: n.Checks, State: string(n.Shown(a.Clock.Now())), Maintenance: n.Maintenance, Services: n.Placed,
		MaxAccounts: n.MaxAccounts, SoldDiskMB: n.PlacedDiskMB, SellableDiskMB: n.Capacity.DiskMB * n.DiskPercent / 100, DiskPercent: n.DiskPercent,
		Address: n.Address, Version: n.Version, Behind: n.Serves() && release.Newer(a.Agents.Own(), n.Version), Capabilities: []string{}, Capacity: n.Capacity,
		CertificateEnd: n.CertificateEndsAt, JoinedAt: n.JoinedAt, LastSeenAt: n.LastSeenAt,
	}
	for _, c := range n.Capabilities {
		shown.Capabilities = append(shown.Capabilities, string(c))
	}
	return shown
}

// ListNodes lists all separate hosting machines.
func (a *Admin) ListNodes(ctx context.Context) ([]Node, error) {
	found, err := a.Nodes.List(ctx)
	list := make([]Node, len(found))
	for i, n := range found {
		list[i] = a.node(n)
	}
	return list, err
}

// NodesAmong lists the hosting machines that need attention, by a kind of the dashboard; an empty one lists all.
func (a *Admin) NodesAmong(ctx context.Context, attention string) ([]Node, error) {
	all, err := a.ListNodes(ctx)
	if err != nil || attention == "" {
		return all, err
	}
	stuck, args := a.among("id", attention, nil)
	ids, err := db.Collect(ctx, a.DB, func(r db.Row) (id int64, err error) { return id, r.Scan(&id) }, `SELECT id FROM nodes_nodes WHERE TRUE`+stuck, args...)
	return slices.DeleteFunc(all, func(n Node) bool { return !slices.Contains(ids, n.ID) }), err
}

// Invitation is a machine's token for joining. It is shown once.
type Invitation struct {
	Node      Node      `json:"node"`
	URL       string    `json:"url"`
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
	Command   string    `json:"command"`
	// Warning says what will keep services from the node.
	Warning string `json:"warning,omitempty"`
}

func (a *Admin) invitation(n nodes.Node, token string, err error) (Invitation, error) {
	if err != nil {
		return Invitation{}, err
	}
	address := a.NodesURL
	if address == "" {
		address = "URL"
	}
	i := Invitation{Node: a.node(n), URL: a.NodesURL, Token: token, Command: "stead node join --url " + address +
		" --token " + token + " --address THIS_MACHINE:8443"}
	if n.TokenExpiresAt != nil {
		i.ExpiresAt = *n.TokenExpiresAt
	}
	return i, nil
}

// AddNode invites a machine to become a node.
func (a *Admin) AddNode(ctx context.Context, n nodes.NewNode) (Invitation, error) {
	// The first transaction of a change is the one that the audit log records, so it must be the node's.
	if err := a.Nodes.Prepare(ctx); err != nil {
		return Invitation{}, err
	}
	i, err := a.invitation(a.Nodes.Add(a.change(ctx, "node.add", "", newRowOf("node", "nodes_nodes", nodeColumns)), n))
	if err != nil {
		return i, err
	}
	i.Warning, err = a.misplaced(ctx, n.Location)
	return i, err
}

// ChangedNode is a node after a change.
type ChangedNode struct {
	Node
	// Warning says what will keep services from the node.
	Warning string `json:"warning,omitempty"`
}

// SetNode changes where a node is and how much is placed on it.
func (a *Admin) SetNode(ctx context.Context, name string, c nodes.Change) (ChangedNode, error) {
	n, err := a.Nodes.Set(a.change(ctx, "node.set", "", nodeSubject(name)), name, c)
	if err != nil {
		return ChangedNode{}, err
	}
	warning, err := a.misplaced(ctx, n.Location)
	return ChangedNode{a.node(n), warning}, err
}

// misplaced says why plans on sale cannot be placed at a location; empty when some can that name it, or when a node that
// names none takes some.
func (a *Admin) misplaced(ctx context.Context, location string) (string, error) {
	places, anywhere, err := a.Catalog.Places(ctx, a.DB)
	if err != nil || len(places) == 0 && (location == "" || len(anywhere) == 0) {
		return "", err
	}
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = p.Name
	}
	if slices.Contains(names, location) || location == "" && len(anywhere) > 0 {
		return "", nil
	}
	what := "no plan on sale names the location " + strconv.Quote(location)
	if location == "" {
		what = "the node has no location, and every plan on sale names one"
	}
	if len(anywhere) > 0 {
		what += "; only plans without a location are placed there"
	} else {
		what += "; nothing is placed there"
	}
	if len(names) > 0 {
		what += ". Plans name: " + strings.Join(names, ", ")
	}
	return what, nil
}

// RejoinNode invites a machine to replace a node's.
func (a *Admin) RejoinNode(ctx context.Context, name string) (Invitation, error) {
	return a.invitation(a.Nodes.Rejoin(a.change(ctx, "node.rejoin", "", nodeSubject(name)), name))
}

// DrainNode stops placing services on a node.
func (a *Admin) DrainNode(ctx context.Context, name string) (Node, error) {
	n, err := a.Nodes.Drain(a.change(ctx, "node.drain", "", nodeSubject(name)), name)
	return a.node(n), err
}

// ResumeNode undoes DrainNode.
func (a *Admin) ResumeNode(ctx context.Context, name string) (Node, error) {
	n, err := a.Nodes.Resume(a.change(ctx, "node.resume", "", nodeSubject(name)), name)
	return a.node(n), err
}

// SetNodeMaintenance says that operators work at a node, or do not any more.
func (a *Admin) SetNodeMaintenance(ctx context.Context, name string, on bool) (Node, error) {
	n, err := a.Nodes.SetMaintenance(a.change(ctx, "node.maintenance", "", nodeSubject(name)), name, on)
	return a.node(n), err
}

// SetNodeChecks says whether a node makes checks of monitors, and what they call its place; nil leaves that as it is.
func (a *Admin) SetNodeChecks(ctx context.Context, name string, on *bool, region *string) (Node, error) {
	n, err := a.Nodes.SetChecks(a.change(ctx, "node.checks", "", nodeSubject(name)), name, on, region)
	return a.node(n), err
}

// RemoveNode ends a node.
func (a *Admin) RemoveNode(ctx context.Context, name string, force bool) (Node, error) {
	n, err := a.Nodes.Remove(a.change(ctx, "node.remove", "", nodeSubject(name)), name, force)
	return a.node(n), err
}

const nodeColumns = "name, location, labels, region, checks, state, maintenance, max_accounts, disk_percent"

func nodeSubject(name string) subject { return rowOf("node", "nodes_nodes", nodeColumns, "name", name) }
