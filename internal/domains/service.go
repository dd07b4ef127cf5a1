package domains

import (
	"context"
	"fmt"
	"log/slog"
	"net/mail"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/registrar"
)

// Registrars are where names are registered, really and for sandboxes.
type Registrars interface {
	Registrar(sandbox bool) (registrar.Registrar, bool)
}

// Purchase is what is paid now and done by a job.
type Purchase struct {
	AccountID    int64
	Kind         string // domain_register, domain_transfer, domain_renew, domain_restore
	Title        string
	Domain       string
	DomainID     int64
	PeriodMonths int
	Price        money.USDCents
	Keyed        bool
	ClientRef    *string // the tag that a reseller gave the domain
}

// Orders take the money. Begin sets it aside, Complete takes it and Fail gives it back; the last two do
// nothing the second time.
type Orders interface {
	Begin(ctx context.Context, tx *db.Tx, p Purchase) (orderID int64, err error)
	Complete(ctx context.Context, tx *db.Tx, orderID int64) error
	Fail(ctx context.Context, tx *db.Tx, orderID int64, failureKey string) error
}

// Worlds tell sandboxes of resellers from the rest.
type Worlds interface {
	Sandbox(ctx context.Context, q db.Querier, accountID int64) (bool, error)
}

// Events keeps what happened.
type Events interface {
	Emit(ctx context.Context, tx *db.Tx, e outbox.Event) error
}

// Config is what the section works with.
type Config struct {
	DB         *db.DB
	Clock      clock.Clock
	Queue      jobs.Enqueuer
	Events     Events
	Box        *secret.Box
	Orders     Orders
	Worlds     Worlds
	Registrars Registrars
	Log        *slog.Logger
	// Nameservers are those of domains for which nobody names any.
	Nameservers []string
	// ReservedDomains are the operator's own names.
	ReservedDomains []string
}

