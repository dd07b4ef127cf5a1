package domains

import (
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/registrar"
)

// settleIn bounds how long a change waits for the registrar, below the timeout of an operation; lookAgain is when the
// registry is asked about a change whose result is unknown.
const (
	settleIn  = 25 * time.Second
	lookAgain = time.Minute
)

// Settings are an owner's changes; nil keeps a member.
type Settings struct {
	AutoRenew *bool
	ClientRef *string // empty removes it
	Locked    *bool
	Privacy   *bool
}

// Set changes settings of a domain of the account.
func (s *Service) Set(ctx context.Context, accountID, id int64, w Settings) error {
	d, err := getOwn(ctx, s.DB, accountID, id)
	if err == nil {
		err = checkClientRef(w.ClientRef)
	}
	if err != nil {
		return err
	}
	if w.Privacy != nil && *w.Privacy {
		zone, err := findTLD(ctx, s.DB, d.tld, false)
		if err != nil {
			return err
		}
		if !zone.Privacy {
			return ErrPrivacyUnsupported.New()
		}
	}
	if w.Locked != nil || w.Privacy != nil {
		err = s.change(ctx, accountID, id, false, func(ctx context.Context, r registrar.Registrar, d domain) error {
			if w.Locked != nil {
				if err := r.SetLock(ctx, d.name, *w.Locked); err != nil {
					return err
				}
			}
			if w.Privacy == nil {
				return nil
			}
			return r.SetPrivacy(ctx, d.name, *w.Privacy)
		})
		if err != nil {
			return err
		}
	}
	if w.AutoRenew == nil && w.ClientRef == nil {
		return nil
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		d, err := lockOwn(ctx, tx, accountID, id)
		if err != nil {
			return err
		}
		if w.AutoRenew != nil {
			d.autoRenew = *w.AutoRenew
		}
		if w.ClientRef != nil {
			if d.clientRef = w.ClientRef; *w.ClientRef == "" {
				d.clientRef = nil
			}
		}
		return note(ctx, tx, d)
	})
}

// SetNameservers delegates a domain of the account: to the given hosts, or to ours when there are none. glue replaces
// the name servers below the domain that have addresses; nil keeps them.
func (s *Service) SetNameservers(ctx context.Context, accountID, id int64, hosts []string, glue *[]registrar.Host) error {
	d, err := getOwn(ctx, s.DB, accountID, id)
	if err != nil {
		return err
	}
	zone, err := findTLD(ctx, s.DB, d.tld, false)
	if err != nil {
		return err
	}
	have := d.registry.Hosts
	if glue != nil {
		if have, err = glueHosts(*glue, d.name); err != nil {
			return err
		}
	}
	if len(hosts) == 0 {
		hosts = s.Nameservers
	}
	if hosts, err = nameservers(hosts, zone, d.name, have); err != nil {
		return err
	}
	return s.change(ctx, accountID, id, false, func(ctx context.Context, r registrar.Registrar, d domain) error {
		// A host must exist before the domain is delegated to it, and as long as it is.
		with := slices.Clone(have)
		for _, h := range d.registry.Hosts {
			if !slices.ContainsFunc(have, func(n registrar.Host) bool { return n.Name == h.Name }) {
				with = append(with, h)
			}
		}
		if glue != nil {
			if err := r.SetHosts(ctx, d.name, with); err != nil {
				return err
			}
		}
		if err := r.SetNameservers(ctx, d.name, hosts); err != nil {
			return err
		}
		if glue == nil || len(with) == len(have) {
			return nil
		}
		return r.SetHosts(ctx, d.name, have)
	})
}

const (
	maxGlue      = 13
	maxAddresses = 13
)

// glueHosts converts name servers below a domain to canonical form. Their addresses must be public.
func glueHosts(written []registrar.Host, name string) ([]registrar.Host, error) {
	if len(written) > maxGlue {
		return nil, ErrNameserverInvalid.New()
	}
	all := make([]registrar.Host, len(written))
	for i, h := range written {
		ascii, err := domainname.Domain(strings.TrimSpace(h.Name))
		if err != nil || !domainname.Within(ascii, name) || len(h.Addresses) == 0 || len(h.Addresses) > maxAddresses ||
			slices.ContainsFunc(all[:i], func(n registrar.Host) bool { return n.Name == ascii }) {
			return nil, badNameserver(h.Name)
		}
		all[i] = registrar.Host{Name: ascii}
		for _, a := range h.Addresses {
			if a = a.Unmap(); !reachable(a) || slices.Contains(all[i].Addresses, a) {
				return nil, badNameserver(h.Name)
			}
			all[i].Addresses = append(all[i].Addresses, a)
		}
	}
	return all, nil
}

