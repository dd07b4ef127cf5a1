package services

import "stead.dev/stead/internal/platform/fault"

// The refusals of this section (resources, section 26).
var (
	ErrAlreadySuspended  = fault.Define(fault.KindUnprocessable, "already_suspended")
	ErrNotSuspended      = fault.Define(fault.KindUnprocessable, "not_suspended")
	ErrTerminated        = fault.Define(fault.KindUnprocessable, "service_terminated")
	ErrRestoreWindow     = fault.Define(fault.KindUnprocessable, "restore_window_passed")
	ErrRenewalNotAllowed = fault.Define(fault.KindUnprocessable, "renewal_not_allowed")
	ErrClientRefTooLong  = fault.ClientRefTooLong
)
