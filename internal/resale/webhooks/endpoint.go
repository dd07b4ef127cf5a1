package webhooks

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outgoing"
)

// Status is the state of an endpoint.
type Status string

// The states of an endpoint (resources, section 23). Events wait while it is paused; events while it is disabled can be
// recovered.
const (
	Active   Status = "active"
	Paused   Status = "paused"
	Disabled Status = "disabled"
)

// Why an endpoint was disabled.
const (
	reasonGone    = "gone"    // it answered 410
	reasonFailing = "failing" // nothing but failures for failingFor
)

var (
	errURL     = fault.Define(fault.KindUnprocessable, "webhook_url_not_allowed")
	errLimit   = fault.Define(fault.KindUnprocessable, "webhook_limit_reached")
	errType    = fault.Define(fault.KindUnprocessable, "event_type_unknown")
	errExpired = fault.Define(fault.KindUnprocessable, "event_expired")
)

const (
	// MaxEndpoints bounds the endpoints of an account.
	MaxEndpoints   = 20
	maxDescription = 200
	secretBytes    = 32
	// secretPrefix is that of Standard Webhooks; what follows is base64.
	secretPrefix = "whsec_"
)

// endpoint is a row of the table; the secrets are sealed in it.
type endpoint struct {
	id, accountID       int64
	url, description    string
	events              []string
	status              Status
	disabledReason      *string
	secret, previous    []byte
	previousExpiresAt   *time.Time
	consecutiveFailures int
	failingSince        *time.Time
	lastSuccessAt       *time.Time
	lastFailureAt       *time.Time
	notBefore           *time.Time
	lease               *string
	leaseUntil          *time.Time
	createdAt           time.Time
}

func (e endpoint) wants(typ string) bool {
	return slices.ContainsFunc(e.events, func(wanted string) bool { return covers(wanted, typ) })
}

// covers tells whether what an endpoint wants includes a type: all, the type itself, or every type of a group, as
// service.*.
func covers(wanted, typ string) bool {
	group, ok := strings.CutSuffix(wanted, ".*")
	return wanted == all || wanted == typ || ok && strings.HasPrefix(typ, group+".")
}

// leasedTo reports whether the worker with the token still holds the lease.
func (e endpoint) leasedTo(token string) bool { return e.lease != nil && *e.lease == token }

// leased reports whether a worker holds the lease.
func (e endpoint) leased(now time.Time) bool { return e.lease != nil && now.Before(*e.leaseUntil) }

// open reports whether it may get deliveries.
func (e endpoint) open(now time.Time) bool {
	return e.status == Active && (e.notBefore == nil || !now.Before(*e.notBefore))
}

// newSecret generates a secret, which the reseller sees once.
func newSecret() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(b)
}

// settings are the members of an endpoint that the reseller sets.
type settings struct {
	url, description *string
	events           []string // nil keeps them
	status           *Status
}

// apply validates the given settings and copies them into e.
func (c settings) apply(e *endpoint, allowLoopback bool) error {
	if c.url != nil {
		if outgoing.Check(*c.url, allowLoopback) != nil {
			return errURL.New()
		}
		e.url = *c.url
	}
	if c.description != nil {
		e.description = strings.TrimSpace(*c.description)
	}
	if c.events != nil {
		chosen := slices.Compact(slices.Sorted(slices.Values(c.events)))
		if slices.Contains(chosen, all) {
			chosen = []string{all}
		}
		for _, typ := range chosen {
			if len(typesOf(typ)) == 0 {
				return errType.New()
			}
		}
		e.events = chosen
	}
	if c.status != nil && *c.status != e.status {
		e.status = *c.status
		e.disabledReason, e.notBefore, e.failingSince, e.consecutiveFailures = nil, nil, nil, 0
	}
	return nil
}
