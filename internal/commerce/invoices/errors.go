package invoices

import "stead.dev/stead/internal/platform/fault"

// ErrRefundTooLarge: more is to be given back than is left of the invoice. It carries left, Money.
var ErrRefundTooLarge = fault.Define(fault.KindUnprocessable, "refund_too_large")

// ErrNotNumbered: the PDF of a document is wanted before the document has its number, about a second after the payment.
var ErrNotNumbered = fault.Define(fault.KindConflict, "invoice_not_numbered")
