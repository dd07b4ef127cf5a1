package services

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// Owned is a service with what its owner is told beside the View. Whether its renewal is covered is not told here.
type Owned struct {
	View
	FirstPrice, NextPrice money.USDCents // of its first period, without a setup, and of its next renewal
	Metadata              map[string]string
	SuspendNote           *string // nil unless its owner suspended it
	Sandbox               bool
	Renewing              bool // by itself
	Starting              bool // being provisioned, and Renewing afterwards
}

// Owned is one page of an account's services, the newest first.
func (s *Service) Owned(ctx context.Context, q db.Querier, accountID int64, f Filter, p page.Params) ([]Owned, error) {
	rows, err := paged(ctx, q, accountID, f, p)
	if err != nil {
		return nil, err
	}
	return s.owned(ctx, q, rows)
}

// CountOwned counts the services on all pages.
func (s *Service) CountOwned(ctx context.Context, q db.Querier, accountID int64, f Filter) (int, error) {
	return counted(ctx, q, accountID, f)
}

// OwnedOne is one of the account's services.
func (s *Service) OwnedOne(ctx context.Context, q db.Querier, accountID, id int64) (Owned, error) {
	r, err := getOwn(ctx, q, accountID, id)
	if err != nil {
		return Owned{}, err
	}
	all, err := s.owned(ctx, q, []Row{r})
	if err != nil {
		return Owned{}, err
	}
	return all[0], nil
}

func (s *Service) owned(ctx context.Context, q db.Querier, rows []Row) ([]Owned, error) {
	kept, err := s.kept(ctx, q, rows)
	if err != nil {
		return nil, err
	}
	all := make([]Owned, len(rows))
	for i, r := range rows {
		o := Owned{
			View: wire(ctx, r, sale.Funds{}), FirstPrice: r.firstPrice, NextPrice: r.nextPrice(), Sandbox: r.Sandbox,
			Renewing: r.renewing(), Starting: r.starting(),
		}
		if r.suspendedByOwner() {
			o.SuspendNote = db.OrNull(r.suspendNote)
		}
		o.AvailableActions = append(o.AvailableActions, r.ownActions(slices.Contains(kept, r.ID))...)
		if err := json.Unmarshal([]byte(r.metadata), &o.Metadata); err != nil {
			return nil, fmt.Errorf("services: metadata of service %d: %w", r.ID, err)
		}
		all[i] = o
	}
	shown := make([]*serviceWire, len(all))
	for i := range all {
		shown[i] = &all[i].View
	}
	return all, s.watched(ctx, q, shown...)
}

// kept are the ids of the services that have ended and can come back.
func (s *Service) kept(ctx context.Context, q db.Querier, rows []Row) ([]int64, error) {
	var ended []int64
	for _, r := range rows {
		if r.Status == Terminated {
			ended = append(ended, r.ID)
		}
	}
	if len(ended) == 0 {
		return nil, nil
	}
	return s.Keeper.Kept(ctx, q, ended)
}

// suspendedByOwner tells that the service's suspension is its owner's to lift.
func (r Row) suspendedByOwner() bool {
	return r.Status == Suspended && *r.suspendReason == Manual && r.ownerSuspendedAt != nil && r.suspendedAt != nil && r.ownerSuspendedAt.Equal(*r.suspendedAt)
}

// endedByOperator tells that a service is, or was when it ended, suspended by an operator for a reason that neither
// money nor its owner lifts.
func (r Row) endedByOperator() bool {
	if r.suspendReason == nil || *r.suspendReason == Unpaid {
		return false
	}
	own := *r.suspendReason == Manual && r.ownerSuspendedAt != nil && r.suspendedAt != nil && r.ownerSuspendedAt.Equal(*r.suspendedAt)
	return !own
}

// canComeBack tells that its owner can restore a service; kept tells whether what it consisted of is.
func (r Row) canComeBack(kept bool) bool {
	return r.Status == Terminated && kept && !r.endedByOperator()
}

// ownActions are what its reseller can do with a service beside what every owner can; kept tells whether what it
// consisted of is, where it has ended.
func (r Row) ownActions(kept bool) (actions []string) {
	switch r.Status {
	case Active:
		actions = append(actions, "login_link", "suspend")
	case PastDue:
		actions = append(actions, "login_link")
	}
	if r.canComeBack(kept) {
		actions = append(actions, "restore")
	}
	if r.suspendedByOwner() {
		actions = append(actions, "unsuspend")
	}
	if _, ok := r.Status.after(endOrdered); ok && !r.endedByOperator() {
		actions = append(actions, "terminate")
	}
	return actions
}
