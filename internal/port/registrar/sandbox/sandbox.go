// Package sandbox is a simulated registry: names, their states and their expiry by a clock. What a name begins with
// asks for a failure:
//
//	taken-…        another registrar has it
//	premium-…      is free at another price
//	check-fails-…  a check answers nothing
//	down-…         the registry cannot be reached to register it
//	refused-…      the registry refuses to register it
//	lost-…         the registry registers it, and the first answer is lost
//	moved-…        another registrar has it; its code is "secret-code" and a transfer is done at once
//	slow-…         the same, and the transfer takes five days
package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/port/registrar"
)

// The lengths of what follows expiry, and of a transfer.
const (
	GraceFor      = 30 * 24 * time.Hour
	RedemptionFor = 30 * 24 * time.Hour
	DeleteFor     = 5 * 24 * time.Hour
	TransferFor   = 5 * 24 * time.Hour
	lockedFor     = 60 * 24 * time.Hour
)

// Code is the authorisation code of others' domains.
const Code = "secret-code"

// Keeper keeps the content of the registry for all processes.
type Keeper interface {
	// Keep hands f what is kept, empty at first, and keeps what f answers; nil leaves it. One f is at work at a time. It
	// may be called again when what it answered could not be kept. The revision is another one with each change.
	Keep(ctx context.Context, f func(revision int64, content []byte) (next []byte)) error
}

// Registry is the simulated registry. Its methods may be called at once.
type Registry struct {
	keeper Keeper
	now    func() time.Time

	mu       sync.Mutex
	data     data
	revision int64 // of data
	changed  bool
}

type data struct {
	Next     int                 `json:"next"`
	Domains  map[string]*domain  `json:"domains"`
	Contacts map[string]struct{} `json:"contacts"` // handles; who is behind them nobody asks for
	Messages []registrar.Message `json:"messages"`
	Lost     map[string]bool     `json:"lost"` // transactions of which the answer was lost
}

type domain struct {
	registrar.Domain
	Code        string     `json:"code"`
	Deleted     *time.Time `json:"deleted,omitempty"`      // by us, before it ended
	TransferEnd *time.Time `json:"transfer_end,omitempty"` // of a transfer to us
	TransferBy  int        `json:"transfer_by,omitempty"`  // years that it adds
}

// New makes a registry; one without a keeper is in memory.
func New(keeper Keeper, now func() time.Time) *Registry {
	return &Registry{keeper: keeper, now: now, data: empty()}
}

func empty() data {
	return data{Domains: map[string]*domain{}, Contacts: map[string]struct{}{}, Lost: map[string]bool{}}
}

// Name implements registrar.Registrar.
func (r *Registry) Name() string { return "sandbox" }

func failure(kind registrar.Kind, message string) error {
	return &registrar.Error{Kind: kind, Message: message}
}

