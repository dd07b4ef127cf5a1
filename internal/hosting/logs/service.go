package logs

import (
	"context"
	"errors"
	"io"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/semaphore"
	"stead.dev/stead/internal/port/panel"
)

// Config is what the section works with; all is needed.
type Config struct {
	DB       *db.DB
	Services site.Services
	Panels   site.Panels
	// Ending is closed when the server begins to stop: streams, which would go on, end then.
	Ending <-chan struct{}
}

// Service is the section's use cases.
type Service struct {
	Config
	streams semaphore.Keyed[int64] // open ones, by account
	clients semaphore.Keyed[int64] // those of resellers' clients, by service
}

// New makes the section.
func New(c Config) *Service {
	return &Service{Config: c, streams: semaphore.Keyed[int64]{Each: streamsMost}, clients: semaphore.Keyed[int64]{Each: clientsMost}}
}

// These bound streams on one replica.
const (
	streamsMost = 10 // of an account
	// clientsMost bounds those of a service whose reseller's client opens them, so that one client takes none of the others'.
	clientsMost = 4
)

// open finds the logs of one of the account's services.
func (s *Service) open(ctx context.Context, accountID, serviceID int64) (panel.Logs, string, error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return nil, "", err
	}
	logs, err := site.On[panel.Logs](s.Panels, on, panel.CapLogs)
	if err != nil {
		return nil, "", site.Refusal(err)
	}
	if on.Ref == "" {
		return nil, "", fault.ServiceNotActive.New() // nothing was provisioned
	}
	return logs, on.Ref, nil
}

// read answers a page of a log.
func (s *Service) read(ctx context.Context, accountID, serviceID int64, q panel.LogQuery) (panel.LogPage, error) {
	logs, ref, err := s.open(ctx, accountID, serviceID)
	if err != nil {
		return panel.LogPage{}, err
	}
	page, err := logs.ReadLog(ctx, ref, q)
	return page, refusal(err)
}

// statistics is what is known of a service's visitors, and of the space that it takes; used is nil when nobody measures it.
func (s *Service) statistics(ctx context.Context, accountID, serviceID int64, days int) (v panel.Visits, used *panel.Usage, err error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return v, nil, err
	}
	logs, ref, err := s.open(ctx, accountID, serviceID)
	if err != nil {
		return v, nil, err
	}
	if v, err = logs.Visits(ctx, ref, days); err != nil {
		return v, nil, site.Refusal(err)
	}
	usages, err := site.On[panel.Usages](s.Panels, on, panel.CapUsage)
	if errors.Is(err, panel.ErrUnsupported) {
		return v, nil, nil
	}
	if err != nil {
		return v, nil, site.Refusal(err)
	}
	measured, err := usages.Usage(ctx, ref)
	return v, &measured, site.Refusal(err)
}

// refusal: of what reaches the panel only a cursor can be wrong.
func refusal(err error) error {
	if errors.Is(err, panel.ErrInvalid) {
		return fault.Invalid("cursor", "logs_cursor")
	}
	return site.Refusal(err)
}

// follow opens a stream; it must be closed.
func (s *Service) follow(ctx context.Context, p auth.Principal, serviceID int64, q panel.LogQuery) (io.ReadCloser, error) {
	logs, ref, err := s.open(ctx, p.AccountID, serviceID)
	if err != nil {
		return nil, err
	}
	streams, key := &s.streams, p.AccountID
	if p.OnlyService != 0 {
		streams, key = &s.clients, p.OnlyService
	}
	done, ok := streams.Acquire(key)
	if !ok {
		return nil, fault.LimitReached.With(fault.Fields{"limit": "log_streams", "maximum": streams.Each})
	}
	stream, err := logs.FollowLog(ctx, ref, q)
	if err != nil {
		done()
		return nil, refusal(err)
	}
	return &counted{stream, done}, nil
}

// counted is a stream that is counted until it is closed.
type counted struct {
	io.ReadCloser
	done func()
}

func (c *counted) Close() error {
	defer c.done()
	return c.ReadCloser.Close()
}
