package hosting

import (
	"context"
	"errors"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/fault"
)

// refusals gives each kind of a panel's failure that a request can meet its key.
var refusals = map[panel.Kind]*fault.Def{
	panel.ErrNotFound:    fault.NotFound,
	panel.ErrSuspended:   fault.ServiceSuspended,
	panel.ErrUnreachable: fault.PanelUnreachable,
	panel.ErrBusy:        fault.PanelBusy,
	panel.ErrUnsupported: fault.UnsupportedOperation,
}

// refusal translates a panel's failure. The context's errors pass as they are.
func refusal(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if def, ok := refusals[panel.KindOf(err)]; ok {
		return def.Wrap(err)
	}
	return fault.Internal.Wrap(err)
}

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
