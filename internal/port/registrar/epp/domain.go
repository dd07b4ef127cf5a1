package epp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/port/registrar"
)

// checkBatch is the number of names in one command; registries limit that.
const checkBatch = 10

// Check implements registrar.Registrar.
func (c *Client) Check(ctx context.Context, names []string) ([]registrar.Availability, error) {
	all := make([]registrar.Availability, 0, len(names))
	for batch := range slices.Chunk(names, checkBatch) {
		answer, err := c.do(ctx, request{what: "domain check", command: command{Check: &object{domainCheck{Names: batch}}}})
		if err != nil {
			return nil, err
		}
		for _, name := range batch {
			a := registrar.Availability{Name: name}
			for _, said := range answer.Data.DomainChecks {
				if strings.EqualFold(strings.TrimSpace(said.Name.Text), name) {
					a.Available = said.available()
					a.Reason, a.Premium = reason(said.Reason, a.Available)
				}
			}
			all = append(all, a)
		}
	}
	return all, nil
}

// reason interprets the registry's explanation why a name is not available, or not at the usual price.
func reason(text string, available *bool) (reason string, premium bool) {
	if available == nil {
		return "", false
	}
	text = strings.ToLower(text)
	switch {
	case strings.Contains(text, "premium"):
		return "premium", true
	case *available:
		return "", false
	case strings.Contains(text, "reserved"):
		return "reserved", false
	case strings.Contains(text, "restrict"), strings.Contains(text, "prohibit"), strings.Contains(text, "block"),
		strings.Contains(text, "invalid"):
		return "restricted", false
	}
	return "taken", false
}

// domainView is the answer to a domain:info.
type domainView struct {
	domainData
	ours    bool
	created time.Time
	updated time.Time
	expires time.Time
	rgp     []status
	ds      []registrar.DS
}

func has(all []status, s string) bool {
	return slices.ContainsFunc(all, func(one status) bool { return one.S == s })
}

// look reads a domain. Some registries show others' domains to nobody (RFC 5731, section 3.1.2): the error is then
// registrar.NotOurs.
func (c *Client) look(ctx context.Context, name string) (domainView, error) {
	r := request{what: "domain info", command: command{Info: &object{domainInfo{Name: name}}}}
	answer, err := c.do(ctx, r)
	if err != nil {
		return domainView{}, err
	}
	broken := func(err error) (domainView, error) {
		return domainView{}, &registrar.Error{Kind: registrar.Unreachable, Cause: fmt.Errorf("%s %s: %w", r.what, answer.ClientID, err)}
	}
	if answer.Data.Domain == nil || !strings.EqualFold(answer.Data.Domain.Name, name) {
		return broken(fmt.Errorf("epp: the answer is not about it"))
	}
	s := domainView{domainData: *answer.Data.Domain, rgp: answer.Extension.RGP.Statuses}
	if s.Sponsor == "" { // which RFC 5731, section 4, requires
		return broken(errors.New("epp: the answer does not say whose the domain is"))
	}
	s.ours = strings.EqualFold(s.Sponsor, c.Sponsor)
	for _, at := range []struct {
		text string
		time *time.Time
	}{{s.Created, &s.created}, {s.Updated, &s.updated}, {s.Expires, &s.expires}} {
		if *at.time, err = instant(at.text); err != nil {
			return broken(err)
		}
	}
	for _, ds := range answer.Extension.DS {
		s.ds = append(s.ds, registrar.DS{
			KeyTag: ds.KeyTag, Algorithm: ds.Algorithm, DigestType: ds.DigestType, Digest: strings.ToUpper(ds.Digest),
		})
	}
	return s, nil
}

// own reads a domain of ours.
func (c *Client) own(ctx context.Context, name string) (domainView, error) {
	s, err := c.look(ctx, name)
	if err == nil && !s.ours {
		err = &registrar.Error{Kind: registrar.NotOurs}
	}
	return s, err
}

// status is the state of the domain. A restore that waits for its report is still in redemption.
func (s *domainView) status(now time.Time) registrar.Status {
	switch {
	case has(s.rgp, "redemptionPeriod"), has(s.rgp, "pendingRestore"):
		return registrar.Redemption
	case has(s.rgp, "pendingDelete"), has(s.Statuses, "pendingDelete"):
		return registrar.PendingDelete
	case !s.expires.IsZero() && !now.Before(s.expires):
		return registrar.Grace
	}
	return registrar.Active
}

