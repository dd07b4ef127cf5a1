package admin

import "stead.dev/stead/internal/platform/fault"

// errOwnAccount refuses staff who would change their own account by the means for customers' accounts.
var errOwnAccount = fault.Define(fault.KindForbidden, "own_account")

// errStaffAccount refuses to sign in to an account of staff as its owner.
var errStaffAccount = fault.Define(fault.KindForbidden, "staff_account")

// errNothingToCancel says that a job is done.
var errNothingToCancel = fault.Define(fault.KindUnprocessable, "nothing_to_cancel")

// errNothingToRetry says that nothing waits for another attempt.
var errNothingToRetry = fault.Define(fault.KindUnprocessable, "nothing_to_retry")

// errNodeAway refuses to upgrade a node that is worked at or does not report.
var errNodeAway = fault.Define(fault.KindConflict, "node_away")

// Refusals of an upgrade by the node itself.
var (
	ErrUpgradeUnsupported = fault.Define(fault.KindUnprocessable, "upgrade_unsupported")
	ErrUpgradeOff         = fault.Define(fault.KindUnprocessable, "upgrade_off")
	ErrUpgradePackaged    = fault.Define(fault.KindUnprocessable, "upgrade_packaged")
	ErrUpgradePlatform    = fault.Define(fault.KindUnprocessable, "upgrade_platform")
	ErrUpgradeNotNewer    = fault.Define(fault.KindUnprocessable, "upgrade_not_newer")
	ErrUpgradeBroken      = fault.Define(fault.KindUnprocessable, "upgrade_broken")
)
