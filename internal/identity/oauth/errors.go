package oauth

import (
	"errors"

	"stead.dev/stead/internal/platform/fault"
)

// The refusals of RFC 6749 (4.1.2.1, 5.2), RFC 7009 and RFC 8707, under the
// keys of resources, section 26. The specification answers 400 for an invalid
// client, where RFC 6749 would have 401.
var (
	ErrInvalidRequest          = fault.InvalidRequest
	ErrInvalidClient           = fault.Define(fault.KindBadRequest, "invalid_client")
	ErrInvalidGrant            = fault.Define(fault.KindBadRequest, "invalid_grant")
	ErrInvalidScope            = fault.Define(fault.KindBadRequest, "invalid_scope")
	ErrInvalidTarget           = fault.Define(fault.KindBadRequest, "invalid_target")
	ErrUnauthorizedClient      = fault.Define(fault.KindBadRequest, "unauthorized_client")
	ErrUnsupportedGrantType    = fault.Define(fault.KindBadRequest, "unsupported_grant_type")
	ErrUnsupportedResponseType = fault.Define(fault.KindBadRequest, "unsupported_response_type")
	ErrAccessDenied            = fault.Define(fault.KindBadRequest, "access_denied")
	ErrLoginRequired           = fault.Define(fault.KindBadRequest, "login_required")
	ErrConsentRequired         = fault.Define(fault.KindBadRequest, "consent_required")
)

// Refusal is a refusal of the protocol: its key, which is RFC 6749's `error`, and the reason, a text of the catalogue
// under `oauth.reason.` that tells a developer what to correct.
type Refusal struct {
	Def    *fault.Def
	Reason string
	// Redirect is the address that takes the refusal to the application; empty when it cannot be trusted, so that the
	// refusal is shown to the user.
	Redirect string
}

func refuse(def *fault.Def, reason string) *Refusal { return &Refusal{Def: def, Reason: reason} }

func (r *Refusal) Error() string { return r.Def.Key + ": " + r.Reason }

// Unwrap makes errors.Is find the Def.
func (r *Refusal) Unwrap() error { return r.Def }

// AsRefusal finds the refusal in err's chain; nil when there is none.
func AsRefusal(err error) *Refusal {
	var r *Refusal
	errors.As(err, &r)
	return r
}
