package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/nodelink"
)

// Node is a hosting machine that has joined.
type Node struct {
	Name, Address, Version string
	// LastSeen is when it joined or reported last; Silent says that a report is overdue.
	LastSeen time.Time
	Silent   bool
	// Maintenance says that operators work at it.
	Maintenance bool
	// Unreachable is why it could not be called; nil: it answered.
	Unreachable     error
	CertificateEnds time.Time
	DiskFreeMB      int64
	DiskLow         bool // too low for further services
	// NoAdminer says that it has databases, and nothing that opens them in browsers.
	NoAdminer bool
	// Closed is why no service, however small, is placed there; empty: it has room.
	Closed string
}

// certificateLate is the remaining life of a certificate that should have been renewed long ago: renewal is at half of
// its life.
const certificateLate = nodelink.NodeLifetime / 4

// nodes checks the separate hosting machines; a problem of one is a finding of its own.
func (e *examination) nodes(ctx context.Context) []Check {
	if e.db == nil {
		return []Check{skip("no database to look at")}
	}
	all, err := e.Nodes(ctx, e.db)
	switch {
	case err != nil:
		return []Check{skip(fmt.Sprintf("they cannot be looked at: %v", err))}
	case len(all) == 0 && e.Config.Panel == config.PanelNodes:
		return []Check{fail("run: stead admin nodes add", "none has joined, so no service can be sold")}
	case len(all) == 0:
		return []Check{skip("none has joined")}
	}
	var (
		findings []Check
		closed   []string
	)
	for _, n := range all {
		findings = append(findings, e.nodeProblems(n)...)
		if n.Closed != "" {
			closed = append(closed, n.Name+" "+n.Closed)
		}
	}
	if len(closed) == len(all) && e.Config.Panel == config.PanelNodes {
		findings = append(findings, fail("run: stead admin nodes add", "no service can be sold: %s", strings.Join(closed, "; ")))
	}
	if len(findings) == 0 {
		findings = []Check{ok("%d report and answer; %d of them have room", len(all), len(all)-len(closed))}
	}
	return findings
}

// nodeProblems returns the problems of one node.
func (e *examination) nodeProblems(n Node) (findings []Check) {
	left := n.CertificateEnds.Sub(e.Clock.Now())
	seen := n.LastSeen.UTC().Format(time.DateTime)
	switch {
	case left <= 0:
		findings = append(findings, fail("run: stead admin nodes rejoin "+n.Name+", and there what it prints",
			"the certificate of %s ended on %s", n.Name, n.CertificateEnds.Format(time.DateOnly)))
	case n.Maintenance: // it may be down
	case n.Silent && n.Unreachable != nil:
		findings = append(findings, fail("look at the machine and at its agent there: systemctl status stead-node",
			"%s has not reported since %s UTC, and %s cannot be called: %v", n.Name, seen, n.Address, n.Unreachable))
	case n.Silent:
		findings = append(findings, fail("let it reach STEAD_NODES_URL, and look into the log of stead-node there",
			"%s answers, but has not reported since %s UTC", n.Name, seen))
	case n.Unreachable != nil:
		findings = append(findings, fail("let the control plane reach the port of its agent; docs/nodes.md tells of the ports",
			"%s reports, but %s cannot be called: %v", n.Name, n.Address, n.Unreachable))
	}
	if left > 0 && left < certificateLate {
		findings = append(findings, warn("look into the log of stead-node there: it renews at half of the certificate's life",
			"the certificate of %s ends on %s", n.Name, n.CertificateEnds.Format(time.DateOnly)))
	}
	if n.DiskLow {
		findings = append(findings, warn("free space there, or have its customers move: it gets no more services",
			"%s has %d MB of its disk free", n.Name, n.DiskFreeMB))
	}
	if n.NoAdminer {
		findings = append(findings, warn("run there: stead node setup; set STEAD_NODE_URL to an address of the machine, and start its agent again",
			"%s has databases, and no Adminer or no address of its own to open them in a browser", n.Name))
	}
	if n.Version != e.Version {
		findings = append(findings, warn("upgrade the older one: what it does not know yet is refused",
			"%s runs version %s, this is %s", n.Name, n.Version, e.Version))
	}
	return findings
}

// strays says that machines have accounts that the database does not know, or the other way round.
func (e *examination) strays(ctx context.Context) Check {
	if e.db == nil {
		return skip("no database to look at")
	}
	n, err := e.Strays(ctx, e.db)
	switch {
	case err != nil:
		return skip(fmt.Sprintf("they cannot be compared: %v", err))
	case n > 0:
		return warn("run: stead admin nodes accounts, which says what to do with each", "machines and the database disagree about %d", n)
	default:
		return ok("machines that answer have those that the database says")
	}
}

// Room is how much of a plan can still be sold.
type Room struct {
	Plan      string
	Services  int64
	Unbounded bool
	Obstacles []string // where there is none
}

// fewServices is how little room operators are warned of.
const fewServices = 10

// room says of which plans the nodes can take no more, or few.
func (e *examination) room(ctx context.Context) Check {
	if e.db == nil {
		return skip("no database to look at")
	}
	all, err := e.Rooms(ctx, e.db)
	if err != nil {
		return skip(fmt.Sprintf("it cannot be counted: %v", err))
	}
	var none, few, counts []string
	for _, r := range all {
		count := fmt.Sprintf("%s: %d", r.Plan, r.Services)
		switch {
		case r.Unbounded:
			count = r.Plan + ": no bound"
		case r.Services == 0:
			none = append(none, fmt.Sprintf("%s (%s)", r.Plan, strings.Join(r.Obstacles, "; ")))
		case r.Services < fewServices:
			few = append(few, count)
		}
		counts = append(counts, count)
	}
	const remedy = "add a node, or change one: stead admin nodes set"
	switch {
	case len(none) > 0:
		return fail(remedy, "no node takes another service of %s", strings.Join(none, ", "))
	case len(few) > 0:
		return warn(remedy, "services that the nodes can still take: %s", strings.Join(few, ", "))
	case len(all) == 0:
		return skip("no plan is on sale")
	default:
		return ok("services that the nodes can still take: %s", strings.Join(counts, ", "))
	}
}

// plans says which plans nobody can be sold.
func (e *examination) plans(ctx context.Context) Check {
	if e.db == nil {
		return skip("no database to look at")
	}
	found, err := e.Unfulfillable(ctx, e.db)
	switch {
	case err != nil:
		return skip(fmt.Sprintf("they cannot be read: %v", err))
	case len(found) > 0:
		return fail("set the limit of what lacks to 0 in the catalogue, or give a server what lacks; orders are refused until then",
			"on sale, and no server has what they promise: %s", strings.Join(found, "; "))
	default:
		return ok("servers have what they promise")
	}
}

// sandboxes says that resellers cannot order hosting in theirs.
func (e *examination) sandboxes(ctx context.Context) Check {
	if e.db == nil {
		return skip("no database to look at")
	}
	var all int
	err := e.db.QueryRow(ctx, `SELECT COUNT(*) FROM account_users WHERE sandbox_of IS NOT NULL`).Scan(&all)
	switch {
	case err != nil:
		return skip(fmt.Sprintf("they cannot be counted: %v", err))
	case all == 0:
		return skip("no reseller has one")
	default:
		return warn("with a single replica set STEAD_NODE_LISTEN=127.0.0.1:8081; with several, tell resellers who integrate",
			"%d sandboxes of resellers can order no hosting: the machine that simulates it is in the process with the embedded node, and there is none", all)
	}
}
