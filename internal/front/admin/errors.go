package admin

import "stead.dev/stead/internal/platform/fault"

// errOwnAccount refuses staff who would change their own account by the means for customers' accounts.
var errOwnAccount = fault.Define(fault.KindForbidden, "own_account")
