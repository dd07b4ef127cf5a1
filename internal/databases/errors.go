package databases

import (
	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/fault"
)

// failureKey is the public key for a database that the panel refuses for good.
func failureKey(err error) string {
	switch panel.KindOf(err) {
	case panel.ErrLimit:
		return fault.LimitReached.Key
	case panel.ErrDiskFull:
		return "disk_full"
	case panel.ErrUnsupported:
		return fault.UnsupportedOperation.Key
	case panel.ErrExists:
		return fault.AlreadyExists.Key
	default:
		return fault.Validation.Key
	}
}
