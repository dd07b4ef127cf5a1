package account

import "time"

// How long things live.
const (
	sessionLife = 30 * 24 * time.Hour
	// sessionIdle ends sessions that nobody uses.
	sessionIdle = 14 * 24 * time.Hour
	// recent is how long ago a sign-in may be for changes of credentials.
	recent = 15 * time.Minute
	// seenEvery is how often a session's last use is written.
	seenEvery = 5 * time.Minute
	// keepEnded is how long ended sessions tell known devices from new ones.
	keepEnded = 90 * 24 * time.Hour

	ceremonyLife = 10 * time.Minute
	// ceremonyAttempts is how many wrong codes one sign-in allows.
	ceremonyAttempts = 5
	linkLife         = time.Hour
)

// Session is a browser that is signed in.
type Session struct {
	ID      int64
	Account Profile
	// Method is "password" or "passkey".
	Method string
	// SecondFactor tells that the sign-in proved two factors.
	SecondFactor bool
	Address      string
	UserAgent    string
	CreatedAt    time.Time
	// AuthenticatedAt is when the person last proved who it is.
	AuthenticatedAt time.Time
	LastSeenAt      time.Time
	ExpiresAt       time.Time
}

// Recent tells whether the person proved who it is lately enough to change
// how it signs in.
func (s Session) Recent(now time.Time) bool { return now.Sub(s.AuthenticatedAt) < recent }

// Outcome of a step of signing in: either a session with its Token, or
// Pending, the token of a sign-in that needs a second factor.
type Outcome struct {
	Token   string
	Session Session
	Pending string
}
