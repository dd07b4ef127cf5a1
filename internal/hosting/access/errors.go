package access

import "stead.dev/stead/internal/platform/fault"

// ErrKeyInvalid is the answer to what is no SSH key that the server would take.
var ErrKeyInvalid = fault.Define(fault.KindUnprocessable, "ssh_key_invalid")

// ErrTicket is the answer to a ticket that was used, is old, or is somebody else's.
var ErrTicket = fault.Forbidden
