package nodes

import (
	"context"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Know notes what a panel that is no node can do, as the process says that has opened it.
func (s *Service) Know(ctx context.Context, name string, capabilities []panel.Capability) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return putPanel(ctx, tx, name, capabilities)
	})
}

// Lacking lists those of the wanted capabilities that the panel of that name does not have; empty while nobody has told what it
// has.
func (s *Service) Lacking(ctx context.Context, q db.Querier, name string, wanted []panel.Capability) ([]panel.Capability, error) {
	has, known, err := panelCapabilities(ctx, q, name)
	if err != nil || !known {
		return nil, err
	}
	return without(wanted, has), nil
}

// NobodyHas lists those of the wanted capabilities that no node in service has; empty where no node has joined.
func (s *Service) NobodyHas(ctx context.Context, q db.Querier, wanted []panel.Capability) ([]panel.Capability, error) {
	all, err := list(ctx, q)
	return nobodyHas(all, wanted), err
}

func nobodyHas(all []Node, wanted []panel.Capability) []panel.Capability {
	var offered []panel.Capability
	for _, n := range all {
		if n.Serves() {
			offered = append(offered, n.Capabilities...)
		}
	}
	if len(offered) == 0 {
		return nil
	}
	return without(wanted, offered)
}

// without lists what of wanted is not among those.
func without(wanted, those []panel.Capability) []panel.Capability {
	return slices.DeleteFunc(slices.Clone(wanted), func(c panel.Capability) bool { return slices.Contains(those, c) })
}

// Lacks refuses a service for what no panel has that its plan promises.
func Lacks(missing []panel.Capability) error {
	if len(missing) == 0 {
		return nil
	}
	return fault.OutOfStock.With(fault.Fields{"missing": Names(missing)})
}

// Names are capabilities for people, such as mail and php 8.4.
func Names(capabilities []panel.Capability) []string {
	names := make([]string, len(capabilities))
	for i, c := range capabilities {
		names[i] = strings.Replace(string(c), "/", " ", 1)
	}
	return names
}
