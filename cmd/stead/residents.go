package main

import (
	"errors"
	"fmt"
	"io"

	"stead.dev/stead/internal/front/admin"
)

type nodesAccounts struct {
	Follow bool   `help:"Make machines serve the services that moved to them, of which a restored database knows nothing."`
	Trust  string `help:"Follow moves to this node though another machine does not answer." placeholder:"NODE"`
	Reason string `help:"Why, for the audit log."`
}

// Run lists the disagreements, or follows the moves among them.
func (c *nodesAccounts) Run(e *environment) error {
	if c.Trust != "" && !c.Follow {
		return usageError{errors.New("--trust: only with --follow")}
	}
	return e.administer(func(a *admin.Admin) error {
		if c.Follow {
			followed, err := a.FollowMoves(admin.Because(e.ctx, c.Reason), c.Trust)
			return errors.Join(err, e.show(map[string]any{"moves": followed}, func(w io.Writer) {
				row(w, "followed", fmt.Sprintf("%d moves", len(followed)))
				for _, m := range followed {
					row(w, "", fmt.Sprintf("service %d: from %s to %s", m.ServiceID, m.From, m.To))
				}
			}))
		}
		found, err := a.CompareAccounts(e.ctx)
		if err != nil {
			return err
		}
		return e.show(found, func(w io.Writer) {
			row(w, "NODE", "ACCOUNT", "NAME", "DOMAIN", "MADE", "WHAT", "WHAT TO DO")
			for _, d := range found.Data {
				what, do := disagreement(d)
				row(w, d.Node, d.Ref, dash(d.Username), d.Domain, seen(d.MadeAt), what, do)
			}
			for _, s := range found.Silent {
				row(w, s.Node, "-", "-", "-", "-", "could not be asked: "+s.Why, "stead doctor")
			}
		})
	})
}

// disagreement says what is wrong with an account, and what to do.
func disagreement(d admin.Disagreement) (what, do string) {
	switch d.Kind {
	case admin.UnknownAccount:
		return "no service is known", fmt.Sprintf("make it good to its owner, then stead admin nodes release %s %s", d.Node, d.Ref)
	case admin.MovedAccount:
		if d.Since == "" {
			return "it left; no single machine has it", "start the machine to which it moved"
		}
		return "it moved to " + d.Since, "stead admin nodes accounts --follow"
	case admin.MissingAccount:
		return "the machine does not have it", "stead admin moves list --service " + d.Ref + "; else end the service and restore it from a backup"
	case admin.DoubleAccount:
		return "its service is on " + d.Service, "look which of the two its visitors see"
	default:
		return "what it left", fmt.Sprintf("stead admin nodes release %s %s --remove", d.Node, d.Ref)
	}
}

type nodesRelease struct {
	nodeName
	Account string `arg:"" help:"The account, as stead admin nodes accounts lists it."`
	Remove  bool   `help:"Remove its files, databases and mail too, for good."`
}

// Run has a machine let go of an account.
func (c *nodesRelease) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		d, err := a.ReleaseAccount(e.ctx, c.Name, c.Account, c.Remove)
		if err != nil {
			return err
		}
		return e.show(d, func(w io.Writer) {
			row(w, "account", d.Ref+" of "+d.Domain)
			if c.Remove {
				row(w, "state", "removed for good")
				return
			}
			row(w, "state", "not served any more; its domains are free")
			row(w, "its files", "accounts/"+d.Username+" in the directory of the node on "+d.Node)
		})
	})
}
