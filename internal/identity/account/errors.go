package account

import "stead.dev/stead/internal/platform/fault"

// The refusals of this section.
var (
	// ErrCredentials does not tell whether the address or the password is wrong.
	ErrCredentials = fault.Define(fault.KindUnauthenticated, "credentials_invalid")
	// ErrCode says that a code of the authenticator app or a recovery code is wrong or used.
	ErrCode = fault.Define(fault.KindUnprocessable, "code_invalid")
	// ErrCeremony says that a started ceremony has expired; begin again.
	ErrCeremony = fault.Define(fault.KindUnprocessable, "sign_in_expired")
	// ErrPasskey says that the authenticator's answer does not prove what it should.
	ErrPasskey = fault.Define(fault.KindUnprocessable, "passkey_invalid")
	// ErrLink says that a mailed link is unknown, used or expired.
	ErrLink = fault.Define(fault.KindUnprocessable, "link_invalid")
	// ErrTwoFactorOn and ErrTwoFactorOff say that the authenticator app is not in the state that the change needs.
	ErrTwoFactorOn  = fault.Define(fault.KindUnprocessable, "two_factor_on")
	ErrTwoFactorOff = fault.Define(fault.KindUnprocessable, "two_factor_off")
	// ErrNotClosable says that something of the account has to end before it can be closed, or that the balance is another.
	ErrNotClosable = fault.Define(fault.KindUnprocessable, "account_not_closable")
)
