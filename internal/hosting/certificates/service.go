package certificates

import (
	"context"
	"crypto"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/panel"
)

// Domains are the hosted domains of services.
type Domains interface {
	// Hosted lists all of a service, the primary one first.
	Hosted(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]site.Domain, error)
	// Refresh has the domains read from the panel again, because how they are answered by HTTPS has changed.
	Refresh(ctx context.Context, accountID, serviceID int64) error
	// Refusal says what a domain of the account's lacks to have a certificate: fault.DomainVerificationRequired; nil when
	// nothing.
	Refusal(ctx context.Context, q db.Querier, accountID int64, name string) error
}

// Zones are the zones that this platform serves.
type Zones interface {
	// ZoneOf is the zone of the service that the name is in.
	ZoneOf(ctx context.Context, q db.Querier, serviceID int64, name string) (zone string, ok bool, err error)
	// SetSystem makes records the set of owner in the zones of the service, in place of the set before; none ends it.
	SetSystem(ctx context.Context, tx *db.Tx, accountID, serviceID int64, owner string, records []site.Record) error
	// Placed tells for each of them whether it is in a zone: a customer's record may be in the way.
	Placed(ctx context.Context, q db.Querier, serviceID int64, owner string) ([]bool, error)
}

// Authority is a certificate authority that issues by ACME (RFC 8555).
type Authority struct {
	Directory string // address of its directory
	Email     string // where it writes to; none when empty. Without a directory or an address nothing is issued
	Client    *http.Client
	// Poll is how often the authority is asked how far it is, and Patience for how long; zero is 2 s and 90 s.
	Poll, Patience time.Duration
}

func (a Authority) on() bool { return a.Directory != "" && a.Email != "" }

// Config is what the section works with; all is needed but Automatic.
type Config struct {
	site.Base
	Clock     clock.Clock
	Events    outbox.Events
	Box       *secret.Box
	Domains   Domains
	Zones     Zones
	DNS       Lookups
	Authority Authority
	// Nameservers are the platform's, by name: a zone that is delegated to none of them is served elsewhere.
	Nameservers []string
	// Automatic has a certificate ordered for every hosted domain by itself.
	Automatic bool
	Log       *slog.Logger
}

// Service is the section's use cases.
type Service struct {
	Config
	authority *acme.Client
}

// New makes the section.
func New(c Config) *Service {
	if c.Authority.Client == nil {
		c.Authority.Client = &http.Client{Timeout: 30 * time.Second}
	}
	if c.Authority.Poll == 0 {
		c.Authority.Poll = 2 * time.Second
	}
	if c.Authority.Patience == 0 {
		c.Authority.Patience = 90 * time.Second
	}
	client := *c.Authority.Client
	client.Transport = notingRetries{client.Transport}
	return &Service{Config: c, authority: &acme.Client{
		Directory: c.Authority.Directory, HTTPClient: &client, UserAgent: "Stead", PollInterval: c.Authority.Poll, PollTimeout: c.Authority.Patience,
	}}
}

// seal encrypts the private key of a row's certificate.
func (s *Service) seal(id int64, key crypto.Signer) ([]byte, error) {
	text, err := certificate.EncodeKey(key)
	if err != nil {
		return nil, err
	}
	return s.Box.Seal([]byte(text), sealingContext(id))
}

// unseal decrypts a private key; it is PEM.
func (s *Service) unseal(id int64, sealed []byte) (string, error) {
	text, err := s.Box.Open(sealed, sealingContext(id))
	return string(text), err
}

// sealingContext binds an encrypted private key to its row.
func sealingContext(id int64) []byte { return fmt.Appendf(nil, "certificates/%d/secret", id) }

// overview is what the list answers.
type overview struct {
	rows    []row
	total   int
	domains []site.Domain
	answers map[int64][]string // the domains that each certificate answers for, by its id
	refused map[string]*refusal
}

// overview reads one page of a service's certificates, and for each domain whether one could be issued, as far as that is
// known without a look into the DNS.
func (s *Service) overview(ctx context.Context, accountID, serviceID int64, p page.Params) (overview, error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return overview{}, err
	}
	var o overview
	domains, err := s.Domains.Hosted(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return o, err
	}
	o.domains = usable(domains)
	if o.rows, o.total, err = table.List(ctx, s.DB, accountID, serviceID, p); err != nil {
		return o, err
	}
	all, err := table.OfService(ctx, s.DB, serviceID)
	if err != nil {
		return o, err
	}
	o.answers = assign(all, o.domains, s.Clock.Now())
	o.refused = map[string]*refusal{}
	for _, d := range o.domains {
		answered := false
		for _, names := range o.answers {
			answered = answered || slices.Contains(names, d.Name)
		}
		o.refused[d.Name] = s.knownRefusal(on, all, d, answered)
	}
	return o, nil
}

