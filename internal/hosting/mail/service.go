package mail

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

// Domains are the domains of services.
type Domains interface {
	// Hosted lists those of a service, the primary one first. The account stands in the query.
	Hosted(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]site.Domain, error)
	// Refusal says what a domain of the account's lacks to have mail: fault.DomainVerificationRequired; nil when nothing.
	Refusal(ctx context.Context, q db.Querier, accountID int64, name string) error
}

// Config is what the section works with; all but HashCost is needed.
type Config struct {
	site.Base
	Clock    clock.Clock
	Events   outbox.Events
	Domains  Domains
	Zones    Zones
	Resolver Resolver
	// HashCost is bcrypt's, 10 when it is zero: a mail server hashes at every sign-in, of which mail
	// programs make many.
	HashCost int
}

// Service is the section's use cases.
type Service struct{ Config }

// New makes the section.
func New(c Config) *Service {
	if c.HashCost == 0 {
		c.HashCost = 10
	}
	return &Service{c}
}

var _ site.Part = (*Service)(nil)

// domains are those that a service answers to.
func (s *Service) domains(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]site.Domain, error) {
	all, err := s.Domains.Hosted(ctx, q, accountID, serviceID)
	return slices.DeleteFunc(all, func(d site.Domain) bool { return !d.Served }), err
}

// mailContext is mailboxes with what is mailContext beside them.
type mailContext struct {
	on      site.Site
	domains []site.Domain
	server  panel.MailServer
	known   bool // whether server is known
	mail    map[string]mailDomain
}

func (s *Service) loadContext(ctx context.Context, q db.Querier, on site.Site) (mailContext, error) {
	v := mailContext{on: on, mail: map[string]mailDomain{}}
	var err error
	if v.domains, err = s.domains(ctx, q, on.AccountID, on.ServiceID); err != nil {
		return v, err
	}
	if v.server, v.known, err = serverOf(ctx, q, on.ServiceID); err != nil {
		return v, err
	}
	all, err := domainsOf(ctx, q, on.ServiceID)
	for _, d := range all {
		v.mail[d.name] = d
	}
	return v, err
}

func (s *Service) list(ctx context.Context, accountID, serviceID int64, p page.Params) ([]box, int, mailContext, error) {
	on, rows, total, err := s.collection().Page(ctx, accountID, serviceID, p)
	if err != nil {
		return nil, 0, mailContext{}, err
	}
	v, err := s.loadContext(ctx, s.DB, on)
	return rows, total, v, err
}

// write runs f on the mailboxes of a service that takes changes, and answers the mailbox with that id.
func (s *Service) write(ctx context.Context, accountID, serviceID int64,
	f func(ctx context.Context, tx *db.Tx, on site.Site, all []box, domains []site.Domain) (id int64, err error),
) (b box, v mailContext, err error) {
	c := s.collection()
	err = c.Change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		all, err := c.OfService(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		if v, err = s.loadContext(ctx, tx, on); err != nil {
			return err
		}
		id, err := f(ctx, tx, on, all, v.domains)
		if err != nil {
			return err
		}
		b, err = c.Get(ctx, tx, accountID, serviceID, id)
		return err
	})
	return b, v, err
}

