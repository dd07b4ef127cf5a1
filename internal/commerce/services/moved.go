package services

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/port/panel"
)

// On lists the services that have an account on a panel: those that take part in life, suspended or not, in the order of their
// ids.
func (s *Service) On(ctx context.Context, q db.Querier, panelName string) ([]site.Site, error) {
	rows, err := liveOn(ctx, q, panelName)
	all := make([]site.Site, len(rows))
	for i := 0; err == nil && i < len(rows); i++ {
		all[i], err = hosted(rows[i], nil)
	}
	return all, err
}

// SetMoving keeps everybody from changing what is in the account of a service while it is moved, or ends that.
func (s *Service) SetMoving(ctx context.Context, tx *db.Tx, id int64, moving bool) error {
	return setMoving(ctx, tx, id, moving)
}

// Relocate makes another panel the one that serves a service, with the account that it has made for it there, in the next
// epoch, or in least where that is later; it is answered. fault.Conflict: the service is not on the panel that it comes from any more, or has
// no account.
func (s *Service) Relocate(ctx context.Context, tx *db.Tx, id int64, from, to string, account panel.Account, least int64) (epoch int64, err error) {
	err = s.Change(ctx, tx, id, func(r Row) error {
		if r.panel != from || !r.Status.live() {
			return fault.Conflict.Wrapf("services: service %d is %s on %s", id, r.Status, r.panel)
		}
		now := r
		now.panel, now.panelRef, now.place, now.epoch = to, account.Ref, placementOf(account), max(r.epoch+1, least)
		epoch = now.epoch
		if err := setRelocated(ctx, tx, now); err != nil {
			return err
		}
		if _, err := setPlace(ctx, tx, id, now.place); err != nil {
			return err
		}
		return s.emitChange(ctx, tx, "service.migrated", now,
			map[string]any{"ipv4": r.place.ipv4, "ipv6": r.place.ipv6, "location": r.place.location},
			map[string]any{"ipv4": now.place.ipv4, "ipv6": now.place.ipv6, "location": now.place.location})
	})
	return epoch, err
}

// Former lists the addresses that a service had before its moves since a time, as far back as events are kept.
func (s *Service) Former(ctx context.Context, q db.Querier, id int64, since time.Time) ([]string, error) {
	moved, err := outbox.Since(ctx, q, "service.migrated", "service", id, since)
	var all []string
	for _, e := range moved {
		var was struct{ IPv4, IPv6 string }
		if err := json.Unmarshal(e.Previous, &was); err != nil {
			return nil, fmt.Errorf("services: event %s: %w", e.UID, err)
		}
		all = append(all, site.Site{IPv4: was.IPv4, IPv6: was.IPv6}.Addresses()...)
	}
	return all, err
}

// TellMovePlanned tells the owner that a service moves to another machine after a while, and not before.
func (s *Service) TellMovePlanned(ctx context.Context, tx *db.Tx, id int64, wait time.Duration) error {
	return s.Change(ctx, tx, id, func(r Row) error {
		return s.emitWith(ctx, tx, "service.migration_planned", r, map[string]any{"minutes": int(wait.Round(time.Minute) / time.Minute)})
	})
}

// FollowStatus has a job make the account of a service that has moved suspended or not, as the service is.
func (s *Service) FollowStatus(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Provisioner.EnqueueSuspension(ctx, tx, id)
}

// Placement is what a service asks of a panel.
func (s *Service) Placement(ctx context.Context, q db.Querier, id int64) (provisioning.Placement, error) {
	r, err := get(ctx, q, id)
	if err != nil {
		return provisioning.Placement{}, err
	}
	return r.placement()
}

func liveOn(ctx context.Context, q db.Querier, panelName string) ([]Row, error) {
	return db.Collect(ctx, q, scan, `SELECT `+columns+` FROM services
		WHERE panel = $1 AND status IN ('active', 'past_due', 'suspended') ORDER BY id`, panelName)
}

func setMoving(ctx context.Context, tx *db.Tx, id int64, moving bool) error {
	_, err := tx.Exec(ctx, `UPDATE services SET moving = $1 WHERE id = $2`, moving, id)
	return err
}

func setRelocated(ctx context.Context, tx *db.Tx, r Row) error {
	_, err := tx.Exec(ctx, `UPDATE services SET panel = $1, panel_ref = $2, epoch = $3 WHERE id = $4`, r.panel, r.panelRef, r.epoch, r.ID)
	return err
}
