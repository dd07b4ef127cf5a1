package scans

import "stead.dev/stead/internal/platform/fault"

var (
	// errNotOwned has the record that would prove the ownership as record.
	errNotOwned    = fault.Define(fault.KindUnprocessable, "url_not_owned")
	errInProgress  = fault.Define(fault.KindUnprocessable, "scan_in_progress")
	errUnreachable = fault.Define(fault.KindUnprocessable, "scan_target_unreachable")
	errInterrupted = fault.Define(fault.KindInternal, "scan_interrupted")
)
