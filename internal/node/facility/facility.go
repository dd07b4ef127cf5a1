// Package facility is the contract between a hosting machine and what an account has on it besides
// its directory: its web sites, databases, mailboxes, cron jobs and so on.
//
// A facility keeps what should be in its own records (package record) below the machine's state
// directory, and makes a well-kept daemon do it. It never writes into another facility's records.
package facility

import (
	"context"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/panel"
)

// Facility follows the life of accounts.
type Facility interface {
	// Capability is the part of the panel port that the facility is.
	Capability() panel.Capability
	// Apply makes the machine as the account and the facility's own records of it say, suspended or
	// not: what is missing is made, what differs is put right, what is too much is removed. It is
	// called when an account was made or changed, when the machine starts, and by the reconciliation
	// pass; where all is as it should be it changes nothing, restarts nothing and is cheap. It may be
	// called for several accounts at once.
	Apply(ctx context.Context, a accounts.Account) error
	// Remove removes every trace of the account, its records last. An account that never had
	// anything is no error.
	Remove(ctx context.Context, a accounts.Account) error
}

// Starter is a facility with daemons of its own. Start makes them run, adopting those that a former
// process left running, and returns when they answer; it is called once, before any Apply. Close of
// the machine stops none of them: an agent that is killed or upgraded stops no site.
type Starter interface {
	Start(ctx context.Context) error
}

// Stopper ends the daemons of a facility, for machines that are given up and for tests.
type Stopper interface {
	Stop(ctx context.Context) error
}

// Counter is a facility that adds to what an account uses. It answers from what it keeps or what its
// daemon counts, never by walking files.
type Counter interface {
	Count(ctx context.Context, a accounts.Account, into *panel.Usage) error
}

// Interpreter is a facility that runs the programs of accounts' sites.
type Interpreter interface {
	// Socket is where the web server reaches the programs of the account, by FastCGI; empty when none
	// are run.
	Socket(a accounts.Account) string
	// Follow has apply called when an account is to be served otherwise.
	Follow(apply func(ctx context.Context, ref string) error)
}

// Lookup finds an account of the machine by its ref; ErrNotFound when there is none. A facility gets
// one when it is made, because the methods of the panel port name accounts by ref.
type Lookup func(ref string) (accounts.Account, error)
