package audit

import (
	"encoding/json"
	"time"

	"stead.dev/stead/internal/platform/auth"
)

// Entry is a row of the audit log.
type Entry struct {
	ID        int64
	At        time.Time
	Actor     auth.Actor
	Action    string
	Kind      string
	Subject   string
	AccountID int64
	Reason    string
	// Before and After are the states of the subject as JSON; null where it did not exist.
	Before, After json.RawMessage
}

// Filter selects entries; empty members select all.
type Filter struct {
	ActorID, AccountID int64
	Action             string
	Kind, Subject      string
	Via                string
	RequestID          string
	From, To           time.Time
}
