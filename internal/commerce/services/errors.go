package services

import "stead.dev/stead/internal/platform/fault"

// The refusals of this section (resources, section 26).
var (
	ErrAlreadySuspended  = fault.Define(fault.KindUnprocessable, "already_suspended")
	ErrNotSuspended      = fault.Define(fault.KindUnprocessable, "not_suspended")
	ErrTerminated        = fault.Define(fault.KindUnprocessable, "service_terminated")
	ErrRestoreWindow     = fault.Define(fault.KindUnprocessable, "restore_window_passed")
	ErrRenewalNotAllowed = fault.Define(fault.KindUnprocessable, "renewal_not_allowed")
	ErrTariffNotAllowed  = fault.Define(fault.KindUnprocessable, "tariff_change_not_allowed")
	// ErrDowngradeExceeds says in exceeded which limits of the smaller plan the service is beyond.
	ErrDowngradeExceeds = fault.DowngradeExceeds
	// ErrPriceChanged says in price what it costs now.
	ErrPriceChanged     = fault.PriceChanged
	ErrClientRefTooLong = fault.ClientRefTooLong
)