// knownRefusal is why a domain cannot have a certificate as far as is knownRefusal: from the last look into the DNS, unless a
// certificate answers for it already, and from what the last order for it met.
func (s *Service) knownRefusal(on site.Site, all []row, d site.Domain, answered bool) *refusal {
	_, err := site.On[panel.Issuing](s.Panels, on, panel.CapIssuing)
	switch itself := err == nil; {
	case !itself && !s.Authority.on():
		return &refusal{d.Name, errPreflight, reasonOff, ""}
	case !itself && d.Elsewhere && !answered:
		return &refusal{d.Name, errNotPointed, "", ""}
	}
	for _, r := range slices.Backward(all) {
		if refused := r.lastRefusal(); refused != nil && slices.Contains(r.names, d.Name) {
			refused.name = d.Name
			return refused
		}
	}
	return nil
}

// lastRefusal is what the last order of a row lastRefusal that was the fault of its names; nil when nothing was.
func (r row) lastRefusal() *refusal {
	if r.lastErrorKey == nil {
		return nil
	}
	switch *r.lastErrorKey {
	case errNotPointed.Key:
		return &refusal{r.names[0], errNotPointed, "", ""}
	case errPreflight.Key:
		return &refusal{r.names[0], errPreflight, *r.lastReason, r.lastError}
	default:
		return nil
	}
}

// wish is what a customer wants.
type wish struct {
	id        int64    // of a certificate that is there; 0: none
	names     []string // to issue for
	challenge Challenge
	autoRenew *bool
	hsts      *bool

	chain, intermediates, key string // of an own certificate
}

// request issues, renews, installs or changes a certificate of one of the account's services. fresh tells that a new row was
// made.
func (s *Service) request(ctx context.Context, accountID, serviceID int64, w wish) (r row, fresh bool, err error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return row{}, false, err
	}
	if err := on.Changeable(); err != nil {
		return row{}, false, err
	}
	domains, err := s.Domains.Hosted(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return row{}, false, err
	}
	for _, name := range w.names {
		if hosts(usable(domains), name) {
			continue
		}
		bare, _ := strings.CutPrefix(name, "*.")
		if err := s.Domains.Refusal(ctx, s.DB, accountID, bare); err != nil {
			return row{}, false, err
		}
	}
	switch {
	case w.chain != "":
		r, err = s.install(ctx, on, usable(domains), w)
		return r, true, err
	case w.id != 0 && len(w.names) == 0 && (w.autoRenew != nil || w.hsts != nil):
		r, err = s.changeSettings(ctx, on, w)
		return r, false, err
	default:
		return s.issue(ctx, on, domains, w)
	}
}

// change runs f on a service that takes changes.
func (s *Service) change(ctx context.Context, on site.Site, f func(ctx context.Context, tx *db.Tx) (int64, error)) (row, error) {
	var r row
	err := s.collection().Change(ctx, on.AccountID, on.ServiceID, func(ctx context.Context, tx *db.Tx, _ site.Site) error {
		id, err := f(ctx, tx)
		if err != nil {
			return err
		}
		r, err = table.Get(ctx, tx, on.AccountID, on.ServiceID, id)
		return err
	})
	return r, err
}

// install stores a certificate that the customer brings.
func (s *Service) install(ctx context.Context, on site.Site, domains []site.Domain, w wish) (row, error) {
	b, err := certificate.Parse(w.key, w.chain, w.intermediates)
	if err == nil {
		err = b.CheckTime(s.Clock.Now())
	}
	if err != nil {
		return row{}, unusable(err)
	}
	leaf := b.Leaf()
	covered := slices.ContainsFunc(domains, func(d site.Domain) bool { return certificate.Covers(leaf.DNSNames, d.Name) })
	if !covered {
		return row{}, unusable(certificate.NameNotCovered)
	}
	r := row{
		kind: Custom, names: sorted(leaf.DNSNames), challenge: HTTP, phase: idle,
		hsts: w.hsts != nil && *w.hsts, current: currentOf(b),
	}
	return s.change(ctx, on, func(ctx context.Context, tx *db.Tx) (int64, error) {
		all, err := table.OfService(ctx, tx, on.ServiceID)
		if err != nil {
			return 0, err
		}
		if len(all) >= maxRows {
			return 0, fault.LimitReached.New()
		}
		// One that is replaced by another for the same names is no longer needed.
		for _, old := range all {
			if old.kind == Custom && slices.Equal(old.names, r.names) {
				if err := table.Delete(ctx, tx, old.ID); err != nil {
					return 0, err
				}
			}
		}
		id, err := s.collection().Insert(ctx, tx, on.AccountID, on.ServiceID, r.values(tx.Now))
		if err != nil {
			return 0, err
		}
		sealed, err := s.seal(id, b.Key)
		if err != nil {
			return 0, err
		}
		if err := table.Set(ctx, tx, id, site.Values{"secret": sealed}); err != nil {
			return 0, err
		}
		return id, s.collection().Enqueue(ctx, tx, on.AccountID, on.ServiceID)
	})
}

