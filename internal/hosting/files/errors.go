package files

import (
	"context"
	"errors"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// The refusals of this section.
var (
	ErrETagMismatch = fault.ETagMismatch
	ErrFileTooLarge = fault.Define(fault.KindUnprocessable, "file_too_large")
	ErrFileNotText  = fault.Define(fault.KindUnprocessable, "file_not_text")
	ErrDiskFull     = fault.Define(fault.KindUnprocessable, "disk_full")
	ErrRange        = fault.Define(fault.KindRange, "range_not_satisfiable")
)

// refusals gives each kind of a panel's failure the key that clients branch on.
var refusals = map[panel.Kind]*fault.Def{
	panel.ErrNotFound:       fault.NotFound,
	panel.ErrExists:         fault.AlreadyExists,
	panel.ErrSuspended:      fault.ServiceSuspended,
	panel.ErrInUse:          fault.InUse,
	panel.ErrLimit:          fault.LimitReached,
	panel.ErrDiskFull:       ErrDiskFull,
	panel.ErrUnreachable:    fault.PanelUnreachable,
	panel.ErrBusy:           fault.PanelBusy,
	panel.ErrPathNotAllowed: fault.PathNotAllowed,
	panel.ErrETagMismatch:   ErrETagMismatch,
	panel.ErrFileTooLarge:   ErrFileTooLarge,
	panel.ErrNotText:        ErrFileNotText,
	panel.ErrUnsupported:    fault.UnsupportedOperation,
}

// refusal translates a panel's failure. field names the member of the request that is to blame when
// the panel finds it makes no sense. Faults and the context's errors pass as they are.
func refusal(err error, field string) error { return refusalOf(err, field, "file_path") }

// refusalOf is refusal with the text that says what makes no sense.
func refusalOf(err error, field, text string) error {
	var known *fault.Error
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case panel.KindOf(err) == panel.ErrInvalid:
		invalid := fault.Invalid(field, text)
		invalid.Cause = err
		return invalid
	}
	if def, ok := refusals[panel.KindOf(err)]; ok {
		return def.Wrap(err)
	}
	return fault.Internal.Wrap(err)
}

// common are the refusals of every operation; write those of the ones that change something.
var (
	common = []*fault.Def{
		fault.ServiceNotActive, fault.ServiceSuspended, fault.UnsupportedOperation,
		fault.PathNotAllowed, fault.PanelUnreachable, fault.PanelBusy,
	}
	write = append([]*fault.Def{ErrDiskFull, fault.LimitReached}, common...)
)

func and(defs []*fault.Def, more ...*fault.Def) []*fault.Def {
	return append(more, defs...)
}
