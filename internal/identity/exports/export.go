package exports

import "time"

// Status of an archive.
type Status string

// The states of an archive; None is that of an account without one.
const (
	None    Status = "none"
	Pending Status = "pending"
	Ready   Status = "ready"
	Failed  Status = "failed"
)

// keep is how long an archive can be downloaded.
const keep = 7 * 24 * time.Hour

// mostPending is how long an archive may be pending before it counts as failed: the job's attempts are over by then.
const mostPending = 24 * time.Hour

// Archive is what an account's owner has asked for.
type Archive struct {
	ID, AccountID int64
	Status        Status
	attempt       int64
	done, steps   int64
	Size          int64 // bytes
	RequestedAt   time.Time
	ReadyAt       *time.Time
	ExpiresAt     time.Time
}

// Percent is how much of a pending archive is made.
func (a Archive) Percent() int {
	switch {
	case a.Status == Ready:
		return 100
	case a.steps == 0:
		return 0
	default:
		return int(min(99, a.done*100/a.steps))
	}
}
