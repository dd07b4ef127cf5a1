package files

import (
	"context"
	"fmt"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

const (
	// MaxContent bounds the content that is read or written as a member of JSON, in bytes.
	MaxContent = 2 << 20

	maxUploadFiles = 1000 // in one request
	maxFinds       = 500  // of one search, on all its pages
)

// Target says where a service's files are.
type Target struct {
	Panel  string // name of the panel that hosts it
	Ref    string // the account there
	Status string // of the service
}

// Targets finds services. The account stands in the query: a service of another account is
// fault.NotFound.
type Targets interface {
	Target(ctx context.Context, q db.Querier, accountID, serviceID int64) (Target, error)
}

// Panels finds panels by name.
type Panels interface {
	Panel(name string) (panel.Panel, bool)
}

// Service answers the operations of the section.
type Service struct {
	db        db.Querier
	targets   Targets
	panels    Panels
	maxUpload int64
}

// New makes the section. maxUpload bounds one upload, all its files together, in bytes; the plan's
// disk bounds it as well.
func New(q db.Querier, targets Targets, panels Panels, maxUpload int64) *Service {
	return &Service{db: q, targets: targets, panels: panels, maxUpload: maxUpload}
}

// open finds the caller's service and what the panel that hosts it can do for files: C is
// panel.Files or panel.Archives.
func open[C any](ctx context.Context, s *Service, p auth.Principal, serviceID int64) (capability C, ref string, err error) {
	t, err := s.targets.Target(ctx, s.db, p.AccountID, serviceID)
	if err != nil {
		return capability, "", err
	}
	switch t.Status {
	case "active", "past_due": // past due is still online
	case "suspended":
		return capability, "", fault.ServiceSuspended.New()
	default:
		return capability, "", fault.ServiceNotActive.New()
	}
	host, ok := s.panels.Panel(t.Panel)
	if !ok {
		return capability, "", fault.PanelUnreachable.Wrap(fmt.Errorf("service %d is on the panel %q, which is not configured", serviceID, t.Panel))
	}
	capability, ok = host.(C)
	if !ok {
		return capability, "", fault.UnsupportedOperation.Wrap(fmt.Errorf("panel %q has no %T", t.Panel, &capability))
	}
	return capability, t.Ref, nil
}
