package webhooks

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// endpointWire is an endpoint (resources, section 23).
type endpointWire struct {
	ID                      int64      `json:"id"`
	URL                     string     `json:"url"`
	Description             string     `json:"description"`
	Events                  []string   `json:"events" doc:"Types of events; service.* is all of a group, * is all"`
	Enabled                 bool       `json:"enabled" doc:"Whether the status is active"`
	Status                  Status     `json:"status" enum:"active,paused,disabled"`
	DisabledReason          *string    `json:"disabled_reason" doc:"gone: it answered 410; failing: it did nothing but fail for five days"`
	ConsecutiveFailures     int        `json:"consecutive_failures"`
	LastSuccessAt           *time.Time `json:"last_success_at"`
	LastFailureAt           *time.Time `json:"last_failure_at"`
	PreviousSecretExpiresAt *time.Time `json:"previous_secret_expires_at" doc:"Until then the secret before signs too"`
	CreatedAt               time.Time  `json:"created_at"`
}

// secretWire is an endpoint with its secret.
type secretWire struct {
	endpointWire
	Secret string `json:"secret" doc:"What signs; it is shown this once"`
}

func wireEndpoint(e endpoint) endpointWire {
	return endpointWire{
		ID: e.id, URL: e.url, Description: e.description, Events: e.events, Enabled: e.status == Active, Status: e.status,
		DisabledReason: e.disabledReason, ConsecutiveFailures: e.consecutiveFailures, LastSuccessAt: e.lastSuccessAt,
		LastFailureAt: e.lastFailureAt, PreviousSecretExpiresAt: e.previousExpiresAt, CreatedAt: e.createdAt,
	}
}

// deliveryWire is an attempt (resources, section 23).
type deliveryWire struct {
	ID              int64      `json:"id"`
	EventID         string     `json:"event_id"`
	EndpointID      int64      `json:"endpoint_id"`
	Attempt         int        `json:"attempt"`
	Status          State      `json:"status" enum:"pending,sending,success,retry,failed,discarded"`
	HTTPStatus      *int       `json:"http_status"`
	DurationMS      *int64     `json:"duration_ms"`
	ResponseExcerpt *string    `json:"response_excerpt" doc:"The beginning of the answer, at most 1 KiB"`
	ErrorKey        *string    `json:"error_key" doc:"timeout, dns_failed, connection_refused, connection_failed, tls_invalid, blocked_target or http_status; more may be added"`
	NextAttemptAt   *time.Time `json:"next_attempt_at"`
	CreatedAt       time.Time  `json:"created_at"`
	Trigger         string     `json:"trigger" enum:"scheduled,manual"`
}

func wireDelivery(d delivery) deliveryWire {
	return deliveryWire{
		ID: d.id, EventID: d.eventUID, EndpointID: d.endpointID, Attempt: d.attempt, Status: d.state, HTTPStatus: d.httpStatus,
		DurationMS: d.durationMS, ResponseExcerpt: d.excerpt, ErrorKey: d.errorKey, NextAttemptAt: d.nextAttemptAt,
		CreatedAt: d.createdAt, Trigger: d.origin,
	}
}

// eventWire is an event as it is listed.
type eventWire struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Sequence  int64     `json:"sequence" doc:"Rises with each event of one object"`
	ClientRef *string   `json:"client_ref"`
	Delivered bool      `json:"delivered" doc:"Whether each endpoint that it was sent to has it; false when it was sent to none"`
	Body      any       `json:"body" doc:"What is sent"`
	CreatedAt time.Time `json:"created_at"`
}

// eventWithWire is an event with its deliveries.
type eventWithWire struct {
	eventWire
	Deliveries []deliveryWire `json:"deliveries" doc:"The attempts that were made, and the next one"`
}

func wireEvent(v event) eventWire {
	return eventWire{
		ID: v.uid, Type: v.typ, Sequence: v.sequence, ClientRef: v.clientRef, Delivered: v.delivered,
		Body: json.RawMessage(v.body), CreatedAt: v.createdAt,
	}
}