func reachable(a netip.Addr) bool { return a.IsGlobalUnicast() && !a.IsPrivate() && a.Zone() == "" }

// SetContacts passes contacts of a domain of the account to the registrar. Only the handles of the roles are stored;
// other roles keep theirs.
func (s *Service) SetContacts(ctx context.Context, accountID, id int64, contacts map[registrar.Role]registrar.Contact) error {
	if len(contacts) == 0 {
		return ErrContactRequired.New()
	}
	for role, c := range contacts {
		if err := checkContact(string(role), c); err != nil {
			return err
		}
	}
	return s.change(ctx, accountID, id, true, func(ctx context.Context, r registrar.Registrar, d domain) error {
		now, err := r.Info(ctx, d.name)
		if err != nil {
			return err
		}
		handles := map[registrar.Role]string{}
		maps.Copy(handles, now.Contacts)
		for _, role := range slices.Sorted(maps.Keys(contacts)) {
			// Each role gets a contact of its own, so that changing one does not change another.
			if handles[role], err = r.PutContact(ctx, d.contact(role), contacts[role]); err != nil {
				return err
			}
		}
		if err := r.SetContacts(ctx, d.name, handles); err != nil {
			return err
		}
		return s.forgetReplaced(ctx, d, now.Contacts, handles)
	})
}

// handleStem is how many characters of a handle the registrar keeps when it makes another of it.
const handleStem = 9

// forgetReplaced has the registry delete the contacts that were made for a domain and that the domain no longer has.
func (s *Service) forgetReplaced(ctx context.Context, d domain, before, now map[registrar.Role]string) error {
	stem := d.contact("")
	stem = stem[:min(len(stem), handleStem)]
	kept := slices.Collect(maps.Values(now))
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for _, handle := range slices.Compact(slices.Sorted(maps.Values(before))) {
			if slices.Contains(kept, handle) || !strings.HasPrefix(handle, stem) {
				continue
			}
			if err := s.enqueueForget(ctx, tx, d, handle); err != nil {
				return err
			}
		}
		return nil
	})
}

// digestBytes are the lengths of DS digests by their type (RFC 4034, 4509, 6605).
var digestBytes = map[uint8]int{1: 20, 2: 32, 4: 48}

// maxDS is more than any rollover of keys needs.
const maxDS = 8

// SetDNSSEC replaces the delegation signers of a domain of the account; none ends DNSSEC.
func (s *Service) SetDNSSEC(ctx context.Context, accountID, id int64, ds []registrar.DS) error {
	d, err := getOwn(ctx, s.DB, accountID, id)
	if err != nil {
		return err
	}
	zone, err := findTLD(ctx, s.DB, d.tld, false)
	if err != nil {
		return err
	}
	if zone.DNSSEC != "ds" {
		return fault.UnsupportedOperation.New()
	}
	if len(ds) > maxDS {
		return fault.Invalid("ds_records", "value")
	}
	all := make([]registrar.DS, len(ds))
	for i, r := range ds {
		digest, err := hex.DecodeString(r.Digest)
		if err != nil || len(digest) != digestBytes[r.DigestType] || len(digest) == 0 || r.Algorithm == 0 {
			return fault.Invalid("ds_records", "value")
		}
		r.Digest = strings.ToUpper(r.Digest)
		if slices.Contains(all[:i], r) {
			return fault.Invalid("ds_records", "value")
		}
		all[i] = r
	}
	return s.change(ctx, accountID, id, false, func(ctx context.Context, r registrar.Registrar, d domain) error {
		return r.SetDNSSEC(ctx, d.name, all)
	})
}

// AnswerTransfer approves or rejects the transfer of a domain of the account. Rejecting when there is no request does
// nothing.
func (s *Service) AnswerTransfer(ctx context.Context, accountID, id int64, approve bool) error {
	return s.change(ctx, accountID, id, false, func(ctx context.Context, r registrar.Registrar, d domain) error {
		if !d.transferOut && !approve {
			return nil
		}
		if !d.transferOut {
			return &registrar.Error{Kind: registrar.Rejected, Message: "no transfer is asked for"}
		}
		return r.AnswerTransfer(ctx, d.name, approve)
	})
}

// AuthCode returns the code for another registrar. It is a secret; giving it out is logged.
func (s *Service) AuthCode(ctx context.Context, accountID, id int64, by string) (string, error) {
	d, err := getOwn(ctx, s.DB, accountID, id)
	switch {
	case err != nil:
		return "", err
	case !d.status.renewable():
		return "", ErrNotActive.New()
	case d.locked:
		return "", ErrLocked.New()
	case d.transferLockUntil != nil && s.Clock.Now().Before(*d.transferLockUntil):
		return "", ErrTransferLock.New()
	}
	r, ok := s.Registrars.Registrar(d.sandbox)
	if !ok {
		return "", ErrUnreachable.New()
	}
	within, cancel := context.WithTimeout(ctx, settleIn)
	defer cancel()
	code, err := r.AuthCode(within, d.name)
	if err != nil {
		return "", refused(err)
	}
	s.Log.InfoContext(ctx, "domains: an authorisation code was given out", "domain", d.name, "account", accountID, "by", by)
	return code, nil
}

