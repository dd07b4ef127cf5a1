package domains

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/registrar"
)

// The times of automatic renewal, of its attempts, and of reading the registry.
const (
	renewBefore = 14 * 24 * time.Hour
	renewEvery  = 24 * time.Hour
	lookEvery   = 24 * time.Hour
)

// reminders are the days before expiry of a reminder.
var reminders = []int{30, 14, 7, 3, 1}

// nextStep is when a domain is read again: daily, and when it expires.
func nextStep(d domain, now time.Time) time.Time {
	next := now.Add(lookEvery)
	if d.expiresAt != nil && d.expiresAt.After(now) && d.expiresAt.Before(next) {
		return *d.expiresAt
	}
	return next
}

// Step reads a domain from the registry, emits events for changes, and renews it when that is due.
func (s *Service) Step(ctx context.Context, id int64) error {
	d, err := get(ctx, s.DB, id)
	if err != nil || !d.status.kept() {
		return err
	}
	r, ok := s.Registrars.Registrar(d.sandbox)
	if !ok {
		return nil
	}
	kept, err := s.observe(ctx, r, id, false)
	if errors.Is(err, errDoubted) {
		s.Log.ErrorContext(ctx, doubted, "domain", d.name, "error", err)
		return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return doubt(ctx, tx, id) })
	}
	if err != nil || !kept {
		return err
	}
	given := false
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if given, err = s.giveBack(ctx, tx, id); err != nil || given {
			return err
		}
		return s.renewDue(ctx, tx, id, false)
	})
	if err != nil || !given {
		return err
	}
	return s.remove(ctx, r, id)
}

// giveBack marks a domain for deletion that the registry has renewed by itself and nobody has paid for until its grace
// period ended. It tries the automatic renewal a last time; afterwards nobody can order one.
func (s *Service) giveBack(ctx context.Context, tx *db.Tx, id int64) (bool, error) {
	d, err := lock(ctx, tx, id)
	if err != nil || d.status != Grace || !d.returnable() {
		return false, err
	}
	zone, err := findTLD(ctx, tx, d.tld, false)
	if err != nil || tx.Now.Before(d.expiresAt.AddDate(0, 0, zone.GraceDays)) {
		return false, err
	}
	if err := s.renewDue(ctx, tx, id, true); err != nil {
		return false, err
	}
	open, err := openOperation(ctx, tx, id)
	if err != nil || open {
		return false, err
	}
	return true, setStatus(ctx, tx, d, PendingDelete)
}

// remove deletes a domain at the registry. When the registry refuses, the domain returns to grace, and the operator
// must act.
func (s *Service) remove(ctx context.Context, r registrar.Registrar, id int64) error {
	d, err := get(ctx, s.DB, id)
	if err != nil || d.status != PendingDelete {
		return err
	}
	err = r.Delete(ctx, d.name)
	if err == nil {
		s.Log.InfoContext(ctx, "domains: what the registry had renewed and nobody has paid for was deleted there", "domain", d.name, "paid_until", d.expiresAt)
		_, err = s.observe(ctx, r, id, false)
		return err
	}
	if kind := registrar.KindOf(err); kind == registrar.Unknown || kind == registrar.Unreachable {
		return fmt.Errorf("domains: %s: %w", d.name, err)
	}
	s.overstays(ctx, d, err)
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return setStatus(ctx, tx, d, Grace) })
}

// errSeen says that another reading of the registry was written meanwhile.
var errSeen = errors.New("domains: another reading of the registry came first")

// observeTries bounds the readings of a domain that others keep changing.
const observeTries = 5

// observe reads a domain from the registry, stores the result and emits events for changes. newContacts says that the
// persons behind the handles have changed. It reports whether the domain is still ours.
func (s *Service) observe(ctx context.Context, r registrar.Registrar, id int64, newContacts bool) (kept bool, err error) {
	for range observeTries {
		d, err := get(ctx, s.DB, id)
		if err != nil || !d.status.kept() {
			return false, err
		}
		now, err := r.Info(ctx, d.name)
		if err == nil && !now.Ours {
			err = &registrar.Error{Kind: registrar.NotOurs}
		}
		gone := err != nil && registrar.KindOf(err) == registrar.NotFound
		if gone || err != nil && registrar.KindOf(err) == registrar.NotOurs {
			left, failure := s.left(ctx, r, d, gone)
			switch {
			case failure != nil:
				return true, failure
			case left:
				now, err = registrar.Domain{Name: d.name}, nil
			default:
				err = fmt.Errorf("%w: %w", errDoubted, err)
			}
		}
		if err != nil {
			return true, fmt.Errorf("domains: %s: %w", d.name, err)
		}
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return s.follow(ctx, tx, d, now, gone, newContacts) })
		if !errors.Is(err, errSeen) {
			return !gone && now.Ours, err
		}
	}
	return true, errSeen
}

