package backups

import (
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// ErrNotRestorable says that a backup is not complete, or damaged (resources,
// section 26).
var ErrNotRestorable = fault.Define(fault.KindUnprocessable, "backup_not_restorable")

// failureKey is the public key for what a panel could not do.
func failureKey(kind panel.Kind) string {
	switch kind {
	case panel.ErrUnreachable:
		return fault.PanelUnreachable.Key
	case panel.ErrBusy:
		return fault.PanelBusy.Key
	case panel.ErrSuspended:
		return fault.ServiceSuspended.Key
	case panel.ErrDiskFull:
		return "disk_full"
	case panel.ErrLimit:
		return fault.LimitReached.Key
	case panel.ErrPathNotAllowed:
		return fault.PathNotAllowed.Key
	case panel.ErrUnsupported:
		return fault.UnsupportedOperation.Key
	case panel.ErrNotFound:
		return fault.NotFound.Key
	default:
		return fault.Internal.Key
	}
}

// restoreKey is failureKey for a restore or a check: there ErrInvalid says that the
// backup is damaged, and what was started is well formed.
func restoreKey(kind panel.Kind) string {
	if kind == panel.ErrInvalid {
		return ErrNotRestorable.Key
	}
	return failureKey(kind)
}
