package live

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/module"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/semaphore"
)

// Config is what the streams need; nothing may be nil.
type Config struct {
	DB       *db.DB
	Feed     *outbox.Feed
	Services site.Services
	// Ending is closed when the server begins to stop: streams, which would go on, end then.
	Ending <-chan struct{}
}

// Service streams what changes.
type Service struct {
	Config
	open    semaphore.Keyed[int64] // streams, by account
	clients semaphore.Keyed[int64] // those of resellers' clients, by service
}

// These bound streams on one replica: a page needs one.
const (
	streamsMost = 20
	// clientsMost bounds those of a service whose reseller's client opens them, so that one client takes none of the others'.
	clientsMost = 5
)

// New makes the streams.
func New(c Config) *Service {
	return &Service{Config: c, open: semaphore.Keyed[int64]{Each: streamsMost}, clients: semaphore.Keyed[int64]{Each: clientsMost}}
}

// Module is what the streams add to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "live", Routes: s.Operations(), Run: s.Feed.Run, Needs: []any{s.Config},
		NoExport: "events are told and not kept",
	}
}

// group is what the events of a group are about.
type group struct {
	scope      string // that reads it
	management bool   // it belongs to the management of a service, and not to what it costs
}

// groups are those that are streamed, by the first part of their types.
var groups = map[string]group{
	"backup":        {auth.ScopeServicesRead, true},
	"ssl":           {auth.ScopeServicesRead, true},
	"mailbox":       {auth.ScopeServicesRead, true},
	"database":      {auth.ScopeServicesRead, true},
	"site_domain":   {auth.ScopeServicesRead, true},
	"hosted_domain": {auth.ScopeServicesRead, true},
	"cron_job":      {auth.ScopeServicesRead, true},
	"php":           {auth.ScopeServicesRead, true},
	"ftp_account":   {auth.ScopeServicesRead, true},
	"shell":         {auth.ScopeServicesRead, true},
	"template":      {auth.ScopeServicesRead, true},
	"service":       {auth.ScopeServicesRead, false}, // but see managed
	"addon":         {auth.ScopeServicesRead, false},
	"scan":          {auth.ScopeServicesRead, false},
	"sla":           {auth.ScopeServicesRead, false},
	"order":         {auth.ScopeOrdersRead, false},
	"invoice":       {auth.ScopeOrdersRead, false},
	"wallet":        {auth.ScopeWalletRead, false},
	"domain":        {auth.ScopeDomainsRead, false},
	"monitor":       {auth.ScopeMonitorsRead, false},
	"ai":            {auth.ScopeAIRead, false},
	"insight":       {auth.ScopeAIRead, false},
}

// readScopes are the scopes of groups, in the order of the specification.
func readScopes() (scopes []string) {
	of := map[string]bool{}
	for _, g := range groups {
		of[g.scope] = true
	}
	for _, scope := range auth.Scopes {
		if of[scope] {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// managed are the events of a service itself that say nothing of money.
var managed = map[string]bool{
	"service.provisioned": true, "service.suspended": true, "service.unsuspended": true, "service.limit_reached": true, "service.migrated": true,
}

// change is what is told of an event.
type change struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Subject   string    `json:"subject"`
	SubjectID int64     `json:"subject_id"`
	ServiceID *int64    `json:"service_id"`
	ObjectID  *int64    `json:"object_id"`
	Status    *string   `json:"status"`
	Kind      *string   `json:"kind"`
	At        time.Time `json:"at"`
}

// changeOf reads from an event what is told of it.
func changeOf(e outbox.Stored) change {
	var object struct {
		ID        *int64  `json:"id"`
		ServiceID *int64  `json:"service_id"`
		Status    *string `json:"status"`
		Kind      *string `json:"kind"`
	}
	c := change{ID: e.UID, Type: e.Type, Subject: e.Subject, SubjectID: e.SubjectID, At: e.CreatedAt}
	if json.Unmarshal(e.Data, &object) == nil { // otherwise the object has other members
		c.ServiceID, c.ObjectID, c.Status, c.Kind = object.ServiceID, object.ID, object.Status, object.Kind
	}
	if e.Subject == "service" {
		c.ServiceID = &e.SubjectID
	}
	return c
}

// filter decides what a caller is told.
type filter struct {
	caller  auth.Principal
	service int64 // 0: all services of the account, and what belongs to none
}

func (f filter) admits(c change) bool {
	name, _, _ := strings.Cut(c.Type, ".")
	g, known := groups[name]
	if !known || !f.caller.HasScope(g.scope) {
		return false
	}
	if f.service != 0 && (c.ServiceID == nil || *c.ServiceID != f.service) {
		return false
	}
	return f.caller.OnlyService == 0 || g.management || managed[c.Type]
}

// follow opens the events of the caller's account.
func (s *Service) follow(ctx context.Context, p auth.Principal) (from *outbox.Follower, done func(), err error) {
	open, key := &s.open, p.AccountID
	if p.OnlyService != 0 {
		open, key = &s.clients, p.OnlyService
	}
	release, ok := open.Acquire(key)
	if !ok {
		return nil, nil, fault.LimitReached.With(fault.Fields{"limit": "event_streams", "maximum": open.Each})
	}
	from, err = s.Feed.Follow(ctx, p.AccountID)
	if err != nil {
		release()
		return nil, nil, err
	}
	return from, func() { from.Close(); release() }, nil
}
