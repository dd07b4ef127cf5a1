package domains

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/registrar"
)

// Held is a name that the registrar's account here sponsors, though it was not registered here.
type Held struct {
	Name string
	zone string
	now  registrar.Domain
}

// Expires is until when the registry has it; the zero time where it does not say.
func (h Held) Expires() time.Time { return h.now.ExpiresAt }

// Held asks the registry about a name that another system has registered. The refusals: fault.DomainInvalid, ErrTLDUnsupported for a
// zone that the price book does not have, ErrUnreachable, and fault.DomainUnavailable for a name that our registrar does not hold.
func (s *Service) Held(ctx context.Context, written string) (Held, error) {
	name, zone, err := named(ctx, s.DB, written)
	if err != nil {
		return Held{}, err
	}
	for _, own := range s.ReservedDomains {
		if domainname.Within(name, own) {
			return Held{}, fault.DomainUnavailable.New()
		}
	}
	r, ok := s.Registrars.Registrar(false)
	if !ok {
		return Held{}, ErrUnreachable.New()
	}
	now, err := r.Info(ctx, name)
	switch kind := registrar.KindOf(err); {
	case err == nil && now.Ours:
		return Held{Name: name, zone: zone.TLD, now: now}, nil
	case err == nil, kind == registrar.NotFound, kind == registrar.NotOurs:
		return Held{}, fault.DomainUnavailable.Wrap(err)
	default:
		return Held{}, ErrUnreachable.Wrap(err)
	}
}

// Adopt gives an account a name that the registrar holds, as the registry has it. Nothing is paid and nothing is asked of the registry.
// A name that somebody has here is refused with fault.DomainUnavailable.
func (s *Service) Adopt(ctx context.Context, tx *db.Tx, accountID int64, h Held, autoRenew bool) (int64, error) {
	wholesale, err := s.wholesale(ctx, tx, accountID)
	if err != nil {
		return 0, err
	}
	d := domain{
		accountID: accountID, name: h.Name, tld: h.zone, status: PendingTransferIn, wholesale: wholesale, autoRenew: autoRenew,
		nameservers: h.now.Nameservers, handle: newHandle(),
	}
	if d.id, err = insert(ctx, tx, d); err != nil {
		return 0, err
	}
	if d, err = lock(ctx, tx, d.id); err != nil {
		return 0, err
	}
	d = d.with(h.now, tx.Now)
	if err := put(ctx, tx, d, nextStep(d, tx.Now)); err != nil {
		return 0, err
	}
	if err := s.Claims.Registered(ctx, tx, accountID, d.name); err != nil {
		return 0, err
	}
	return d.id, s.tell(ctx, tx, "domain.registered", d.id, eventDetails{})
}

// Live finds the account that has a name here and the id of its registration; false for a name that nobody has.
func (s *Service) Live(ctx context.Context, q db.Querier, name string) (id, accountID int64, ok bool, err error) {
	id, accountID, err = readLive(ctx, q, name)
	if errors.Is(err, db.ErrNoRows) {
		return 0, 0, false, nil
	}
	return id, accountID, err == nil, err
}
