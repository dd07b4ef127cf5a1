package domains

import "stead.dev/stead/internal/platform/fault"

// The refusals of this section (resources, section 26).
var (
	ErrTLDUnsupported   = fault.Define(fault.KindUnprocessable, "tld_unsupported")
	ErrPeriodNotAllowed = fault.Define(fault.KindUnprocessable, "period_not_allowed")
	ErrAuthCodeRequired = fault.Define(fault.KindUnprocessable, "auth_code_required")
	ErrAuthCodeInvalid  = fault.Define(fault.KindUnprocessable, "auth_code_invalid")
	ErrLocked           = fault.Define(fault.KindUnprocessable, "domain_locked")
	// ErrTransferLock says that a domain cannot be transferred for 60 days after it was registered or transferred.
	ErrTransferLock       = fault.Define(fault.KindUnprocessable, "transfer_lock_60_days")
	ErrNotActive          = fault.Define(fault.KindUnprocessable, "domain_not_active")
	ErrContactRequired    = fault.Define(fault.KindUnprocessable, "registrant_contact_required")
	ErrNameserverInvalid  = fault.Define(fault.KindUnprocessable, "nameserver_invalid")
	ErrPrivacyUnsupported = fault.Define(fault.KindUnprocessable, "privacy_unsupported")
	// ErrRejected has registrar_message, the registry's own words.
	ErrRejected    = fault.Define(fault.KindUnprocessable, "registrar_rejected")
	ErrUnreachable = fault.Define(fault.KindBadGateway, "registrar_unreachable")
)
