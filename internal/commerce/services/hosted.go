package services

import (
	"context"
	"encoding/json"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// Names keeps which service has which domain name; a service's own domain is one
// of the names that it may have.
type Names interface {
	// Check refuses a name that the account may not have a site under, with fault.DomainUnavailable or
	// fault.DomainVerificationRequired.
	Check(ctx context.Context, q db.Querier, accountID int64, name string) error
	// Claim gives the name to a service that begins to be provisioned in tx, or refuses as Check does.
	Claim(ctx context.Context, tx *db.Tx, accountID, serviceID int64, sandbox bool, name string) error
	// Return is Claim for a service that comes back. When the name is somebody else's by now, the service gets a stand-in,
	// which is answered.
	Return(ctx context.Context, tx *db.Tx, accountID, serviceID int64, sandbox bool, name string) (string, error)
	// Leaving tells whether a panel may still have the name for a service of which it no longer is.
	Leaving(ctx context.Context, q db.Querier, name string) (bool, error)
	// Serve notes that the panel has made the account of a service, which serves the name that the service claimed.
	Serve(ctx context.Context, tx *db.Tx, serviceID int64) error
}

func hosted(r Row, err error) (site.Site, error) {
	if err != nil {
		return site.Site{}, err
	}
	limits, err := site.ParseLimits(r.ID, json.RawMessage(r.Limits))
	of := site.Site{
		ServiceID: r.ID, AccountID: r.AccountID, Panel: r.panel, Ref: r.panelRef, Username: usernameOf(r.ID), Status: string(r.Status),
		Limits: limits, OriginURL: r.place.originURL, IPv4: r.place.ipv4, IPv6: r.place.ipv6, Sandbox: r.Sandbox,
		Epoch: r.epoch, Moving: r.moving,
	}
	if r.Domain != nil {
		of.Domain = *r.Domain
	}
	return of, err
}

// Site is one of the account's services, for the sections that manage what it consists of.
func (s *Service) Site(ctx context.Context, q db.Querier, accountID, id int64) (site.Site, error) {
	of, err := hosted(getOwn(ctx, q, accountID, id))
	return of.In(ctx), err
}

// LockSite is Site with the service locked until tx ends.
func (s *Service) LockSite(ctx context.Context, tx *db.Tx, accountID, id int64) (site.Site, error) {
	of, err := hosted(lockOwn(ctx, tx, accountID, id))
	return of.In(ctx), err
}

// OnlineLimits are the limits of the plans of an account's services that are online.
func (s *Service) OnlineLimits(ctx context.Context, q db.Querier, accountID int64) ([]site.Limited, error) {
	return onlineLimits(ctx, q, accountID)
}

// SetDomain makes a service known by another of its domain names.
func (s *Service) SetDomain(ctx context.Context, tx *db.Tx, id int64, domain string) error {
	return s.Change(ctx, tx, id, func(r Row) error {
		previous := map[string]any{"domain": r.Domain}
		r.Domain = &domain
		if err := setDomain(ctx, tx, r); err != nil {
			return err
		}
		return s.emit(ctx, tx, "service.updated", r, previous)
	})
}

// Own is one of an account's hosting services, for the pages.
type Own struct {
	ID     int64
	Name   string // its label, or its domain
	Domain string // empty when it has none
	Plan   string // name of the plan in the buyer's language
	Status string
}

// Hosting lists the hosting services of an account that were paid and are not over, the newest first: a page of
// those whose id is below the given one, or of all when it is 0. It tells whether there are more.
func (s *Service) Hosting(ctx context.Context, accountID, below int64) (own []Own, more bool, err error) {
	rows, total, err := list(ctx, s.DB, accountID, Filter{typ: "hosting", there: true, Below: below}, page.Params{Page: 1, PerPage: page.MaxPerPage})
	for _, r := range rows {
		own = append(own, ownOf(r))
	}
	return own, total > len(rows), err
}

// OneHosting finds one of those that Hosting lists.
func (s *Service) OneHosting(ctx context.Context, accountID, id int64) (Own, error) {
	rows, err := paged(ctx, s.DB, accountID, Filter{typ: "hosting", there: true, id: id}, page.Params{Page: 1, PerPage: 1})
	switch {
	case err != nil:
		return Own{}, err
	case len(rows) == 0 || id == 0: // a filter of 0 is none
		return Own{}, fault.NotFound.New()
	}
	return ownOf(rows[0]), nil
}

func ownOf(r Row) Own {
	o := Own{ID: r.ID, Name: r.label, Plan: r.PlanName, Status: string(r.Status)}
	if r.Domain != nil {
		o.Domain = *r.Domain
	}
	if o.Name == "" {
		o.Name = o.Domain
	}
	return o
}
