package sla

import "stead.dev/stead/internal/platform/fault"

// What operators are told.
var (
	errUnknown = fault.NotFound.Wrapf("there is no month of that id")
	errDecided = fault.Conflict.Wrapf("it is not proposed: nothing is owed, or it was decided before")
	errReason  = fault.Validation.Wrapf("say why, in one line of at most %d bytes", maxNote)
	errStatus  = fault.Validation.Wrapf("that is no state of a month: none, proposed, credited or rejected")
)