// maxRows bounds the certificates of a service.
const maxRows = 200

func currentOf(b certificate.Bundle) current {
	leaf := b.Leaf()
	from, to := clock.Precise(leaf.NotBefore), clock.Precise(leaf.NotAfter)
	return current{
		chain: b.ChainPEM(), sans: sorted(leaf.DNSNames), issuer: issuer(leaf), fingerprint: certificate.Fingerprint(leaf),
		issuedAt: &from, expiresAt: &to,
	}
}

func issuer(c *x509.Certificate) string {
	if c.Issuer.CommonName != "" {
		return printable(c.Issuer.CommonName)
	}
	return printable(strings.Join(c.Issuer.Organization, ", "))
}

func sorted(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strings.ToLower(strings.TrimSuffix(name, "."))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// changeSettings changes auto_renew and hsts of a certificate.
func (s *Service) changeSettings(ctx context.Context, on site.Site, w wish) (row, error) {
	return s.change(ctx, on, func(ctx context.Context, tx *db.Tx) (int64, error) {
		r, err := table.Get(ctx, tx, on.AccountID, on.ServiceID, w.id)
		if err != nil {
			return 0, err
		}
		if err := w.applySettings(&r, s.Clock.Now()); err != nil {
			return 0, err
		}
		if err := s.collection().Update(ctx, tx, r.ID, site.Values{"auto_renew": r.autoRenew, "hsts": r.hsts, "due_at": tx.Now}); err != nil {
			return 0, err
		}
		return r.ID, s.collection().Enqueue(ctx, tx, on.AccountID, on.ServiceID)
	})
}

// applySettings writes auto_renew and hsts of a wish into a row. HSTS binds browsers to HTTPS for long, so it needs a valid
// certificate.
func (w wish) applySettings(r *row, now time.Time) error {
	if w.autoRenew != nil {
		if *w.autoRenew && r.kind == Custom {
			return fault.Invalid("auto_renew", "ssl_own_renews")
		}
		r.autoRenew = *w.autoRenew
	}
	if w.hsts != nil {
		if *w.hsts && !r.hsts && !r.valid(now) {
			return fault.UnsupportedOperation.Wrapf("certificates: row %d has none that is valid", r.ID)
		}
		r.hsts = *w.hsts
	}
	return nil
}

// maxNames bounds the names of one certificate.
const maxNames = 50

// issue has a certificate ordered, or the one for the same names renewed.
func (s *Service) issue(ctx context.Context, on site.Site, domains []site.Domain, w wish) (row, bool, error) {
	if w.id != 0 {
		old, err := table.Get(ctx, s.DB, on.AccountID, on.ServiceID, w.id)
		if err != nil {
			return row{}, false, err
		}
		if old.kind != ACME || len(w.names) > 0 {
			return row{}, false, fault.Invalid("certificate_id", "ssl_own_renews")
		}
		w.names = old.names
		if w.challenge == "" {
			w.challenge = old.challenge
		}
	}
	names, err := w.canonical(usable(domains))
	if err != nil {
		return row{}, false, err
	}
	if len(names) == 0 { // no domain of the service may have one
		if err := s.Domains.Refusal(ctx, s.DB, on.AccountID, on.Domain); err != nil {
			return row{}, false, err
		}
		return row{}, false, (&refusal{name: on.Domain, def: errNotPointed}).fault()
	}
	if w.challenge == "" {
		w.challenge = HTTP
		if slices.ContainsFunc(names, isWildcard) {
			w.challenge = DNS
		}
	}
	asked, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if refused := s.preflight(asked, on, domains, names, w.challenge); refused != nil {
		return row{}, false, refused.fault()
	}
	fresh := false
	r, err := s.change(ctx, on, func(ctx context.Context, tx *db.Tx) (int64, error) {
		all, err := table.OfService(ctx, tx, on.ServiceID)
		if err != nil {
			return 0, err
		}
		if err := s.checkRates(ctx, tx, names, false); err != nil {
			return 0, err
		}
		i := slices.IndexFunc(all, func(r row) bool { return r.kind == ACME && slices.Equal(withoutWWW(r.names), withoutWWW(names)) })
		if i < 0 {
			fresh = true
			return s.add(ctx, tx, on, all, row{names: names, challenge: w.challenge, autoRenew: w.autoRenew == nil || *w.autoRenew}, w)
		}
		r := all[i]
		if r.phase == ordering {
			return 0, fault.JobRunning.New()
		}
		r.challenge = w.challenge
		if err := w.applySettings(&r, s.Clock.Now()); err != nil {
			return 0, err
		}
		if err := s.setWanted(ctx, tx, r); err != nil {
			return 0, err
		}
		return r.ID, s.enqueueTend(ctx, tx, r)
	})
	return r, fresh, err
}

// add makes the row of a certificate that is to be ordered.
func (s *Service) add(ctx context.Context, tx *db.Tx, on site.Site, all []row, r row, w wish) (int64, error) {
	if len(all) >= maxRows {
		return 0, fault.LimitReached.New()
	}
	if w.hsts != nil && *w.hsts {
		return 0, fault.UnsupportedOperation.Wrapf("certificates: HSTS before there is a certificate")
	}
	r.kind, r.phase = ACME, wanted
	id, err := s.collection().Insert(ctx, tx, on.AccountID, on.ServiceID, r.values(tx.Now))
	if err != nil {
		return 0, err
	}
	r.Owned = site.Owned{ID: id, AccountID: on.AccountID, ServiceID: on.ServiceID}
	return id, s.enqueueTend(ctx, tx, r)
}

// canonical returns the names of a wish in the form that is stored; without any, the name of the primary domain.
func (w wish) canonical(domains []site.Domain) ([]string, error) {
	if len(w.names) == 0 && len(domains) > 0 {
		return []string{domains[0].Name}, nil
	}
	if len(w.names) > maxNames {
		return nil, fault.LimitReached.New()
	}
	var names []string
	for _, name := range w.names {
		bare, wild := strings.CutPrefix(strings.TrimSpace(name), "*.")
		domain, err := domainname.Domain(bare)
		if err != nil {
			return nil, fault.DomainInvalid.Wrap(err)
		}
		if wild {
			domain = "*." + domain
		}
		names = append(names, domain)
	}
	return sorted(names), nil
}

// withoutWWW are the names without each "www." of another of them. An order adds these by itself where it can, so that names which
// differ by them only are those of one certificate.
func withoutWWW(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		bare, is := strings.CutPrefix(name, "www.")
		return is && slices.Contains(names, bare)
	})
}

