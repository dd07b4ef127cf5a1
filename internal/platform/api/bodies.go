package api

import (
	"io"
	"net/http"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/semaphore"
)

// bodiesEach is how many bodies an address may send at a time. A usual body arrives with its request and is counted for
// milliseconds; an address that sends hundreds slowly would take connections and memory of the others.
const bodiesEach = 200

// BoundBodies bounds how many requests of an address have a body that has not arrived: further ones are refused.
func (e *Edge) BoundBodies(next http.Handler) http.Handler {
	arriving := &semaphore.Keyed[string]{Each: bodiesEach}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 || r.Body == nil {
			next.ServeHTTP(w, r)
			return
		}
		release, ok := arriving.Acquire(e.addressKey(r))
		if !ok {
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Connection", "close") // the body is not waited for
			e.WriteError(w, r, fault.RateLimited.With(fault.Fields{"retry_after": 1}))
			return
		}
		defer release()
		r.Body = &arrivingBody{r.Body, release} // which may be called again
		next.ServeHTTP(w, r)
	})
}

// arrivingBody calls arrived when its end has been read.
type arrivingBody struct {
	io.ReadCloser
	arrived func()
}

func (b *arrivingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.arrived()
	}
	return n, err
}
