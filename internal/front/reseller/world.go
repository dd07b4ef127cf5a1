package reseller

import (
	"context"
	"errors"

	"stead.dev/stead/internal/platform/db"
)

// World reports whether a reseller's keys work on an account, and whether it is a sandbox.
func (s *Service) World(ctx context.Context, q db.Querier, accountID int64) (resells, sandbox bool, err error) {
	r, err := of(ctx, q, accountID)
	if errors.Is(err, ErrNoReseller) {
		return false, false, nil
	}
	return err == nil, r.SandboxID == accountID, err
}
