package mail

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/port/panel"
)

// book keeps the records and implements the port with them. The server's part is plugged in.
type book struct {
	store    *record.Store[state]
	accounts facility.Lookup
	// publish makes the daemons follow the record of an account.
	publish func(ctx context.Context, account string) error
	// measure returns the use of mailboxes, by address.
	measure func(ctx context.Context, account string, s state) (map[string]use, error)
	// shut ends the sessions of users who may no longer have them.
	shut func(ctx context.Context, addresses ...string) error
	// leads reports whether the DNS points a domain's mail to other servers; nil: nobody is asked.
	leads func(ctx context.Context, domain string) (elsewhere, known bool)
	// erase removes the mail of a mailbox, or of all of an account.
	erase func(account string, path ...string) error
}

// use is the use of a mailbox, by the mail server's own counters.
type use struct {
	bytes, messages int64
	lastLogin       time.Time
}

func openBook(dir string, lookup facility.Lookup) (book, error) {
	store, err := record.Open[state](filepath.Join(dir, "accounts"))
	if err != nil {
		return book{}, fmt.Errorf("mail: %w", err)
	}
	return book{store: store, accounts: lookup}, nil
}

// Capability implements facility.Facility.
func (book) Capability() panel.Capability { return panel.CapMail }

// told updates the record by the account.
func (s *state) told(a accounts.Account) {
	if a.Idle() && !s.Suspended {
		s.Shut = addresses(*s)
	}
	s.Ref, s.UID, s.GID, s.Suspended = a.Ref, a.User.UID, a.User.GID, a.Idle()
	s.Held, s.Relay = a.OnHold() || a.Left > 0, ""
	if a.Left > 0 {
		s.Relay = a.Forward.Mail
	}
	s.Domains, s.Mute = nil, nil
	for _, d := range a.Domains {
		s.Domains = append(s.Domains, d.Name)
		if d.NoMail {
			s.Mute = append(s.Mute, d.Name)
		}
	}
	if s.Secret == "" {
		s.Secret = newSecret()
	}
	// A key ends with its domain: the next owner of the domain gets another.
	maps.DeleteFunc(s.Keys, func(domain string, _ key) bool { return !s.owns(domain) })
	maps.DeleteFunc(s.Elsewhere, func(domain string, _ bool) bool { return !s.owns(domain) })
}

