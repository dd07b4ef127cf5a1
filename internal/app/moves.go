package app

import (
	"context"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/hosting/backups"
	"stead.dev/stead/internal/hosting/moves"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
)

// movedPlaces adapts the nodes to the moves: room for a service is what its plan asks for.
type movedPlaces struct {
	places
	services *services.Service
}

// Take implements moves.Places.
func (p movedPlaces) Take(ctx context.Context, tx *db.Tx, serviceID int64, target moves.Target, except []string) (string, error) {
	need, err := p.needOf(ctx, tx, serviceID, target)
	if err != nil {
		return "", err
	}
	return p.nodes.PlaceElsewhere(ctx, tx, need, except)
}

func (p movedPlaces) needOf(ctx context.Context, q db.Querier, serviceID int64, target moves.Target) (nodes.Need, error) {
	placement, err := p.services.Placement(ctx, q, serviceID)
	if err != nil {
		return nodes.Need{}, err
	}
	need, err := p.need(ctx, q, placement)
	need.Target = nodes.Target(target)
	return need, err
}

// Suited implements moves.Places.
func (p movedPlaces) Suited(ctx context.Context, q db.Querier, serviceID int64, target moves.Target, except []string) (bool, error) {
	need, err := p.needOf(ctx, q, serviceID, target)
	if err != nil {
		return false, err
	}
	return p.nodes.Suited(ctx, q, need, except)
}

// GiveBack implements moves.Places.
func (p movedPlaces) GiveBack(ctx context.Context, tx *db.Tx, serviceID int64, panelName string) error {
	placement, err := p.services.Placement(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	return p.nodes.PutBack(ctx, tx, serviceID, panelName, max(0, placement.Limits["disk_mb"]))
}

// movedNodes adapts the nodes to the moves.
type movedNodes struct {
	*nodes.Service
	clock clock.Clock
}

// Node implements moves.Nodes.
func (n movedNodes) Node(ctx context.Context, q db.Querier, name string) (moves.Node, error) {
	found, err := n.Named(ctx, q, name)
	return n.of(found), err
}

func (n movedNodes) of(found nodes.Node) moves.Node {
	return moves.Node{Panel: nodes.PanelName(found.ID), Alive: found.Alive(n.clock.Now()), Draining: found.State == nodes.Draining}
}

// Meant implements moves.Nodes.
func (n movedNodes) Meant(ctx context.Context, q db.Querier, target moves.Target) ([]moves.Node, error) {
	found, err := n.Meaning(ctx, q, nodes.Target(target))
	all := make([]moves.Node, len(found))
	for i, f := range found {
		all[i] = n.of(f)
	}
	return all, err
}

// On implements moves.Nodes.
func (n movedNodes) On(ctx context.Context, q db.Querier, panelName string) (moves.Node, error) {
	found, err := n.Machine(ctx, q, panelName)
	return n.of(found), err
}

// movedBackups adapts the backups to the moves.
type movedBackups struct{ *backups.Service }

// Portable implements moves.Backups.
func (b movedBackups) Portable(ctx context.Context, q db.Querier, serviceID int64) ([]moves.Copy, error) {
	found, err := b.Service.Portable(ctx, q, serviceID)
	all := make([]moves.Copy, len(found))
	for i, f := range found {
		all[i] = moves.Copy{ID: f.ID, Name: f.Name, Parts: f.Parts, Bytes: f.Bytes, At: f.At}
	}
	return all, err
}
