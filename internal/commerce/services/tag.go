package services

import (
	"context"
	"errors"

	"stead.dev/stead/internal/platform/db"
)

// ClientRef is the tag that a reseller has given a service; nil without one, and for a service that is not there.
func (s *Service) ClientRef(ctx context.Context, q db.Querier, serviceID int64) (ref *string, err error) {
	err = q.QueryRow(ctx, `SELECT client_ref FROM services WHERE id = $1`, serviceID).Scan(&ref)
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil
	}
	return ref, err
}
