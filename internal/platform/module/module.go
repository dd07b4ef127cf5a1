// Package module has the value by which a section tells the program what it consists of, so that the program
// needs one list of sections and knows nothing else of them.
package module

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
)

// Module is what a section adds to the program. All but Name may be left out.
type Module struct {
	// Name is that of the section's package.
	Name string
	// Routes are its operations.
	Routes []api.Route
	// Workers adds the workers of its jobs.
	Workers func(*river.Workers)
	// Schedule adds its periodic jobs.
	Schedule func(every func(interval time.Duration, args river.JobArgs))
	// Subscriptions are the events that it follows.
	Subscriptions []Subscription
	// Run goes on beside the requests, on every replica, until ctx ends.
	Run func(ctx context.Context)
	// OnClose removes what the section keeps that names a person when an account is closed, or refuses that it is.
	OnClose func(ctx context.Context, tx *db.Tx, accountID int64) error
	// Needs are the structs with what the section asks of others. Nothing in them may be nil: see Complete.
	Needs []any
}

// Subscription tells Follow of the events of some types. "order.*" are all of a group, "*" are all.
type Subscription struct {
	Types  []string
	Follow outbox.Subscriber
}
