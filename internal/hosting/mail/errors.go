package mail

import "stead.dev/stead/internal/platform/fault"

var (
	// errAddress carries the address, and the member that has it where it is not the mailbox's own.
	errAddress = fault.Define(fault.KindUnprocessable, "mailbox_address_invalid")
	// errQuota carries maximum, in mebibytes.
	errQuota = fault.Define(fault.KindUnprocessable, "quota_exceeds_plan")
)