// Info implements registrar.Registrar. What the registry has taken up and not decided is registrar.Undecided.
func (c *Client) Info(ctx context.Context, name string) (registrar.Domain, error) {
	s, err := c.look(ctx, name)
	if err != nil {
		return registrar.Domain{}, err
	}
	if !s.ours {
		return registrar.Domain{Name: name}, nil
	}
	for _, pending := range []string{"pendingCreate", "pendingRenew"} {
		if has(s.Statuses, pending) {
			return registrar.Domain{}, undecided(pending)
		}
	}
	d := registrar.Domain{
		Name: name, Ours: true, Status: s.status(c.Clock.Now()), RegisteredAt: s.created, ExpiresAt: s.expires,
		Nameservers: lower(append(slices.Clone(s.Hosts.Names), s.Hosts.Attributes...)), Contacts: map[registrar.Role]string{},
		Locked: has(s.Statuses, clientLock) || has(s.Statuses, serverLock), DS: s.ds, TransferOutPending: has(s.Statuses, "pendingTransfer"),
	}
	for _, one := range s.Statuses {
		d.EPPStatuses = append(d.EPPStatuses, one.S)
	}
	for _, one := range s.rgp {
		if !slices.Contains(d.EPPStatuses, one.S) {
			d.EPPStatuses = append(d.EPPStatuses, one.S)
		}
	}
	for _, one := range s.Contacts {
		d.Contacts[registrar.Role(one.Type)] = one.ID
	}
	if s.Owner != "" {
		d.Contacts[registrar.Owner] = s.Owner
	}
	if d.Privacy, err = c.private(ctx, s.Owner); err != nil {
		return registrar.Domain{}, err
	}
	for _, below := range lower(s.Below) {
		addresses, err := c.hostAddresses(ctx, below)
		if registrar.KindOf(err) == registrar.NotFound && err != nil {
			continue // removed meanwhile
		}
		if err != nil {
			return registrar.Domain{}, err
		}
		if len(addresses) > 0 {
			d.Hosts = append(d.Hosts, registrar.Host{Name: below, Addresses: addresses})
		}
	}
	return d, nil
}

func lower(names []string) []string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		out = append(out, strings.ToLower(name))
	}
	return out
}

// after reads a domain after a command, which is known to be executed.
func (c *Client) after(ctx context.Context, name string) (registrar.Domain, error) {
	d, err := c.Info(ctx, name)
	if err != nil {
		return registrar.Domain{}, &registrar.Error{Kind: registrar.Unknown, Cause: err}
	}
	return d, nil
}

// authCode generates an authorisation code: 16 characters with a lower-case letter, a digit and a special character, as
// registries require.
func authCode() string { return rand.Text()[:13] + "-s7" }

// Register implements registrar.Registrar. Name servers that the registry does not know are made first.
func (c *Client) Register(ctx context.Context, in registrar.Registration) (registrar.Domain, error) {
	if in.Years < 1 || in.Years > 99 {
		return registrar.Domain{}, rejected("the period is not allowed")
	}
	if err := c.ensureHosts(ctx, in.Nameservers); err != nil {
		return registrar.Domain{}, err
	}
	if in.Privacy {
		if err := c.disclose(ctx, in.Contacts, false); err != nil {
			return registrar.Domain{}, err
		}
	}
	create := domainCreate{
		Name: in.Name, Period: period{"y", in.Years}, Owner: in.Contacts[registrar.Owner], Contacts: contacts(in.Contacts), AuthCode: authCode(),
	}
	if len(in.Nameservers) > 0 {
		create.Hosts = &hosts{in.Nameservers}
	}
	_, err := c.do(ctx, request{what: "domain create", command: command{Create: &object{create}}, id: in.TransactionID, changes: true})
	if err != nil {
		return registrar.Domain{}, partMissing(err)
	}
	return c.after(ctx, in.Name)
}

// contacts are the contacts of a domain other than its owner, in a fixed order.
func contacts(handles map[registrar.Role]string) (all []domainContact) {
	for role, handle := range handles {
		if role != registrar.Owner && handle != "" {
			all = append(all, domainContact{Type: string(role), ID: handle})
		}
	}
	slices.SortFunc(all, func(a, b domainContact) int { return cmp.Compare(a.Type, b.Type) })
	return all
}

