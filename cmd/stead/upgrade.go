package main

import (
	"fmt"
	"time"

	"stead.dev/stead/internal/front/admin"
)

type nodesUpgrade struct {
	Names  []string      `arg:"" optional:"" name:"node" help:"Names of nodes, in this order; all when none is named."`
	Wait   time.Duration `help:"How long each has to come back with the new version." default:"2m"`
	Reason string        `help:"Why, for the audit log."`
}

// Run upgrades nodes, one after the other.
func (c *nodesUpgrade) Run(e *environment) error {
	if c.Wait <= 0 {
		return usageError{fmt.Errorf("--wait %s: expected a time such as 2m", c.Wait)}
	}
	return e.administer(func(a *admin.Admin) error {
		done := []admin.UpgradedNode{}
		failed := a.UpgradeNodes(admin.Because(e.ctx, c.Reason), c.Names, c.Wait, func(n admin.UpgradedNode) {
			done = append(done, n)
			if !e.json { // each as it comes: many take long
				row(e.stdout, n.Name, n.Outcome, n.Note)
			}
		})
		if e.json {
			if err := e.printJSON(map[string]any{"data": done}); err != nil {
				return err
			}
		}
		return failed
	})
}
