package site

import (
	"context"

	"stead.dev/stead/internal/platform/db"
)

// Part is a section that keeps one kind of thing of services on their panels.
type Part interface {
	// Apply makes the panel as the section's rows of the service are, and lets the rows go when the
	// service has ended. It is called when the service was provisioned, suspended, unsuspended or
	// ended, and once in an hour. Where all is as it should be it changes nothing.
	Apply(ctx context.Context, accountID, serviceID int64) error
	// Count adds how much the service has of what its plan limits, by the limit's name (resources,
	// section 12): into["databases"] = 3. A part of which nothing is counted adds nothing.
	Count(ctx context.Context, q db.Querier, serviceID int64, into map[string]int64) error
}

// Apply is that of a Part: follow makes the panel as the rows of a service are that is served, and end lets those of one go
// that has ended (see End).
func Apply(ctx context.Context, d *db.DB, services Services, accountID, serviceID int64,
	end func(ctx context.Context, tx *db.Tx, serviceID int64) error, follow func(ctx context.Context, on Site) error,
) error {
	on, err := services.Site(ctx, d, accountID, serviceID)
	switch {
	case err != nil:
		return err
	case on.Ended():
		return End(ctx, d, services, accountID, serviceID, end)
	case !on.Follows():
		return nil // not yet, or not now: an event of the service brings us back
	default:
		return follow(ctx, on)
	}
}
