package devices

import (
	"time"

	"stead.dev/stead/internal/port/push"
)

// Platform is the kind of a device; each has its push service.
type Platform string

// The platforms of resources, section 11.
const (
	IOS     Platform = "ios"
	Android Platform = "android"
	Web     Platform = "web"
)

const (
	// maxDevices is the number of devices of an account: a further one replaces the one that was not seen for longest.
	maxDevices = 30
	// retention is how long an unseen device is kept. Applications register at each start.
	retention = 270 * 24 * time.Hour
	// fresh is how old a notification may be to be pushed.
	fresh = 24 * time.Hour
)

// device is a row of the table; the token is sealed in it.
type device struct {
	id, accountID int64
	applicationID int64 // the application that registered it
	sessionID     int64 // the session in which it did; 0: none
	platform      Platform
	hash, token   []byte
	name          string
	locale        string
	appVersion    string
	lastSeenAt    time.Time
	createdAt     time.Time
}

// Notice is a notification as a device shows it.
type Notice struct {
	AccountID int64
	Kind      string
	Title     string
	Body      string
	Link      string // path on this server; empty without
	Urgency   push.Urgency
	CreatedAt time.Time
	// Wanted is false for a notification that was read, and for an account that is not open.
	Wanted bool
}