// Service is the section's use cases.
type Service struct {
	Config

	sources []registrar.Source
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// SetSources are asked whether a name is free where the registrar does not say, in this order.
func (s *Service) SetSources(sources ...registrar.Source) { s.sources = sources }

// Wish is a domain that somebody orders.
type Wish struct {
	AccountID   int64
	Transfer    bool
	Domain      string
	Years       int // 0: the shortest
	AuthCode    string
	Contact     *registrar.Contact
	Nameservers []string
	Privacy     bool
	AutoRenew   bool
	Wholesale   bool
	ClientRef   *string
	Keyed       bool
}

// order makes the domain, its order and its operation.
func (s *Service) order(ctx context.Context, tx *db.Tx, w Wish) (domain, error) {
	name, zone, err := named(ctx, tx, w.Domain)
	if err != nil {
		return domain{}, err
	}
	for _, own := range s.ReservedDomains {
		if domainname.Within(name, own) {
			return domain{}, fault.DomainUnavailable.New()
		}
	}
	sandbox, err := s.Worlds.Sandbox(ctx, tx, w.AccountID)
	if err != nil {
		return domain{}, err
	}
	if _, ok := s.Registrars.Registrar(sandbox); !ok {
		return domain{}, ErrUnreachable.New()
	}
	if err := s.accept(&w, zone); err != nil {
		return domain{}, err
	}
	kind, status, cost := opRegister, PendingRegistration, zone.of(w.Wholesale).Register
	if w.Transfer {
		kind, status, cost = opTransfer, PendingTransferIn, zone.of(w.Wholesale).Transfer
	}
	price, err := cost.Mul(int64(w.Years))
	if err != nil {
		return domain{}, err
	}
	d := domain{
		accountID: w.AccountID, sandbox: sandbox, name: name, tld: zone.TLD, status: status, wholesale: w.Wholesale,
		autoRenew: w.AutoRenew, privacy: w.Privacy, nameservers: w.Nameservers, clientRef: w.ClientRef,
	}
	if d.id, err = insert(ctx, tx, d); err != nil {
		return domain{}, err
	}
	secret := &private{Contact: *w.Contact, AuthCode: w.AuthCode, Nameservers: w.Nameservers, Privacy: w.Privacy}
	if err := s.begin(ctx, tx, d, operation{kind: kind, years: w.Years}, price, secret, w.Keyed); err != nil {
		return domain{}, err
	}
	if w.Transfer {
		if err := s.tell(ctx, tx, "domain.transfer_in_started", d.id, nil); err != nil {
			return domain{}, err
		}
	}
	return filled(ctx, tx, d.id)
}

// begin pays an operation and gives it its job.
func (s *Service) begin(ctx context.Context, tx *db.Tx, d domain, o operation, price money.USDCents, p *private, keyed bool) error {
	orderID, err := s.Orders.Begin(ctx, tx, Purchase{
		AccountID: d.accountID, Kind: "domain_" + string(o.kind), Title: domainname.Unicode(d.name), Domain: d.name, DomainID: d.id,
		PeriodMonths: 12 * o.years, Price: price, Keyed: keyed, ClientRef: d.clientRef,
	})
	if err != nil {
		return err
	}
	o.domainID, o.orderID = d.id, orderID
	if p != nil {
		plain, err := p.encode()
		if err != nil {
			return err
		}
		if o.sealed, err = s.Box.Seal(plain, sealedFor(d.id)); err != nil {
			return err
		}
	}
	id, err := insertOperation(ctx, tx, o)
	if err != nil {
		return err
	}
	return s.enqueueWork(ctx, tx, id)
}

// sealedFor binds what is sealed to its domain.
func sealedFor(domainID int64) []byte { return fmt.Appendf(nil, "domains_operations of %d", domainID) }

// accept fills in what a wish leaves open, and refuses what the zone does not allow.
func (s *Service) accept(w *Wish, zone tld) error {
	if w.Years == 0 {
		w.Years = zone.MinYears
		if w.Transfer {
			w.Years = 1
		}
	}
	switch {
	case w.Transfer && w.Years != 1, !w.Transfer && (w.Years < zone.MinYears || w.Years > zone.MaxYears):
		return ErrPeriodNotAllowed.New()
	case w.Transfer && zone.AuthCodeRequired && w.AuthCode == "":
		return ErrAuthCodeRequired.New()
	case w.Privacy && !zone.Privacy:
		return ErrPrivacyUnsupported.New()
	case w.Contact == nil:
		return ErrContactRequired.New()
	}
	if address, err := mail.ParseAddress(w.Contact.Email); err != nil || address.Address != w.Contact.Email {
		return ErrContactRequired.Wrap(err)
	}
	if len(w.Nameservers) == 0 {
		w.Nameservers = slices.Clone(s.Nameservers)
		if w.Nameservers == nil {
			w.Nameservers = []string{}
		}
		return nil
	}
	if len(w.Nameservers) < zone.NameserverMin || len(w.Nameservers) > zone.NameserverMax {
		return ErrNameserverInvalid.New()
	}
	for i, host := range w.Nameservers {
		ascii, err := domainname.Domain(strings.TrimSpace(host))
		if err != nil || slices.Contains(w.Nameservers[:i], ascii) {
			return ErrNameserverInvalid.Wrap(err)
		}
		w.Nameservers[i] = ascii
	}
	return nil
}

// Renew pays one of the account's domains for more years; from redemption it restores it, with a year.
func (s *Service) Renew(ctx context.Context, tx *db.Tx, accountID, id int64, years int, restore, keyed bool) error {
	d, err := getOwn(ctx, tx, accountID, id)
	if err != nil {
		return err
	}
	zone, err := findTLD(ctx, tx, d.tld, false)
	if err != nil {
		return err
	}
	o, price := operation{kind: opRenew, years: years, expiresFrom: d.expiresAt}, zone.of(d.wholesale).Renew
	switch {
	case restore && d.status == Redemption && years == 1:
		o.kind, price = opRestore, zone.of(d.wholesale).Restore
	case restore || !d.status.renewable():
		return fault.UnsupportedOperation.New()
	case years < 1 || years > zone.MaxYears || d.expiresAt.AddDate(years, 0, 0).After(tx.Now.AddDate(maxYears, 0, 0)):
		return ErrPeriodNotAllowed.New()
	}
	total, err := price.Mul(int64(years))
	if err != nil {
		return err
	}
	return s.begin(ctx, tx, d, o, total, nil, keyed)
}

// filled reads a domain with what its answer needs.
func filled(ctx context.Context, q db.Querier, id int64) (domain, error) {
	d, err := get(ctx, q, id)
	if err != nil {
		return d, err
	}
	rows := []domain{d}
	err = fill(ctx, q, rows)
	return rows[0], err
}

// tell emits an event of the domain as it now is.
func (s *Service) tell(ctx context.Context, tx *db.Tx, kind string, id int64, more map[string]any) error {
	d, err := filled(ctx, tx, id)
	if err != nil {
		return err
	}
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: kind, AccountID: d.accountID, Subject: "domain", SubjectID: id,
		Data: eventWire{wire(money.WithCurrency(ctx, money.USD), d), more["error_key"], more["days"]},
	})
}
