package app

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/hold"
)

// holdInterval is how often a server that is on hold looks whether it still is.
const holdInterval = time.Second

// workUnlessHeld begins what the server does by itself: at once, or on hold when it is released. After settled has returned,
// nothing more begins.
func (a *App) workUnlessHeld(ctx, background context.Context, running *sync.WaitGroup, broken chan<- error) (settled func(), err error) {
	h, held, err := hold.Look(ctx, a.db)
	if err != nil {
		return nil, err
	}
	if !held {
		return func() {}, a.work(ctx, background, running)
	}
	a.held.Store(true)
	a.log.WarnContext(ctx, "restored from a backup and on hold: no jobs, no mails, no webhooks, no charges; look with stead doctor, then run stead admin release-hold",
		"archive", h.Archive, "made_at", h.MadeAt, "restored_at", h.RestoredAt)
	waiting, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	running.Go(func() {
		defer close(done)
		if a.awaitRelease(waiting) != nil {
			return // the server stops
		}
		a.log.InfoContext(ctx, "released: work begins")
		if err := a.work(ctx, background, running); err != nil {
			broken <- err
			return
		}
		a.held.Store(false)
	})
	return func() { cancel(); <-done }, nil
}

// awaitRelease returns when the database is not on hold any longer, or with an error when ctx ends.
func (a *App) awaitRelease(ctx context.Context) error {
	for {
		if err := clock.Sleep(ctx, holdInterval); err != nil {
			return err
		}
		_, held, err := hold.Look(ctx, a.db)
		if err == nil && !held {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "whether the installation is on hold cannot be read", "error", err)
		}
	}
}

// withHold refuses while the installation is on hold whatever could change something: all but reading, signing in and what
// staff do. Pages of payments are refused too, because looking at one begins a payment.
func (a *App) withHold(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.held.Load() && !allowedOnHold(r) {
			w.Header().Set("Retry-After", "60")
			a.edge.Refuse(w, r, fault.Maintenance.New())
			return
		}
		next.ServeHTTP(w, r)
	})
}

func allowedOnHold(r *http.Request) bool {
	if strings.HasPrefix(r.URL.Path, "/pay/") {
		return false
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	for _, prefix := range []string{staffPrefix, "/panel" + staffPrefix, "/oauth/", "/login", "/logout"} {
		if strings.HasPrefix(r.URL.Path, prefix) {
			return true
		}
	}
	return false
}
