package fault

// The refusals that several sections share.
var (
	InvalidRequest       = Define(KindBadRequest, "invalid_request")
	MalformedJSON        = Define(KindBadRequest, "malformed_json")
	UnsupportedMediaType = Define(KindUnsupportedMedia, "unsupported_media_type")

	Unauthenticated = Define(KindUnauthenticated, "unauthenticated")
	TokenExpired    = Define(KindUnauthenticated, "token_expired")
	TokenRevoked    = Define(KindUnauthenticated, "token_revoked")
	APIKeyInvalid   = Define(KindUnauthenticated, "api_key_invalid")
	APIKeyRevoked   = Define(KindUnauthenticated, "api_key_revoked")

	InsufficientScope = Define(KindForbidden, "insufficient_scope")
	SandboxReadOnly   = Define(KindForbidden, "sandbox_read_only")
	Forbidden         = Define(KindForbidden, "forbidden")
	AdminRequired     = Define(KindForbidden, "admin_required")
	RoleRequired      = Define(KindForbidden, "role_required")
	// SecondFactorRequired refuses staff whose account can be signed in to without one.
	SecondFactorRequired = Define(KindForbidden, "second_factor_required")
	// OwnerRequired refuses members of staff who are signed in as a customer.
	OwnerRequired = Define(KindForbidden, "account_owner_required")
	// ReauthenticationRequired asks to confirm the password and repeat the request.
	ReauthenticationRequired = Define(KindForbidden, "reauthentication_required")

	AccountSuspended  = Define(KindForbidden, "account_suspended")
	AddressNotAllowed = Define(KindForbidden, "ip_not_allowed")
	ReadOnlyKey       = Define(KindForbidden, "read_only_key")

	NotFound        = Define(KindNotFound, "not_found")
	SectionDisabled = Define(KindNotFound, "section_disabled")

	MethodNotAllowed = Define(KindMethodNotAllowed, "method_not_allowed")
	PayloadTooLarge  = Define(KindTooLarge, "payload_too_large")

	IdempotencyInProgress = Define(KindConflict, "idempotency_in_progress")
	Conflict              = Define(KindConflict, "conflict")
	ETagMismatch          = Define(KindConflict, "etag_mismatch")
	JobRunning            = Define(KindConflict, "job_running")

	Validation           = Define(KindUnprocessable, "validation_failed")
	IdempotencyKeyReused = Define(KindUnprocessable, "idempotency_key_reused")
	IdempotencyKeyBad    = Define(KindUnprocessable, "idempotency_key_invalid")
	LimitReached         = Define(KindUnprocessable, "limit_reached")
	AlreadyExists        = Define(KindUnprocessable, "already_exists")
	InUse                = Define(KindUnprocessable, "in_use")
	UnsupportedOperation = Define(KindUnprocessable, "unsupported_operation")
	ServiceNotActive     = Define(KindUnprocessable, "service_not_active")
	ServiceSuspended     = Define(KindUnprocessable, "service_suspended")
	TargetNotAllowed     = Define(KindUnprocessable, "target_not_allowed")
	FeatureNotInPlan     = Define(KindUnprocessable, "feature_not_in_plan")
	PathNotAllowed       = Define(KindUnprocessable, "path_not_allowed")
	OutOfStock           = Define(KindUnprocessable, "out_of_stock")
	ClientRefTooLong     = Define(KindUnprocessable, "client_ref_too_long")
	CouponInvalid        = Define(KindUnprocessable, "coupon_invalid")
	CouponExpired        = Define(KindUnprocessable, "coupon_expired")
	CouponExhausted      = Define(KindUnprocessable, "coupon_exhausted")
	// PriceChanged has the present price as price.
	PriceChanged = Define(KindUnprocessable, "price_changed")
	// DowngradeExceeds lists as exceeded the smaller limits that the service exceeds.
	DowngradeExceeds = Define(KindUnprocessable, "downgrade_exceeds_usage")

	// InsufficientFunds carries required, balance and missing, all Money.
	InsufficientFunds = Define(KindUnprocessable, "insufficient_funds")
	DomainInvalid     = Define(KindUnprocessable, "domain_invalid")
	DomainUnavailable = Define(KindUnprocessable, "domain_unavailable")
	// DomainVerificationRequired carries domain, the domain to prove, and record {name, type, value}, which proves it.
	DomainVerificationRequired = Define(KindUnprocessable, "domain_verification_required")

	RateLimited = Define(KindTooMany, "rate_limited")

	Internal         = Define(KindInternal, "internal_error")
	PanelUnreachable = Define(KindBadGateway, "panel_unreachable")
	PanelBusy        = Define(KindUnavailable, "panel_busy")
	Maintenance      = Define(KindUnavailable, "maintenance")
	// Unavailable says that the database does not answer at present, or not in time.
	Unavailable = Define(KindUnavailable, "unavailable")
)
