package services

import "stead.dev/stead/internal/platform/fault"

// The refusals of this section (resources, section 26).
var (
	ErrAlreadySuspended = fault.Define(fault.KindUnprocessable, "already_suspended")
	ErrNotSuspended     = fault.Define(fault.KindUnprocessable, "not_suspended")
)
