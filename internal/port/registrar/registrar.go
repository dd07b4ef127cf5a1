// Package registrar is the port to whoever registers domain names for the platform: a registry, or a
// registrar above one. It speaks in the words of EPP (RFC 5730 to 5733, RFC 5910, RFC 3915).
//
// Rules for adapters, checked by registrartest:
//
//   - Names are lower-case ASCII (international labels in punycode), without a trailing dot.
//   - Every refusal is an *Error with a Kind. Unreachable promises that nothing was done; Unknown says
//     that the answer was lost, and that only Info can tell what came of it.
//   - Register, Renew, Transfer and Restore bear the caller's transaction id. An adapter may, and need
//     not, recognise one that it has seen. Callers ask Info before they repeat one.
//   - Contacts are handed on; whoever calls keeps only the handle.
//   - Nothing that an adapter answers or logs holds an authorisation code or a contact, but AuthCode.
package registrar

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Kind classifies the failure of a request.
type Kind int

// The kinds of errors.
const (
	// Unreachable: nothing was done; try again.
	Unreachable Kind = iota + 1
	// Unknown: the request may have been carried out.
	Unknown
	// NotFound: the registry has no such object.
	NotFound
	// Exists: the registry has the object already; it may belong to anybody.
	Exists
	// NotOurs: another registrar sponsors the domain.
	NotOurs
	// AuthCode: the authorisation code is wrong.
	AuthCode
	// Locked: a status of the domain prohibits it.
	Locked
	// Rejected: the registry's policy refuses it; Message says why.
	Rejected
	// Unsupported: this registry does not know the request.
	Unsupported
	// Undecided: the registry has accepted a request and decides later. Info shows the decision.
	Undecided
)

var kinds = map[Kind]string{
	Unreachable: "unreachable", Unknown: "outcome unknown", NotFound: "not found", Exists: "exists", NotOurs: "not ours",
	AuthCode: "authorisation code refused", Locked: "locked", Rejected: "rejected", Unsupported: "unsupported",
	Undecided: "not decided",
}

// Error is the failure of a request. Of some kinds it is unknown whether the request was executed.
type Error struct {
	Kind    Kind
	Message string // the registry's own, for operators and customers
	Cause   error
}

func (e *Error) Error() string {
	text := "registrar: " + kinds[e.Kind]
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Cause != nil {
		text += fmt.Sprintf(": %v", e.Cause)
	}
	return text
}

// Unwrap answers the cause.
func (e *Error) Unwrap() error { return e.Cause }

// KindOf is the kind of an error of this port. Any other error is Unknown.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Unknown
}

// Availability is a source's report about a name. Available is nil when it does not know.
type Availability struct {
	Name      string
	Available *bool
	Reason    string // taken, reserved, premium, restricted; empty otherwise
	Premium   bool
}

// Known is the report of a source that knows whether a name is taken.
func Known(name string, taken bool) Availability {
	free := !taken
	a := Availability{Name: name, Available: &free}
	if taken {
		a.Reason = "taken"
	}
	return a
}

// ErrNoExpiry is returned where a source has no server for a name, or the server does not say when its registration ends.
var ErrNoExpiry = errors.New("registrar: nobody says when the registration ends")

// Status is the state of a domain at the registry (RFC 3915).
type Status string

// The states of a domain.
const (
	Active        Status = "active"
	Grace         Status = "grace"          // expired, and renewed at the usual price
	Redemption    Status = "redemption"     // deleted; restored at the price of a restore
	PendingDelete Status = "pending_delete" // nobody can have it until it is gone
)

// Domain is a domain as the registry reports it.
type Domain struct {
	Name string
	// Ours says that this registrar account sponsors it. Of others' domains only the name is known.
	Ours               bool
	Status             Status
	RegisteredAt       time.Time
	ExpiresAt          time.Time // zero where the registry does not say
	Nameservers        []string
	Hosts              []Host
	Contacts           map[Role]string // handles
	Locked             bool
	Privacy            bool
	DS                 []DS
	TransferLockUntil  *time.Time
	EPPStatuses        []string
	TransferOutPending bool
}

// Role is the role of a contact of a domain.
type Role string

// The roles of contacts.
const (
	Owner   Role = "owner"
	Admin   Role = "admin"
	Tech    Role = "tech"
	Billing Role = "billing"
)

