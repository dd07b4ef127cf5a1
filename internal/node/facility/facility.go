// Package facility is the contract between a hosting machine and the things of an account besides its directory: its
// web sites, databases, mailboxes, cron jobs and so on.
//
// A facility stores the wanted state in its own records (package record) below the machine's state directory, and makes
// a well-known daemon follow it. It never writes into another facility's records.
package facility

import (
	"context"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/port/panel"
)

// Facility follows the life of accounts.
type Facility interface {
	// Capability is the part of the panel port that the facility implements.
	Capability() panel.Capability
	// Apply makes the machine as the account and the facility's own records of it say, suspended or
	// not: what is missing is made, what differs is put right, what is too much is removed. It is
	// called when an account was made or changed, when the machine starts, and by the reconciliation
	// pass; where all is as it should be it changes nothing, restarts nothing and is cheap. It may be
	// called for several accounts at once.
	Apply(ctx context.Context, a accounts.Account) error
	// Remove removes everything of the account, its records last. It is no error when the account never had anything.
	Remove(ctx context.Context, a accounts.Account) error
}

// Starter is a facility with daemons of its own. Start makes them run, adopts those that a former process left running,
// and returns when they answer; it is called once, before any Apply. Close of the machine stops none of them: stopping
// or upgrading an agent stops no site.
type Starter interface {
	Start(ctx context.Context) error
}

// Stopper ends the daemons of a facility, for machines that are given up and for tests.
type Stopper interface {
	Stop(ctx context.Context) error
}

// Counter is a facility that adds to an account's usage. It answers from its own counters or its daemon's, never by
// walking files.
type Counter interface {
	Count(ctx context.Context, a accounts.Account, into *panel.Usage) error
}

// Carrier is a facility that counts, and whose counts go with an account to another machine.
type Carrier interface {
	// Carry answers what was counted of the account, as JSON.
	Carry(ctx context.Context, a accounts.Account) ([]byte, error)
	// TakeOver replaces what is counted of it by what another machine's Carry has answered. An error of kind
	// panel.ErrInvalid: it has not.
	TakeOver(ctx context.Context, a accounts.Account, of []byte) error
}

// Interpreter is a facility that runs the programs of accounts' sites.
type Interpreter interface {
	// Socket is the FastCGI socket of the account's programs; empty when none run.
	Socket(a accounts.Account) string
	// Follow registers apply, to be called when an account's Socket changes.
	Follow(apply func(ctx context.Context, ref string) error)
}

// Postman is a facility that has the mail of accounts' domains. The settings of mail programs are asked for at the web sites of
// these domains.
type Postman interface {
	// WithMail lists the domains of an account, by its name, that have mailboxes.
	WithMail(account string) []string
	// FollowDomains registers changed, to be called when what WithMail says of an account has changed.
	FollowDomains(changed func(ctx context.Context, ref string) error)
}

// Lookup finds an account of the machine by its ref; ErrNotFound when there is none. A facility gets one when it is
// created, because the methods of the panel port name accounts by ref.
type Lookup func(ref string) (accounts.Account, error)
