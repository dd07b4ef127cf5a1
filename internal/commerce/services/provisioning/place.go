package provisioning

import (
	"context"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// Placement is what a service asks of the panel that it is provisioned on.
type Placement struct {
	ServiceID int64
	PlanID    int64
	Limits    site.Limits // of the plan
	Sandbox   bool        // it is a reseller's sandbox's
}

// Placer chooses the panel of a service that begins to be provisioned in tx, and keeps the room there
// until the service has failed or ended. It answers fault.OutOfStock when there is none, and the order
// is not paid then. A service that it was asked for before keeps its panel.
type Placer interface {
	// Check refuses what no panel can have, whatever its room: fault.OutOfStock with what is missing. It is asked for the
	// services of sandboxes too.
	Check(ctx context.Context, q db.Querier, p Placement) error
	Place(ctx context.Context, tx *db.Tx, p Placement) (panelName string, err error)
	// PlaceElsewhere is Place for a service whose panel does not answer: it answers a panel that is none of the failed
	// ones, and keeps the room there instead.
	PlaceElsewhere(ctx context.Context, tx *db.Tx, p Placement, failed []string) (panelName string, err error)
	// Resize changes the room that is kept for a service to that of its present limits, whether its panel has it or not.
	Resize(ctx context.Context, tx *db.Tx, p Placement) error
}

// OnePanel is the Placer of an installation that provisions all services on the panel of that name.
type OnePanel string

// Check implements Placer: the panel is taken to have everything.
func (OnePanel) Check(context.Context, db.Querier, Placement) error { return nil }

// Place implements Placer.
func (p OnePanel) Place(context.Context, *db.Tx, Placement) (string, error) { return string(p), nil }

// PlaceElsewhere implements Placer: there is no other panel.
func (p OnePanel) PlaceElsewhere(context.Context, *db.Tx, Placement, []string) (string, error) {
	return "", fault.OutOfStock.Wrapf("provisioning: there is no panel but %s", string(p))
}

// Resize implements Placer: the room is not counted.
func (OnePanel) Resize(context.Context, *db.Tx, Placement) error { return nil }

// Check refuses a service that no panel can have.
func (s *Service) Check(ctx context.Context, q db.Querier, p Placement) error {
	return s.Placer.Check(ctx, q, p)
}

// Place chooses the panel of a service that begins to be provisioned in tx, as the Placer does for those that are real.
func (s *Service) Place(ctx context.Context, tx *db.Tx, p Placement) (panelName string, err error) {
	if p.Sandbox {
		return s.SandboxPanel, nil
	}
	return s.Placer.Place(ctx, tx, p)
}

// PlaceElsewhere chooses another panel for a service in provisioning than those that failed it. A sandbox has one only.
func (s *Service) PlaceElsewhere(ctx context.Context, tx *db.Tx, p Placement, failed []string) (panelName string, err error) {
	if p.Sandbox {
		return OnePanel(s.SandboxPanel).PlaceElsewhere(ctx, tx, p, failed)
	}
	return s.Placer.PlaceElsewhere(ctx, tx, p, failed)
}

// Resize changes the room of a service whose limits have changed in tx.
func (s *Service) Resize(ctx context.Context, tx *db.Tx, p Placement) error {
	if p.Sandbox {
		return nil
	}
	return s.Placer.Resize(ctx, tx, p)
}
