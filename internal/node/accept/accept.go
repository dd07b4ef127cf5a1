// Package accept accepts connections for as long as a listener is open.
package accept

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"stead.dev/stead/internal/platform/clock"
)

// pause is how long nothing is accepted after an error: for a moment there may be too many open files.
const pause = 100 * time.Millisecond

// Each hands every connection that a listener accepts to serve, one after the other, until the listener is closed or ctx ends. Other errors
// pass.
func Each[C net.Conn](ctx context.Context, next func() (C, error), log *slog.Logger, serve func(C)) {
	for {
		c, err := next()
		switch {
		case err == nil:
			serve(c)
			continue
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		}
		log.WarnContext(ctx, "no connection is accepted for a moment", "error", err)
		if clock.Sleep(ctx, pause) != nil {
			return
		}
	}
}
