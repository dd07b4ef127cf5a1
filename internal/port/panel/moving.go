package panel

import (
	"context"
	"time"
)

// The capabilities that take accounts from one machine to another.
const (
	CapMoving    Capability = "moving"
	CapHandover  Capability = "handover"
	CapInventory Capability = "inventory"
)

// Inventory tells which accounts a machine has: a restored database does not know all of them. What a machine says of itself proves
// nothing about the others.
type Inventory interface {
	// Residents lists the accounts that are on the machine, those that have left it among them, in the order of their refs.
	Residents(ctx context.Context) ([]Resident, error)
}

// Resident is an account as the machine that has it knows it.
type Resident struct {
	Ref           string
	Username      string
	PrimaryDomain string
	CreatedAt     time.Time
	Epoch         int64 // in which it was made there
	Left          int64 // in which it left for another machine; 0: it has not
	Arriving      bool  // its content is still to come
}

// Moving keeps a machine from serving accounts that another machine has. The platform counts the moves of a service: its
// epoch. A machine acts on the newest epoch of which it was told.
type Moving interface {
	// LeaveAccount says that another machine has the account from the epoch on. Here nothing of it is served, run or
	// changed any more, and all methods answer ErrNotFound for it except DropAccount and those of Backups; its files
	// stay. An account that was made in that epoch or a later one is left alone: the news is old. ErrNotFound: there is
	// no such account.
	LeaveAccount(ctx context.Context, ref string, epoch int64) error
	// ForwardAccount is LeaveAccount, and has visitors whose DNS still leads here answered by the other machine. Mail for the
	// account goes to that machine, if it has an address for mail and takes the mail while its sender waits; otherwise it is
	// refused for now, so that its senders ask the DNS anew. It ends with DropAccount. ErrInvalid: no address, or one for
	// HTTPS without the Proof of the machine there.
	ForwardAccount(ctx context.Context, ref string, epoch int64, to Forward) error
	// HoldAccount stops everything that could change what is in an account, so that a copy of it is the last word: no program
	// runs, and mail is refused for now. Files of sites are still served; programs of sites answer 503. A hold ends by itself,
	// unless it is repeated before; one that ended is ErrNotFound to the call that repeats it. ErrBusy: another move holds the
	// account.
	HoldAccount(ctx context.Context, ref string, of Hold) error
	// ReleaseAccount ends the holds of a move, and opens an account that was made for it (AccountSpec.Arriving).
	ReleaseAccount(ctx context.Context, ref string, move int64) error
	// Counted is what was counted of an account until now: its visits by day, and its traffic of the month.
	Counted(ctx context.Context, ref string) (Counted, error)
	// TakeCounted makes what another machine has counted what this one has, before it opens the account, and may be repeated.
	// ErrBusy: it is open. ErrInvalid: nothing that Counted has answered.
	TakeCounted(ctx context.Context, ref string, of Counted) error
	// Proof is the certificate in PEM by which this machine proves itself to those that forward visitors to it by HTTPS; empty
	// where it serves no HTTPS. Its key never leaves the machine.
	Proof(ctx context.Context) (string, error)
	// DropAccount deletes an account that has left in the epoch or before, and what is in it, for good; its backups stay.
	// ErrNotFound: there is none that has left.
	DropAccount(ctx context.Context, ref string, epoch int64) error
}

// Hold keeps what is in an account as it is while it is copied for the last time.
type Hold struct {
	Move int64         // whose hold it is
	Try  int64         // tells the holds of a move apart
	For  time.Duration // after which it ends by itself; 0: it ends only when it is told to
}

// Forward is where another machine answers HTTP and HTTPS for an account, and takes its mail: as address and port, never by a name. Empty is none.
// Nothing is sent by HTTPS to a machine that does not prove itself by the certificate Proof.
type Forward struct {
	HTTP  string
	HTTPS string
	Proof string
	Mail  string
}

// Counted is what a machine has counted of an account, for another machine. It is opaque to the platform.
type Counted []byte

// Passport is all that another machine needs to read a backup, the secrets of its store included. It is opaque to the
// platform.
type Passport []byte

// Handover lets a machine restore the backups of another one, when both reach the same store.
type Handover interface {
	// BackupPassport answers the passport of a complete backup.
	BackupPassport(ctx context.Context, ref, id string) (Passport, error)
	// AdoptBackup makes a backup of another machine one of this machine's, whether the account is here yet or not. The
	// backups that this machine makes of the account from then on are kept apart from those of the other machine. A
	// backup that is known already is left alone. ErrNotFound: this machine cannot reach it, or it is there no more; of the
	// last copy of a move, its restore tells that.
	// ErrInvalid: the passport is none of that account.
	AdoptBackup(ctx context.Context, ref string, of Passport) error
	// KeepApart is what AdoptBackup does for the backups of this machine, where there is none to adopt.
	KeepApart(ctx context.Context, ref string) error
	// DisownBackups undoes AdoptBackup and KeepApart where the account is not here: this machine forgets all backups of it,
	// which are another machine's, and touches none of them in the store. ErrBusy: the account is here.
	DisownBackups(ctx context.Context, ref string) error
}
