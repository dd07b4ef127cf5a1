package api

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"stead.dev/stead/internal/platform/auth"
)

// Call is a request that changes something, made with a key.
type Call struct {
	Principal auth.Principal
	// Operation is its id, Method and Path what was requested: no query, no body.
	Operation, Method, Path string
	RequestID               string
	From                    netip.Addr
}

// Trail keeps what was done with keys.
type Trail interface {
	// Began notes a call before it is made. A call that cannot be noted is not made.
	Began(ctx context.Context, c Call) (id int64, err error)
	// Ended notes what came of it: the status of the answer, and the error key, if it was an error.
	Ended(ctx context.Context, id int64, status int, errorKey string) error
}

// trailTime bounds the note of how a call ended, whose client may be gone.
const trailTime = 5 * time.Second

// trailPath is the path as it was sent, so that it is ASCII whatever its escapes stand for.
func trailPath(r *http.Request) string {
	p := r.URL.EscapedPath()
	return p[:min(len(p), 256)]
}

// trailed notes a call with a key that changes something. What it answers is to be written to the writer that it
// returns, and ended to be called afterwards.
//
// A call that has no end in the trail was cut off: what it did may be done or not. That is also said of one whose
// end could not be noted.
func (e *Edge) trailed(w http.ResponseWriter, r *http.Request, d *declared, p auth.Principal) (http.ResponseWriter, func(), error) {
	if e.Trail == nil || !d.Write || p.KeyID == 0 {
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
		if f := noteOf(r.Context()).fault; f != nil {
			key = f.Def.Key
		}
		_ = e.Trail.Ended(ctx, id, rec.status, key) // the answer is out; see above
	}, nil
}
