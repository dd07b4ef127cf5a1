package announcements

import "stead.dev/stead/internal/platform/fault"

// The refusals of staff's changes.
var (
	// errPublished refuses another audience, beginning or way of telling: accounts may have been told already.
	errPublished = fault.Define(fault.KindUnprocessable, "announcement_published")
	// errOver refuses to change or publish what was withdrawn or is over.
	errOver = fault.Define(fault.KindUnprocessable, "announcement_over")
)
