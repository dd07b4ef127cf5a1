package services

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// placement is what the service asks of a panel.
func (r Row) placement() (provisioning.Placement, error) {
	limits, err := site.ParseLimits(r.ID, json.RawMessage(r.Limits))
	return provisioning.Placement{ServiceID: r.ID, PlanID: r.PlanID, Limits: limits, Sandbox: r.Sandbox}, err
}

// PlaceElsewhere moves a service that is being provisioned to another panel than the one that does not answer. A service that
// comes back stays where what was kept of it is.
func (s *Service) PlaceElsewhere(ctx context.Context, id int64, from string) (moved bool, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.read(ctx, tx, id, func(r Row) error {
			if r.Status != Provisioning || r.panel != from || r.returning() {
				return nil
			}
			left, err := leftOf(ctx, tx, id)
			if err != nil {
				return err
			}
			failed := []string{from}
			for _, l := range left {
				failed = append(failed, l.Panel)
			}
			p, err := r.placement()
			if err != nil {
				return err
			}
			to, err := s.Provisioner.PlaceElsewhere(ctx, tx, p, failed)
			if err != nil {
				return err
			}
			moved, err = setPanel(ctx, tx, id, from, to)
			if err == nil && !moved {
				err = errMoved // the room that was taken for it there goes back
			}
			if err != nil {
				return err
			}
			if err := insertLeft(ctx, tx, id, from); err != nil {
				return err
			}
			return s.Provisioner.EnqueueClear(ctx, tx, id, from)
		})
	})
	if errors.Is(err, fault.OutOfStock) {
		return false, nil
	}
	return moved && err == nil, err
}

// Left lists what may be left on panels of services that were placed elsewhere.
func (s *Service) Left(ctx context.Context, q db.Querier, after int64, limit int) ([]provisioning.Left, error) {
	return allLeft(ctx, q, after, limit)
}

// LeftOn is the part of Left that is about a service and a panel; false when there is none, or the service is there.
func (s *Service) LeftOn(ctx context.Context, q db.Querier, id int64, panelName string) (provisioning.Left, bool, error) {
	r, err := get(ctx, q, id)
	if err != nil || r.panel == panelName {
		return provisioning.Left{}, false, err
	}
	left, err := leftOf(ctx, q, id)
	i := slices.IndexFunc(left, func(l provisioning.Left) bool { return l.Panel == panelName })
	if err != nil || i < 0 {
		return provisioning.Left{}, false, err
	}
	return left[i], true, nil
}

// Cleared notes that nothing of a service is left on a panel.
func (s *Service) Cleared(ctx context.Context, id int64, panelName string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return deleteLeft(ctx, tx, id, panelName) })
}
