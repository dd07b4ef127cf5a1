package certificates

import (
	"context"
	"errors"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/port/panel"
)

// installed is a certificate as the panel should have it, or as it has it.
type installed struct {
	panel.InstalledCertificate
	row row // only of one that the panel should have
}

// Apply implements site.Part.
func (s *Service) Apply(ctx context.Context, accountID, serviceID int64) error {
	return site.Apply(ctx, s.DB, s.Services, accountID, serviceID, s.collection().End, s.follow)
}

func (s *Service) follow(ctx context.Context, on site.Site) error {
	if on.Ref == "" {
		return nil // an event of the service brings us back
	}
	if _, err := site.On[panel.Certificates](s.Panels, on, panel.CapCertificates); errors.Is(err, panel.ErrUnsupported) {
		return nil
	}
	changed := false
	c := s.collection()
	c.On = func(ctx context.Context, on site.Site, hosted panel.Certificates) (site.Kind[row, installed], error) {
		return s.kind(on, hosted, &changed), errors.Join(s.forget(ctx, on), s.wantAll(ctx, on))
	}
	err := c.Follow(ctx, on)
	if changed {
		err = errors.Join(err, s.Domains.Refresh(ctx, on.AccountID, on.ServiceID))
	}
	return err
}

// Count implements site.Part: plans do not limit certificates.
func (*Service) Count(context.Context, db.Querier, int64, map[string]int64) error { return nil }

// kind is how the panel follows the certificates of a service. Those that answer for no domain are not there. changed is set
// when the panel answers another certificate than before.
func (s *Service) kind(on site.Site, hosted panel.Certificates, changed *bool) site.Kind[row, installed] {
	answers := map[int64][]string{}
	return site.Kind[row, installed]{
		Rows: func(ctx context.Context, q db.Querier) ([]row, error) {
			rows, domains, err := s.ofService(ctx, q, on.AccountID, on.ServiceID)
			if err != nil {
				return nil, err
			}
			answers = assign(rows, domains, s.Clock.Now())
			// The newest first: it answers for a domain before the former one no longer does.
			slices.SortStableFunc(rows, func(a, b row) int { return b.chosenAt.Compare(a.chosenAt) })
			return slices.DeleteFunc(rows, func(r row) bool { return len(answers[r.ID]) == 0 || len(r.current.secret) == 0 }), nil
		},
		Wish: func(_ context.Context, r row) (installed, error) {
			return installed{row: r, InstalledCertificate: panel.InstalledCertificate{
				Name: r.PanelName(), Fingerprint: r.fingerprint, Domains: answers[r.ID], HSTS: r.hsts,
			}}, nil
		},
		Same: func(have, wish installed) bool {
			return have.Fingerprint == wish.Fingerprint && have.HSTS == wish.HSTS && slices.Equal(have.Domains, wish.Domains)
		},
		List: func(ctx context.Context, ref string) ([]installed, error) {
			there, err := hosted.InstalledCertificates(ctx, ref)
			all := make([]installed, len(there))
			for i, c := range there {
				all[i] = installed{InstalledCertificate: c}
			}
			return all, err
		},
		Name: func(p installed) string { return p.Name },
		Set: func(ctx context.Context, ref string, p installed) (installed, error) {
			key, err := s.unseal(p.row.ID, p.row.current.secret)
			if err != nil {
				return p, err
			}
			now, err := hosted.SetCertificate(ctx, ref, panel.Certificate{
				Name: p.Name, Chain: p.row.chain, Key: key, Domains: p.Domains, HSTS: p.HSTS,
			})
			*changed = *changed || err == nil
			return installed{InstalledCertificate: now}, err
		},
		// Visitors would be shown none until its successor is there, so one goes last.
		Last: func(installed) bool { return true }, AllBeforeLast: true,
		Remove: func(ctx context.Context, ref, name string) error {
			err := hosted.RemoveCertificate(ctx, ref, name)
			*changed = *changed || err == nil || errors.Is(err, panel.ErrNotFound)
			return err
		},
	}
}

// forget deletes certificates, with their keys, none of whose names belongs to the service any more. Those of a domain that only may
// have none now stay: its DNS may not have answered once.
func (s *Service) forget(ctx context.Context, on site.Site) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := s.Services.LockSite(ctx, tx, on.AccountID, on.ServiceID); err != nil {
			return err
		}
		all, domains, err := s.ofService(ctx, tx, on.AccountID, on.ServiceID)
		if err != nil || len(domains) == 0 {
			return err
		}
		for _, r := range all {
			some := slices.ContainsFunc(r.names, func(name string) bool { return hosts(domains, name) }) ||
				slices.ContainsFunc(domains, func(d site.Domain) bool { return certificate.Covers(r.names, d.Name) })
			if some {
				continue
			}
			if err := errors.Join(s.endTexts(ctx, tx, r), table.Delete(ctx, tx, r.ID)); err != nil {
				return err
			}
		}
		return nil
	})
}

// wantAll adds rows for domains without a certificate, when the operator has switched automatic certificates on.
func (s *Service) wantAll(ctx context.Context, on site.Site) error {
	if !s.Automatic {
		return nil
	}
	if _, err := site.On[panel.Issuing](s.Panels, on, panel.CapIssuing); err != nil && !s.Authority.on() {
		return nil
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := s.Services.LockSite(ctx, tx, on.AccountID, on.ServiceID); err != nil {
			return err
		}
		all, domains, err := s.ofService(ctx, tx, on.AccountID, on.ServiceID)
		if err != nil {
			return err
		}
		for _, d := range usable(domains) {
			has := slices.ContainsFunc(all, func(r row) bool {
				return certificate.Covers(r.names, d.Name) && (r.kind == ACME || r.valid(tx.Now))
			})
			if has || !d.Served || len(all) >= maxRows {
				continue
			}
			r := row{names: []string{d.Name}, challenge: HTTP, automatic: true, autoRenew: true}
			if _, err := s.add(ctx, tx, on, all, r, wish{}); err != nil {
				return err
			}
			all = append(all, row{kind: ACME, names: r.names})
		}
		return nil
	})
}

// Follow handles the events of domains that were added and removed.
func (s *Service) Follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	return s.collection().Enqueue(ctx, tx, e.AccountID, e.SubjectID)
}