// create adds a mailbox to one of the account's services.
func (s *Service) create(ctx context.Context, accountID, serviceID int64, localPart, domain string, c change) (box, mailContext, error) {
	// The password is hashed before anything is locked: that takes its time. Who may not have the
	// mailbox should not learn of the password first, but of the service.
	if _, err := s.Services.Site(ctx, s.DB, accountID, serviceID); err != nil {
		return box{}, mailContext{}, err
	}
	hash := ""
	if c.password != nil {
		var err error
		if hash, err = s.hash(*c.password, localPart+"@"+domain); err != nil {
			return box{}, mailContext{}, err
		}
	}
	return s.write(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site, all []box, domains []site.Domain) (int64, error) {
		b, err := newBox(localPart, domain, domains)
		if err != nil {
			return 0, cmp.Or(s.Domains.Refusal(ctx, tx, accountID, domain), err)
		}
		disk := on.Limits.Of("disk_mb")
		if disk != site.Unlimited && disk > 0 {
			b.what.QuotaMB = min(b.what.QuotaMB, disk) // what is usual fits into any plan
		}
		if b, err = b.with(c, hash, disk, domains); err != nil {
			return 0, err
		}
		if err := clash(all, b); err != nil {
			return 0, err
		}
		id, err := s.insert(ctx, tx, on, b)
		if err != nil {
			return 0, err
		}
		return id, s.collection().Enqueue(ctx, tx, accountID, serviceID)
	})
}

// update changes a mailbox of one of the account's services.
func (s *Service) update(ctx context.Context, accountID, serviceID, id int64, c change) (box, mailContext, error) {
	hash := ""
	if c.password != nil {
		b, err := s.collection().Get(ctx, s.DB, accountID, serviceID, id)
		if err != nil {
			return b, mailContext{}, err
		}
		if hash, err = s.hash(*c.password, b.what.Address); err != nil {
			return b, mailContext{}, err
		}
	}
	return s.write(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site, all []box, domains []site.Domain) (int64, error) {
		old, err := s.collection().Get(ctx, tx, accountID, serviceID, id)
		if err != nil {
			return 0, err
		}
		if old.Status == site.Removing {
			return 0, fault.JobRunning.New()
		}
		b, err := old.with(c, hash, on.Limits.Of("disk_mb"), domains)
		if err != nil {
			return 0, err
		}
		if err := clash(all, b); err != nil {
			return 0, err
		}
		was := old.what
		was.PasswordTag = panel.PasswordTag(was.PasswordHash)
		if panel.SameMailbox(was, b.what) && old.Status != site.Failed {
			return id, nil
		}
		if err := s.setWish(ctx, tx, b); err != nil {
			return 0, err
		}
		return id, s.collection().Enqueue(ctx, tx, accountID, serviceID)
	})
}

// Count implements site.Part.
func (s *Service) Count(ctx context.Context, q db.Querier, serviceID int64, into map[string]int64) error {
	return s.collection().Count(ctx, q, serviceID, into)
}

// Apply implements site.Part.
func (s *Service) Apply(ctx context.Context, accountID, serviceID int64) error {
	return site.Apply(ctx, s.DB, s.Services, accountID, serviceID, s.collection().End, s.follow)
}

func (s *Service) follow(ctx context.Context, on site.Site) error {
	if err := s.collection().Follow(ctx, on); err != nil {
		return err
	}
	mail, err := site.On[panel.Mail](s.Panels, on, panel.CapMail)
	if errors.Is(err, panel.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.updateZones(ctx, mail, on)
}

// Follow handles the events of domains: the panel compares the mailboxes of the service again.
func (s *Service) Follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	return s.collection().Enqueue(ctx, tx, e.AccountID, e.SubjectID)
}

// kind is how the mailboxes of a service follow.
func (s *Service) kind(ctx context.Context, on site.Site, mail panel.Mail) (site.Kind[box, panel.Mailbox], error) {
	domains, err := s.domains(ctx, s.DB, on.AccountID, on.ServiceID)
	return site.Kind[box, panel.Mailbox]{
		Wish: func(_ context.Context, b box) (panel.Mailbox, error) { return b.served(domains), nil },
		Same: func(have, wish panel.Mailbox) bool {
			// The panel keeps the mailboxes of a domain that has left, and refuses to set them again.
			return panel.SameMailbox(have, wish) || !owned(domains, domainOf(wish.Address))
		},
		List: mail.Mailboxes, Set: mail.SetMailbox, Remove: mail.RemoveMailbox,
		Name: func(m panel.Mailbox) string { return m.Address },
	}, err
}

