package domains

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/port/registrar"
)

// Status is the state of a registration (resources, section 7).
type Status string

// The states of a registration.
const (
	PendingRegistration Status = "pending_registration"
	PendingTransferIn   Status = "pending_transfer_in"
	Active              Status = "active"
	Expired             Status = "expired" // the registry has not reported yet what follows
	Grace               Status = "grace"
	Redemption          Status = "redemption"
	PendingDelete       Status = "pending_delete"
	TransferredOut      Status = "transferred_out"
	Cancelled           Status = "cancelled" // gone
	Failed              Status = "failed"
)

// kept reports whether the registry has the domain for us.
func (s Status) kept() bool {
	switch s {
	case Active, Expired, Grace, Redemption, PendingDelete:
		return true
	case PendingRegistration, PendingTransferIn, TransferredOut, Cancelled, Failed:
	}
	return false
}

// renewable reports whether the usual price extends it.
func (s Status) renewable() bool { return s == Active || s == Expired || s == Grace }

// statusOf derives the state at a time from the registry's answer, for a domain with that expiry.
func statusOf(d registrar.Domain, expires, now time.Time) Status {
	switch d.Status {
	case registrar.Grace:
		return Grace
	case registrar.Redemption:
		return Redemption
	case registrar.PendingDelete:
		return PendingDelete
	case registrar.Active:
	}
	if !expires.IsZero() && !now.Before(expires) {
		return Expired
	}
	return Active
}

// domain is a row of the table domains.
type domain struct {
	id, accountID                int64
	sandbox                      bool
	name, tld                    string
	status                       Status
	wholesale, autoRenew         bool
	privacy, locked, transferOut bool
	transferLockUntil            *time.Time
	registeredAt, expiresAt      *time.Time
	nameservers                  []string
	registry                     registry
	clientRef                    *string
	reminded                     *int
	renewAt                      *time.Time
	createdAt                    time.Time
	seen                         int64      // revision; an older reading of the registry must not overwrite it
	handle                       string     // prefix of its contacts' handles; empty for older ones
	last                         *operation // only where it was requested
	serviceID                    *int64     // likewise
	tldNow                       *tld
}

// contact is the registry's handle of the contact with the given role. It has at most 16 characters, as EPP requires
// (RFC 5733, section 2.1: clIDType).
func (d domain) contact(role registrar.Role) string {
	stem := d.handle
	if stem == "" {
		stem = fmt.Sprintf("stead-%d", d.id)
	}
	if role == "" {
		return stem
	}
	return stem + strings.ToUpper(string(role[:1]))
}

// registry is the other data that the registry has about a domain.
type registry struct {
	Until    time.Time                 `json:"until"` // its expiry there, without any payment
	Statuses []string                  `json:"statuses"`
	Contacts map[registrar.Role]string `json:"contacts"`
	Hosts    []registrar.Host          `json:"hosts"`
	DS       []registrar.DS            `json:"ds"`
	// Missing is since when it has not shown the domain as ours, without a proof that it has gone.
	Missing *time.Time `json:"missing,omitempty"`
}

// with returns the row updated by the registry's answer.
func (d domain) with(r registrar.Domain, now time.Time) domain {
	if d.expiresAt == nil || !r.ExpiresAt.IsZero() {
		d.expiresAt = &r.ExpiresAt
	}
	d.status, d.privacy, d.locked, d.transferOut = statusOf(r, *d.expiresAt, now), r.Privacy, r.Locked, r.TransferOutPending
	d.transferLockUntil, d.registeredAt = r.TransferLockUntil, &r.RegisteredAt
	d.nameservers = r.Nameservers
	d.registry = registry{Until: r.ExpiresAt, Statuses: r.EPPStatuses, Contacts: r.Contacts, Hosts: r.Hosts, DS: r.DS}
	return d
}

// dated reports whether the expiry of the domain is known: some registries do not report it (RFC 5731, section 3.1.2).
// A domain without it gets no reminders and no renewal, because their effect could not be verified.
func (d domain) dated() bool { return d.expiresAt != nil && !d.expiresAt.IsZero() }

// unpaid reports whether the registry has extended a domain by itself, as many do at expiry, or after an operation was
// given up.
func (d domain) unpaid(r registrar.Domain) bool {
	return d.dated() && r.ExpiresAt.After(d.expiresAt.AddDate(0, 6, 0))
}

// paidUntil returns the row with the expiry that is paid, where the registry has extended the domain further by itself.
func (d domain) paidUntil(at time.Time, r registrar.Domain, now time.Time) domain {
	d.expiresAt = &at
	if r.Status == registrar.Active || r.Status == registrar.Grace {
		if d.status = Active; !now.Before(at) {
			d.status = Grace
		}
	}
	return d
}

// returnable reports whether the registry has extended a domain at its expiry, and nobody by hand: until the end of
// that period (RFC 3915, section 3.1) the registry refunds a deletion.
func (d domain) returnable() bool {
	return d.dated() && slices.Contains(d.registry.Statuses, "autoRenewPeriod") && !d.transferOut &&
		d.registry.Until.Before(d.expiresAt.AddDate(1, 6, 0))
}

// opKind is the kind of a request to the registrar.
type opKind string

const (
	opRegister opKind = "register"
	opTransfer opKind = "transfer"
	opRenew    opKind = "renew"
	opRestore  opKind = "restore"
)

// operation is a row of the table domains_operations.
type operation struct {
	id, domainID, orderID int64
	kind                  opKind
	status                string
	years                 int
	expiresFrom           *time.Time
	sealed                []byte
	failureKey            *string
	message               string
	takenUp               bool // the registry has accepted it, and decides later
	createdAt             time.Time
}

func (o operation) open() bool { return o.status == "pending" || o.status == "attempted" }

// private is the sealed data of an operation.
type private struct {
	Contact     registrar.Contact `json:"contact"`
	AuthCode    string            `json:"auth_code,omitempty"`
	Nameservers []string          `json:"nameservers"`
	Privacy     bool              `json:"privacy"`
	// Handle is the handle of Contact at the registry, where that is not the requested one.
	Handle string `json:"handle,omitempty"`
}

func (p private) encode() ([]byte, error) { return json.Marshal(p) }