// Renew implements registrar.Registrar.
func (c *Client) Renew(ctx context.Context, in registrar.Renewal) (registrar.Domain, error) {
	if in.Years < 1 || in.Years > 99 {
		return registrar.Domain{}, rejected("the period is not allowed")
	}
	renew := domainRenew{Name: in.Name, Expires: in.ExpiresAt.UTC().Format(time.DateOnly), Period: period{"y", in.Years}}
	_, err := c.do(ctx, request{what: "domain renew", command: command{Renew: &object{renew}}, id: in.TransactionID, changes: true})
	if err != nil {
		return registrar.Domain{}, err
	}
	return c.after(ctx, in.Name)
}

// The statements of a restore report (RFC 3915, section 4.2.5).
var statements = []string{
	"This registrar has not restored the Registered Name in order to assume the rights to use or sell the Registered Name for itself or for any third party.",
	"The information in this report is true to best of this registrar's knowledge, and this registrar acknowledges that intentionally supplying false information in this report shall constitute an incorrigible material breach of the Registry-Registrar Agreement.",
}

// Restore implements registrar.Registrar: the request, the report where the registry waits for one, and a year where
// the registry gives the domain back without. Called again, it goes on where it ended.
func (c *Client) Restore(ctx context.Context, transactionID, name string) (registrar.Domain, error) {
	s, err := c.own(ctx, name)
	if err != nil {
		return registrar.Domain{}, err
	}
	now := c.Clock.Now()
	if s.status(now) != registrar.Redemption {
		return registrar.Domain{}, rejected("the domain is not in redemption")
	}
	waits := has(s.rgp, "pendingRestore")
	if !waits {
		update := restoreUpdate{}
		update.Restore.Op = "request"
		answer, err := c.do(ctx, restoring("request", transactionID, name, update))
		if err != nil {
			return registrar.Domain{}, err
		}
		waits = has(answer.Extension.Updated.Statuses, "pendingRestore")
	}
	if waits {
		deleted := s.updated
		if deleted.IsZero() {
			deleted = now
		}
		update := restoreUpdate{}
		update.Restore.Op = "report"
		update.Restore.Report = &restoreReport{
			Before: "The registration as the registry has it.", After: "Unchanged.",
			Deleted: deleted.Format(time.RFC3339), Restored: now.UTC().Format(time.RFC3339), Reason: "Registrant request.", Statements: statements,
		}
		if _, err := c.do(ctx, restoring("report", transactionID, name, update)); err != nil {
			return registrar.Domain{}, err
		}
	}
	d, err := c.after(ctx, name)
	if err != nil || d.Status != registrar.Grace {
		return d, err
	}
	return c.Renew(ctx, registrar.Renewal{TransactionID: transactionID, Name: name, Years: 1, ExpiresAt: d.ExpiresAt})
}

// Delete implements registrar.Registrar.
func (c *Client) Delete(ctx context.Context, name string) error {
	_, err := c.do(ctx, request{what: "domain delete", command: command{Delete: &object{domainDelete{Name: name}}}, changes: true})
	return err
}

func restoring(step, id, name string, update restoreUpdate) request {
	return request{
		what: "restore " + step, id: id, changes: true, needs: nsRGP,
		command: command{Update: &object{domainUpdate{Name: name, Change: &domainChange{}}}, Extension: &extension{update}},
	}
}

// change sends a domain:update.
func (c *Client) change(ctx context.Context, u domainUpdate) error {
	_, err := c.do(ctx, request{what: "domain update", command: command{Update: &object{u}}, changes: true})
	return partMissing(err)
}

// partMissing converts "not found" of a domain command when it is about a contact or name server that the command
// names.
func partMissing(err error) error {
	var e *registrar.Error
	if errors.As(err, &e) && e.Kind == registrar.NotFound {
		return &registrar.Error{Kind: registrar.Rejected, Message: e.Message, Cause: e.Cause}
	}
	return err
}

// SetContacts implements registrar.Registrar.
func (c *Client) SetContacts(ctx context.Context, name string, handles map[registrar.Role]string) error {
	s, err := c.own(ctx, name)
	if err != nil {
		return err
	}
	// The former contacts were hidden, so the new ones must be hidden before anybody can see them.
	hidden, err := c.private(ctx, s.Owner)
	if err != nil {
		return err
	}
	if hidden {
		if err := c.disclose(ctx, s.others(handles), false); err != nil {
			return err
		}
	}
	u := domainUpdate{Name: name}
	want := contacts(handles)
	if add := without(want, s.Contacts); len(add) > 0 {
		u.Add = &domainDiff{Contacts: add}
	}
	if remove := without(s.Contacts, want); len(remove) > 0 {
		u.Remove = &domainDiff{Contacts: remove}
	}
	if owner := handles[registrar.Owner]; owner != "" && owner != s.Owner {
		u.Change = &domainChange{Owner: owner}
	}
	if u.Add == nil && u.Remove == nil && u.Change == nil {
		return nil
	}
	return c.change(ctx, u)
}

