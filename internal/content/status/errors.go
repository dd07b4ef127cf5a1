package status

import "stead.dev/stead/internal/platform/fault"

// The refusals that operators get.
var (
	errPast   = fault.Validation.Wrapf("maintenance ends after it begins, and after now")
	errImpact = fault.Validation.Wrapf("the impact is none, minor, major or critical")
	errStage  = fault.Validation.Wrapf("the status is investigating, identified or monitoring; an incident is resolved by itself")
	errOver   = fault.Conflict.Wrapf("the incident is resolved")
)
