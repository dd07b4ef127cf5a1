package reviews

import "stead.dev/stead/internal/platform/fault"

// Refusals of the section.
var (
	errNoService = fault.Define(fault.KindUnprocessable, "review_needs_service")

	// What operators are told.
	errUnknown = fault.NotFound.Wrapf("there is no review of that id")
	errChanged = fault.Conflict.Wrapf("its author has changed it meanwhile: read it again, and name the version that you have read")
)
