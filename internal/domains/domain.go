package domains

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/registrar"
)

// Status is where a registration is (resources, section 7).
type Status string

// The states of a registration.
const (
	PendingRegistration Status = "pending_registration"
	PendingTransferIn   Status = "pending_transfer_in"
	Active              Status = "active"
	Expired             Status = "expired" // the registry has not said yet what follows
	Grace               Status = "grace"
	Redemption          Status = "redemption"
	PendingDelete       Status = "pending_delete"
	TransferredOut      Status = "transferred_out"
	Cancelled           Status = "cancelled" // gone
	Failed              Status = "failed"
)

// kept tells whether the registry has the domain for us.
func (s Status) kept() bool {
	switch s {
	case Active, Expired, Grace, Redemption, PendingDelete:
		return true
	case PendingRegistration, PendingTransferIn, TransferredOut, Cancelled, Failed:
	}
	return false
}

// renewable tells whether the usual price prolongs it.
func (s Status) renewable() bool { return s == Active || s == Expired || s == Grace }

// statusOf is what the registry's answer means at a time, of a domain that expires then.
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
	seen                         int64      // what is newer than the readings of the registry before
	handle                       string     // what its contacts' handles begin with; empty for older ones
	last                         *operation // where it was asked for
	serviceID                    *int64     // likewise
	tldNow                       *tld
}

// contact is the registry's handle of the contact that has the given roles. It is at most 16 characters
// long, as EPP has it (RFC 5733, section 2.1: clIDType).
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

// registry is what else the registry has of a domain.
type registry struct {
	Until    time.Time                 `json:"until"` // when it expires there, if nobody pays for it either
	Statuses []string                  `json:"statuses"`
	Contacts map[registrar.Role]string `json:"contacts"`
	Hosts    []registrar.Host          `json:"hosts"`
	DS       []registrar.DS            `json:"ds"`
}

// with is the row as the registry has it.
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

// dated tells whether it is known when the domain expires: some registries do not say (RFC 5731, section 3.1.2). One of
// which it is not known is neither told of nor renewed: whether that was done could not be seen.
func (d domain) dated() bool { return d.expiresAt != nil && !d.expiresAt.IsZero() }

// unpaid tells whether the registry has prolonged a domain by itself, as many do at expiry, or after an
// operation was given up.
func (d domain) unpaid(r registrar.Domain) bool {
	return d.dated() && r.ExpiresAt.After(d.expiresAt.AddDate(0, 6, 0))
}

// returnable tells whether the registry has prolonged a domain at its expiry, and nobody has by hand: until the end of
// that period (RFC 3915, section 3.1) it takes the domain back, and the company pays nothing for it.
func (d domain) returnable() bool {
	return d.dated() && slices.Contains(d.registry.Statuses, "autoRenewPeriod") && !d.transferOut &&
		d.registry.Until.Before(d.expiresAt.AddDate(1, 6, 0))
}

// opKind is what is asked of the registrar.
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
	takenUp               bool // the registry has it, and decides later
	createdAt             time.Time
}

func (o operation) open() bool { return o.status == "pending" || o.status == "attempted" }

// private is what is sealed of an operation.
type private struct {
	Contact     registrar.Contact `json:"contact"`
	AuthCode    string            `json:"auth_code,omitempty"`
	Nameservers []string          `json:"nameservers"`
	Privacy     bool              `json:"privacy"`
}

func (p private) encode() ([]byte, error) { return json.Marshal(p) }