// others are the handles that the domain does not have yet.
func (s *domainView) others(handles map[registrar.Role]string) map[registrar.Role]string {
	rest := map[registrar.Role]string{}
	for role, handle := range handles {
		if handle != s.Owner && !slices.ContainsFunc(s.Contacts, func(c domainContact) bool { return c.ID == handle }) {
			rest[role] = handle
		}
	}
	return rest
}

// without returns the elements of all that are not in others.
func without[T comparable](all, others []T) (rest []T) {
	for _, one := range all {
		if !slices.Contains(others, one) {
			rest = append(rest, one)
		}
	}
	return rest
}

// SetNameservers implements registrar.Registrar.
func (c *Client) SetNameservers(ctx context.Context, name string, names []string) error {
	s, err := c.own(ctx, name)
	if err != nil {
		return err
	}
	now := lower(s.Hosts.Names)
	add, remove := without(names, now), without(now, names)
	if err := c.ensureHosts(ctx, add); err != nil {
		return err
	}
	u := domainUpdate{Name: name}
	if len(add) > 0 {
		u.Add = &domainDiff{Hosts: &hosts{add}}
	}
	if len(remove) > 0 {
		u.Remove = &domainDiff{Hosts: &hosts{remove}}
	}
	if u.Add == nil && u.Remove == nil {
		return nil
	}
	return c.change(ctx, u)
}

// The statuses that prohibit a transfer, ours and the registry's.
const (
	clientLock = "clientTransferProhibited"
	serverLock = "serverTransferProhibited"
)

// SetLock implements registrar.Registrar. The registry's own lock is not ours to take away.
func (c *Client) SetLock(ctx context.Context, name string, locked bool) error {
	s, err := c.own(ctx, name)
	if err != nil {
		return err
	}
	diff := &domainDiff{Statuses: []status{{clientLock}}}
	switch set := has(s.Statuses, clientLock); {
	case locked && !set:
		return c.change(ctx, domainUpdate{Name: name, Add: diff})
	case !locked && set:
		return c.change(ctx, domainUpdate{Name: name, Remove: diff})
	case !locked && has(s.Statuses, serverLock):
		return &registrar.Error{Kind: registrar.Locked, Message: "the registry itself has locked the domain"}
	}
	return nil
}

// SetDNSSEC implements registrar.Registrar.
func (c *Client) SetDNSSEC(ctx context.Context, name string, all []registrar.DS) error {
	s, err := c.own(ctx, name)
	if err != nil {
		return err
	}
	want := slices.Clone(all)
	for i := range want {
		want[i].Digest = strings.ToUpper(want[i].Digest)
	}
	if len(without(want, s.ds)) == 0 && len(without(s.ds, want)) == 0 {
		return nil
	}
	u := dnssecUpdate{}
	if len(s.ds) > 0 {
		u.Remove = &dsRemoval{All: true} // the registry removes before it adds (RFC 5910, section 5.2.5)
	}
	if len(want) > 0 {
		u.Add = &dsList{}
		for _, ds := range want {
			u.Add.DS = append(u.Add.DS, dsData{ds.KeyTag, ds.Algorithm, ds.DigestType, ds.Digest})
		}
	}
	_, err = c.do(ctx, request{
		what: "domain update", changes: true, needs: nsSecDNS,
		command: command{Update: &object{domainUpdate{Name: name, Change: &domainChange{}}}, Extension: &extension{u}},
	})
	return err
}

// AuthCode implements registrar.Registrar. Where the registry does not tell the code, it is given a new one.
func (c *Client) AuthCode(ctx context.Context, name string) (string, error) {
	s, err := c.own(ctx, name)
	if err != nil || s.AuthCode != "" {
		return s.AuthCode, err
	}
	code := authCode()
	return code, c.change(ctx, domainUpdate{Name: name, Change: &domainChange{AuthInfo: &authInfo{code}}})
}