type endpointIn struct {
	Webhook int64 `path:"webhook" minimum:"1" doc:"Id of the webhook"`
}

type createIn struct {
	Body struct {
		URL         string   `json:"url" maxLength:"2048" doc:"An https address that is public" example:"https://hooks.example.com/stead"`
		Description string   `json:"description,omitempty" maxLength:"200"`
		Events      []string `json:"events,omitempty" minItems:"1" maxItems:"200" doc:"Types of events; service.* is all of a group, * is all; all when left out"`
	}
}

type updateIn struct {
	endpointIn
	Body struct {
		URL          *string    `json:"url,omitempty" maxLength:"2048"`
		Description  *string    `json:"description,omitempty" maxLength:"200"`
		Events       []string   `json:"events,omitempty" minItems:"1" maxItems:"200"`
		Status       *Status    `json:"status,omitempty" enum:"active,paused" doc:"active also enables one that was disabled"`
		Enabled      *bool      `json:"enabled,omitempty" doc:"The same in other words: true is active, false is paused"`
		RecoverSince *time.Time `json:"recover_since,omitempty" doc:"Sends at once what happened since then and has not arrived, also what waits for another attempt"`
	}
}

type rotateIn struct {
	endpointIn
	Body struct {
		GraceSeconds *int64 `json:"grace_seconds,omitempty" minimum:"0" maximum:"604800" doc:"How long both secrets sign; a day when left out"`
	}
}

type listIn struct {
	page.Params
	Type      string `query:"type" maxLength:"60" doc:"Only events of this type; service.* is every type of a group"`
	ClientRef string `query:"client_ref" maxLength:"64" doc:"Only events about what has exactly this tag"`
	Since     string `query:"since" format:"date-time" doc:"Only events from this time on"`
	Delivered string `query:"delivered" enum:"true,false" doc:"false: only those that some webhook has not got; true: only those that all have got"`
}

type eventIn struct {
	Event string `path:"event" maxLength:"64" doc:"Id of the event, evt_…"`
}

type redeliverIn struct {
	eventIn
	Body struct {
		EndpointID int64 `json:"endpoint_id,omitempty" minimum:"1" doc:"All endpoints that want the event when left out"`
	}
}

const defaultGrace = 24 * time.Hour

