package php

import (
	"context"

	"stead.dev/stead/internal/platform/db"
)

// Version is the PHP version of one of the account's services as far as it is known without asking its panel: the one that was
// chosen, else the newest that the panel was seen to have; empty when nothing is known.
func (s *Service) Version(ctx context.Context, q db.Querier, accountID, serviceID int64) (string, error) {
	on, err := s.Services.Site(ctx, q, accountID, serviceID)
	if err != nil {
		return "", err
	}
	r, err := s.of(ctx, q, accountID, serviceID)
	if err != nil || r.Version != "" {
		return r.Version, err
	}
	o, _, err := offered(ctx, q, on.Panel)
	return newest(o.versions), err
}
