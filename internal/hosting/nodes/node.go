package nodes

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/labels"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/port/panel"
)

// State of a node.
type State string

// The states of a node. Offline is computed: see Node.Shown.
const (
	Joining  State = "joining"
	Active   State = "active"
	Draining State = "draining" // keeps what it has and gets nothing more
	Removed  State = "removed"
	Offline  State = "offline"
	// Maintenance is computed too.
	Maintenance State = "maintenance"
)

// Node is a hosting machine.
type Node struct {
	ID           int64
	Name         string
	Location     string // as plans name it; empty suits plans that name none
	Labels       labels.Set
	State        State
	Maintenance  bool  // operators work at it: it gets nothing more, and that it is silent alarms nobody
	MaxAccounts  int64 // 0: no bound
	DiskPercent  int64 // how much of the disk may be sold: 150 is half as much again as there is
	Placed       int64 // services
	PlacedDiskMB int64 // that their plans allow
	Address      string
	Version      string
	Capabilities []panel.Capability
	Capacity     nodelink.Capacity
	// RegionName is what monitors call the place of the node; empty: the location, or else the name. See Region.
	RegionName string
	// Checks tells that the node makes checks of monitors.
	Checks bool
	CertificateEndsAt, TokenExpiresAt,
	JoinedAt, LastSeenAt *time.Time
	CreatedAt time.Time
}

// Shown is the node's state as it is at a time.
func (n Node) Shown(now time.Time) State {
	switch {
	case n.Serves() && n.Maintenance:
		return Maintenance
	case n.Serves() && !n.alive(now):
		return Offline
	default:
		return n.State
	}
}

// Alive tells that the node has joined and reports.
func (n Node) Alive(now time.Time) bool { return n.Serves() && n.alive(now) }

func (n Node) alive(now time.Time) bool {
	return n.LastSeenAt != nil && now.Sub(*n.LastSeenAt) < nodelink.SilentAfter
}

// missed tells that at least one report of the node did not come.
func (n Node) missed(now time.Time) bool {
	return n.LastSeenAt == nil || now.Sub(*n.LastSeenAt) > nodelink.ReportEvery*3/2
}

// Serves tells that the node has joined: it has an address at which services on it are reached.
func (n Node) Serves() bool { return n.State == Active || n.State == Draining }

// Region is what monitors call the place of the node.
func (n Node) Region() string { return cmp.Or(n.RegionName, n.Location, n.Name) }

// controlRegion is what monitors call the control plane.
const controlRegion = "control"

func validateRegion(name string) error {
	if name != "" && (!nameForm.MatchString(name) || name == controlRegion) {
		return fault.InvalidData("region", "pattern", map[string]any{"Value": nameForm})
	}
	return nil
}

// soldDiskMB is how much disk may be sold on the node.
func (n Node) soldDiskMB() int64 { return n.Capacity.DiskMB * n.DiskPercent / 100 }

// reserve is the part of a disk that new accounts leave free.
const reserve = 20 // a twentieth

// obstacle says what keeps a service from being placed on the node at a time; empty: nothing. missing are the capabilities that
// the node lacks for it.
func (n Node) obstacle(need Need, missing []panel.Capability, now time.Time) string {
	unsuited := n.unsuited(need, missing)
	switch {
	case n.State != Active:
		return "is " + string(n.State)
	case n.Maintenance:
		return "is under maintenance"
	case !n.alive(now):
		return "does not report"
	case unsuited != "":
		return unsuited
	case n.MaxAccounts > 0 && n.Placed >= n.MaxAccounts:
		return fmt.Sprintf("has its %d services", n.MaxAccounts)
	case n.PlacedDiskMB+need.DiskMB > n.soldDiskMB():
		return fmt.Sprintf("has sold %d of %d MB of disk", n.PlacedDiskMB, n.soldDiskMB())
	case n.DiskLow():
		return fmt.Sprintf("has %d MB of its disk free", n.Capacity.DiskFreeMB)
	default:
		return ""
	}
}

// unsuited says why a service is never placed on the node, however much room it has; empty: it may be.
func (n Node) unsuited(need Need, missing []panel.Capability) string {
	lacking := n.Labels.Lacking(need.Labels)
	maps.Copy(lacking, n.Labels.Lacking(need.Target.Labels))
	switch {
	case need.Target.Node != "" && n.Name != need.Target.Node:
		return "is not the node that was asked for"
	case len(need.Locations) > 0 && !slices.Contains(need.Locations, n.Location),
		need.Target.Location != "" && n.Location != need.Target.Location:
		return "is at another location"
	case len(lacking) > 0:
		return "lacks the label " + lacking.String()
	case len(missing) > 0:
		return "lacks " + strings.Join(Names(missing), ", ")
	default:
		return ""
	}
}

// DiskLow tells that so little of the disk is free that nothing more is placed on the node.
func (n Node) DiskLow() bool { return n.Capacity.DiskFreeMB <= n.Capacity.DiskMB/reserve }

// Closed says why no service is placed on the node, however small; empty: one can be.
func (n Node) Closed(now time.Time) string { return n.obstacle(Need{DiskMB: 1}, nil, now) }

