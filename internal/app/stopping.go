package app

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// errStopping is why the requests that a stop does not wait for any longer end.
var errStopping = errors.New("the server stops")

// dismissing closes the connections of those who ask a stopping server, so that a client or load balancer that keeps
// connections open makes its next request elsewhere. HTTP/2 connections get a GOAWAY.
func (a *App) dismissing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// requests are those in progress. An upload is one whose body is longer than that of other operations, or of unknown length.
type requests struct {
	maxBody int64

	mu      sync.Mutex
	running map[*inProgress]struct{}
}

type inProgress struct {
	upload bool
	cancel context.CancelCauseFunc
}

func (r *requests) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithCancelCause(req.Context())
		defer cancel(nil)
		one := &inProgress{upload: req.Body != nil && req.Body != http.NoBody && (req.ContentLength < 0 || req.ContentLength > r.maxBody), cancel: cancel}
		r.mu.Lock()
		if r.running == nil {
			r.running = map[*inProgress]struct{}{}
		}
		r.running[one] = struct{}{}
		r.mu.Unlock()
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.running, one)
		}()
		next.ServeHTTP(w, req.WithContext(ctx))
	})
}

// cut ends all requests but uploads, and reports whether there are any of these.
func (r *requests) cut() (uploads bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for one := range r.running {
		if one.upload {
			uploads = true
		} else {
			one.cancel(errStopping)
		}
	}
	return uploads
}

// stop lets running requests finish until ctx ends, and uploads for longer; then it cuts off what is left.
func (r *requests) stop(ctx context.Context, srv *http.Server, longer time.Duration) error {
	err := srv.Shutdown(ctx)
	if err != nil && longer > 0 && r.cut() {
		uploads, cancel := context.WithTimeout(context.WithoutCancel(ctx), longer)
		defer cancel()
		err = srv.Shutdown(uploads)
	}
	if err != nil {
		return errors.Join(err, srv.Close())
	}
	return nil
}
