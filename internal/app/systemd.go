package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"stead.dev/stead/internal/platform/clock"
)

// The states that systemd is told of, where it runs us with Type=notify.
const (
	stateReady    = daemon.SdNotifyReady
	stateStopping = daemon.SdNotifyStopping
)

// tellSystemd tells systemd of a state. Elsewhere nobody is told.
func tellSystemd(ctx context.Context, log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.WarnContext(ctx, "systemd cannot be told", "state", state, "error", err)
	}
}

// feedWatchdog tells systemd twice in each of its intervals that the process lives, until ctx ends. It looks at nothing but
// that: a restart would not bring a lost database back.
func feedWatchdog(ctx context.Context, log *slog.Logger) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.WarnContext(ctx, "the interval of systemd's watchdog cannot be read", "error", err)
	}
	for interval > 0 && clock.Sleep(ctx, max(interval/2, time.Millisecond)) == nil {
		tellSystemd(ctx, log, daemon.SdNotifyWatchdog)
	}
}
