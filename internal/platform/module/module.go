// Package module has the value by which a section tells the program what it consists of, so that the program
// needs one list of sections and knows nothing else of them.
package module

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
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
	// OnClose removes what the section keeps that names a person when an account is closed, or refuses that it is. It is called for
	// the sandbox of the account, too, and ends what lives there without a refusal.
	OnClose func(ctx context.Context, tx *db.Tx, accountID int64) error
	// Obstacles tells what of the section keeps an account from being closed by its owner.
	Obstacles func(ctx context.Context, q db.Querier, accountID int64) ([]Obstacle, error)
	// Export are the files by which the section takes part in the archive of an account's data.
	Export []Export
	// NoExport says why the section has nothing in that archive. Each section has either.
	NoExport string
	// Needs are the structs with what the section asks of others. Nothing in them may be nil: see Complete.
	Needs []any
}

// Subscription tells Follow of the events of some types. "order.*" are all of a group, "*" are all.
type Subscription struct {
	Types  []string
	Follow outbox.Subscriber
}

// Obstacle is something that keeps an account from being closed by its owner.
type Obstacle struct {
	Kind  string // "services"
	Count int
	// Amount is that of money; 0 for anything else.
	Amount money.USDCents
	// Waivable money may be given up.
	Waivable bool
}

// Export is a file in the archive of an account's data, or one for each row of another file. It holds what an operation
// answers that reads: the rows of all pages of a list, or the object.
type Export struct {
	// File is the path in the archive, without extension. Parameters of the operation's path stand in braces, as in
	// "services/{service}/databases".
	File string
	// Operation is the id of an operation that reads.
	Operation string
	// Text is the id of the text that says what the file is.
	Text string
	// Of is the File for whose rows it is read, each with the row's id as the parameter that Of does not have; empty for a
	// file of the account itself.
	Of string
	// Rows leads to the rows in the answers of Of, as in "messages.attachments"; empty: they are those of a list, or the
	// answer itself.
	Rows string
	// Omit are members that are left out: secrets.
	Omit []string
	// Raw operations answer a file, which is kept as it is, under the row's name.
	Raw bool
}
