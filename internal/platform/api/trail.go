package api

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"stead.dev/stead/internal/platform/auth"
)

// Call describes a write request of a reseller, made with a key or in the panel.
type Call struct {
	Principal auth.Principal
	// Operation is its id, Method and Path are those of the request: no query, no body.
	Operation, Method, Path string
	RequestID               string
	From                    netip.Addr
}

// Trail records the calls of resellers.
type Trail interface {
	// Began records a call before it is executed. When that fails, the call is refused.
	Began(ctx context.Context, c Call) (id int64, err error)
	// Ended records the result of a call: the status of the answer, and the error key, if it was an error.
	Ended(ctx context.Context, id int64, status int, errorKey string) error
}

// trailTime bounds the recording of a call's end, when the client may be gone.
const trailTime = 5 * time.Second

// trailPath is the path as it was sent, so that it is ASCII whatever its escapes stand for.
func trailPath(r *http.Request) string {
	p := r.URL.EscapedPath()
	return p[:min(len(p), 256)]
}

// recordCall records a write call of a reseller. The caller writes the answer to the returned writer, and calls ended
// afterwards.
//
// A call without an end in the trail was interrupted: it may be done or not. That also holds when its end could not be
// recorded.
func (e *Edge) recordCall(w http.ResponseWriter, r *http.Request, d *declared, p auth.Principal) (http.ResponseWriter, func(), error) {
	if e.Trail == nil || !d.Write || d.Auth != Key {
		return w, func() {}, nil
	}
	id, err := e.Trail.Began(r.Context(), Call{
		Principal: p, Operation: d.ID, Method: r.Method, Path: trailPath(r), RequestID: RequestID(r.Context()), From: e.ClientAddr(r).Unmap(),
	})
	if err != nil {
		return w, func() {}, err
	}
	rec := &recorder{ResponseWriter: w, status: http.StatusOK}
	return rec, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), trailTime)
		defer cancel()
		key := ""
		if f := requestLogOf(r.Context()).fault; f != nil {
			key = f.Def.Key
		}
		_ = e.Trail.Ended(ctx, id, rec.status, key) // the answer is sent; see above
	}, nil
}
