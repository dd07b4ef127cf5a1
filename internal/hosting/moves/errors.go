package moves

import "stead.dev/stead/internal/platform/fault"

var (
	// ErrNodeAlive refuses to recover from a node that reports: what its services have since their backups would be lost.
	ErrNodeAlive = fault.Define(fault.KindConflict, "node_alive")
	// ErrNoBackup says that no backup of a service can be had on another machine.
	ErrNoBackup = fault.Define(fault.KindUnprocessable, "no_portable_backup")
	// ErrCommitted refuses to call off a move whose service is on the other machine already.
	ErrCommitted = fault.Define(fault.KindConflict, "move_committed")
	// ErrNodeSilent refuses to move services from a node that does not report; they are recovered from it.
	ErrNodeSilent = fault.Define(fault.KindConflict, "node_silent")
	// ErrRunning refuses a second move of a service.
	ErrRunning = fault.Define(fault.KindConflict, "move_running")
	// ErrNoNode refuses to move a service that is not on a node.
	ErrNoNode = fault.Define(fault.KindUnprocessable, "service_not_on_node")
	// ErrUnsuited refuses to move services to nodes of which none has what they need.
	ErrUnsuited = fault.Define(fault.KindUnprocessable, "no_suited_node")
	// errNoStore says that the two nodes have no store of backups in common.
	errNoStore = fault.Define(fault.KindUnprocessable, "no_common_store")
	// errDisturbed says that a service could not be kept unchanged for as long as the last copy takes.
	errDisturbed = fault.Define(fault.KindConflict, "move_disturbed")
	// errNotCopied says that a machine could not make a copy of a service, or not restore it.
	errNotCopied = fault.Define(fault.KindConflict, "move_not_copied")
	// errStopped says that other services of the same evacuation could not be moved.
	errStopped = fault.Define(fault.KindConflict, "evacuation_stopped")
	// errCancelled says that an operator called a move off.
	errCancelled = fault.Define(fault.KindConflict, "move_cancelled")
)
