package domains

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/countries"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/module"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/registrar"
)

// Registrars returns the registrar of a world: the real one, or a sandbox's.
type Registrars interface {
	Registrar(sandbox bool) (registrar.Registrar, bool)
}

// Orders moves the money. Begin holds it, Complete captures it and Fail refunds it; repeating the last two does
// nothing.
type Orders interface {
	Begin(ctx context.Context, tx *db.Tx, p sale.Purchase) (orderID int64, err error)
	Complete(ctx context.Context, tx *db.Tx, orderID int64) error
	Fail(ctx context.Context, tx *db.Tx, orderID int64, failureKey string) error
}

// Worlds distinguishes sandboxes of resellers from the live world.
type Worlds interface {
	Sandbox(ctx context.Context, q db.Querier, accountID int64) (bool, error)
}

// Hosts finds the services that have names among their domains.
type Hosts interface {
	// HostedBy returns the account's services that have one of the names, by name.
	HostedBy(ctx context.Context, q db.Querier, accountID int64, names []string) (map[string]int64, error)
}

// Claims hears which names are registered here: their owners have them, whoever else used them.
type Claims interface {
	Registered(ctx context.Context, tx *db.Tx, accountID int64, name string) error
	Unregistered(ctx context.Context, tx *db.Tx, accountID int64, name string) error
}

// Unclaimed is the Claims of who hosts nothing.
type Unclaimed struct{}

// Registered implements Claims.
func (Unclaimed) Registered(context.Context, *db.Tx, int64, string) error { return nil }

// Unregistered implements Claims.
func (Unclaimed) Unregistered(context.Context, *db.Tx, int64, string) error { return nil }

// Config configures the section.
type Config struct {
	DB         *db.DB
	Clock      clock.Clock
	Queue      jobs.Enqueuer
	Events     outbox.Events
	Box        *secret.Box
	Registrars Registrars
	Log        *slog.Logger
	// Nameservers are the default name servers of domains.
	Nameservers []string
	// ReservedDomains are the operator's own names.
	ReservedDomains []string
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Orders Orders
	Worlds Worlds
	Rates  sale.Rates
	Hosts  Hosts
	Claims Claims
	// Sources are asked, in this order, when the registrar does not know whether a name is free.
	Sources []registrar.Source
}

// HostedNowhere is the Hosts of who hosts nothing.
type HostedNowhere struct{}

// HostedBy implements Hosts.
func (HostedNowhere) HostedBy(context.Context, db.Querier, int64, []string) (map[string]int64, error) {
	return nil, nil
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Wish is an order of a domain.
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
	ClientRef   *string
	Seen        *money.USDCents // the price that was shown; nil takes any
	Keyed       bool
}

// order creates the domain, its order and its operation.
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
	if err := s.accept(&w, name, zone); err != nil {
		return domain{}, err
	}
	wholesale, err := s.wholesale(ctx, tx, w.AccountID)
	if err != nil {
		return domain{}, err
	}
	kind, status, cost := opRegister, PendingRegistration, zone.of(wholesale).Register
	if w.Transfer {
		kind, status, cost = opTransfer, PendingTransferIn, zone.of(wholesale).Transfer
	}
	price, err := cost.Mul(int64(w.Years))
	if err == nil {
		err = asSeen(ctx, w.Seen, price)
	}
	if err != nil {
		return domain{}, err
	}
	d := domain{
		accountID: w.AccountID, sandbox: sandbox, name: name, tld: zone.TLD, status: status, wholesale: wholesale,
		autoRenew: w.AutoRenew, privacy: w.Privacy, nameservers: w.Nameservers, clientRef: w.ClientRef, handle: newHandle(),
	}
	if d.id, err = insert(ctx, tx, d); err != nil {
		return domain{}, err
	}
	secret := &private{Contact: *w.Contact, AuthCode: w.AuthCode, Nameservers: w.Nameservers, Privacy: w.Privacy}
	if err := s.begin(ctx, tx, d, operation{kind: kind, years: w.Years}, price, secret, w.Keyed); err != nil {
		return domain{}, err
	}
	if w.Transfer {
		if err := s.tell(ctx, tx, "domain.transfer_in_started", d.id, eventDetails{}); err != nil {
			return domain{}, err
		}
	}
	return filled(ctx, tx, d.id)
}

