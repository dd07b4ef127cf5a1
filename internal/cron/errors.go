package cron

import (
	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/fault"
)

// errExpression refuses a schedule that is malformed or never comes.
var errExpression = fault.Define(fault.KindUnprocessable, "cron_expression_invalid")

// failureKey is the public key for a job that the panel refuses for good.
func failureKey(err error) string {
	switch panel.KindOf(err) {
	case panel.ErrLimit:
		return fault.LimitReached.Key
	case panel.ErrUnsupported:
		return fault.UnsupportedOperation.Key
	default:
		return fault.Validation.Key
	}
}
