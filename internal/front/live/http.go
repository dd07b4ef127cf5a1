package live

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/sse"
)

type accountIn struct {
	LastID string `header:"Last-Event-ID" pattern:"^[0-9]{1,18}$" doc:"The id of the last event that was received: those behind it come first"`
}

type serviceIn struct {
	Service int64  `path:"service" minimum:"1" doc:"Id of the service"`
	LastID  string `header:"Last-Event-ID" pattern:"^[0-9]{1,18}$" doc:"The id of the last event that was received: those behind it come first"`
}

const how = "Server-sent events. `ready` comes first: from then on nothing is left out. Each `change` is JSON with the event's `id` and `type` " +
	"(those of webhooks; and `mailbox.changed`, `database.changed`, `hosted_domain.changed`, `cron_job.changed`, `php.changed`, `ftp_account.changed`, " +
	"`shell.changed` and `template.changed`, when the server has followed a change or refuses it), `subject` and `subject_id`, and `service_id`, " +
	"`object_id`, `status`, `kind` and `at` where it has them: read again what you show. " +
	"Come again with `Last-Event-ID` after the connection is lost: what happened meanwhile comes first. An event may come twice, with the same `id` " +
	"in its data. `reset` says that too much has happened: read everything anew. Comments show that the stream lives. It ends after an hour, " +
	"and within seconds when the caller may no longer read it."

// Operations are the streams: they go beyond the specification.
func (s *Service) Operations() []api.Route {
	return []api.Route{
		api.Operation[accountIn, api.Empty]{
			ID: "events.stream", Method: http.MethodGet, Path: "/api/v1/events/stream", Section: api.Account, Auth: api.Token,
			Scopes: readScopes(), Summary: "Follow what changes in the account", ContentTypes: []string{sse.ContentType},
			Description: how + " A token is told of what its scopes can read.",
			Errors:      []*fault.Def{fault.LimitReached, fault.Validation},
			Stream: func(ctx context.Context, p auth.Principal, in *accountIn, w http.ResponseWriter, _ *http.Request) error {
				return s.stream(ctx, filter{caller: p}, in.LastID, w)
			},
		},
		api.Operation[serviceIn, api.Empty]{
			ID: "services.events", Method: http.MethodGet, Path: "/api/v1/services/{service}/events", Section: api.ServiceManagement, Auth: api.Token,
			Scopes: []string{auth.ScopeServicesRead}, Summary: "Follow what changes in a service", ContentTypes: []string{sse.ContentType},
			Description: how, Errors: []*fault.Def{fault.NotFound, fault.LimitReached, fault.Validation},
			Stream: func(ctx context.Context, p auth.Principal, in *serviceIn, w http.ResponseWriter, _ *http.Request) error {
				if _, err := s.Services.Site(ctx, s.DB, p.AccountID, in.Service); err != nil {
					return err
				}
				return s.stream(ctx, filter{caller: p, service: in.Service}, in.LastID, w)
			},
		},
	}
}

// replayMost is how many events a client that comes again gets; it reads everything anew when there are more.
const replayMost = 500

// stream tells a caller of changes until they leave.
func (s *Service) stream(ctx context.Context, f filter, last string, w http.ResponseWriter) error {
	ctx, cancel := context.WithTimeout(ctx, sse.Life)
	defer cancel()
	from, done, err := s.follow(ctx, f.caller)
	if err != nil {
		return err
	}
	defer done()
	// The cursor is read before the events: what is committed meanwhile comes from the feed too.
	cursor := s.Feed.Cursor()
	var missed []outbox.Stored
	if last != "" {
		number, err := strconv.ParseInt(last, 10, 64)
		if err != nil {
			return err // the pattern admits no such thing
		}
		if missed, err = s.Feed.After(ctx, f.caller.AccountID, number, replayMost+1); err != nil {
			return err
		}
	}
	out := &writer{Writer: sse.Begin(w), filter: f, cursor: cursor, sent: map[int64]bool{}}
	w.Header().Set("Cache-Control", "no-store, no-transform") // a proxy must not gather events to compress them
	if len(missed) > replayMost {
		out.event("reset", []byte("{}"))
		missed = nil
	}
	if err := out.changes(missed); err != nil {
		return err
	}
	out.event("ready", []byte("{}"))
	alive := time.NewTicker(sse.AliveEvery)
	defer alive.Stop()
	for out.Flush() {
		select {
		case b, ok := <-from.C:
			if !ok {
				return nil // it fell behind, and comes again
			}
			out.cursor = max(out.cursor, b.Cursor)
			if err := out.changes(b.Events); err != nil {
				return err
			}
		case <-alive.C:
			out.Alive()
		case <-s.Ending:
			return nil // the client comes again, to another server or the next
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// writer writes events to one client.
type writer struct {
	*sse.Writer
	filter
	cursor int64
	sent   map[int64]bool // what was missed and sent, and may come from the feed again
}

func (o *writer) changes(events []outbox.Stored) error {
	for _, e := range events {
		if o.sent[e.ID] {
			continue
		}
		o.sent[e.ID] = true
		c := changeOf(e)
		if !o.admits(c) {
			continue
		}
		data, err := json.Marshal(c)
		if err != nil {
			return fmt.Errorf("live: event %s: %w", e.UID, err)
		}
		o.event("change", data)
	}
	for number := range o.sent {
		if number <= o.cursor {
			delete(o.sent, number)
		}
	}
	return nil
}

func (o *writer) event(name string, data []byte) {
	o.Event(strconv.FormatInt(o.cursor, 10), name, data)
}
