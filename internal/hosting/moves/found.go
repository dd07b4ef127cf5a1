package moves

import (
	"context"
	"errors"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Found notes a move that is over on the machines and of which the database knows nothing, because it was restored from a backup of before:
// since an epoch the machine to serves the service, and from has let go of it. What follows a commit follows. The caller has heard it from
// both machines, and has the account from the one that serves it. fault.Conflict: the service is not on from.
func (s *Service) Found(ctx context.Context, serviceID int64, from, to string, account panel.Account, epoch int64) (m Move, err error) {
	of, err := s.Services.Wanted(ctx, s.DB, serviceID)
	if err != nil {
		return m, err
	}
	m = Move{AccountID: of.AccountID, ServiceID: serviceID, Kind: Live, Step: Open, From: from}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := s.Base.Services.LockSite(ctx, tx, m.AccountID, serviceID); err != nil {
			return err
		}
		had, err := lockUnderWay(ctx, tx, serviceID)
		switch {
		case err == nil && had.committed():
			err = write(ctx, tx, had.apply(on(Leave), tx.Now))
		case err == nil:
			err = write(ctx, tx, had.apply(fail(fault.Conflict.Key, "the service is on another machine already"), tx.Now))
		case errors.Is(err, fault.NotFound):
			err = nil
		}
		if err != nil {
			return err
		}
		if m, err = s.begin(ctx, tx, m); err != nil {
			return err
		}
		relocated, err := s.Services.Relocate(ctx, tx, serviceID, from, to, account, epoch)
		if err == nil {
			err = s.Places.GiveBack(ctx, tx, serviceID, to)
		}
		if err == nil {
			err = s.Backups.Moved(ctx, tx, serviceID)
		}
		if err != nil {
			return err
		}
		now := tx.Now
		m.To, m.Epoch, m.CommittedAt = to, &relocated, &now
		return write(ctx, tx, m)
	})
	return m, err
}

// LookedAfter lists the services that have left a panel, and whose moves remove in the end what is left of them there.
func (s *Service) LookedAfter(ctx context.Context, q db.Querier, panelName string) ([]int64, error) {
	return lookedAfter(ctx, q, panelName)
}

// opened tells that the machine to which a service was to come serves it: a move that is over there, and that a restored database takes for
// one under way. What was made for a move that is not over is still arriving.
func (s *Service) opened(ctx context.Context, m Move) (bool, error) {
	to, err := site.On[panel.Inventory](s.Panels, site.Site{Panel: m.To}, panel.CapInventory)
	if errors.Is(err, panel.ErrUnsupported) {
		return false, nil // an older agent
	}
	if err != nil {
		return false, err
	}
	all, err := to.Residents(ctx)
	opened := slices.ContainsFunc(all, func(r panel.Resident) bool { return r.Ref == m.ref() && r.Left == 0 && !r.Arriving })
	if opened {
		s.Log.WarnContext(ctx, "a machine serves a service that is said to be on another one; look at stead admin nodes accounts", "service", m.ServiceID, "machine", m.To)
	}
	return opened, err
}