// Operations are this section's part of the specification's section "Reseller".
func (s *Service) Operations() []api.Route {
	const base, events = "/api/v1/reseller/webhooks", "/api/v1/reseller/events"
	return []api.Route{
		// Specification, "Reseller"; resources, section 23.
		api.Operation[page.Params, page.List[endpointWire]]{
			ID: "reseller.webhooks.list", Method: http.MethodGet, Path: base, Section: api.Reseller, Auth: api.Key,
			Description: "Each with its state and the time of its last success. Secrets are never shown again.",
			Summary:     "List the addresses that you are told of events at",
			Handle:      s.listOperation,
		},
		// Specification, "Reseller"; resources, section 23.
		api.Operation[createIn, secretWire]{
			ID: "reseller.webhooks.create", Method: http.MethodPost, Path: base, Section: api.Reseller, Auth: api.Key,
			Description: "`secret` is in this answer only: it signs every request (`webhook-signature`, `X-Service-Signature`). The " +
				"address must be https and public. Without `events` it gets all of them; `service.*` is every type of a group.",
			Example: `{"url": "https://hooks.example.com/stead", "events": ["service.*", "order.completed"]}`,
			Summary: "Add an address, and see its secret once", Status: http.StatusCreated,
			Errors: []*fault.Def{errURL, errLimit, errType},
			Handle: s.createOperation,
		},
		// Specification, "Reseller"; resources, section 23.
		api.Operation[updateIn, endpointWire]{
			ID: "reseller.webhooks.update", Method: http.MethodPatch, Path: base + "/{webhook}", Section: api.Reseller, Auth: api.Key,
			Description: "Members that are left out keep their values. `status` `paused` stops deliveries, `active` resumes them, also " +
				"after the address was disabled for failing. `recover_since` sends at once what has happened since then and has " +
				"not arrived.",
			Example: `{"recover_since": "2026-11-20T00:00:00Z"}`,
			Summary: "Change, pause or enable an address, or recover what it has missed",
			Errors:  []*fault.Def{errURL, errType},
			Handle:  s.updateOperation,
		},
		// Specification, "Reseller"; resources, section 23.
		api.Operation[endpointIn, api.Empty]{
			ID: "reseller.webhooks.delete", Method: http.MethodDelete, Path: base + "/{webhook}", Section: api.Reseller, Auth: api.Key,
			Description: "Nothing more is sent there, and what waits is dropped. Events themselves stay in `GET /events`.",
			Summary:     "Remove an address and the log of its deliveries",
			Handle: func(ctx context.Context, p auth.Principal, in *endpointIn) (*api.Empty, error) {
				return &api.Empty{}, s.remove(ctx, p.AccountID, in.Webhook)
			},
		},
		// Specification, "Reseller"; resources, section 23.
		api.Operation[rotateIn, secretWire]{
			ID: "reseller.webhooks.rotate_secret", Method: http.MethodPost, Path: base + "/{webhook}/rotate-secret",
			Description: "The new secret is in this answer only. For `grace_seconds` requests are signed with both, so receivers can " +
				"change over without losing one.",
			Example: `{"grace_seconds": 86400}`,
			Section: api.Reseller, Auth: api.Key, Summary: "Replace the secret; the one before signs too for a while",
			Handle: s.rotateOperation,
		},
		// Specification, "Reseller"; resources, section 23.
		api.Operation[endpointIn, deliveryWire]{
			ID: "reseller.webhooks.test", Method: http.MethodPost, Path: base + "/{webhook}/test", Section: api.Reseller, Auth: api.Key,
			Description: "Sends `webhook.test` and waits up to 15 seconds. The answer has what the address said: its status, the time it " +
				"took, or why it could not be called.",
			Summary: "Send webhook.test at once and see the answer", Timeout: timeout + 10*time.Second,
			Handle: func(ctx context.Context, p auth.Principal, in *endpointIn) (*deliveryWire, error) {
				d, err := s.test(ctx, p.AccountID, in.Webhook)
				if err != nil {
					return nil, err
				}
				w := wireDelivery(d)
				return &w, nil
			},
		},
		// Specification, "Reseller"; resources, section 23.
		api.Operation[listIn, page.List[eventWire]]{
			ID: "reseller.events.list", Method: http.MethodGet, Path: events, Section: api.Reseller, Auth: api.Key,
			Description: "What happened to your services, orders, domains and wallet. Filter by `type` (`service.*` is every type of a " +
				"group), tag, time, and by what has not arrived at your webhooks. Events are kept for 30 days.",
			Summary: "List what happened in the last 30 days, the newest first",
			Handle:  s.eventsOperation,
		},
		// Specification, "Reseller"; resources, section 23.
		api.Operation[eventIn, eventWithWire]{
			ID: "reseller.events.get", Method: http.MethodGet, Path: events + "/{event}", Section: api.Reseller, Auth: api.Key,
			Description: "The event as it is sent to webhooks, with every attempt to deliver it: when, to which address, the status and " +
				"how long it took.",
			Summary: "See an event with its deliveries",
			Handle: func(ctx context.Context, p auth.Principal, in *eventIn) (*eventWithWire, error) {
				v, err := eventOf(ctx, s.DB, p.AccountID, in.Event)
				if err != nil {
					return nil, notFound(err)
				}
				return s.withDeliveries(ctx, v)
			},
		},
		// Specification, "Reseller"; resources, section 23.
		api.Operation[redeliverIn, eventWithWire]{
			ID: "reseller.events.redeliver", Method: http.MethodPost, Path: events + "/{event}/redeliver", Section: api.Reseller, Auth: api.Key,
			Example:     `{"endpoint_id": 1}`,
			Summary:     "Send an event again",
			Description: "At once, also to an address that is left alone after failures. Earlier events of its object that have not arrived go first.",
			Errors:      []*fault.Def{errExpired},
			Handle: func(ctx context.Context, p auth.Principal, in *redeliverIn) (*eventWithWire, error) {
				v, err := s.redeliver(ctx, p.AccountID, in.Event, in.Body.EndpointID)
				if err != nil {
					return nil, err
				}
				return s.withDeliveries(ctx, v)
			},
		},
	}
}

