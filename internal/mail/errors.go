package mail

import (
	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/fault"
)

var (
	// errAddress carries the address, and the member that has it where it is not the mailbox's own.
	errAddress = fault.Define(fault.KindUnprocessable, "mailbox_address_invalid")
	// errQuota carries maximum, in mebibytes.
	errQuota = fault.Define(fault.KindUnprocessable, "quota_exceeds_plan")
)

// failures gives each kind of a panel's refusal for good the key that customers see.
var failures = map[panel.Kind]string{
	panel.ErrExists:      fault.AlreadyExists.Key,
	panel.ErrInvalid:     errAddress.Key,
	panel.ErrLimit:       fault.LimitReached.Key,
	panel.ErrDiskFull:    "disk_full",
	panel.ErrUnsupported: fault.UnsupportedOperation.Key,
}

func failureKey(err error) string {
	if key, ok := failures[panel.KindOf(err)]; ok {
		return key
	}
	return fault.Internal.Key
}