// share of the node that is taken, in parts of a million, for comparing nodes.
func (n Node) share() int64 {
	if n.soldDiskMB() == 0 {
		return 1_000_000
	}
	share := n.PlacedDiskMB * 1_000_000 / n.soldDiskMB()
	if n.MaxAccounts > 0 {
		share = max(share, n.Placed*1_000_000/n.MaxAccounts)
	}
	return share
}

// Need is what a service asks of the node that it is placed on.
type Need struct {
	ServiceID int64
	DiskMB    int64      // that its plan allows; 0 where the plan sets no bound
	Locations []string   // that its plan is sold in; none: anywhere
	Labels    labels.Set // that its plan asks of nodes
	// Capabilities that its plan promises.
	Capabilities []panel.Capability
	// Target is what an operator asks of the node besides.
	Target Target
}

// Target says which nodes an operator means; empty members mean all.
type Target struct {
	Node     string // by its name
	Location string
	Labels   labels.Set
}

// Means tells that the node is one of them.
func (t Target) Means(n Node) bool { return n.unsuited(Need{Target: t}, nil) == "" }

// candidates are the nodes with room for need, the emptiest first, and what keeps it from the others.
func candidates(all []Node, need Need, now time.Time) (fit []Node, obstacles []string) {
	for _, n := range all {
		if obstacle := n.obstacle(need, without(need.Capabilities, n.Capabilities), now); obstacle != "" {
			obstacles = append(obstacles, n.Name+" "+obstacle)
			continue
		}
		fit = append(fit, n)
	}
	slices.SortStableFunc(fit, func(a, b Node) int {
		if a.share() != b.share() {
			return int(a.share() - b.share())
		}
		return int(a.Placed - b.Placed)
	})
	return fit, obstacles
}

// Room is how many services with the same need the nodes have room for; where there is none, what keeps each from it.
type Room struct {
	Services  int64
	Unbounded bool // some node has no bound: the services have no bound of disk, and the node none of its own
	Obstacles []string
}

// roomFor adds up the room of the nodes.
func roomFor(all []Node, need Need, now time.Time) (r Room) {
	fit, obstacles := candidates(all, need, now)
	for _, n := range fit {
		left := int64(math.MaxInt64)
		if need.DiskMB > 0 {
			left = (n.soldDiskMB() - n.PlacedDiskMB) / need.DiskMB
		}
		if n.MaxAccounts > 0 {
			left = min(left, n.MaxAccounts-n.Placed)
		}
		if left == math.MaxInt64 {
			r.Unbounded = true
			continue
		}
		r.Services += left
	}
	if len(fit) == 0 {
		r.Obstacles = obstacles
	}
	return r
}

// Change is what an operator changes of a node; nil leaves a member as it is.
type Change struct {
	Location    *string
	MaxAccounts *int64
	DiskPercent *int64
	// Labels are set beside those that it has; RemoveLabels are keys.
	Labels       labels.Set
	RemoveLabels []string
}

// apply returns the node after the change.
func (c Change) apply(n Node) (Node, error) {
	if c.Location != nil {
		n.Location = *c.Location
	}
	if c.MaxAccounts != nil {
		n.MaxAccounts = *c.MaxAccounts
	}
	if c.DiskPercent != nil {
		n.DiskPercent = *c.DiskPercent
	}
	n.Labels = n.Labels.With(c.Labels, c.RemoveLabels)
	wanted := NewNode{Name: n.Name, Location: n.Location, Labels: n.Labels, Region: n.RegionName, MaxAccounts: n.MaxAccounts, DiskPercent: n.DiskPercent}
	if n.DiskPercent == 0 { // which stands for the default only in a new node
		wanted.DiskPercent = -1
	}
	return n, wanted.validate()
}

const panelPrefix = "node:"

// PanelName is the name of a node as a panel.
func PanelName(id int64) string { return panelPrefix + strconv.FormatInt(id, 10) }

// PanelID reads what PanelName wrote.
func PanelID(name string) (int64, bool) {
	text, ok := strings.CutPrefix(name, panelPrefix)
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && PanelName(id) == name
}

var nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

// NewNode is a node that an operator adds.
type NewNode struct {
	Name        string
	Location    string
	Region      string // what monitors call its place; empty: as Node.Region says
	MaxAccounts int64
	DiskPercent int64 // 0: 100
	Labels      labels.Set
}

// maxDiskPercent bounds how many times over a node's disk can be sold.
const maxDiskPercent = 10_000

func (n *NewNode) validate() error {
	if n.DiskPercent == 0 {
		n.DiskPercent = 100
	}
	switch {
	case !nameForm.MatchString(n.Name):
		return fault.InvalidData("name", "pattern", map[string]any{"Value": nameForm})
	case n.Location != "" && !nameForm.MatchString(n.Location):
		return fault.InvalidData("location", "pattern", map[string]any{"Value": nameForm})
	case n.MaxAccounts < 0:
		return fault.InvalidData("max_accounts", "minimum", map[string]any{"Value": 0})
	case n.DiskPercent < 1:
		return fault.InvalidData("disk_percent", "minimum", map[string]any{"Value": 1})
	case n.DiskPercent > maxDiskPercent:
		return fault.InvalidData("disk_percent", "maximum", map[string]any{"Value": maxDiskPercent})
	case n.Labels.Check() != nil:
		return fault.InvalidData("labels", "labels", map[string]any{"Value": labels.Most})
	default:
		return validateRegion(n.Region)
	}
}
