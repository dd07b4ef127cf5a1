package admin

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
)

// Agents are the programs of separate hosting machines.
type Agents interface {
	// Own is the version of this process's program.
	Own() string
	// Version asks a node which version it runs.
	Version(ctx context.Context, id int64) (string, error)
	// Upgrade has a node exchange its program for that of this process. The node is away for a moment then.
	Upgrade(ctx context.Context, id int64) error
}

// sendProgram bounds how long a node takes a program, which is about a hundred megabytes.
const sendProgram = 10 * time.Minute

// UpgradeNode has a node run the program of this process, and records that. It answers when the node has taken the program and
// begins to run it; a node that runs this version already is left alone.
func (a *Admin) UpgradeNode(ctx context.Context, name string) (Node, error) {
	n, err := a.Nodes.Named(ctx, a.DB, name)
	if err != nil || n.Version == a.Agents.Own() {
		return a.node(n), err
	}
	err = a.DB.InTx(a.change(ctx, "node.upgrade", n.Version+" to "+a.Agents.Own(), nodeSubject(name)), func(ctx context.Context, tx *db.Tx) error {
		if n, err = a.Nodes.Named(ctx, tx, name); err != nil {
			return err
		}
		if why := a.away(n); why != "" {
			return errNodeAway.Wrapf("the node %s", why)
		}
		return nil
	})
	if err != nil {
		return Node{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, sendProgram)
	defer cancel()
	return a.node(n), a.Agents.Upgrade(ctx, n.ID)
}

// away says why a node is not upgraded; empty: it can be.
func (a *Admin) away(n nodes.Node) string {
	switch now := a.Clock.Now(); {
	case !n.Serves():
		return "has not joined"
	case n.Maintenance:
		return "is under maintenance"
	case !n.Alive(now):
		return "does not report"
	default:
		return ""
	}
}

// What came of the upgrade of a node.
const (
	Upgraded = "upgraded"
	Skipped  = "skipped"
	Failed   = "failed"
	Left     = "left" // as it was: an earlier one failed
)

// UpgradedNode says what came of the upgrade of a node.
type UpgradedNode struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
	Note    string `json:"note"` // why; empty for those that were upgraded
}

// UpgradeNodes upgrades the named nodes, or all, one after the other. Each has so long to come back with this version; the first one
// that does not, or refuses, ends it with its error, and the others are left. tell hears of each node once, in order.
func (a *Admin) UpgradeNodes(ctx context.Context, names []string, wait time.Duration, tell func(UpgradedNode)) error {
	var all []nodes.Node
	for _, name := range names {
		n, err := a.Nodes.Named(ctx, a.DB, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, n)
	}
	if len(names) == 0 {
		var err error
		if all, err = a.Nodes.List(ctx); err != nil {
			return err
		}
	}
	var failed error
	for _, n := range all {
		came := UpgradedNode{Name: n.Name, Outcome: Skipped, Note: a.away(n)}
		switch {
		case failed != nil:
			came.Outcome, came.Note = Left, "it runs "+n.Version
		case came.Note != "":
		case n.Version == a.Agents.Own():
			came.Note = "runs " + n.Version + " already"
		default:
			came.Outcome = Upgraded
			_, failed = a.UpgradeNode(ctx, n.Name)
			if failed == nil {
				failed = a.back(ctx, n, wait)
			}
			if failed != nil {
				came.Outcome, came.Note = Failed, failed.Error()
				failed = fmt.Errorf("%s: %w", n.Name, failed)
			}
		}
		tell(came)
	}
	return failed
}

// back waits until a node reports this version and can be called.
func (a *Admin) back(ctx context.Context, n nodes.Node, wait time.Duration) error {
	const pause, callTimeout = time.Second, 5 * time.Second
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for own, seen := a.Agents.Own(), ""; ; {
		call, done := context.WithTimeout(within, callTimeout)
		runs, err := a.Agents.Version(call, n.ID)
		done()
		reported := n
		if err == nil && runs == own {
			if reported, err = a.Nodes.Named(within, a.DB, n.Name); err == nil && reported.Version == own {
				return nil
			}
		}
		switch {
		case within.Err() != nil: // the last look tells nothing
		case err != nil:
			seen = err.Error()
		default:
			seen = fmt.Sprintf("it answers with %s and has reported %s", runs, reported.Version)
		}
		if clock.Sleep(within, pause) != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("it has not come back with %s within %s: %s", own, wait, seen)
		}
	}
}
