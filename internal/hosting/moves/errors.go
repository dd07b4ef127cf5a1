package moves

import "stead.dev/stead/internal/platform/fault"

var (
	// ErrNodeAlive refuses to recover from a node that reports: what its services have since their backups would be lost.
	ErrNodeAlive = fault.Define(fault.KindConflict, "node_alive")
	// ErrNoBackup says that no backup of a service can be had on another machine.
	ErrNoBackup = fault.Define(fault.KindUnprocessable, "no_portable_backup")
	// ErrCommitted refuses to call off a move whose service is on the other machine already.
	ErrCommitted = fault.Define(fault.KindConflict, "move_committed")
	// errCancelled says that an operator called a move off.
	errCancelled = fault.Define(fault.KindConflict, "move_cancelled")
)