// do runs f on what the registry has, and has that kept when f says that it has changed it.
func do[T any](ctx context.Context, r *Registry, f func() (T, error)) (answer T, err error) {
	if err := intx.Check(ctx); err != nil {
		return answer, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keeper == nil {
		return f()
	}
	kept := r.keeper.Keep(ctx, func(revision int64, content []byte) (next []byte) {
		if r.changed || revision != r.revision { // what was changed may not have been kept
			r.data, r.changed = empty(), true
			if len(content) > 0 {
				if err = json.Unmarshal(content, &r.data); err != nil {
					return nil
				}
				maps.DeleteFunc(r.data.Domains, untouched) // former versions kept them
			}
			r.revision, r.changed = revision, false
		}
		if answer, err = f(); r.changed {
			next, _ = json.Marshal(r.data) // its own, which it can write
		}
		return next
	})
	if kept != nil {
		err = &registrar.Error{Kind: registrar.Unknown, Cause: kept}
	}
	return answer, err
}

// act is do of what answers nothing.
func (r *Registry) act(ctx context.Context, f func() error) error {
	_, err := do(ctx, r, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// others reports whether a name is another registrar's from the beginning.
func others(name string) bool {
	return begins(name, "taken-") || begins(name, "moved-") || begins(name, "slow-")
}

// untouched reports whether a domain is another registrar's and nobody has asked for it; find makes it anew.
func untouched(name string, d *domain) bool {
	return others(name) && !d.Ours && d.TransferEnd == nil && d.Contacts == nil
}

// find brings a domain to where it is now. It answers nil for a name that nobody has. What is another registrar's from the
// beginning is not kept before a transfer: anybody may ask for any number of such names.
func (r *Registry) find(name string) *domain {
	now := r.now()
	d := r.data.Domains[name]
	if d == nil {
		if !others(name) {
			return nil
		}
		d = &domain{Code: Code, Domain: registrar.Domain{
			Name: name, Status: registrar.Active, RegisteredAt: now.AddDate(-3, 0, 0), ExpiresAt: now.AddDate(1, 0, 0),
		}}
		if begins(name, "taken-") {
			d.Locked = true
		}
	}
	if d.TransferEnd != nil && !now.Before(*d.TransferEnd) {
		d.Ours, d.Locked, d.ExpiresAt = true, false, d.ExpiresAt.AddDate(d.TransferBy, 0, 0)
		until := d.TransferEnd.Add(lockedFor)
		d.TransferLockUntil, d.TransferEnd = &until, nil
	}
	past := now.Sub(d.ExpiresAt)
	if d.Deleted != nil {
		past = GraceFor + now.Sub(*d.Deleted)
	}
	switch {
	case !d.Ours || past < 0:
		d.Status = registrar.Active
	case past < GraceFor:
		d.Status = registrar.Grace
	case past < GraceFor+RedemptionFor:
		d.Status = registrar.Redemption
	case past < GraceFor+RedemptionFor+DeleteFor:
		d.Status = registrar.PendingDelete
	default:
		delete(r.data.Domains, name)
		return nil
	}
	return d
}

func begins(name, with string) bool { return strings.HasPrefix(name, with) }

// own finds a domain of ours.
func (r *Registry) own(name string) (*domain, error) {
	d := r.find(name)
	switch {
	case d == nil:
		return nil, failure(registrar.NotFound, "")
	case !d.Ours:
		return nil, failure(registrar.NotOurs, "")
	}
	return d, nil
}

func (d *domain) shown() registrar.Domain {
	out := d.Domain
	if !d.Ours {
		return registrar.Domain{Name: d.Name}
	}
	out.Nameservers = slices.Clone(d.Nameservers)
	out.EPPStatuses = []string{"ok"}
	if d.Locked {
		out.EPPStatuses = []string{"clientTransferProhibited"}
	}
	switch d.Status {
	case registrar.Redemption:
		out.EPPStatuses = []string{"redemptionPeriod"}
	case registrar.PendingDelete:
		out.EPPStatuses = []string{"pendingDelete"}
	case registrar.Active, registrar.Grace:
	}
	return out
}

// Check implements registrar.Registrar.
func (r *Registry) Check(ctx context.Context, names []string) ([]registrar.Availability, error) {
	return do(ctx, r, func() ([]registrar.Availability, error) {
		all := make([]registrar.Availability, 0, len(names))
		for _, name := range names {
			if begins(name, "check-fails-") {
				return nil, failure(registrar.Unreachable, "")
			}
			a := registrar.Known(name, r.find(name) != nil)
			if *a.Available && begins(name, "premium-") {
				a.Reason, a.Premium = "premium", true
			}
			all = append(all, a)
		}
		return all, nil
	})
}

// Info implements registrar.Registrar.
func (r *Registry) Info(ctx context.Context, name string) (registrar.Domain, error) {
	return do(ctx, r, func() (registrar.Domain, error) {
		d := r.find(name)
		if d == nil {
			return registrar.Domain{}, failure(registrar.NotFound, "")
		}
		return d.shown(), nil
	})
}

// Register implements registrar.Registrar.
func (r *Registry) Register(ctx context.Context, in registrar.Registration) (registrar.Domain, error) {
	return do(ctx, r, func() (registrar.Domain, error) {
		switch {
		case begins(in.Name, "down-"):
			return registrar.Domain{}, failure(registrar.Unreachable, "the registry is down")
		case begins(in.Name, "refused-"), begins(in.Name, "premium-"):
			return registrar.Domain{}, failure(registrar.Rejected, "the registry's policy forbids this name")
		case in.Years < 1 || in.Years > 10:
			return registrar.Domain{}, failure(registrar.Rejected, "the period is not allowed")
		}
		if _, ok := r.data.Contacts[in.Contacts[registrar.Owner]]; !ok {
			return registrar.Domain{}, failure(registrar.Rejected, "the owner's contact is not there")
		}
		if r.find(in.Name) != nil {
			return registrar.Domain{}, failure(registrar.Exists, "")
		}
		now := r.now().UTC()
		until := now.Add(lockedFor)
		d := &domain{Code: "sandbox-" + rand.Text(), Domain: registrar.Domain{
			Name: in.Name, Ours: true, Status: registrar.Active, RegisteredAt: now, ExpiresAt: now.AddDate(in.Years, 0, 0),
			Nameservers: in.Nameservers, Contacts: in.Contacts, Privacy: in.Privacy, TransferLockUntil: &until,
		}}
		r.data.Domains[in.Name] = d
		return r.lose("lost-", in.Name, in.TransactionID, d)
	})
}

// lose saves a change, and loses the answer once where the name asks for it.
func (r *Registry) lose(prefix, name, transactionID string, d *domain) (registrar.Domain, error) {
	lost := begins(name, prefix) && !r.data.Lost[transactionID]
	if lost {
		r.data.Lost[transactionID] = true
	}
	r.changed = true
	if lost {
		return registrar.Domain{}, failure(registrar.Unknown, "the connection was lost")
	}
	return d.shown(), nil
}

// Renew implements registrar.Registrar.
func (r *Registry) Renew(ctx context.Context, in registrar.Renewal) (registrar.Domain, error) {
	return do(ctx, r, func() (registrar.Domain, error) {
		d, err := r.own(in.Name)
		if err != nil {
			return registrar.Domain{}, err
		}
		y1, m1, d1 := d.ExpiresAt.UTC().Date()
		y2, m2, d2 := in.ExpiresAt.UTC().Date()
		switch {
		case y1 != y2 || m1 != m2 || d1 != d2:
			return registrar.Domain{}, failure(registrar.Rejected, "the domain expires at another time")
		case d.Status != registrar.Active && d.Status != registrar.Grace:
			return registrar.Domain{}, failure(registrar.Locked, "the domain is to be restored")
		case in.Years < 1 || d.ExpiresAt.AddDate(in.Years, 0, 0).After(r.now().AddDate(10, 0, 1)):
			return registrar.Domain{}, failure(registrar.Rejected, "the period is not allowed")
		}
		d.ExpiresAt = d.ExpiresAt.AddDate(in.Years, 0, 0)
		r.find(in.Name)
		return r.lose("lost-", in.Name, in.TransactionID, d)
	})
}

// Restore implements registrar.Registrar.
func (r *Registry) Restore(ctx context.Context, transactionID, name string) (registrar.Domain, error) {
	return do(ctx, r, func() (registrar.Domain, error) {
		d, err := r.own(name)
		if err != nil {
			return registrar.Domain{}, err
		}
		if d.Status != registrar.Redemption {
			return registrar.Domain{}, failure(registrar.Rejected, "the domain is not in redemption")
		}
		if d.Deleted = nil; !r.now().Before(d.ExpiresAt) {
			d.ExpiresAt = d.ExpiresAt.AddDate(1, 0, 0)
		}
		r.find(name)
		return r.lose("lost-", name, transactionID, d)
	})
}

// Delete implements registrar.Registrar.
func (r *Registry) Delete(ctx context.Context, name string) error {
	return r.change(ctx, name, func(d *domain) error {
		if d.Status != registrar.Active && d.Status != registrar.Grace {
			return failure(registrar.Locked, "the domain is deleted already")
		}
		now := r.now().UTC()
		d.Deleted = &now
		return nil
	})
}

// Transfer implements registrar.Registrar.
func (r *Registry) Transfer(ctx context.Context, in registrar.TransferIn) error {
	return r.act(ctx, func() error {
		d := r.find(in.Name)
		switch {
		case d == nil:
			return failure(registrar.NotFound, "")
		case d.Ours || d.TransferEnd != nil:
			return failure(registrar.Exists, "")
		case d.Locked:
			return failure(registrar.Locked, "the domain is locked")
		case in.AuthCode != d.Code:
			return failure(registrar.AuthCode, "")
		}
		end := r.now().UTC()
		if begins(in.Name, "slow-") {
			end = end.Add(TransferFor)
		}
		d.TransferEnd, d.TransferBy, d.Contacts = &end, in.Years, in.Contacts
		r.data.Domains[in.Name] = d
		r.find(in.Name)
		r.changed = true
		return nil
	})
}

// TransferState implements registrar.Registrar.
func (r *Registry) TransferState(ctx context.Context, name string, _ time.Time) (registrar.TransferState, error) {
	return do(ctx, r, func() (registrar.TransferState, error) {
		switch d := r.find(name); {
		case d == nil:
			return "", failure(registrar.NotFound, "")
		case d.Ours:
			return registrar.TransferDone, nil
		case d.TransferEnd != nil:
			return registrar.TransferPending, nil
		default:
			return registrar.TransferNone, nil
		}
	})
}

// RequestTransferOut has another registrar ask for a domain of ours, as a test may wish.
func (r *Registry) RequestTransferOut(ctx context.Context, name, code string) error {
	return r.change(ctx, name, func(d *domain) error {
		switch {
		case d.Locked:
			return failure(registrar.Locked, "the domain is locked")
		case d.Code != code:
			return failure(registrar.AuthCode, "")
		}
		d.TransferOutPending = true
		r.data.Next++
		r.data.Messages = append(r.data.Messages, registrar.Message{
			ID: strconv.Itoa(r.data.Next), Name: name, Text: "Transfer requested", At: r.now().UTC(),
		})
		return nil
	})
}

// change changes a domain of ours.
func (r *Registry) change(ctx context.Context, name string, f func(*domain) error) error {
	return r.act(ctx, func() error {
		d, err := r.own(name)
		if err != nil {
			return err
		}
		if err := f(d); err != nil {
			return err
		}
		r.changed = true
		return nil
	})
}

// AnswerTransfer implements registrar.Registrar.
func (r *Registry) AnswerTransfer(ctx context.Context, name string, approve bool) error {
	return r.change(ctx, name, func(d *domain) error {
		if !d.TransferOutPending {
			return failure(registrar.NotFound, "no transfer is asked for")
		}
		d.TransferOutPending, d.Ours = false, !approve
		return nil
	})
}

// AuthCode implements registrar.Registrar.
func (r *Registry) AuthCode(ctx context.Context, name string) (string, error) {
	return do(ctx, r, func() (string, error) {
		d, err := r.own(name)
		if err != nil {
			return "", err
		}
		return d.Code, nil
	})
}

// PutContact implements registrar.Registrar.
func (r *Registry) PutContact(ctx context.Context, handle string, c registrar.Contact) (string, error) {
	if handle == "" || c.Name == "" || c.Email == "" || len(c.Country) != 2 {
		return "", failure(registrar.Rejected, "the contact is not complete")
	}
	return do(ctx, r, func() (string, error) {
		r.data.Contacts[handle] = struct{}{}
		r.changed = true
		return handle, nil
	})
}

// DeleteContact implements registrar.Registrar.
func (r *Registry) DeleteContact(ctx context.Context, handle string) error {
	_, err := do(ctx, r, func() (struct{}, error) {
		if _, ok := r.data.Contacts[handle]; !ok {
			return struct{}{}, failure(registrar.NotFound, "")
		}
		for _, d := range r.data.Domains {
			for _, used := range d.Contacts {
				if used == handle {
					return struct{}{}, failure(registrar.Rejected, "a domain uses the contact")
				}
			}
		}
		delete(r.data.Contacts, handle)
		r.changed = true
		return struct{}{}, nil
	})
	return err
}

// SetContacts implements registrar.Registrar.
func (r *Registry) SetContacts(ctx context.Context, name string, handles map[registrar.Role]string) error {
	return r.change(ctx, name, func(d *domain) error {
		for _, h := range handles {
			if _, ok := r.data.Contacts[h]; !ok {
				return failure(registrar.Rejected, "the contact is not there")
			}
		}
		d.Contacts = handles
		return nil
	})
}

// SetNameservers implements registrar.Registrar.
func (r *Registry) SetNameservers(ctx context.Context, name string, hosts []string) error {
	return r.change(ctx, name, func(d *domain) error { d.Nameservers = slices.Clone(hosts); return nil })
}

// SetHosts implements registrar.Registrar.
func (r *Registry) SetHosts(ctx context.Context, name string, hosts []registrar.Host) error {
	return r.change(ctx, name, func(d *domain) error {
		for _, h := range hosts {
			if !strings.HasSuffix(h.Name, "."+name) {
				return failure(registrar.Rejected, h.Name+" is not below the domain")
			}
		}
		d.Hosts = slices.Clone(hosts)
		return nil
	})
}

// SetLock implements registrar.Registrar.
func (r *Registry) SetLock(ctx context.Context, name string, locked bool) error {
	return r.change(ctx, name, func(d *domain) error { d.Locked = locked; return nil })
}

// SetPrivacy implements registrar.Registrar.
func (r *Registry) SetPrivacy(ctx context.Context, name string, on bool) error {
	return r.change(ctx, name, func(d *domain) error { d.Privacy = on; return nil })
}

// SetDNSSEC implements registrar.Registrar.
func (r *Registry) SetDNSSEC(ctx context.Context, name string, ds []registrar.DS) error {
	return r.change(ctx, name, func(d *domain) error { d.DS = slices.Clone(ds); return nil })
}

// Poll implements registrar.Registrar.
func (r *Registry) Poll(ctx context.Context) (m registrar.Message, ok bool, err error) {
	err = r.act(ctx, func() error {
		if ok = len(r.data.Messages) > 0; ok {
			m = r.data.Messages[0]
		}
		return nil
	})
	return m, ok, err
}

// Acknowledge implements registrar.Registrar.
func (r *Registry) Acknowledge(ctx context.Context, id string) error {
	return r.act(ctx, func() error {
		r.data.Messages = slices.DeleteFunc(r.data.Messages, func(m registrar.Message) bool { return m.ID == id })
		r.changed = true
		return nil
	})
}
