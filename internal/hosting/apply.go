package hosting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/atonce"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/site"
)

// result is what became of a row on the panel.
type result struct {
	domain
	gone       bool   // the panel does not have it, as was wanted
	failureKey string // the panel refuses it for good
	now        panel.Domain
}

// Apply makes the panel as the rows of a service are. It looks again after it has
// acted: of two runs at once, the one that acts last leaves the panel as the rows
// are.
func (s *Service) Apply(ctx context.Context, accountID, serviceID int64) error {
	for {
		on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
		if err != nil {
			return err
		}
		if on.Ended() {
			return site.End(ctx, s.DB, s.Services, accountID, serviceID, removeAll)
		}
		if !on.Online() {
			return nil // not yet, or not now: an event of the service brings us back
		}
		rows, results, applyErr := s.follow(ctx, on)
		settled := false
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			var err error
			settled, err = s.record(ctx, tx, serviceID, rows, results)
			return err
		})
		if err := errors.Join(applyErr, err); err != nil || settled {
			return err
		}
	}
}

// follow does what distinguishes the panel from the rows. It answers the rows that
// it read, what became of those that it got to, and the failure that is worth
// another try.
func (s *Service) follow(ctx context.Context, on site.Site) ([]domain, []result, error) {
	sites, err := site.On[panel.Sites](s.Panels, on, panel.CapSites)
	if err != nil {
		return nil, nil, err
	}
	// The panel before the rows: what another run puts there meanwhile has a row
	// here, and is not taken for something that nobody wants.
	have, err := sites.Domains(ctx, on.Ref)
	if err != nil {
		return nil, nil, err
	}
	rows, err := ofService(ctx, s.DB, on.ServiceID)
	if err != nil {
		return nil, nil, err
	}
	primary, ok := primaryOf(rows)
	if !ok {
		return nil, nil, fmt.Errorf("hosting: service %d has no primary domain", on.ServiceID)
	}
	w := work{Sites: sites, ref: on.Ref, root: *primary.documentRoot, have: have}
	// What goes makes room for what comes. Another primary domain must be there
	// before the former can go; and what the others are may depend on it.
	w.removeOthers(ctx, rows, func(d panel.Domain) bool { return !d.Primary })
	w.set(ctx, primary)
	w.setOthers(ctx, rows)
	w.removeOthers(ctx, rows, func(d panel.Domain) bool { return d.Name != primary.name })
	for _, d := range rows {
		if d.status == Removing && w.find(d.name) < 0 {
			w.results = append(w.results, result{domain: d, gone: true})
		}
	}
	return rows, w.results, w.err
}

// work is one pass over the domains of an account.
type work struct {
	panel.Sites
	ref  string
	root string // the primary domain's

	mu      sync.Mutex     // domains are set several at a time
	have    []panel.Domain // kept as the panel has it
	results []result
	err     error
}

// atOnce bounds how many domains are set at a time. What a panel does for all that wait together,
// such as having its web server read the sites anew, it then does once for many.
const atOnce = 32

// few domains are set one after the other, in their order: it takes little longer.
const few = 3

// setOthers has the panel answer to the domains besides the primary one.
func (w *work) setOthers(ctx context.Context, rows []domain) {
	others := slices.DeleteFunc(slices.Clone(rows), func(d domain) bool { return d.kind == Primary || d.status == Removing })
	if len(others) <= few {
		for _, d := range others {
			w.set(ctx, d)
		}
		return
	}
	atonce.Each(len(others), atOnce, func(i int) { w.set(ctx, others[i]) })
}

func (w *work) find(name string) int {
	return slices.IndexFunc(w.have, func(d panel.Domain) bool { return d.Name == name })
}

// removeOthers takes from the panel what no row wants, among those that which says.
func (w *work) removeOthers(ctx context.Context, rows []domain, which func(panel.Domain) bool) {
	wanted := func(name string) bool {
		return slices.ContainsFunc(rows, func(d domain) bool { return d.name == name && d.status != Removing })
	}
	for _, d := range slices.Clone(w.have) {
		if wanted(d.Name) || !which(d) {
			continue
		}
		if err := w.RemoveDomain(ctx, w.ref, d.Name); err != nil && !errors.Is(err, panel.ErrNotFound) {
			w.err = errors.Join(w.err, err)
			continue
		}
		w.have = slices.DeleteFunc(w.have, func(h panel.Domain) bool { return h.Name == d.Name })
	}
}