// observed writes what the mail server counted, and emits mailbox.suspended.
func (s *Service) observed(ctx context.Context, tx *db.Tx, b box, now panel.Mailbox) error {
	if b.toldSuspended != b.what.Suspended {
		changed, err := setToldSuspended(ctx, tx, b)
		if err != nil {
			return err
		}
		if changed && b.what.Suspended {
			if err := s.emit(ctx, tx, "mailbox.suspended", b); err != nil {
				return err
			}
		}
	}
	return s.noteUse(ctx, tx, b, now)
}

// noteUse writes what the mail server counted, and emits mailbox.quota_reached when a mailbox becomes full.
func (s *Service) noteUse(ctx context.Context, tx *db.Tx, b box, m panel.Mailbox) error {
	m.QuotaMB = b.what.QuotaMB
	isFull := full(m, b.full)
	if err := setUse(ctx, tx, b.ID, m, isFull); err != nil {
		return err
	}
	if isFull && !b.full {
		return s.emit(ctx, tx, "mailbox.quota_reached", b)
	}
	return nil
}

// eventWire is a mailbox in the data of its events.
type eventWire struct {
	ID        int64  `json:"id"`
	ServiceID int64  `json:"service_id"`
	Address   string `json:"address"`
	QuotaMB   int64  `json:"quota_mb"`
}

func (s *Service) emit(ctx context.Context, tx *db.Tx, eventType string, b box) error {
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: eventType, AccountID: b.AccountID, Subject: "service", SubjectID: b.ServiceID,
		Data: eventWire{b.ID, b.ServiceID, b.what.Address, b.what.QuotaMB},
	})
}

// updateZones stores what the panel reports of a service's mail, and writes the records of its domains into the zones.
func (s *Service) updateZones(ctx context.Context, mail panel.Mail, on site.Site) error {
	domains, err := mail.MailDomains(ctx, on.Ref)
	if err != nil {
		return err
	}
	server, err := mail.MailServer(ctx, on.Ref)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		now, err := s.Services.LockSite(ctx, tx, on.AccountID, on.ServiceID)
		if err != nil || !now.Online() {
			return err
		}
		if _, known, err := serverOf(ctx, tx, on.ServiceID); err != nil || (!known && len(domains) == 0) {
			return err // a service that never had mail
		}
		if err := putServer(ctx, tx, on.AccountID, on.ServiceID, server); err != nil {
			return err
		}
		if err := putDomains(ctx, tx, on.AccountID, on.ServiceID, domains); err != nil {
			return err
		}
		rows, err := domainsOf(ctx, tx, on.ServiceID)
		if err != nil {
			return err
		}
		records := []site.Record{}
		for _, d := range rows {
			records = append(records, d.records(server, tx.Now)...)
		}
		return s.Zones.SetSystem(ctx, tx, on.AccountID, on.ServiceID, recordsOwner, records)
	})
}

// measureEvery is how often mailboxes are measured.
const measureEvery = 5 * time.Minute

// MeasureDue has the mailboxes measured of every service that is due. A periodic job calls it.
func (s *Service) MeasureDue(ctx context.Context) error {
	return site.SweepEach(ctx, s.DB, takeDue, s.enqueueMeasure)
}

// Measure asks the panel what the mailboxes of a service use.
func (s *Service) Measure(ctx context.Context, accountID, serviceID int64) error {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil || !on.Online() {
		return err
	}
	mail, err := site.On[panel.Mail](s.Panels, on, panel.CapMail)
	if err != nil {
		return err
	}
	all, err := mail.Mailboxes(ctx, on.Ref)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		rows, err := s.collection().OfService(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		counted := make(map[string]panel.Mailbox, len(all))
		for _, m := range all {
			counted[m.Address] = m
		}
		for _, b := range rows {
			if m, ok := counted[b.what.Address]; ok {
				if err := s.noteUse(ctx, tx, b, m); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
