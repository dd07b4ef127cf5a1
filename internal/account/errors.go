package account

import "stead.dev/stead/internal/platform/fault"

// The refusals of this section.
var (
	// ErrCredentials does not tell whether the address or the password is wrong.
	ErrCredentials = fault.Define(fault.KindUnauthenticated, "credentials_invalid")
	// ErrCode: a code of the authenticator app or a recovery code is wrong or used up.
	ErrCode = fault.Define(fault.KindUnprocessable, "code_invalid")
	// ErrCeremony: what was begun is over; begin again.
	ErrCeremony = fault.Define(fault.KindUnprocessable, "sign_in_expired")
	// ErrPasskey: the authenticator's answer does not prove what it should.
	ErrPasskey = fault.Define(fault.KindUnprocessable, "passkey_invalid")
	// ErrLink: a link of a mail is unknown, used or too old.
	ErrLink = fault.Define(fault.KindUnprocessable, "link_invalid")
	// ErrReauthenticate: prove again who you are, then repeat.
	ErrReauthenticate = fault.Define(fault.KindForbidden, "reauthentication_required")
	// ErrTwoFactorOn and ErrTwoFactorOff: the authenticator app is not in the
	// state that the change needs.
	ErrTwoFactorOn  = fault.Define(fault.KindUnprocessable, "two_factor_on")
	ErrTwoFactorOff = fault.Define(fault.KindUnprocessable, "two_factor_off")
)
