package php

import (
	"errors"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/fault"
)

// The section's own refusals.
var (
	ErrVersion = fault.Define(fault.KindUnprocessable, "php_version_unavailable")
	// ErrRange carries option and, where it has bounds, minimum and maximum.
	ErrRange = fault.Define(fault.KindUnprocessable, "php_option_out_of_range")
)

// failureKey is the public key for settings that the panel refuses for good.
func failureKey(err error) string {
	var kind panel.Kind
	if !errors.As(err, &kind) {
		kind = panel.KindOf(err)
	}
	switch kind {
	case panel.ErrUnsupported:
		return ErrVersion.Key
	case panel.ErrLimit:
		return fault.LimitReached.Key
	default:
		return ErrRange.Key
	}
}
