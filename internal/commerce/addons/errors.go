package addons

import "stead.dev/stead/internal/platform/fault"

// The refusals of this section (resources, section 26).
var (
	// ErrUnavailable means that no such add-on exists, or that it is off sale.
	ErrUnavailable = fault.Define(fault.KindUnprocessable, "addon_unavailable")
	// ErrNotCancellable means that the add-on is being set up, or has ended.
	ErrNotCancellable = fault.Define(fault.KindUnprocessable, "addon_not_cancellable")
	// ErrNotPending means that the add-on does not wait for an operator.
	ErrNotPending = fault.Define(fault.KindUnprocessable, "addon_not_pending")
)