// change has the registrar change a domain of the account, and stores the registry's new state. After any crash the
// registry is asked again within lookAgain.
func (s *Service) change(
	ctx context.Context, accountID, id int64, newContacts bool, ask func(ctx context.Context, r registrar.Registrar, d domain) error,
) error {
	var d domain
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if d, err = lockOwn(ctx, tx, accountID, id); err != nil {
			return err
		}
		if !d.status.renewable() {
			return ErrNotActive.New()
		}
		return stepBy(ctx, tx, id, tx.Now.Add(lookAgain))
	})
	if err != nil {
		return err
	}
	r, ok := s.Registrars.Registrar(d.sandbox)
	if !ok {
		return ErrUnreachable.New()
	}
	within, cancel := context.WithTimeout(ctx, settleIn)
	defer cancel()
	if err := ask(within, r, d); err != nil {
		return refused(err)
	}
	if _, err := s.observe(within, r, id, newContacts); err != nil {
		if errors.Is(err, errSeen) {
			return nil // others keep changing it; it is read again soon
		}
		return refused(err)
	}
	return nil
}

// refused converts the registrar's failure for a waiting caller.
func refused(err error) error {
	var e *registrar.Error
	if !errors.As(err, &e) {
		if errors.Is(err, context.DeadlineExceeded) {
			return ErrUnreachable.Wrap(err)
		}
		return err
	}
	message := fault.Fields{"registrar_message": e.Message}
	switch e.Kind {
	case registrar.Unreachable, registrar.Unknown, registrar.Undecided:
		return ErrUnreachable.Wrap(err)
	case registrar.NotFound, registrar.NotOurs:
		return ErrNotActive.Wrap(err)
	case registrar.Locked:
		return ErrLocked.With(message)
	case registrar.Unsupported:
		return fault.UnsupportedOperation.With(message)
	case registrar.Exists, registrar.AuthCode, registrar.Rejected:
	}
	return ErrRejected.With(message)
}

// tellSettings emits events for settings that the registry has changed.
func (s *Service) tellSettings(ctx context.Context, tx *db.Tx, before, now domain, newContacts bool) error {
	was, is := before.registry, now.registry
	delegation := map[string]any{}
	if !sameHosts(before.nameservers, now.nameservers) {
		delegation["nameservers"] = before.nameservers
	}
	if !slices.EqualFunc(byName(was.Hosts), byName(is.Hosts), func(a, b registrar.Host) bool {
		return a.Name == b.Name && slices.Equal(sorted(a.Addresses), sorted(b.Addresses))
	}) {
		delegation["glue_hosts"] = wire(ctx, before).GlueHosts
	}
	if !sameDS(was.DS, is.DS) {
		delegation["dnssec"] = wire(ctx, before).DNSSEC
	}
	for _, e := range []struct {
		kind     string
		when     bool
		previous map[string]any
	}{
		{"domain.lock_changed", before.locked != now.locked, map[string]any{"locked": before.locked}},
		{"domain.privacy_changed", before.privacy != now.privacy, map[string]any{"privacy": before.privacy}},
		{"domain.nameservers_changed", len(delegation) > 0, delegation},
		{"domain.contacts_changed", newContacts || !maps.Equal(was.Contacts, is.Contacts), map[string]any{"contacts": wire(ctx, before).Contacts}},
	} {
		if !e.when {
			continue
		}
		if err := s.tell(ctx, tx, e.kind, now.id, eventDetails{previous: e.previous}); err != nil {
			return err
		}
	}
	return nil
}

func byName(hosts []registrar.Host) []registrar.Host {
	return slices.SortedFunc(slices.Values(hosts), func(a, b registrar.Host) int { return strings.Compare(a.Name, b.Name) })
}

func sorted(a []netip.Addr) []netip.Addr {
	return slices.SortedFunc(slices.Values(a), netip.Addr.Compare)
}

func sameDS(a, b []registrar.DS) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(x registrar.DS) bool {
		return !slices.ContainsFunc(b, func(y registrar.DS) bool {
			return x.KeyTag == y.KeyTag && x.Algorithm == y.Algorithm && x.DigestType == y.DigestType && strings.EqualFold(x.Digest, y.Digest)
		})
	})
}
