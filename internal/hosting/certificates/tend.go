package certificates

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/port/panel"
)

// How long a job may work on a row, how long the row stays reserved when the job dies, and when a due row is listed again
// when its job is lost.
const (
	tendTimeout = 4 * time.Minute
	busyFor     = 5 * time.Minute
	dueAgain    = 10 * time.Minute
)

// unneededPause is how often a certificate that is due but not needed is checked again.
const unneededPause = time.Hour

// Tend does what is due for a certificate: orders, renews, asks when to renew, warns. A job calls it.
func (s *Service) Tend(ctx context.Context, accountID, serviceID, id int64) error {
	var r row
	var on site.Site
	mine := false
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if mine, err = take(ctx, tx, id, tx.Now.Add(busyFor)); err != nil || !mine {
			return err // another job is at it and sees what there is, or the row is gone
		}
		if r, err = table.Find(ctx, tx, id); err != nil {
			return err
		}
		on, err = s.Services.Site(ctx, tx, accountID, serviceID)
		return err
	})
	if err != nil || !mine {
		return err
	}
	var tendErr error
	if !s.Clock.Now().Before(r.dueAt) { // else another job was here before
		tendErr = s.tend(ctx, on, r)
	}
	err = s.DB.InTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *db.Tx) error {
		now, err := table.Find(ctx, tx, id)
		if errors.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return release(ctx, tx, id, s.due(tx.Now, on, r, now))
	})
	return errors.Join(tendErr, err)
}

// due is when to work on a row again; before is the row as it was, and r as it is now.
func (s *Service) due(now time.Time, on site.Site, before, r row) time.Time {
	switch {
	case r.dueAt.After(now), !r.dueAt.Equal(before.dueAt): // the time was set meanwhile
		return r.dueAt
	case !on.Online():
		return now.Add(time.Hour)
	case r.phase != idle:
		return now.Add(youngPause)
	}
	next := now.Add(week)
	for _, t := range []*time.Time{r.renewAt, r.askAt} {
		if t == nil || !r.autoRenew {
			continue
		}
		at := *t
		if !at.After(now) && before.phase == idle { // it was left so: nobody needs the certificate, or nobody is there to be asked
			at = now.Add(unneededPause)
		}
		if at.Before(next) {
			next = at
		}
	}
	for _, days := range warningDays {
		if at := r.expiresAt; at != nil {
			warn := at.Add(-time.Duration(days) * day)
			if warn.After(now) && warn.Before(next) {
				next = warn
			}
		}
	}
	if next.Before(now.Add(time.Minute)) {
		next = now.Add(time.Minute)
	}
	return next
}

func (s *Service) tend(ctx context.Context, on site.Site, r row) error {
	if !on.Online() || on.Ref == "" {
		return nil
	}
	now := s.Clock.Now()
	if r.kind == ACME && r.phase == idle && r.autoRenew {
		needed, err := s.needed(ctx, r)
		if err != nil {
			return err
		}
		if needed {
			if err := s.askWhen(ctx, &r); err != nil {
				return err
			}
			if r.renewAt != nil && !now.Before(*r.renewAt) {
				r.phase = wanted
				r.dueAt = now
				if err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
					return table.Set(ctx, tx, r.ID, site.Values{"phase": wanted})
				}); err != nil {
					return err
				}
			}
		}
	}
	var err error
	if r.phase != idle {
		err = s.order(ctx, on, r)
	}
	return errors.Join(err, s.warn(ctx, r.ID))
}

// needed tells whether the certificate, were it renewed, would answer for a domain: one that would not need not be
// renewed. One that stands behind another, such as an own one, is renewed when that ends and has no successor.
func (s *Service) needed(ctx context.Context, r row) (bool, error) {
	all, domains, err := s.ofService(ctx, s.DB, r.AccountID, r.ServiceID)
	if err != nil {
		return false, err
	}
	now := s.Clock.Now()
	renewed := now.Add(2 * successorLead)
	for i := range all {
		if all[i].ID == r.ID {
			all[i].expiresAt = &renewed
		}
	}
	return len(assign(all, domains, now)[r.ID]) > 0, nil
}

// ofService reads all certificates of a service, and its domains.
func (s *Service) ofService(ctx context.Context, q db.Querier, accountID, serviceID int64) (all []row, domains []site.Domain, err error) {
	if all, err = table.OfService(ctx, q, serviceID); err == nil {
		domains, err = s.Domains.Hosted(ctx, q, accountID, serviceID)
	}
	return all, domains, err
}

// How often an authority is asked when to renew (RFC 9773, section 4.3), unless it says so itself.
const (
	askEvery  = 6 * time.Hour
	askSeldom = 24 * time.Hour
)

// askWhen asks the authority when the certificate should be renewed. Without an answer the time that was set stays.
func (s *Service) askWhen(ctx context.Context, r *row) error {
	now := s.Clock.Now()
	if !s.Authority.on() || !r.isIssued() || (r.askAt != nil && now.Before(*r.askAt)) {
		return nil
	}
	renew, ask := *r.renewAt, now.Add(askSeldom)
	chain, err := certificate.ParseChain(r.chain)
	if err != nil {
		return err
	}
	info, err := s.authority.GetRenewalInfo(ctx, chain[0])
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, acme.ErrUnsupported):
	case err != nil:
		s.Log.Debug("certificates: the authority does not say when to renew", "certificate", r.ID, "error", err)
	default:
		ask = now.Add(askEvery + jitter(askEvery/10))
		window := info.SuggestedWindow
		if renew.Before(window.Start) || renew.After(window.End) {
			renew = info.SelectedTime
		}
		if info.RetryAfter != nil && info.RetryAfter.After(now) && info.RetryAfter.Before(now.Add(askSeldom)) {
			ask = *info.RetryAfter
		}
	}
	// Whatever an authority says, there is time left for failures.
	if latest := r.expiresAt.Add(-r.life() / 10); renew.After(latest) {
		renew = latest
	}
	r.renewAt, r.askAt = &renew, &ask
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return table.Set(ctx, tx, r.ID, site.Values{"renew_at": renew, "ask_at": ask})
	})
}

