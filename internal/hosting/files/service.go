package files

import (
	"context"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/semaphore"
	"stead.dev/stead/internal/port/panel"
)

const (
	// MaxContent bounds the content that is read or written as a member of JSON, in bytes.
	MaxContent = 2 << 20

	maxUploadFiles = 1000 // in one request
	maxFinds       = 500  // of one search, on all its pages
)

// Service answers the operations of the section.
type Service struct {
	db        db.Querier
	services  site.Services
	panels    site.Panels
	maxUpload int64
	searches  semaphore.Keyed[int64] // searches of content in progress, by account
	clients   semaphore.Keyed[int64] // those of resellers' clients, by service, so that one client takes none of the others'
}

// mostSearches is how many searches of content one account may have at a time, in all its services, and a reseller's client in its one.
const mostSearches = 2

// New makes the section. maxUpload bounds one upload, all its files together, in bytes; the plan's
// disk bounds it as well.
func New(q db.Querier, services site.Services, panels site.Panels, maxUpload int64) *Service {
	return &Service{
		db: q, services: services, panels: panels, maxUpload: maxUpload,
		searches: semaphore.Keyed[int64]{Each: mostSearches}, clients: semaphore.Keyed[int64]{Each: mostSearches},
	}
}

// open finds the caller's service and what the panel that hosts it can do for files: C is the
// interface of the capability c.
func open[C any](ctx context.Context, s *Service, c panel.Capability, p auth.Principal, serviceID int64) (part C, ref string, err error) {
	on, err := s.services.Site(ctx, s.db, p.AccountID, serviceID)
	if err == nil {
		err = on.Changeable()
	}
	if err != nil {
		return part, "", err
	}
	part, err = site.On[C](s.panels, on, c)
	return part, on.Ref, site.Refusal(err)
}
