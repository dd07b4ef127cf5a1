package panel

import "context"

// The capabilities that take accounts from one machine to another.
const (
	CapMoving   Capability = "moving"
	CapHandover Capability = "handover"
)

// Moving keeps a machine from serving accounts that another machine has. The platform counts the moves of a service: its
// epoch. A machine acts on the newest epoch of which it was told.
type Moving interface {
	// LeaveAccount says that another machine has the account from the epoch on. Here nothing of it is served, run or
	// changed any more, and all methods answer ErrNotFound for it except DropAccount and those of Backups; its files
	// stay. An account that was made in that epoch or a later one is left alone: the news is old. ErrNotFound: there is
	// no such account.
	LeaveAccount(ctx context.Context, ref string, epoch int64) error
	// DropAccount deletes an account that has left in the epoch or before, and what is in it, for good; its backups stay.
	// ErrNotFound: there is none that has left.
	DropAccount(ctx context.Context, ref string, epoch int64) error
}

// Passport is all that another machine needs to read a backup, the secrets of its store included. It is opaque to the
// platform.
type Passport []byte

// Handover lets a machine restore the backups of another one, when both reach the same store.
type Handover interface {
	// BackupPassport answers the passport of a complete backup.
	BackupPassport(ctx context.Context, ref, id string) (Passport, error)
	// AdoptBackup makes a backup of another machine one of this machine's, whether the account is here yet or not. The
	// backups that this machine makes of the account from then on are kept apart from those of the other machine. A
	// backup that is known already is left alone. ErrNotFound: this machine cannot reach it, or it is there no more.
	// ErrInvalid: the passport is none of that account.
	AdoptBackup(ctx context.Context, ref string, of Passport) error
	// KeepApart is what AdoptBackup does for the backups of this machine, where there is none to adopt.
	KeepApart(ctx context.Context, ref string) error
}