// errDoubted says that the registry does not show a domain of ours, and that nothing proves that it has gone.
var errDoubted = errors.New("domains: nothing proves that the domain has gone")

// doubted is what the operator reads of it.
const doubted = "domains: the registry does not show a domain of ours, and nothing proves that it has gone; " +
	"check epp_address, epp_user and epp_sponsor"

// doubtFor is how long the registry must not have shown a domain that no other domain of its zone proves gone.
const doubtFor = 14 * 24 * time.Hour

// left reports whether a domain that the registry does not show as ours has gone: to another registrar, or, when gone is
// set, for ever. The reading may also come of a wrong account or address, which would lose all domains at once, so left
// requires a proof: somebody has requested the domain, or the registry shows another domain of its zone as ours. After
// doubtFor a domain of any zone proves it; where no other is active here, the time alone does. A domain that is not paid
// any more may be gone without a proof.
func (s *Service) left(ctx context.Context, r registrar.Registrar, d domain, gone bool) (bool, error) {
	now := s.Clock.Now()
	if d.transferOut || gone && d.dated() && !now.Before(*d.expiresAt) {
		return true, nil
	}
	zone, since := d.tld, d.registry.Missing
	long := since != nil && now.Sub(*since) >= doubtFor
	if long {
		zone = ""
	}
	shown, others, err := s.showsAnother(ctx, r, d, zone)
	return shown || long && !others, err
}

// maxProofs bounds how many other domains the registry is asked about.
const maxProofs = 3

// showsAnother reports whether the registry shows another domain as ours, of a zone or, when that is empty, of any. It then
// is the right registry, and knows us by the right name. others says that it should show one.
func (s *Service) showsAnother(ctx context.Context, r registrar.Registrar, d domain, zone string) (shown, others bool, err error) {
	all, err := listOthers(ctx, s.DB, d, zone)
	if err != nil {
		return false, false, err
	}
	others = len(all) > 0
	all = slices.DeleteFunc(all, func(other domain) bool { return other.registry.Missing != nil }) // they prove nothing
	for _, other := range all[:min(len(all), maxProofs)] {
		if now, err := r.Info(ctx, other.name); err == nil && now.Ours {
			return true, true, nil
		}
	}
	return false, others, nil
}

// follow stores the registry's answer when the row has not changed since it was read; otherwise it returns errSeen.
func (s *Service) follow(ctx context.Context, tx *db.Tx, read domain, now registrar.Domain, gone, newContacts bool) error {
	id := read.id
	before, err := lock(ctx, tx, id)
	if err != nil || !before.status.kept() {
		return err
	}
	if before.seen != read.seen {
		return errSeen
	}
	ended := eventDetails{previous: map[string]any{"status": before.status}}
	switch {
	case gone:
		if err := s.leave(ctx, tx, before, Cancelled); err != nil {
			return err
		}
		return s.tell(ctx, tx, "domain.deleted", id, ended)
	case !now.Ours:
		if err := s.leave(ctx, tx, before, TransferredOut); err != nil {
			return err
		}
		return s.tell(ctx, tx, "domain.transferred_out", id, ended)
	}
	d := before.with(now, tx.Now)
	if before.unpaid(now) { // until it is paid, the owner keeps the former expiry
		d = d.paidUntil(*before.expiresAt, now, tx.Now)
		if now.Status == registrar.Active || now.Status == registrar.Grace {
			zone, err := findTLD(ctx, tx, d.tld, false)
			if err != nil {
				return err
			}
			if !d.returnable() && tx.Now.After(d.expiresAt.AddDate(0, 0, zone.GraceDays)) {
				s.overstays(ctx, d, nil)
			}
		}
	}
	days := int(d.expiresAt.Sub(tx.Now) / (24 * time.Hour))
	remind := 0
	for _, n := range reminders {
		if d.dated() && d.status == Active && days < n && (d.reminded == nil || n < *d.reminded) {
			remind = n
		}
	}
	if remind > 0 {
		d.reminded = &remind
	}
	if err := put(ctx, tx, d, nextStep(d, tx.Now)); err != nil {
		return err
	}
	moved := eventDetails{}
	if before.status != d.status {
		moved = ended
	}
	for _, e := range []struct {
		kind string
		when bool
		news eventDetails
	}{
		{"domain.expiring", remind > 0, eventDetails{days: &remind}},
		{"domain.expired", before.status == Active && d.status != Active, moved},
		{"domain.redemption", before.status != Redemption && d.status == Redemption, moved},
		{"domain.transfer_out_requested", !before.transferOut && d.transferOut, eventDetails{}},
	} {
		if !e.when {
			continue
		}
		if err := s.tell(ctx, tx, e.kind, id, e.news); err != nil {
			return err
		}
	}
	return s.tellSettings(ctx, tx, before, d, newContacts)
}

