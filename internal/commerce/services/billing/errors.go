package billing

import "stead.dev/stead/internal/platform/fault"

// The refusals of this package (resources, section 26). services.ErrRenewalNotAllowed is another one.
var (
	ErrTariffNotAllowed = fault.Define(fault.KindUnprocessable, "tariff_change_not_allowed")
	// ErrDowngradeExceeds says in exceeded which limits of the smaller plan the service is beyond.
	ErrDowngradeExceeds = fault.DowngradeExceeds
	// ErrPriceChanged says in price what it costs now.
	ErrPriceChanged = fault.PriceChanged
)
