package access

import (
	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/fault"
)

// ErrKeyInvalid is the answer to what is no SSH key that the server would take.
var ErrKeyInvalid = fault.Define(fault.KindUnprocessable, "ssh_key_invalid")

// ErrTicket is the answer to a ticket that was used, is old, or is somebody else's.
var ErrTicket = fault.Forbidden

// failureKey is the public key for what the panel refuses for good.
func failureKey(err error) string {
	switch panel.KindOf(err) {
	case panel.ErrExists:
		return fault.AlreadyExists.Key
	case panel.ErrLimit:
		return fault.LimitReached.Key
	case panel.ErrPathNotAllowed:
		return fault.PathNotAllowed.Key
	case panel.ErrDiskFull:
		return "disk_full"
	case panel.ErrUnsupported:
		return fault.UnsupportedOperation.Key
	default:
		return fault.Validation.Key
	}
}
