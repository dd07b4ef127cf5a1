package jobs

import (
	"testing"
	"time"
)

func TestTurnsAreSpreadOverThePeriod(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	if phase(7, week) >= week || phase(7, week) == phase(8, week) {
		t.Error("the services are not spread")
	}
}
