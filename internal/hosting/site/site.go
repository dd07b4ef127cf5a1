package site

import (
	"context"
	"errors"
	"fmt"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Site is a hosting service as the sections see it that manage what it consists of.
type Site struct {
	ServiceID, AccountID int64
	Panel                string // name of the panel that hosts it
	Ref                  string // the account there; empty while nothing is provisioned
	Username             string // of the account there
	Status               string
	Domain               string // the primary one; empty when it has none
	Limits               Limits // of its plan
	OriginURL            string // answers HTTP for its domain whatever the DNS says; empty when not known
	IPv4, IPv6           string // where its domains should point; empty when not known
	Sandbox              bool   // it is a reseller's sandbox's, and nothing of it is real
	Epoch                int64  // how often it has moved from one machine to another
	Moving               bool   // its account is being moved, and nobody may change what is in it
}

// Online tells that the service is served and takes changes; one that is past due still does.
func (s Site) Online() bool { return s.Status == "active" || s.Status == "past_due" }

// Follows tells that the machine is to be as the rows of the service are: that of a service which is served, or filled since it
// has moved there.
func (s Site) Follows() bool { return s.Online() || s.Moving && s.Status == "suspended" }

// Changeable says why the service takes no changes, or nil.
func (s Site) Changeable() error {
	switch {
	case s.Online() && s.Moving:
		return fault.JobRunning.Wrapf("site: service %d is being moved", s.ServiceID)
	case s.Online():
		return nil
	case s.Status == "suspended":
		return fault.ServiceSuspended.New()
	default:
		return fault.ServiceNotActive.New()
	}
}

// Ended tells that the service has no account any more and gets none.
func (s Site) Ended() bool {
	switch s.Status {
	case "failed", "terminated", "cancelled":
		return true
	default:
		return false
	}
}

type elsewhereKey struct{}

type elsewhere struct {
	service int64
	panel   string
}

// Elsewhere is a context in which a service is on another panel than the one that serves it: sections that follow then fill the
// machine to which it moves.
func Elsewhere(ctx context.Context, serviceID int64, panelName string) context.Context {
	return context.WithValue(ctx, elsewhereKey{}, elsewhere{serviceID, panelName})
}

// In is the service as a context has it; see Elsewhere.
func (s Site) In(ctx context.Context) Site {
	if e, ok := ctx.Value(elsewhereKey{}).(elsewhere); ok && e.service == s.ServiceID {
		s.Panel = e.panel
	}
	return s
}

// Addresses are where the service's domains should point.
func (s Site) Addresses() []string {
	expected := []string{}
	for _, a := range []string{s.IPv4, s.IPv6} {
		if a != "" {
			expected = append(expected, a)
		}
	}
	return expected
}

// Services finds services. The account stands in the query: a service of another account is
// fault.NotFound.
type Services interface {
	Site(ctx context.Context, q db.Querier, accountID, serviceID int64) (Site, error)
	// LockSite is Site with the service locked until tx ends.
	LockSite(ctx context.Context, tx *db.Tx, accountID, serviceID int64) (Site, error)
}

// Worlds tells the accounts of resellers' sandboxes from real ones. The two worlds share the
// platform's tables and nothing else: a name may be served once in each.
type Worlds interface {
	// Sandbox tells whether the account is a sandbox's.
	Sandbox(ctx context.Context, q db.Querier, accountID int64) (bool, error)
}

// Panels finds panels by name.
type Panels interface {
	Panel(name string) (panel.Panel, bool)
}

// On is the part of the service's panel that is the capability c. ErrUnreachable: this process does
// not have the panel. ErrUnsupported: the panel does not have the capability.
func On[C any](panels Panels, s Site, c panel.Capability) (C, error) {
	p, ok := panels.Panel(s.Panel)
	if !ok {
		var none C
		return none, panel.Wrap(string(c), s.Ref, errors.Join(panel.ErrUnreachable, fmt.Errorf("no panel is named %q", s.Panel)))
	}
	return panel.Of[C](p, c)
}

// Change runs f on a service that takes changes and whose panel has the capability c. The service is
// locked, so that changes follow each other and counts hold. A replica without the panel leaves the
// question whether the panel can to the job.
func Change[C any](ctx context.Context, d *db.DB, services Services, panels Panels, c panel.Capability,
	accountID, serviceID int64, f func(ctx context.Context, tx *db.Tx, s Site) error,
) error {
	return d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return ChangeIn[C](ctx, tx, services, panels, c, accountID, serviceID, f)
	})
}

// ChangeIn is Change in a transaction of the caller's.
func ChangeIn[C any](ctx context.Context, tx *db.Tx, services Services, panels Panels, c panel.Capability,
	accountID, serviceID int64, f func(ctx context.Context, tx *db.Tx, s Site) error,
) error {
	s, err := services.LockSite(ctx, tx, accountID, serviceID)
	if err != nil {
		return err
	}
	if err := s.Changeable(); err != nil {
		return err
	}
	if _, err := On[C](panels, s, c); errors.Is(err, panel.ErrUnsupported) {
		return fault.UnsupportedOperation.Wrap(err)
	}
	return f(ctx, tx, s)
}

// End runs f on a service that has ended, so that what a section keeps of it goes. The service is locked
// and looked at anew: one that has come back since it was read keeps what it then has.
func End(ctx context.Context, d *db.DB, services Services, accountID, serviceID int64,
	f func(ctx context.Context, tx *db.Tx, serviceID int64) error,
) error {
	return d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		s, err := services.LockSite(ctx, tx, accountID, serviceID)
		if err != nil || !s.Ended() {
			return err
		}
		return f(ctx, tx, serviceID)
	})
}
