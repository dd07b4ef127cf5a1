package monitors

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/probe"
	"stead.dev/stead/internal/platform/secret"
)

// Follow keeps the monitor that each service has by itself, and holds an account to what its plans allow.
func (s *Service) Follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	h, err := s.Services.Hosted(ctx, tx, e.AccountID, e.SubjectID)
	if err != nil {
		return err
	}
	if err := s.followService(ctx, tx, e.AccountID, e.SubjectID, h); err != nil {
		return err
	}
	if h.Ended {
		gone, err := removeOfService(ctx, tx, e.AccountID, e.SubjectID)
		if err != nil {
			return err
		}
		if err := cancelAlerts(ctx, tx, gone...); err != nil {
			return err
		}
		for _, id := range gone {
			if err := s.signal(ctx, tx, id); err != nil {
				return err
			}
		}
	}
	return s.enforce(ctx, tx, e.AccountID)
}

// followService makes the monitor of a service as the service is.
func (s *Service) followService(ctx context.Context, tx *db.Tx, accountID, serviceID int64, h Hosted) error {
	target, name, ok := ownTarget(h)
	m, err := builtInOf(ctx, tx, serviceID)
	there := err == nil
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		return err
	}
	wanted := h.Online && ok
	switch {
	case !there && !wanted:
		return nil
	case !there:
		m = monitor{
			accountID: accountID, serviceID: &serviceID, builtIn: true, shard: rand.N(shards), name: name, status: Pending, //nolint:gosec // spreads load; nobody gains by guessing it
			settings: ownSettings(target), badgeToken: secret.Token("", 16), createdAt: tx.Now,
		}
		if m.id, err = insert(ctx, tx, m, nil); err != nil {
			return err
		}
	case !wanted && m.paused, wanted && !m.paused && m.name == name && m.settings.Target.URL == target.URL && m.settings.Target.Origin == target.Origin:
		return nil
	case !wanted:
		if err := s.pause(ctx, tx, &m, pausedByPlan); err != nil {
			return err
		}
	default:
		if m.paused {
			m.paused, m.status, m.memory, m.lastStatusChangeAt = false, Pending, memory{Counted: tx.Now}, &tx.Now
		}
		m.name, m.settings.Target = name, target
		if err := put(ctx, tx, m, nil); err != nil {
			return err
		}
	}
	return s.signal(ctx, tx, m.id)
}

// ownInterval is that of the monitors that services have by themselves, in seconds.
const ownInterval = 60

func ownSettings(t probe.Target) settings {
	return settings{Target: t, IntervalS: ownInterval, Retries: 2, RetryIntervalS: 15}
}

// ownTarget is what is checked of a service: that its server answers for the domain, whatever the site itself does.
// false when nothing can be checked.
func ownTarget(h Hosted) (t probe.Target, name string, ok bool) {
	origin, err := url.Parse(h.OriginURL)
	if h.Sandbox || err != nil || origin.Hostname() == "" || strings.HasSuffix(origin.Hostname(), ".invalid") {
		return t, "", false
	}
	port := origin.Port()
	if port == "" {
		if port = "80"; origin.Scheme == "https" {
			port = "443"
		}
	}
	host, name := h.Domain, h.Label
	if host == "" {
		host = origin.Hostname()
	}
	if name == "" {
		name = host
	}
	return probe.Target{
		Type: probe.HTTP, URL: fmt.Sprintf("%s://%s/", origin.Scheme, host), Method: http.MethodGet, Statuses: []string{"100-499"},
		TimeoutMS: 10_000, Origin: net.JoinHostPort(origin.Hostname(), port),
	}, name, true
}

// enforce pauses the newest monitors of an account that are beyond what its plans allow, and slows down those that are
// checked too often.
func (s *Service) enforce(ctx context.Context, tx *db.Tx, accountID int64) error {
	all, err := lockOfAccount(ctx, tx, accountID)
	if err != nil || len(all) == 0 {
		return err
	}
	most, shortest, err := s.allowance(ctx, tx, accountID)
	if err != nil {
		return err
	}
	running := int64(0)
	for _, m := range all {
		if m.paused {
			continue
		}
		switch {
		case running >= most:
			if err := s.pause(ctx, tx, &m, pausedByPlan); err != nil {
				return err
			}
		default:
			running++
			if m.settings.IntervalS >= shortest {
				continue
			}
			m.settings.IntervalS = longer(shortest)
			if err := put(ctx, tx, m, nil); err != nil {
				return err
			}
		}
		if err := s.signal(ctx, tx, m.id); err != nil {
			return err
		}
	}
	return nil
}

// longer is the shortest interval that is not below the given one.
func longer(than int) int {
	for _, i := range intervals {
		if i >= than {
			return i
		}
	}
	return intervals[len(intervals)-1]
}

// MonitorsOf are the monitors that services have by themselves, by service.
func (s *Service) MonitorsOf(ctx context.Context, q db.Querier, services []int64) (map[int64]int64, error) {
	return builtIn(ctx, q, services)
}

// ours reports whether an outage of a service is the server's: what the site's own software answers is not.
func ours(cause string) bool {
	switch cause {
	case probe.KeyStatus, probe.KeyMissing, probe.KeyPresent, probe.KeyJSON, keySite:
		return false
	default:
		return true
	}
}

// keySite is the key of a service whose server answers while its site does not.
const keySite = "site_failed"
