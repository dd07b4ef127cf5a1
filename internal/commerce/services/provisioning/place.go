package provisioning

import (
	"context"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
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
	Place(ctx context.Context, tx *db.Tx, p Placement) (panelName string, err error)
}

// OnePanel is the Placer of an installation that provisions all services on the panel of that name.
type OnePanel string

// Place implements Placer.
func (p OnePanel) Place(context.Context, *db.Tx, Placement) (string, error) { return string(p), nil }

// Place chooses the panel of a service that begins to be provisioned in tx, as the Placer does for those that are real.
func (s *Service) Place(ctx context.Context, tx *db.Tx, p Placement) (panelName string, err error) {
	if p.Sandbox {
		return s.SandboxPanel, nil
	}
	return s.Placer.Place(ctx, tx, p)
}
