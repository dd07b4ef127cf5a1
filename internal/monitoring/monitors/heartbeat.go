package monitors

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/fault"
)

// HeartbeatPath is where heartbeats call.
const HeartbeatPath = "/heartbeat/"

// Heartbeats answers the calls of heartbeats: GET, HEAD or POST of the token, with an exit code behind it or as exit_code
// when it is not 0. throttle counts who calls.
func (s *Service) Heartbeats(throttle func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Type", "text/plain; charset=utf-8")
		answer := func(status int, text string) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text+"\n") // a caller who has gone
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
			h.Set("Allow", "GET, HEAD, POST")
			answer(http.StatusMethodNotAllowed, "use GET, HEAD or POST")
			return
		}
		unavailable := func(err error) {
			s.Log.ErrorContext(r.Context(), "monitors: a heartbeat was not written", "error", err)
			h.Set("Retry-After", api.RetryUnavailable)
			answer(http.StatusServiceUnavailable, "try again")
		}
		if err := throttle(w, r); errors.Is(err, fault.RateLimited) {
			answer(http.StatusTooManyRequests, "too many calls")
			return
		} else if err != nil {
			unavailable(err)
			return
		}
		token, code, coded := strings.Cut(strings.TrimPrefix(r.URL.Path, HeartbeatPath), "/")
		if !coded {
			code = r.URL.Query().Get("exit_code")
		}
		exit := 0
		if code != "" {
			var err error
			if exit, err = strconv.Atoi(code); err != nil || exit < 0 || exit > 255 {
				answer(http.StatusUnprocessableEntity, "the exit code is a number from 0 to 255")
				return
			}
		}
		found, err := s.Beat(r.Context(), token, exit)
		switch {
		case err != nil:
			unavailable(err)
		case !found:
			answer(http.StatusNotFound, "nobody has this address")
		default:
			answer(http.StatusOK, "ok")
		}
	})
}
