package insights

import "stead.dev/stead/internal/platform/fault"

var (
	errResolved = fault.Define(fault.KindUnprocessable, "insight_already_resolved")
	// errUnknown answers for insights and services of others too.
	errUnknown = fault.NotFound
)