// asSeen refuses a price that is not the one that the caller was shown.
func asSeen(ctx context.Context, seen *money.USDCents, price money.USDCents) error {
	if seen == nil || *seen == price {
		return nil
	}
	return fault.PriceChanged.With(fault.Fields{"price": money.Wire(ctx, price)})
}

// begin pays an operation and inserts its job.
func (s *Service) begin(ctx context.Context, tx *db.Tx, d domain, o operation, price money.USDCents, p *private, keyed bool) error {
	orderID, err := s.Orders.Begin(ctx, tx, sale.Purchase{
		AccountID: d.accountID, Kind: "domain_" + string(o.kind), Title: domainname.Unicode(d.name), Domain: &d.name, DomainID: d.id,
		PeriodMonths: 12 * o.years, Price: price, Keyed: keyed, ClientRef: d.clientRef,
	})
	if err != nil {
		return err
	}
	o.domainID, o.orderID = d.id, orderID
	if p != nil {
		if o.sealed, err = s.seal(d.id, *p); err != nil {
			return err
		}
	}
	id, err := insertOperation(ctx, tx, o)
	if err != nil {
		return err
	}
	return s.enqueueWork(ctx, tx, id)
}

func (s *Service) seal(domainID int64, p private) ([]byte, error) {
	plain, err := p.encode()
	if err != nil {
		return nil, err
	}
	return s.Box.Seal(plain, sealedFor(domainID))
}

// sealedFor is the additional data that binds a sealed value to its domain.
func sealedFor(domainID int64) []byte { return fmt.Appendf(nil, "domains_operations of %d", domainID) }

// accept fills in the defaults of a wish, and refuses what the zone does not allow.
func (s *Service) accept(w *Wish, name string, zone tld) error {
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
	if err := checkContact("contact", *w.Contact); err != nil {
		return err
	}
	if err := checkClientRef(w.ClientRef); err != nil {
		return err
	}
	if len(w.Nameservers) == 0 {
		w.Nameservers = []string{} // a transferred domain keeps its own
		if !w.Transfer {
			w.Nameservers = append(w.Nameservers, s.Nameservers...)
		}
		return nil
	}
	var err error
	w.Nameservers, err = nameservers(w.Nameservers, zone, name, nil)
	return err
}

// wholesale reports whether an account pays wholesale prices.
func (s *Service) wholesale(ctx context.Context, q db.Querier, accountID int64) (bool, error) {
	_, ok, err := s.Rates.Wholesale(ctx, q, accountID)
	return ok, err
}

// newHandle is the prefix of the handles of a new domain's contacts. All registrars of the registry share the handles;
// a random one is not taken.
func newHandle() string { return "ST" + rand.Text()[:13] }

