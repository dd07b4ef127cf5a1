package app

import (
	"context"

	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
)

// shownNodes adapts the nodes to the status.
type shownNodes struct {
	nodes *nodes.Service
	clock clock.Clock
}

// Machines implements status.Machines.
func (n shownNodes) Machines(ctx context.Context) ([]status.Machine, error) {
	found, err := n.nodes.List(ctx)
	var all []status.Machine
	for _, m := range found {
		if m.Serves() {
			all = append(all, status.Machine{Location: m.Location, Up: m.Shown(n.clock.Now()) != nodes.Offline, Maintenance: m.Maintenance})
		}
	}
	return all, err
}

// oneMachine is the status' machines where one panel has all services. Whether it works is not observed.
type oneMachine struct{}

// Machines implements status.Machines.
func (oneMachine) Machines(context.Context) ([]status.Machine, error) {
	return []status.Machine{{Up: true}}, nil
}

// machinesShown are the machines that the status is about.
func (c *core) machinesShown() status.Machines {
	if c.cfg.Panel == config.PanelNodes {
		return shownNodes{c.nodes, c.clock}
	}
	return oneMachine{}
}

// statusParts are the components of the status that this installation has.
func (c *core) statusParts() []string {
	parts := []string{status.API, status.Panel}
	for _, p := range []struct {
		key string
		has bool
	}{
		{status.DNS, c.cfg.DNSListen != config.Off},
		{status.Mail, c.cfg.MailHost != "" || c.cfg.Panel == config.PanelNodes || c.cfg.Panel == config.PanelHestia},
		{status.Domains, c.cfg.Registrar != config.RegistrarNone && (c.cfg.Registrar != "" || c.cfg.Demo)},
		{status.Payments, len(gateways(c.cfg)) > 0},
	} {
		if p.has {
			parts = append(parts, p.key)
		}
	}
	return parts
}

// subscriptionLimits bound how often mails about the status are asked for, unless throttles are off.
func (c *core) subscriptionLimits() status.Limits {
	if !c.cfg.Throttle {
		return status.Limits{}
	}
	return status.DefaultLimits()
}
