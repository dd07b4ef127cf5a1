package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/hosting/moves"
	"stead.dev/stead/internal/platform/labels"
)

// moveTarget says to which nodes services move; without it they go wherever they suit best.
type moveTarget struct {
	To       string   `help:"Move to this node; without it, to any that suits." placeholder:"NODE"`
	Location string   `help:"Move to a node at this location."`
	Label    []string `help:"Move to a node with this label, such as disk=nvme; may be given more than once." placeholder:"KEY=VALUE" sep:"none"`
}

func (t moveTarget) target() (moves.Target, error) {
	set, err := parseLabels(t.Label)
	return moves.Target{Node: t.To, Location: t.Location, Labels: set}, err
}

// parseLabels reads labels that were given on the command line.
func parseLabels(texts []string) (labels.Set, error) {
	set, err := labels.Parse(texts)
	if err != nil {
		err = usageError{fmt.Errorf("--label: %w", err)}
	}
	return set, err
}

type nodesRecover struct {
	nodeName
	moveTarget
	Empty  bool   `help:"Services of which no other node can have a backup are made without content."`
	Force  bool   `help:"Though the node reports: what its services have since their backups is lost."`
	Reason string `help:"Why, for the audit log."`
}

// Run begins to make the services of a dead node on others.
func (c *nodesRecover) Run(e *environment) error {
	to, err := c.target()
	if err != nil {
		return err
	}
	return e.administer(func(a *admin.Admin) error {
		r, err := a.RecoverNode(admin.Because(e.ctx, c.Reason), moves.Recovery{Node: c.Name, To: to, Empty: c.Empty, Force: c.Force})
		if err != nil {
			return err
		}
		return e.show(r, func(w io.Writer) {
			row(w, "begun", fmt.Sprintf("%d moves; stead admin moves list --node %s shows how far they are", len(r.Moves), c.Name))
			for _, m := range r.Moves {
				if m.BackupAt != nil {
					row(w, "", fmt.Sprintf("service %d: what is newer than its backup of %s is lost", m.ServiceID, seen(m.BackupAt)))
				}
			}
			if len(r.WithoutBackup) > 0 {
				ids := make([]string, len(r.WithoutBackup))
				for i, id := range r.WithoutBackup {
					ids[i] = strconv.FormatInt(id, 10)
				}
				row(w, "left alone", "no other node can restore these services: "+strings.Join(ids, ", "))
				row(w, "", "--empty makes them without content")
			}
		})
	})
}

type servicesMove struct {
	ID int64 `arg:"" help:"Number of the service."`
	moveTarget
	Now    bool   `help:"Do not wait until caches of the DNS have forgotten where the service was."`
	Reason string `help:"Why, for the audit log."`
}

// Run begins to move a service.
func (c *servicesMove) Run(e *environment) error {
	to, err := c.target()
	if err != nil {
		return err
	}
	return e.administer(func(a *admin.Admin) error {
		return e.showMove(a.MoveService(admin.Because(e.ctx, c.Reason), c.ID, to, c.Now))
	})
}

type nodesEvacuate struct {
	nodeName
	moveTarget
	Now    bool   `help:"Do not wait until caches of the DNS have forgotten where the services were."`
	Reason string `help:"Why, for the audit log."`
}

// Run begins to move all services of a node.
func (c *nodesEvacuate) Run(e *environment) error {
	to, err := c.target()
	if err != nil {
		return err
	}
	return e.administer(func(a *admin.Admin) error {
		begun, err := a.EvacuateNode(admin.Because(e.ctx, c.Reason), c.Name, to, c.Now)
		if err != nil {
			return err
		}
		return e.show(begun, func(w io.Writer) {
			row(w, "begun", fmt.Sprintf("%d moves; stead admin moves list --node %s shows how far they are", len(begun.Moves), c.Name))
		})
	})
}

// movesCmd has the commands for moves.
type movesCmd struct {
	List   movesList   `cmd:"" help:"List moves, the newest first."`
	Show   movesShow   `cmd:"" help:"Show a move."`
	Cancel movesCancel `cmd:"" help:"Call a move off whose service is where it was."`
}

type movesList struct {
	paging
	Node    string `help:"Of services that leave this node, or come to it."`
	Service int64  `help:"Of this service."`
	Running bool   `help:"Only those of services that are not whole on the other node yet."`
}

// Run lists moves.
func (c *movesList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		list, err := a.ListMoves(e.ctx, admin.Moves{ServiceID: c.Service, Node: c.Node, Running: c.Running}, c.params())
		if err != nil {
			return err
		}
		return e.show(list, func(w io.Writer) {
			row(w, "ID", "SERVICE", "FROM", "TO", "STATE", "STEP", "BEGUN", "BACKUP OF", "ERROR")
			for _, m := range list.Data {
				backup := ""
				if m.BackupAt != nil {
					backup = seen(m.BackupAt)
				}
				row(w, m.ID, m.ServiceID, dash(m.From), dash(m.To), m.State, m.Step, seen(&m.CreatedAt), dash(backup), text(m.ErrorKey))
			}
		})
	})
}

type moveID struct {
	ID int64 `arg:"" help:"Its number."`
}

type movesShow struct{ moveID }

// Run shows a move.
func (c *movesShow) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showMove(a.Move(e.ctx, c.ID)) })
}

type movesCancel struct {
	moveID
	Reason string `help:"Why, for the audit log."`
}

// Run calls a move off.
func (c *movesCancel) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showMove(a.CancelMove(admin.Because(e.ctx, c.Reason), c.ID)) })
}

func (e *environment) showMove(m admin.Move, err error) error {
	if err != nil {
		return err
	}
	return e.show(m, func(w io.Writer) {
		row(w, "move", fmt.Sprintf("%d (%s)", m.ID, m.Kind))
		row(w, "service", m.ServiceID)
		row(w, "from", dash(m.From))
		row(w, "to", dash(m.To))
		if wanted := wantedNodes(m.Wanted); wanted != "" {
			row(w, "asked for", wanted)
		}
		row(w, "state", m.State)
		row(w, "next step", m.Step)
		if m.Step == "lower" {
			row(w, "waits until", seen(m.WaitsUntil))
		}
		row(w, "error", text(m.ErrorKey))
		if m.Cause != "" {
			row(w, "", m.Cause)
		}
		if m.BackupAt != nil {
			row(w, "backup of", seen(m.BackupAt))
		}
		row(w, "begun", seen(&m.CreatedAt))
		row(w, "moved", seen(m.CommittedAt))
		row(w, "restored", seen(m.OpenedAt))
		if m.HeldAt != nil && m.OpenedAt != nil {
			row(w, "stood still", m.OpenedAt.Sub(*m.HeldAt).Round(time.Millisecond))
		}
		row(w, "told", seen(m.LeftAt))
	})
}

// wantedNodes writes to which nodes a move was asked for; empty: to any.
func wantedNodes(t admin.MoveTarget) string {
	var all []string
	if t.Node != "" {
		all = append(all, t.Node)
	}
	if t.Location != "" {
		all = append(all, "location "+t.Location)
	}
	return strings.Join(append(all, labels.Set(t.Labels).List()...), ", ")
}