func isWildcard(name string) bool { return strings.HasPrefix(name, "*.") }

// How many orders may fail for a name in an hour, and how many certificates that are no renewals a name may have in a week.
// Authorities count so too, and refuse for longer.
const (
	mostFailures = 5
	mostIssued   = 5
	week         = 7 * day
)

// checkRates refuses an order that would exceed the limits of the authority. What was issued does not count against a renewal
// that is due: authorities do not count these, and a site must not lose its certificate.
func (s *Service) checkRates(ctx context.Context, q db.Querier, names []string, renews bool) error {
	now := s.Clock.Now()
	for _, limit := range []struct {
		issued bool
		most   int
		within time.Duration
	}{{false, mostFailures, time.Hour}, {true, mostIssued, week}} {
		if limit.issued && renews {
			continue
		}
		found, err := attempts(ctx, q, names, limit.issued, now.Add(-limit.within))
		if err != nil {
			return err
		}
		for _, name := range names {
			if at := found[name]; len(at) >= limit.most {
				again := at[len(at)-limit.most].Add(limit.within)
				return rateLimited(name, again)
			}
		}
	}
	if !s.Authority.on() {
		return nil
	}
	a, err := getAuthority(ctx, q, s.Authority.Directory)
	if err == nil && a.pausedUntil != nil && now.Before(*a.pausedUntil) {
		return rateLimited(names[0], *a.pausedUntil)
	}
	return err
}

// rateLimited is the refusal of an order before a time.
func rateLimited(name string, again time.Time) error {
	return errLimited.With(fault.Fields{"domain": name, "retry_at": again.UTC().Format(time.RFC3339)})
}
