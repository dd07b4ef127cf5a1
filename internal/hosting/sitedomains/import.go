package sitedomains

import (
	"context"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// ImportOne adds a domain that comes from elsewhere to a service, in a transaction of the caller's. One that is there already stays as it is, but
// for the document root of the primary domain. Without a root it is an alias; what is below another domain of the service is a subdomain.
func (s *Service) ImportOne(ctx context.Context, tx *db.Tx, accountID, serviceID int64, name, root string) (there bool, err error) {
	c := s.collection()
	err = c.ChangeIn(ctx, tx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		all, err := c.OfService(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		w := wish{name: name, documentRoot: root, kind: Addon}
		switch {
		case root == "":
			w.kind = Alias
		case below(all, name):
			w.kind = Subdomain
		}
		d, err := w.parse(s.ReservedDomains)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(o domain) bool { return o.name == d.name }); i >= 0 {
			there = true
			if all[i].Status == site.Removing {
				return fault.JobRunning.New()
			}
			return s.importRoot(ctx, tx, all[i], d)
		}
		d.AccountID, d.ServiceID = accountID, serviceID
		if err := admit(on, all, d); err != nil {
			return err
		}
		if _, err := s.insert(ctx, tx, on.Sandbox, d); err != nil {
			return err
		}
		return c.Enqueue(ctx, tx, accountID, serviceID)
	})
	return there, err
}

// importRoot gives the primary domain the document root that it had elsewhere, where nobody has chosen another one here.
func (s *Service) importRoot(ctx context.Context, tx *db.Tx, has, wanted domain) error {
	if has.kind != Primary || wanted.documentRoot == nil || has.documentRoot == nil || *has.documentRoot != firstRoot || *wanted.documentRoot == firstRoot {
		return nil
	}
	has.documentRoot = wanted.documentRoot
	if err := s.collection().Update(ctx, tx, has.ID, has.values()); err != nil {
		return err
	}
	return s.collection().Enqueue(ctx, tx, has.AccountID, has.ServiceID)
}

// Followed reports how far the hosting server has followed the domains of a service.
func (s *Service) Followed(ctx context.Context, q db.Querier, serviceID int64) (site.Progress, error) {
	return s.collection().Progress(ctx, q, serviceID)
}
