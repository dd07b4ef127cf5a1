package claims

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
)

// Names are the names that services answer to. A domain stands for itself and all names below it.
type Names interface {
	// Used tells whether services of the account answer to names of the domain.
	Used(ctx context.Context, q db.Querier, accountID int64, domain string) (bool, error)
	// LeadHere tells whether the DNS of one of these names led to its service when it was last asked.
	LeadHere(ctx context.Context, q db.Querier, accountID int64, domain string) (bool, error)
	// OfService are the names of one service.
	OfService(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]string, error)
	// Displace takes the names from the account's services, which go on under names that nobody reaches. Reinstate gives
	// them back.
	Displace(ctx context.Context, tx *db.Tx, accountID int64, domain string) error
	Reinstate(ctx context.Context, tx *db.Tx, accountID int64, domain string) error
	// Changed tells the account's services with such names that what may be served under these has changed.
	Changed(ctx context.Context, tx *db.Tx, accountID int64, domain string) error
	// Contested notifies the account that another has proven control, and takes the domain at a time.
	Contested(ctx context.Context, tx *db.Tx, accountID int64, domain string, takesAt time.Time) error
}

// Services knows how long what ended can come back.
type Services interface {
	KeptFor(ctx context.Context, q db.Querier, serviceID int64) (time.Duration, error)
}

// Worlds distinguishes sandboxes of resellers from the live world.
type Worlds interface {
	Sandbox(ctx context.Context, q db.Querier, accountID int64) (bool, error)
}

// Config is what the section works with; all but Protected is needed.
type Config struct {
	DB     *db.DB
	Clock  clock.Clock
	Log    *slog.Logger
	Lookup Lookup
	// Installation distinguishes this installation from others: tokens are made of it.
	Installation string
	// Nameservers are the public ones of this installation.
	Nameservers []string
	// Protected are the operator's additions to the shipped list.
	Protected []string
	// Notice is how long a holder whose visitors come here has, after it was notified, to prove control of a domain of which
	// another has. One who has shown nothing yet has idleNotice.
	Notice time.Duration
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Names    Names
	Services Services
	Worlds   Worlds
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
	protected protected
}

// New makes the section. Connect comes before its use.
func New(c Config) *Service {
	return &Service{Config: c, protected: parseProtected(append([]string{shipped}, c.Protected...)...)}
}

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Check refuses a name that the account may not use, and changes nothing: with fault.DomainVerificationRequired when a
// proof would change that, else with fault.DomainUnavailable. The account is of the live world.
func (s *Service) Check(ctx context.Context, q db.Querier, accountID int64, name string) error {
	subject, err := s.subjectOf(name)
	if err != nil {
		return fault.DomainInvalid.Wrap(err)
	}
	return s.judge(ctx, q, accountID, subject)
}

func (s *Service) judge(ctx context.Context, q db.Querier, accountID int64, subject subject) error {
	h, proof, err := situation(ctx, q, accountID, subject.domain)
	if err != nil {
		return err
	}
	switch decide(subject, h, accountID, proof) {
	case granted:
		return nil
	case unavailable:
		return fault.DomainUnavailable.New()
	case displaces, waits, needsProof: // a proof that counts is followed by the job, not by an order
	}
	return s.required(accountID, subject.domain)
}

// Take is Check, and the account holds the domain of the name from this transaction on. Of two at once one is refused.
func (s *Service) Take(ctx context.Context, tx *db.Tx, accountID int64, name string) error {
	subject, err := s.subjectOf(name)
	if err != nil {
		return fault.DomainInvalid.Wrap(err)
	}
	if err := queueLock(ctx, tx, subject.domain); err != nil {
		return err
	}
	if err := s.judge(ctx, tx, accountID, subject); err != nil {
		return err
	}
	refused := s.required(accountID, subject.domain)
	if subject.trial {
		refused = fault.DomainUnavailable.New()
	}
	if err := hold(ctx, tx, accountID, subject.domain, nil, refused); err != nil {
		return err
	}
	return putClaim(ctx, tx, accountID, subject.domain, tokenOf(s.Installation, accountID, subject.domain))
}

// Registered hears that a domain is registered here for an account of the live world: it holds it, whoever else did.
func (s *Service) Registered(ctx context.Context, tx *db.Tx, accountID int64, name string) error {
	subject, err := s.subjectOf(name)
	if err != nil || subject.domain != name {
		return nil //nolint:nilerr // a registry below which others sell too: that one has it shows nothing of the rest
	}
	if err := queueLock(ctx, tx, name); err != nil {
		return err
	}
	if err := putClaim(ctx, tx, accountID, name, tokenOf(s.Installation, accountID, name)); err != nil {
		return err
	}
	if err := setProof(ctx, tx, accountID, name, ByRegistrar); err != nil {
		return err
	}
	return s.giveTo(ctx, tx, accountID, name, nil)
}

