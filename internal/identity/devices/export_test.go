package devices

import (
	"context"
	"time"
)

// The figures that the tests hold the section to.
const (
	MaxDevices = maxDevices
	Retention  = retention

	MostSending = mostSending
)

// Push is what the job does.
func (s *Service) Push(ctx context.Context, deviceID, notificationID int64) (time.Duration, error) {
	return s.push(ctx, deviceID, notificationID)
}
