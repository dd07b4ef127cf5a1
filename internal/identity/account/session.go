package account

import "time"

// Lifetimes.
const (
	sessionLife = 30 * 24 * time.Hour
	// sessionIdle is the time without use after which a session ends.
	sessionIdle = 14 * 24 * time.Hour
	// recent is how old a sign-in may be for changes of credentials.
	recent = 15 * time.Minute
	// seenEvery bounds how often a session's last use is written.
	seenEvery = 5 * time.Minute
	// keepEnded is how long ended sessions serve to recognize known devices.
	keepEnded = 90 * 24 * time.Hour

	ceremonyLife = 10 * time.Minute
	// ceremonyAttempts is the number of wrong codes that one sign-in allows.
	ceremonyAttempts = 5
	linkLife         = time.Hour
)

// Session is a signed-in browser.
type Session struct {
	ID      int64
	Account Profile
	// ActingID is the member of staff who is signed in as the account; 0 when its owner is.
	ActingID int64
	// Method is "password", "passkey" or "staff".
	Method string
	// SecondFactor says that the sign-in proved two factors.
	SecondFactor bool
	Address      string
	UserAgent    string
	CreatedAt    time.Time
	// AuthenticatedAt is when the person last authenticated.
	AuthenticatedAt time.Time
	LastSeenAt      time.Time
	ExpiresAt       time.Time
}

// Recent reports whether the person authenticated recently enough to change credentials.
func (s Session) Recent(now time.Time) bool {
	return s.ActingID == 0 && now.Sub(s.AuthenticatedAt) < recent
}

// Outcome is the result of a step of signing in: a session with its Token, or Pending, the token of a sign-in that
// needs a second factor.
type Outcome struct {
	Token   string
	Session Session
	Pending string
	// Device is the token by which the browser is recognized at its next sign-in, also after the session has ended. It
	// gives no access.
	Device string
}