// Contact is a person or organisation (RFC 5733). Country is ISO 3166-1 alpha-2, Phone is E.164.
type Contact struct {
	Name         string `json:"name"`
	Organization string `json:"organization,omitempty"`
	Email        string `json:"email"`
	Phone        string `json:"phone"`
	Street       string `json:"street"`
	City         string `json:"city"`
	Region       string `json:"region,omitempty"`
	PostalCode   string `json:"postal_code,omitempty"`
	Country      string `json:"country"`
}

// Host is a name server below its own domain, with its addresses (glue).
type Host struct {
	Name      string       `json:"name"`
	Addresses []netip.Addr `json:"addresses"`
}

// DS is a delegation signer (RFC 4034, section 5). Digest is hexadecimal, in capitals.
type DS struct {
	KeyTag     uint16 `json:"key_tag"`
	Algorithm  uint8  `json:"algorithm"`
	DigestType uint8  `json:"digest_type"`
	Digest     string `json:"digest"`
}

// Registration is a request to register a name.
type Registration struct {
	TransactionID string
	Name          string
	Years         int
	Contacts      map[Role]string
	Nameservers   []string
	Privacy       bool
}

// Renewal extends a domain. ExpiresAt is its present expiry: a registry refuses a renewal of another expiry, so none is
// executed twice (RFC 5731, section 3.2.3).
type Renewal struct {
	TransactionID string
	Name          string
	Years         int
	ExpiresAt     time.Time
}

// TransferIn requests a domain of another registrar. A transfer adds Years.
type TransferIn struct {
	TransactionID string
	Name          string
	AuthCode      string
	Years         int
	Contacts      map[Role]string
}

// TransferState is the progress of a transfer to us.
type TransferState string

// The states of a transfer.
const (
	TransferNone     TransferState = "none"
	TransferPending  TransferState = "pending"
	TransferDone     TransferState = "done"
	TransferRejected TransferState = "rejected"
)

// Message is a notice of the registry's queue.
type Message struct {
	ID   string
	Name string // of the domain; empty where it is about none
	Text string
	At   time.Time
}

// Registrar registers names.
type Registrar interface {
	// Name is the adapter's, as in the configuration.
	Name() string
	// Check returns one result for each name, in the same order.
	Check(ctx context.Context, names []string) ([]Availability, error)
	// Info reads a domain; NotFound when it does not exist. Of others' domains it may be NotOurs instead.
	Info(ctx context.Context, name string) (Domain, error)
	Register(ctx context.Context, r Registration) (Domain, error)
	Renew(ctx context.Context, r Renewal) (Domain, error)
	// Restore brings a domain back from redemption. An expired one is extended by a year.
	Restore(ctx context.Context, transactionID, name string) (Domain, error)

	// Delete deletes a domain of ours. The registry keeps it in redemption, and refunds a year that it has added by
	// itself.
	Delete(ctx context.Context, name string) error

	// Transfer requests a domain of another registrar; TransferState returns the progress. One that was requested before since
	// and is not pending counts as none.
	Transfer(ctx context.Context, t TransferIn) error
	TransferState(ctx context.Context, name string, since time.Time) (TransferState, error)
	// AnswerTransfer approves or rejects the transfer of a domain of ours to another registrar.
	AnswerTransfer(ctx context.Context, name string, approve bool) error
	// AuthCode is the code that another registrar needs. It is a secret.
	AuthCode(ctx context.Context, name string) (string, error)

	// PutContact creates or replaces the contact with the handle, and returns the handle that the registry gave it.
	PutContact(ctx context.Context, handle string, c Contact) (string, error)
	// DeleteContact removes a contact of ours that no domain uses. Rejected: one does.
	DeleteContact(ctx context.Context, handle string) error
	SetContacts(ctx context.Context, name string, handles map[Role]string) error
	SetNameservers(ctx context.Context, name string, hosts []string) error
	// SetHosts replaces the name servers below the domain that have addresses.
	SetHosts(ctx context.Context, name string, hosts []Host) error
	// SetLock prohibits or allows transfers.
	SetLock(ctx context.Context, name string, locked bool) error
	SetPrivacy(ctx context.Context, name string, on bool) error
	SetDNSSEC(ctx context.Context, name string, ds []DS) error

	// Poll reads the oldest notice, if there is one; Acknowledge removes it.
	Poll(ctx context.Context) (Message, bool, error)
	Acknowledge(ctx context.Context, id string) error
}

// Source reports whether a name is available without registering it: RDAP, WHOIS.
type Source interface {
	// Name is rdap or whois.
	Name() string
	// Lookup returns a nil Available in any doubt.
	Lookup(ctx context.Context, name string) (Availability, error)
}
