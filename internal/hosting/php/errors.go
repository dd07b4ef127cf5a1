package php

import "stead.dev/stead/internal/platform/fault"

// The section's own refusals.
var (
	ErrVersion = fault.Define(fault.KindUnprocessable, "php_version_unavailable")
	// ErrRange carries option and, where it has bounds, minimum and maximum.
	ErrRange = fault.Define(fault.KindUnprocessable, "php_option_out_of_range")
)
