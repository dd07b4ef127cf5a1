package hosting

import (
	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/fault"
)

// failureKey is the public key for a domain that the panel refuses, and whether it
// refuses it for good.
func failureKey(err error) (key string, forGood bool) {
	switch panel.KindOf(err) {
	case panel.ErrExists:
		return fault.DomainUnavailable.Key, true
	case panel.ErrInvalid:
		return fault.DomainInvalid.Key, true
	case panel.ErrLimit:
		return fault.LimitReached.Key, true
	case panel.ErrPathNotAllowed:
		return fault.PathNotAllowed.Key, true
	case panel.ErrDiskFull:
		return "disk_full", true
	case panel.ErrUnsupported:
		return fault.UnsupportedOperation.Key, true
	case panel.ErrInUse:
		return fault.InUse.Key, true
	default: // unreachable, busy, or failing for a reason of its own: later
		return "", false
	}
}
