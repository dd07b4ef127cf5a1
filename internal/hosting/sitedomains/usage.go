package sitedomains

import (
	"context"
	"errors"
	"maps"
	"math"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// meter is what a service uses of one thing that its plan limits.
type meter struct {
	used  *int64 // nil: nobody counts it
	limit int64  // unlimited is none
}

// percent is how much of the limit is used, rounded down; nil without a limit or a
// count.
func (m meter) percent() *int64 {
	if m.used == nil || m.limit == site.Unlimited {
		return nil
	}
	p := int64(100)
	switch {
	case *m.used == 0:
		p = 0
	case m.limit > 0:
		p = int64(math.Floor(float64(*m.used) / float64(m.limit) * 100))
	}
	return &p
}

// usage is what one of the account's services uses of its plan, by the names of the
// plan's limits.
func (s *Service) usage(ctx context.Context, accountID, serviceID int64) (map[string]meter, error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return nil, err
	}
	used, err := s.Measure(ctx, accountID, serviceID)
	if err != nil {
		return nil, err
	}
	meters := map[string]meter{}
	for _, name := range countable {
		m := meter{limit: on.Limits.Of(name)}
		if n, ok := used[name]; ok {
			m.used = &n
		}
		meters[name] = m
	}
	return meters, nil
}

// Measure counts what a service uses, by its rows and by asking the panel, by the names
// of the plan's limits; what cannot be counted is left out. The panel's counts are stored
// for Known.
func (s *Service) Measure(ctx context.Context, accountID, serviceID int64) (map[string]int64, error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return nil, err
	}
	panels, measured, err := s.panelCounts(ctx, on)
	if err != nil {
		return nil, err
	}
	used, err := s.countRows(ctx, s.DB, serviceID)
	if err != nil || !measured {
		return used, err
	}
	maps.Copy(used, panels)
	return used, s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return putUsage(ctx, tx, serviceID, panels)
	})
}

// Known is what a service uses as far as it is known without asking the panel.
func (s *Service) Known(ctx context.Context, q db.Querier, serviceID int64) (map[string]int64, error) {
	used, err := s.countRows(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	panels, err := lastUsage(ctx, q, serviceID)
	maps.Copy(used, panels)
	return used, err
}

// countRows counts what the platform's own rows say.
func (s *Service) countRows(ctx context.Context, q db.Querier, serviceID int64) (map[string]int64, error) {
	all, err := s.collection().OfService(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	used := map[string]int64{}
	for _, part := range s.Parts {
		if err := part.Count(ctx, q, serviceID, used); err != nil {
			return nil, err
		}
	}
	c := count(all)
	used["sites"], used["domains"], used["subdomains"] = c.sites, c.domains, c.subdomains
	return used, nil
}

// countable are the limits of a plan that a service uses up (resources, section 12);
// the others bound what it may do at once.
var countable = []string{
	"disk_mb", "inodes", "bandwidth_gb", "sites", "domains", "subdomains", "databases", "mailboxes", "ftp_accounts",
	"cron_jobs", "backups",
}

// panelCounts are the panel's own counts by the names of the plan's limits; false when there is nothing to
// count, or the panel does not count.
func (s *Service) panelCounts(ctx context.Context, on site.Site) (map[string]int64, bool, error) {
	counted, measured, err := s.measure(ctx, on)
	if err != nil || !measured {
		return nil, false, err
	}
	return countsOf(counted), true, nil
}

// countsOf are the panel's counts by the names of the plan's limits.
func countsOf(counted panel.Usage) map[string]int64 {
	const mebibyte = 1 << 20
	used := map[string]int64{"disk_mb": (counted.DiskBytes + mebibyte - 1) / mebibyte, "inodes": counted.Inodes}
	if sent := counted.TrafficBytes; sent != nil {
		used["bandwidth_gb"] = *sent >> 30
	}
	return used
}

// measure asks the panel for its own counts; false when there is nothing to count or
// nobody who counts.
func (s *Service) measure(ctx context.Context, on site.Site) (panel.Usage, bool, error) {
	if on.Ref == "" {
		return panel.Usage{}, false, nil
	}
	usages, err := site.On[panel.Usages](s.Panels, on, panel.CapUsage)
	var u panel.Usage
	if err == nil {
		u, err = usages.Usage(ctx, on.Ref)
	}
	if errors.Is(err, panel.ErrNotFound) || errors.Is(err, panel.ErrUnsupported) {
		return u, false, nil
	}
	return u, err == nil, site.Refusal(err)
}
