package monitors

import "stead.dev/stead/internal/platform/fault"

var (
	errTarget   = fault.TargetNotAllowed
	errInterval = fault.Define(fault.KindUnprocessable, "interval_not_allowed")
	errRegion   = fault.Define(fault.KindUnprocessable, "region_not_allowed")
	errLimit    = fault.Define(fault.KindUnprocessable, "monitor_limit_reached")
	errBuiltIn  = fault.Define(fault.KindUnprocessable, "monitor_built_in")
)