// Unregistered hears that a registration is over. The account goes on holding the domain while it uses it, as one who has
// not proven control.
func (s *Service) Unregistered(ctx context.Context, tx *db.Tx, accountID int64, name string) error {
	c, err := getDomain(ctx, tx, accountID, name)
	if errors.Is(err, fault.NotFound) || err == nil && c.proof != ByRegistrar {
		return nil
	}
	if err == nil {
		err = setProof(ctx, tx, accountID, name, NoProof)
	}
	if err != nil {
		return err
	}
	// Visitors may still come here. The next looks tell.
	c.leadsHereAt, c.delegatedAt, c.checkAt = &tx.Now, &tx.Now, tx.Now
	if err := setChecked(ctx, tx, c); err != nil {
		return err
	}
	return s.Names.Changed(ctx, tx, accountID, name)
}

// giveTo makes an account the holder of a domain, and displaces who holds it. until bounds how long it is held unused.
func (s *Service) giveTo(ctx context.Context, tx *db.Tx, accountID int64, domain string, until *time.Time) error {
	holder, err := lockHolder(ctx, tx, domain)
	switch {
	case err != nil:
		return err
	case holder == 0:
		err = hold(ctx, tx, accountID, domain, until, fmt.Errorf("claims: %s was taken meanwhile", domain))
	case holder != accountID:
		err = s.pass(ctx, tx, domain, holder, accountID, until)
	}
	if err != nil {
		return err
	}
	if err := s.Names.Reinstate(ctx, tx, accountID, domain); err != nil {
		return err
	}
	return s.Names.Changed(ctx, tx, accountID, domain)
}

func (s *Service) pass(ctx context.Context, tx *db.Tx, domain string, from, to int64, until *time.Time) error {
	passed, err := passOn(ctx, tx, domain, from, to, until)
	if err == nil && !passed {
		err = fmt.Errorf("claims: %s was taken meanwhile", domain)
	}
	if err != nil {
		return err
	}
	if err := setLost(ctx, tx, from, domain); err != nil {
		return err
	}
	s.Log.InfoContext(ctx, "claims: a domain has another holder", "domain", domain, "from", from, "to", to)
	return s.Names.Displace(ctx, tx, from, domain)
}

// Follow hears of services that end, and of names that go.
func (s *Service) Follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	var data struct {
		Domain, Name *string
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return fmt.Errorf("claims: event %d: %w", e.ID, err)
	}
	names, err := s.Names.OfService(ctx, tx, e.AccountID, e.SubjectID)
	if err != nil {
		return err
	}
	for _, name := range []*string{data.Domain, data.Name} {
		if name != nil {
			names = append(names, *name)
		}
	}
	var kept time.Duration
	if e.Type == "service.terminated" {
		if kept, err = s.Services.KeptFor(ctx, tx, e.SubjectID); err != nil {
			return err
		}
	}
	done := map[string]bool{}
	for _, name := range names {
		subject, err := s.subjectOf(name)
		if err != nil || done[subject.domain] {
			continue // such as the name of a service that was displaced
		}
		done[subject.domain] = true
		if kept > 0 {
			if err := holdUntil(ctx, tx, e.AccountID, subject.domain, tx.Now.Add(kept)); err != nil {
				return err
			}
		}
		if err := hasten(ctx, tx, e.AccountID, subject.domain); err != nil {
			return err
		}
	}
	return nil
}

// Verifications tells of names that an account uses, by name.
func (s *Service) Verifications(ctx context.Context, q db.Querier, accountID int64, names []string) (map[string]site.Verification, error) {
	all := make(map[string]site.Verification, len(names))
	if len(names) == 0 {
		return all, nil
	}
	domains := map[string]string{}
	var wanted []string
	for _, name := range names {
		subject, err := s.subjectOf(name)
		if err != nil {
			continue
		}
		domains[name] = subject.domain
		wanted = append(wanted, subject.domain)
	}
	claims, err := ofDomains(ctx, q, accountID, wanted)
	if err != nil {
		return nil, err
	}
	byDomain := map[string]claim{}
	for _, c := range claims {
		byDomain[c.domain] = c
	}
	for name, domain := range domains {
		if c, ok := byDomain[domain]; ok {
			all[name] = s.verificationOf(c)
		}
	}
	return all, nil
}

func (s *Service) verificationOf(c claim) site.Verification {
	v := site.Verification{State: string(c.state()), Method: string(c.proof), Cleared: c.cleared(), CheckedAt: c.checkedAt, LosesAt: c.losesAt}
	if c.state() != NotRequired {
		r := recordOf(c.domain, c.token)
		v.Record, v.Nameservers = &r, nameserversOf(s.Nameservers, c.token)
	}
	return v
}