// leave ends a registration that is no longer ours.
func (s *Service) leave(ctx context.Context, tx *db.Tx, d domain, status Status) error {
	if err := end(ctx, tx, d.id, status); err != nil || d.sandbox {
		return err
	}
	return s.Claims.Unregistered(ctx, tx, d.accountID, d.name)
}

// overstays logs, for the operator, a domain that nobody has paid for until its grace ended, and that the registry
// keeps at the platform's expense.
func (s *Service) overstays(ctx context.Context, d domain, refused error) {
	s.Log.ErrorContext(ctx, "domains: the registry has renewed a domain that its owner has not paid for: delete it there",
		"domain", d.name, "paid_until", d.expiresAt, "error", refused)
}

// renewDue renews a domain from the wallet, or reports why not and retries the next day; last says that no other
// attempt follows.
func (s *Service) renewDue(ctx context.Context, tx *db.Tx, id int64, last bool) error {
	d, err := get(ctx, tx, id)
	if err != nil || !d.autoRenew || !d.status.renewable() || !d.dated() || tx.Now.Before(d.expiresAt.Add(-renewBefore)) ||
		!last && d.renewAt != nil && tx.Now.Before(*d.renewAt) {
		return err
	}
	open, err := openOperation(ctx, tx, id)
	if err != nil || open {
		return err
	}
	err = tx.Savepoint(ctx, func(ctx context.Context) error { return s.Renew(ctx, tx, d.accountID, id, Renewal{Years: 1}) })
	if err == nil {
		return renewAgain(ctx, tx, id, tx.Now.Add(renewEvery))
	}
	refused := fault.From(err)
	if refused.Def.Kind != fault.KindUnprocessable {
		return err
	}
	if err := renewAgain(ctx, tx, id, tx.Now.Add(renewEvery)); err != nil {
		return err
	}
	return s.tell(ctx, tx, "domain.renewal_failed", id, eventDetails{errorKey: &refused.Def.Key})
}

const stepBatch = 200

// Steps inserts a job for each due domain, and for each waiting operation without one. A periodic job calls it.
func (s *Service) Steps(ctx context.Context) error {
	waiting, err := listWaiting(ctx, s.DB)
	if err == nil {
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			for _, o := range waiting {
				if err := s.enqueueWork(ctx, tx, o.ID); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("domains: what waits: %w", err)
	}
	for more := true; more; {
		err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			ids, err := due(ctx, tx, tx.Now, stepBatch)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := s.enqueueStep(ctx, tx, id); err != nil {
					return err
				}
				if err := postpone(ctx, tx, id, tx.Now.Add(time.Hour)); err != nil {
					return err
				}
			}
			more = len(ids) == stepBatch
			return nil
		})
		if err != nil {
			return fmt.Errorf("domains: steps: %w", err)
		}
	}
	return nil
}

const maxMessages = 100

// Poll reads the registrars' notices, and has the domains in them read again.
func (s *Service) Poll(ctx context.Context) error {
	for _, sandbox := range []bool{false, true} {
		r, ok := s.Registrars.Registrar(sandbox)
		if !ok {
			continue
		}
		for range maxMessages {
			m, ok, err := r.Poll(ctx)
			if err != nil {
				return fmt.Errorf("domains: poll: %w", err)
			}
			if !ok {
				break
			}
			if m.Name == "" { // such as low credit at the registry: for the operator
				s.Log.WarnContext(ctx, "domains: the registry says", "notice", m.ID, "text", m.Text)
			}
			err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return stepNow(ctx, tx, m.Name, sandbox) })
			if err == nil {
				err = r.Acknowledge(ctx, m.ID)
			}
			if err != nil {
				return fmt.Errorf("domains: poll: %w", err)
			}
		}
	}
	return nil
}