var phone = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`) // E.164

// checkContact refuses a contact without a usable address, phone number or country; member is where the request has it.
func checkContact(member string, c registrar.Contact) error {
	if address, err := mail.ParseAddress(c.Email); err != nil || address.Address != c.Email {
		return ErrContactRequired.Wrap(err)
	}
	if !phone.MatchString(c.Phone) {
		return fault.Invalid(member+".phone", "phone")
	}
	if !countries.Known(c.Country) {
		return fault.Invalid(member+".country", "country")
	}
	return nil
}

// maxClientRef bounds the tag, in characters (resources, section 23).
const maxClientRef = 64

func checkClientRef(ref *string) error {
	switch {
	case ref == nil:
		return nil
	case utf8.RuneCountInString(*ref) > maxClientRef:
		return fault.ClientRefTooLong.New()
	case strings.ContainsFunc(*ref, unicode.IsControl):
		return fault.Invalid("client_ref", "characters")
	}
	return nil
}

// nameservers converts the name servers of a domain to canonical form. One below the domain itself needs an address
// there (glue, RFC 9471).
func nameservers(written []string, zone tld, name string, glue []registrar.Host) ([]string, error) {
	if len(written) < zone.NameserverMin || len(written) > zone.NameserverMax {
		return nil, ErrNameserverInvalid.With(fault.Fields{"minimum": zone.NameserverMin, "maximum": zone.NameserverMax})
	}
	hosts := make([]string, len(written))
	for i, host := range written {
		ascii, err := domainname.Domain(strings.TrimSpace(host))
		if err != nil || slices.Contains(hosts[:i], ascii) {
			return nil, badNameserver(host)
		}
		if domainname.Within(ascii, name) && !slices.ContainsFunc(glue, func(h registrar.Host) bool { return h.Name == ascii }) {
			return nil, badNameserver(host)
		}
		hosts[i] = ascii
	}
	return hosts, nil
}

// badNameserver names the invalid one, as it was written.
func badNameserver(host string) error {
	return ErrNameserverInvalid.With(fault.Fields{"nameserver": host})
}

// Renewal is an order of further years of a domain.
type Renewal struct {
	Years   int
	Restore bool            // from redemption, with a year
	Seen    *money.USDCents // the price that was shown; nil takes any
	Keyed   bool
}

// Renew pays further years of one of the account's domains; from redemption it restores the domain, with a year.
func (s *Service) Renew(ctx context.Context, tx *db.Tx, accountID, id int64, w Renewal) error {
	years, restore := w.Years, w.Restore
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
		return ErrNotActive.New()
	case !d.dated() || years < 1 || years > zone.MaxYears || d.expiresAt.AddDate(years, 0, 0).After(tx.Now.AddDate(maxYears, 0, 0)):
		return ErrPeriodNotAllowed.New()
	}
	if _, ok := s.Registrars.Registrar(d.sandbox); !ok {
		return ErrUnreachable.New()
	}
	total, err := price.Mul(int64(years))
	if err == nil {
		err = asSeen(ctx, w.Seen, total)
	}
	if err != nil {
		return err
	}
	if err := s.begin(ctx, tx, d, o, total, nil, w.Keyed); err != nil {
		return err
	}
	// An operation that ended while this one waited for the wallet has extended the domain: this one would have no
	// effect, and be paid for nothing.
	now, err := lock(ctx, tx, id)
	if err == nil && (now.status != d.status || !now.expiresAt.Equal(*d.expiresAt)) {
		err = fault.JobRunning.New()
	}
	return err
}

// filled reads a domain with everything that its answer needs.
func filled(ctx context.Context, q db.Querier, id int64) (domain, error) {
	d, err := get(ctx, q, id)
	if err != nil {
		return d, err
	}
	rows := []domain{d}
	err = fill(ctx, q, rows)
	return rows[0], err
}

// eventDetails is the content of an event besides the domain.
type eventDetails struct {
	errorKey *string
	days     *int
	previous map[string]any // the former values of changed members
}

// Closed refuses to close an account with a live domain. No registry knows those of a sandbox.
func (s *Service) Closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	sandbox, err := s.Worlds.Sandbox(ctx, tx, accountID)
	if err != nil || sandbox {
		return err
	}
	found, err := s.obstacles(ctx, tx, accountID)
	if err == nil && len(found) > 0 {
		err = fault.InUse.Wrapf("%d of its domains are not over", found[0].Count)
	}
	return err
}

// obstacles are the domains of an account that are not over.
func (s *Service) obstacles(ctx context.Context, q db.Querier, accountID int64) ([]module.Obstacle, error) {
	n, err := live(ctx, q, accountID)
	if err != nil || n == 0 {
		return nil, err
	}
	return []module.Obstacle{{Kind: "domains", Count: n}}, nil
}

// tell emits an event with the domain's present state.
func (s *Service) tell(ctx context.Context, tx *db.Tx, kind string, id int64, n eventDetails) error {
	d, err := filled(ctx, tx, id)
	if err != nil {
		return err
	}
	e := outbox.Event{
		Type: kind, AccountID: d.accountID, Subject: "domain", SubjectID: id,
		Data: eventWire{domainWire: wire(money.WithCurrency(ctx, money.USD), d), ErrorKey: n.errorKey, Days: n.days},
	}
	if n.previous != nil {
		e.Previous = n.previous
	}
	return s.Events.Emit(ctx, tx, e)
}
