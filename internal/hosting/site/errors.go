package site

import (
	"context"
	"errors"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// refusals gives each kind of a panel's failure that a request can meet its key.
var refusals = map[panel.Kind]*fault.Def{
	panel.ErrNotFound:    fault.NotFound,
	panel.ErrSuspended:   fault.ServiceSuspended,
	panel.ErrUnreachable: fault.PanelUnreachable,
	panel.ErrBusy:        fault.PanelBusy,
	panel.ErrUnsupported: fault.UnsupportedOperation,
}

// Refusal translates a failure of a panel that is asked within a request. The context's errors and
// faults pass as they are; what has no key of its own is internal.
func Refusal(err error) error {
	var known *fault.Error
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &known) {
		return err
	}
	if def, ok := refusals[panel.KindOf(err)]; ok {
		return def.Wrap(err)
	}
	return fault.Internal.Wrap(err)
}

// ForGood tells whether a panel's failure will be the same at the next try: it refuses, rather than
// being unreachable, busy, or failing for a reason of its own.
func ForGood(err error) bool {
	switch panel.KindOf(err) {
	case panel.ErrExists, panel.ErrInvalid, panel.ErrLimit, panel.ErrPathNotAllowed, panel.ErrDiskFull, panel.ErrUnsupported, panel.ErrInUse:
		return true
	default:
		return false
	}
}

// failureKeys gives what a panel refuses for good its key; what is not here is refused as invalid.
var failureKeys = map[panel.Kind]string{
	panel.ErrExists:         fault.AlreadyExists.Key,
	panel.ErrLimit:          fault.LimitReached.Key,
	panel.ErrPathNotAllowed: fault.PathNotAllowed.Key,
	panel.ErrDiskFull:       "disk_full",
	panel.ErrUnsupported:    fault.UnsupportedOperation.Key,
	panel.ErrInUse:          fault.InUse.Key,
}

// FailureKey is the public key for what a panel refuses for good.
func FailureKey(err error) string {
	if key, ok := failureKeys[panel.KindOf(err)]; ok {
		return key
	}
	return fault.Validation.Key
}

func isGone(err error) bool { return errors.Is(err, panel.ErrNotFound) }
