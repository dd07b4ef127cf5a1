package provisioning

import (
	"context"
	"errors"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

var _ site.Part = (*Service)(nil)

// Apply implements site.Part: where a machine says that it serves a service is what the service says. The machine's addresses,
// and the domain of its previews, are its operator's to change.
func (s *Service) Apply(ctx context.Context, _, serviceID int64) error {
	wanted, err := s.Services.Wanted(ctx, s.DB, serviceID)
	if err != nil || wanted.Ref == "" || wanted.Ended() {
		return err
	}
	accounts, err := s.accounts(wanted)
	if err != nil {
		return err
	}
	account, err := accounts.Account(ctx, wanted.Ref)
	if errors.Is(err, panel.ErrNotFound) {
		return nil // what is missing is another's to find
	}
	if err != nil {
		return err
	}
	return s.Services.Placed(ctx, serviceID, account)
}

// Count implements site.Part.
func (*Service) Count(context.Context, db.Querier, int64, map[string]int64) error { return nil }