// order brings an order forward and notes how it failed.
func (s *Service) order(ctx context.Context, on site.Site, r row) error {
	var err error
	if r.phase == wanted {
		err = s.checkLimits(ctx, r)
	}
	if err == nil {
		err = s.attempt(ctx, on, r)
	}
	var f *failure
	if !errors.As(err, &f) {
		if panel.KindOf(err) == panel.ErrUnsupported {
			f = &failure{key: "unsupported_operation", cause: err}
		} else {
			return err
		}
	}
	s.Log.Info("certificates: an order failed", "certificate", r.ID, "names", r.names, "error", f)
	return s.DB.InTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *db.Tx) error { return s.fail(ctx, tx, on, r.ID, f) })
}

// checkLimits returns the failure of an order that would exceed the limits of the authority.
func (s *Service) checkLimits(ctx context.Context, r row) error {
	err := s.checkRates(ctx, s.DB, r.names, r.renewalDue(s.Clock.Now()))
	if err == nil || !errors.Is(err, errLimited) {
		return err
	}
	return &failure{key: errLimited.Key, again: defaultRetry, cause: err}
}

// fail writes that an order failed and when to try again, and emits ssl.failed.
func (s *Service) fail(ctx context.Context, tx *db.Tx, on site.Site, id int64, f *failure) error {
	if _, err := s.Services.LockSite(ctx, tx, on.AccountID, on.ServiceID); err != nil {
		return err
	}
	r, err := table.Find(ctx, tx, id)
	if err != nil {
		return err
	}
	names := r.order.names
	key := f.key
	r.lastErrorKey, r.lastReason, r.lastError = &key, nil, f.detail
	if f.reason != "" {
		r.lastReason = &f.reason
	}
	if !f.goesOn || r.url == "" {
		r.phase, r.order = wanted, order{}
	}
	waiting := r.waiting()
	if !waiting {
		r.failures++
	}
	wait := pause(r.failures)
	switch {
	case waiting:
		wait = unreadyPause(tx.Now.Sub(r.createdAt))
	case f.goesOn:
		wait = youngPause << min(r.failures, 4)
	}
	wait = max(wait, f.again+jitter(max(f.again/10, time.Second)))
	if err := setFailure(ctx, tx, r, tx.Now.Add(wait)); err != nil {
		return err
	}
	if r.phase == wanted {
		if err := s.endTexts(ctx, tx, r); err != nil {
			return err
		}
	}
	if f.counts {
		if err := insertAttempts(ctx, tx, r.ServiceID, names, false); err != nil {
			return err
		}
	}
	if f.all {
		if err := setPaused(ctx, tx, s.Authority.Directory, tx.Now.Add(f.again)); err != nil {
			return err
		}
	}
	// Repeated failures are reported ever more rarely: the first, the second, the fourth, the eighth.
	if waiting || r.failures&(r.failures-1) != 0 {
		return nil
	}
	return s.emit(ctx, tx, "ssl.failed", r)
}

// warn tells, once for each number of days, that a certificate ends soon and has no successor.
func (s *Service) warn(ctx context.Context, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		r, err := table.Find(ctx, tx, id)
		if err != nil || !r.valid(tx.Now) || r.expiresAt.Sub(tx.Now) > r.warning() {
			return err
		}
		reached := 0
		for _, days := range warningDays {
			if r.expiresAt.Sub(tx.Now) <= time.Duration(days)*day {
				reached = days
			}
		}
		if reached == 0 || (r.warnedDays != nil && *r.warnedDays <= reached) {
			return nil
		}
		all, domains, err := s.ofService(ctx, tx, r.AccountID, r.ServiceID)
		if err != nil || len(assign(all, domains, tx.Now)[id]) == 0 {
			return err // another answers for its domains
		}
		if err := table.Set(ctx, tx, id, site.Values{"warned_days": reached}); err != nil {
			return err
		}
		return s.emit(ctx, tx, "ssl.expiring", r)
	})
}

// eventWire is a certificate in the data of its events.
type eventWire struct {
	ID        int64      `json:"id"`
	ServiceID int64      `json:"service_id"`
	Name      string     `json:"common_name"`
	Names     []string   `json:"names"`
	Kind      Kind       `json:"kind"`
	ExpiresAt *time.Time `json:"expires_at"`
	ErrorKey  *string    `json:"error_key,omitempty"`
	Reason    *string    `json:"reason,omitempty"`
	Error     string     `json:"error,omitempty"`
}

func (s *Service) emit(ctx context.Context, tx *db.Tx, kind string, r row) error {
	w := eventWire{ID: r.ID, ServiceID: r.ServiceID, Name: r.names[0], Names: r.names, Kind: r.kind, ExpiresAt: r.expiresAt}
	if kind == "ssl.failed" {
		w.ErrorKey, w.Reason, w.Error = r.lastErrorKey, r.lastReason, r.lastError
	}
	err := s.Events.Emit(ctx, tx, outbox.Event{Type: kind, AccountID: r.AccountID, Subject: "service", SubjectID: r.ServiceID, Data: w})
	if err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	return nil
}
