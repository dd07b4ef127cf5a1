package addons

import "stead.dev/stead/internal/platform/fault"

// The refusals of this section (resources, section 26).
var (
	// ErrUnavailable: there is no such add-on, or it is off sale.
	ErrUnavailable = fault.Define(fault.KindUnprocessable, "addon_unavailable")
	// ErrNotCancellable: it is being made, or over.
	ErrNotCancellable = fault.Define(fault.KindUnprocessable, "addon_not_cancellable")
	// ErrNotPending: an operator can make or refuse only what waits for it.
	ErrNotPending = fault.Define(fault.KindUnprocessable, "addon_not_pending")
)