// listOperation returns one page: an account has MaxEndpoints at most.
func (s *Service) listOperation(ctx context.Context, p auth.Principal, in *page.Params) (*page.List[endpointWire], error) {
	rows, err := endpointsOf(ctx, s.DB, p.AccountID, "")
	if err != nil {
		return nil, err
	}
	from := min(in.Offset(), len(rows))
	shown := make([]endpointWire, 0, in.Limit())
	for _, e := range rows[from:min(from+in.Limit(), len(rows))] {
		shown = append(shown, wireEndpoint(e))
	}
	return page.Of(*in, len(rows), shown), nil
}

func (s *Service) createOperation(ctx context.Context, p auth.Principal, in *createIn) (*secretWire, error) {
	b := in.Body
	if b.Events == nil {
		b.Events = []string{all}
	}
	e, shown, err := s.newEndpoint(ctx, p.AccountID, settings{url: &b.URL, description: &b.Description, events: b.Events})
	if err != nil {
		return nil, err
	}
	return &secretWire{wireEndpoint(e), shown}, nil
}

func (s *Service) updateOperation(ctx context.Context, p auth.Principal, in *updateIn) (*endpointWire, error) {
	b := in.Body
	if b.Enabled != nil {
		wanted := Paused
		if *b.Enabled {
			wanted = Active
		}
		if b.Status != nil && *b.Status != wanted {
			return nil, fault.Invalid("enabled", "value")
		}
		b.Status = &wanted
	}
	e, err := s.update(ctx, p.AccountID, in.Webhook, settings{url: b.URL, description: b.Description, events: b.Events, status: b.Status}, b.RecoverSince)
	if err != nil {
		return nil, err
	}
	w := wireEndpoint(e)
	return &w, nil
}

func (s *Service) rotateOperation(ctx context.Context, p auth.Principal, in *rotateIn) (*secretWire, error) {
	grace := defaultGrace
	if g := in.Body.GraceSeconds; g != nil {
		grace = time.Duration(*g) * time.Second
	}
	e, shown, err := s.rotate(ctx, p.AccountID, in.Webhook, grace)
	if err != nil {
		return nil, err
	}
	return &secretWire{wireEndpoint(e), shown}, nil
}

func (s *Service) eventsOperation(ctx context.Context, p auth.Principal, in *listIn) (*page.List[eventWire], error) {
	f := filter{typ: in.Type, clientRef: in.ClientRef}
	if in.Since != "" {
		t, err := time.Parse(time.RFC3339, in.Since)
		if err != nil {
			return nil, fault.Invalid("since", "expected_date_time")
		}
		f.since = &t
	}
	if in.Delivered != "" {
		yes := in.Delivered == "true"
		f.delivered = &yes
	}
	rows, total, err := listEvents(ctx, s.DB, p.AccountID, f, in.Params)
	if err != nil {
		return nil, err
	}
	return page.Map(in.Params, total, rows, wireEvent), nil
}

func (s *Service) withDeliveries(ctx context.Context, v event) (*eventWithWire, error) {
	rows, err := deliveriesOf(ctx, s.DB, v.id)
	if err != nil {
		return nil, err
	}
	w := &eventWithWire{eventWire: wireEvent(v), Deliveries: make([]deliveryWire, len(rows))}
	for i, d := range rows {
		w.Deliveries[i] = wireDelivery(d)
	}
	return w, nil
}