// hostAddresses reads the addresses of a name server.
func (c *Client) hostAddresses(ctx context.Context, name string) ([]netip.Addr, error) {
	answer, err := c.do(ctx, request{what: "host info", command: command{Info: &object{hostInfo{Name: name}}}})
	if err != nil {
		return nil, err
	}
	var all []netip.Addr
	if answer.Data.Host != nil {
		for _, one := range answer.Data.Host.Addresses {
			address, err := netip.ParseAddr(strings.TrimSpace(one.Text))
			if err != nil {
				return nil, &registrar.Error{Kind: registrar.Unreachable, Cause: err}
			}
			all = append(all, address)
		}
	}
	return all, nil
}

func hostAddressList(all []netip.Addr) (out []hostAddress) {
	for _, a := range all {
		family := "v6"
		if a = a.Unmap(); a.Is4() {
			family = "v4"
		}
		out = append(out, hostAddress{family, a.String()})
	}
	return out
}

// ensureHosts creates the name servers that the registry does not know. One below a domain of the registry needs its
// addresses, and the registry refuses it here.
func (c *Client) ensureHosts(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	answer, err := c.do(ctx, request{what: "host check", command: command{Check: &object{hostCheck{Names: names}}}})
	if err != nil {
		return err
	}
	for _, said := range answer.Data.HostChecks {
		if free := said.available(); free == nil || !*free {
			continue
		}
		name := strings.ToLower(strings.TrimSpace(said.Name.Text))
		err := c.makeHost(ctx, registrar.Host{Name: name})
		var e *registrar.Error
		if err == nil || registrar.KindOf(err) == registrar.Exists {
			continue
		}
		if err = prepared(err); errors.As(err, &e) && e.Kind != registrar.Unreachable { // about the host, not about the domain
			err = &registrar.Error{Kind: registrar.Rejected, Message: name + ": " + e.Message, Cause: e.Cause}
		}
		return err
	}
	return nil
}

// prepared marks the failure of a preparation: the command itself was not sent, so it can be repeated.
func prepared(err error) error {
	if registrar.KindOf(err) == registrar.Unknown {
		return &registrar.Error{Kind: registrar.Unreachable, Cause: err}
	}
	return err
}

func (c *Client) makeHost(ctx context.Context, h registrar.Host) error {
	_, err := c.do(ctx, request{
		what: "host create", command: command{Create: &object{hostCreate{Name: h.Name, Addresses: hostAddressList(h.Addresses)}}}, changes: true,
	})
	return err
}

// SetHosts implements registrar.Registrar.
func (c *Client) SetHosts(ctx context.Context, name string, want []registrar.Host) error {
	for _, h := range want {
		if !strings.HasSuffix(h.Name, "."+name) {
			return rejected(h.Name + " is not below the domain")
		}
		if len(h.Addresses) == 0 {
			return rejected(h.Name + " has no address")
		}
	}
	s, err := c.own(ctx, name)
	if err != nil {
		return err
	}
	below := lower(s.Below)
	for _, h := range want {
		if !slices.Contains(below, h.Name) {
			err = c.makeHost(ctx, h)
		}
		if slices.Contains(below, h.Name) || err != nil && registrar.KindOf(err) == registrar.Exists {
			err = c.changeHost(ctx, h)
		}
		if err != nil {
			return err
		}
	}
	for _, old := range below {
		if slices.ContainsFunc(want, func(h registrar.Host) bool { return h.Name == old }) {
			continue
		}
		_, err := c.do(ctx, request{what: "host delete", command: command{Delete: &object{hostDelete{Name: old}}}, changes: true})
		if err != nil && registrar.KindOf(err) != registrar.NotFound {
			return err
		}
	}
	return nil
}

// changeHost replaces the addresses of a name server.
func (c *Client) changeHost(ctx context.Context, h registrar.Host) error {
	now, err := c.hostAddresses(ctx, h.Name)
	if err != nil {
		return err
	}
	u := hostUpdate{Name: h.Name}
	if add := hostAddressList(without(h.Addresses, now)); len(add) > 0 {
		u.Add = &hostAddresses{add}
	}
	if remove := hostAddressList(without(now, h.Addresses)); len(remove) > 0 {
		u.Remove = &hostAddresses{remove}
	}
	if u.Add == nil && u.Remove == nil {
		return nil
	}
	_, err = c.do(ctx, request{what: "host update", command: command{Update: &object{u}}, changes: true})
	return err
}
