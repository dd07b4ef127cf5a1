package orders

import "stead.dev/stead/internal/platform/fault"

// The refusals of this section (resources, section 26).
var (
	ErrAlreadyPaid     = fault.Define(fault.KindUnprocessable, "already_paid")
	ErrNotPayable      = fault.Define(fault.KindUnprocessable, "order_not_payable")
	ErrNotRefundable   = fault.Define(fault.KindUnprocessable, "order_not_refundable")
	ErrNotCancellable  = fault.Define(fault.KindUnprocessable, "order_not_cancellable")
	ErrPlanUnavailable = fault.Define(fault.KindUnprocessable, "plan_unavailable")
	ErrOutOfStock      = fault.OutOfStock
)
