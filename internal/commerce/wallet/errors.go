package wallet

import (
	"errors"

	"stead.dev/stead/internal/platform/fault"
)

// The refusals of the section (resources, section 26).
var (
	// ErrInsufficientFunds is common: whatever charges the wallet answers it.
	ErrInsufficientFunds   = fault.InsufficientFunds
	ErrAmountTooSmall      = fault.Define(fault.KindUnprocessable, "amount_too_small")
	ErrAmountTooLarge      = fault.Define(fault.KindUnprocessable, "amount_too_large")
	ErrGatewayUnavailable  = fault.Define(fault.KindUnprocessable, "gateway_unavailable")
	ErrWalletLimitExceeded = fault.Define(fault.KindUnprocessable, "wallet_limit_exceeded")
	// ErrPaymentMethodRequired: automatic top-ups need a means of payment that the
	// gateway keeps.
	ErrPaymentMethodRequired = fault.Define(fault.KindUnprocessable, "payment_method_required")
)

// Mistakes of callers: they reach a client as internal_error.
var (
	// ErrReferenceReused: a movement of the same reference and type exists, of
	// another amount or account.
	ErrReferenceReused = errors.New("wallet: the reference was used for another movement")
	// ErrNothingHeld: there is no charge of the reference, or it was captured
	// where it is to be released, or the other way round.
	ErrNothingHeld = errors.New("wallet: nothing is held for the reference")
	// ErrBadAmount: the amount of the movement is negative or does not fit.
	ErrBadAmount = errors.New("wallet: bad amount")
)

// errShort: a debit found that the balance does not cover it.
var errShort = errors.New("wallet: the balance does not cover the debit")
