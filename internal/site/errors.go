package site

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

func isGone(err error) bool { return errors.Is(err, panel.ErrNotFound) }
