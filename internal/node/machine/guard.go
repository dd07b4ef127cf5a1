package machine

import (
	"context"
	"time"

	"stead.dev/stead/internal/node/mailguard"
)

// guardEvery is the pause between checks that accounts reach no mail servers: whoever loads other rules of nftables on
// the machine may remove these.
const guardEvery = time.Minute

// guard keeps the users of accounts from the ports of mail servers, until the machine is closed.
func (m *Machine) guard(ctx context.Context, cfg Config) {
	users := mailguard.Users{First: cfg.UIDMin, Last: cfg.UIDMax}
	if err := cfg.Guard(ctx, users); err != nil {
		cfg.Log.Error("accounts reach the mail servers of the world: this machine offers no mail", "error", err)
	} else {
		m.guarded = true
	}
	again, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(guardEvery)
		defer tick.Stop()
		for {
			select {
			case <-again.Done():
				return
			case <-tick.C:
			}
			if err := cfg.Guard(again, users); err != nil && again.Err() == nil {
				cfg.Log.Error("accounts reach the mail servers of the world", "error", err)
			}
		}
	}()
	m.closers = append(m.closers, func() error {
		stop()
		<-done
		return nil
	})
}
