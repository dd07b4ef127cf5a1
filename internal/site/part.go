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
