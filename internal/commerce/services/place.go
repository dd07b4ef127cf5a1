package services

import (
	"context"
	"encoding/json"

	"stead.dev/stead/internal/platform/db"
)

// Placement is what a service asks of the panel that it is provisioned on.
type Placement struct {
	ServiceID int64
	PlanID    int64
	Limits    json.RawMessage // of the plan
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

// place is the panel of a new service.
func (s *Service) place(ctx context.Context, tx *db.Tx, r record) (string, error) {
	if r.sandbox {
		return s.SandboxPanel, nil
	}
	return s.Placer.Place(ctx, tx, Placement{ServiceID: r.id, PlanID: r.planID, Limits: json.RawMessage(r.limits)})
}