// Apply implements facility.Facility.
func (b book) Apply(ctx context.Context, a accounts.Account) error {
	before := b.store.Get(a.Name)
	after := before
	after.Keys, after.Elsewhere = maps.Clone(before.Keys), maps.Clone(before.Elsewhere)
	after.told(a)
	// A domain that returns finds its mailboxes, and not its former key.
	keys, err := after.missingKeys(after.mailDomains())
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(before, after) || len(keys) > 0 {
		// Ask before anybody reads that the account has the domain.
		found := b.ask(ctx, after.unasked())
		_, err := b.store.Update(a.Name, func(s *state) error {
			s.told(a)
			s.addKeys(keys)
			s.learn(found)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := b.publish(ctx, a.Name); err != nil {
		return err
	}
	return b.end(ctx, a.Name, after.Shut...)
}

// end ends sessions; they stay in the record until then, so an interrupted call is repeated.
func (b book) end(ctx context.Context, account string, of ...string) error {
	if len(of) == 0 {
		return nil
	}
	if err := b.shut(ctx, of...); err != nil {
		return err
	}
	_, err := b.store.Update(account, func(s *state) error {
		s.Shut = slices.DeleteFunc(slices.Clone(s.Shut), func(address string) bool { return slices.Contains(of, address) })
		return nil
	})
	return err
}

// domainsOf are the domains of a mailbox and its aliases.
func domainsOf(m panel.Mailbox) []string {
	var all []string
	for _, address := range append([]string{m.Address}, m.Aliases...) {
		all = append(all, domainOf(address))
	}
	return all
}

func addresses(s state) []string {
	all := make([]string, len(s.Boxes))
	for i, m := range s.Boxes {
		all[i] = m.Address
	}
	return all
}

// Remove implements facility.Facility.
func (b book) Remove(ctx context.Context, a accounts.Account) error {
	s := b.store.Get(a.Name)
	if s.Ref == "" {
		return nil
	}
	// Remove the mailboxes before the mail, so that nothing is delivered into what is being erased.
	_, err := b.store.Update(a.Name, func(s *state) error {
		s.Boxes, s.Domains, s.Keys, s.Secret = nil, nil, nil, ""
		return nil
	})
	if err != nil {
		return err
	}
	if err := b.publish(ctx, a.Name); err != nil {
		return err
	}
	if err := b.shut(ctx, addresses(s)...); err != nil {
		return err
	}
	if err := b.erase(a.Name); err != nil {
		return err
	}
	return b.store.Delete(a.Name)
}

// Count implements facility.Counter.
func (b book) Count(ctx context.Context, a accounts.Account, into *panel.Usage) error {
	uses, err := b.measure(ctx, a.Name, b.store.Get(a.Name))
	for _, u := range uses {
		into.DiskBytes += u.bytes
		into.MailBytes += u.bytes
		into.Inodes += u.messages
	}
	return err
}

// Mailboxes implements panel.Mail.
func (b book) Mailboxes(ctx context.Context, ref string) ([]panel.Mailbox, error) {
	a, err := b.accounts(ref)
	if err != nil {
		return nil, panel.Wrap("mail.list", ref, err)
	}
	s := b.store.Get(a.Name)
	uses, err := b.measure(ctx, a.Name, s)
	if err != nil {
		return nil, panel.Wrap("mail.list", ref, err)
	}
	all := make([]panel.Mailbox, len(s.Boxes))
	for i, m := range s.Boxes {
		all[i] = answer(m, uses[m.Address])
	}
	return all, nil
}

// answer converts a mailbox to the port's form.
func answer(m panel.Mailbox, u use) panel.Mailbox {
	m.PasswordTag, m.PasswordHash = panel.PasswordTag(m.PasswordHash), ""
	m.UsedBytes, m.Messages, m.LastLoginAt = u.bytes, u.messages, u.lastLogin
	return m
}

// SetMailbox implements panel.Mail.
func (b book) SetMailbox(ctx context.Context, ref string, m panel.Mailbox) (panel.Mailbox, error) {
	m, err := b.setMailbox(ctx, ref, m)
	return m, panel.Wrap("mail.set", ref, err)
}

func (b book) setMailbox(ctx context.Context, ref string, m panel.Mailbox) (panel.Mailbox, error) {
	a, err := b.accounts(ref)
	if err != nil {
		return m, err
	}
	if a.Suspended {
		return m, panel.ErrSuspended
	}
	owns := func(domain string) bool { return a.Find(domain) >= 0 }
	if m, err = panel.CheckMailbox(m, owns); err != nil {
		return m, err
	}
	m.PasswordTag, m.UsedBytes, m.Messages, m.LastLoginAt = "", 0, 0, time.Time{}
	if slices.Contains(b.store.Get(a.Name).Gone, m.Address) {
		local, domain, _ := strings.Cut(m.Address, "@")
		if err := b.drop(ctx, a.Name, m.Address, domain, local); err != nil {
			return m, err
		}
	}
	domains := domainsOf(m)
	keys, err := b.store.Get(a.Name).missingKeys(domains)
	if err != nil {
		return m, err
	}
	with := state{Domains: domains, Boxes: []panel.Mailbox{m}, Elsewhere: b.store.Get(a.Name).Elsewhere}
	found := b.ask(ctx, with.unasked())
	locked := false
	s, err := b.store.Update(a.Name, func(s *state) error {
		s.told(a)
		s.learn(found)
		i := s.find(m.Address)
		var before panel.Mailbox
		if i >= 0 {
			before = s.Boxes[i]
			if m.PasswordHash == "" {
				m.PasswordHash = before.PasswordHash
			}
		}
		if m.PasswordHash == "" {
			return fmt.Errorf("%w: %s has no password", panel.ErrInvalid, m.Address)
		}
		if err := s.room(m); err != nil {
			return err
		}
		if i < 0 {
			s.Boxes = append(s.Boxes, m)
			slices.SortFunc(s.Boxes, func(a, b panel.Mailbox) int { return strings.Compare(a.Address, b.Address) })
		} else {
			s.Boxes[i] = m
		}
		locked = m.Suspended && !before.Suspended || before.PasswordHash != "" && m.PasswordHash != before.PasswordHash ||
			before.Protocols.IMAP && !m.Protocols.IMAP || before.Protocols.POP3 && !m.Protocols.POP3 || slices.Contains(s.Shut, m.Address)
		if locked && !slices.Contains(s.Shut, m.Address) {
			s.Shut = append(slices.Clone(s.Shut), m.Address)
		}
		s.addKeys(keys)
		return nil
	})
	if err != nil {
		return m, err
	}
	if err := b.publish(ctx, a.Name); err != nil {
		return m, err
	}
	if locked {
		if err := b.end(ctx, a.Name, m.Address); err != nil {
			return m, err
		}
	}
	uses, err := b.measure(ctx, a.Name, s)
	return answer(m, uses[m.Address]), err
}

// missingKeys generates the keys of domains without one; that takes time, which no other change waits for.
func (s state) missingKeys(domains []string) (map[string]key, error) {
	keys := map[string]key{}
	for _, domain := range domains {
		if _, ok := s.Keys[domain]; ok {
			continue
		}
		if _, ok := keys[domain]; ok {
			continue
		}
		k, err := newKey()
		if err != nil {
			return nil, err
		}
		keys[domain] = k
	}
	return keys, nil
}

func (s *state) addKeys(keys map[string]key) {
	for domain, k := range keys {
		if _, ok := s.Keys[domain]; ok || !s.owns(domain) {
			continue // created, or removed, meanwhile
		}
		if s.Keys == nil {
			s.Keys = map[string]key{}
		}
		s.Keys[domain] = k
	}
}

// room returns why an account cannot have a further mailbox.
func (s state) room(m panel.Mailbox) error {
	taken := map[string]bool{}
	for _, other := range s.Boxes {
		if other.Address == m.Address {
			continue
		}
		if other.CatchAll && m.CatchAll && domainOf(other.Address) == domainOf(m.Address) {
			return fmt.Errorf("%w: %s catches all of %s", panel.ErrExists, other.Address, domainOf(m.Address))
		}
		for _, a := range append([]string{other.Address}, other.Aliases...) {
			taken[a] = true
		}
	}
	for _, a := range append([]string{m.Address}, m.Aliases...) {
		if taken[a] {
			return fmt.Errorf("%w: %s is another mailbox's", panel.ErrExists, a)
		}
	}
	return nil
}

// RemoveMailbox implements panel.Mail.
func (b book) RemoveMailbox(ctx context.Context, ref, address string) error {
	return panel.Wrap("mail.remove", ref, b.removeMailbox(ctx, ref, address))
}

func (b book) removeMailbox(ctx context.Context, ref, address string) error {
	a, err := b.accounts(ref)
	if err != nil {
		return err
	}
	if a.Suspended {
		return panel.ErrSuspended
	}
	address, local, domain, err := panel.MailAddress(address)
	if err != nil {
		return err
	}
	if b.store.Get(a.Name).find(address) < 0 {
		return fmt.Errorf("%w: mailbox %s", panel.ErrNotFound, address)
	}
	return b.drop(ctx, a.Name, address, domain, local)
}

// drop removes a mailbox. Nobody gets mail or reads it before it is erased, and its record goes afterwards: an
// interrupted removal is continued by the next call.
func (b book) drop(ctx context.Context, account, address, domain, local string) error {
	_, err := b.store.Update(account, func(s *state) error {
		if !slices.Contains(s.Gone, address) {
			s.Gone = append(s.Gone, address)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := b.publish(ctx, account); err != nil {
		return err
	}
	if err := b.shut(ctx, address); err != nil {
		return err
	}
	if err := b.erase(account, domain, local); err != nil {
		return err
	}
	_, err = b.store.Update(account, func(s *state) error {
		s.Boxes = slices.DeleteFunc(s.Boxes, func(m panel.Mailbox) bool { return m.Address == address })
		s.Gone = slices.DeleteFunc(s.Gone, func(gone string) bool { return gone == address })
		return nil
	})
	return err
}

// MailDomains implements panel.Mail.
func (b book) MailDomains(_ context.Context, ref string) ([]panel.MailDomain, error) {
	a, err := b.accounts(ref)
	if err != nil {
		return nil, panel.Wrap("mail.domains", ref, err)
	}
	s := b.store.Get(a.Name)
	all := []panel.MailDomain{}
	for _, domain := range s.mailDomains() {
		k := s.Keys[domain]
		all = append(all, panel.MailDomain{Name: domain, DKIMSelector: k.Selector, DKIMPublicKey: k.Public})
	}
	return all, nil
}