// set has the panel answer to a domain as its row says.
func (w *work) set(ctx context.Context, d domain) {
	want := d.wanted(w.root)
	if !w.is(d, want) {
		now, err := w.SetDomain(ctx, w.ref, want)
		w.note(d, want, now, err)
	}
}

// is tells whether the panel has a domain as it is wanted, and notes so.
func (w *work) is(d domain, want panel.Domain) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.find(d.name)
	if i < 0 || !same(w.have[i], want) {
		return false
	}
	w.results = append(w.results, result{domain: d, now: w.have[i]})
	return true
}

// note keeps what the panel answered to a domain that was set.
func (w *work) note(d domain, want, now panel.Domain, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		key, forGood := failureKey(err)
		if !forGood {
			w.err = errors.Join(w.err, err)
			return
		}
		w.results = append(w.results, result{domain: d, failureKey: key})
		return
	}
	w.results = append(w.results, result{domain: d, now: now})
	if want.Primary {
		for j := range w.have {
			w.have[j].Primary = false
		}
	}
	if i := w.find(d.name); i >= 0 {
		w.have[i] = now
	} else {
		w.have = append(w.have, now)
	}
}

// same tells whether the panel has a domain as it is wanted.
func same(have, want panel.Domain) bool {
	have.TLS = want.TLS
	return have == want
}

// record writes what became of the rows. settled is false when rows came or changed
// while the panel was at work.
func (s *Service) record(ctx context.Context, tx *db.Tx, serviceID int64, rows []domain, results []result) (settled bool, err error) {
	now, err := ofService(ctx, tx, serviceID)
	if err != nil {
		return false, err
	}
	settled = true
	for _, d := range now {
		known := slices.ContainsFunc(rows, func(r domain) bool { return r.id == d.id && r.revision == d.revision })
		settled = settled && known
	}
	for _, r := range results {
		var changed bool
		switch {
		case r.gone:
			changed, err = remove(ctx, tx, r.domain)
		case r.failureKey != "":
			_, err = setFailed(ctx, tx, r.domain, r.failureKey)
		case r.status != Active || r.tls != r.now.TLS:
			changed, err = setActive(ctx, tx, r.domain, r.now.TLS)
		}
		if err != nil {
			return false, err
		}
		if !changed || r.kind == Primary {
			continue
		}
		switch {
		case r.gone:
			err = s.emit(ctx, tx, "site_domain.removed", r.domain)
		case r.activatedAt == nil:
			err = s.emit(ctx, tx, "site_domain.added", r.domain)
		}
		if err != nil {
			return false, err
		}
	}
	return settled, nil
}

// ApplyAll has the panel follow in everything that the service consists of: first its domains, then
// the other sections' parts. What it uses is looked at too. One that fails does not hold up the others.
func (s *Service) ApplyAll(ctx context.Context, accountID, serviceID int64) error {
	err := s.Apply(ctx, accountID, serviceID)
	for _, part := range s.parts {
		err = errors.Join(err, part.Apply(ctx, accountID, serviceID))
	}
	return errors.Join(err, s.Watch(ctx, accountID, serviceID))
}

// emit tells of a domain that the panel has, or no longer has.
func (s *Service) emit(ctx context.Context, tx *db.Tx, eventType string, d domain) error {
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: eventType, AccountID: d.accountID, Subject: "service", SubjectID: d.serviceID, Data: eventOf(d),
	})
}

const reconcileBatch = 200

// Reconcile has the panel compared with the rows of every service that is due. A
// periodic job calls it.
func (s *Service) Reconcile(ctx context.Context) error {
	for {
		var n int
		err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			due, err := takeDue(ctx, tx, tx.Now.Add(reconcileEvery), reconcileBatch)
			if err != nil {
				return err
			}
			for _, d := range due {
				if err := s.enqueueReconcile(ctx, tx, d); err != nil {
					return err
				}
			}
			n = len(due)
			return nil
		})
		if err != nil {
			return fmt.Errorf("hosting: reconcile: %w", err)
		}
		if n < reconcileBatch {
			return nil
		}
	}
}

// Follow hears what happens to services, and lets their domains follow.
func (s *Service) Follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	switch e.Type {
	case "service.provisioned", "service.restored", "service.suspended", "service.unsuspended", "service.provision_failed", "service.terminated",
		"service.tariff_changed":
		return s.enqueueApplyAll(ctx, tx, e.AccountID, e.SubjectID)
	default:
		return nil
	}
}
