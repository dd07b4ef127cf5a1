package certificates

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/certificate"
)

// Kind is where a certificate is from.
type Kind string

// The kinds of certificates.
const (
	ACME   Kind = "acme"   // issued by an authority, renewed by itself
	Custom Kind = "custom" // installed by the customer
)

// Challenge is how it is proved that a name is the customer's.
type Challenge string

// The challenges.
const (
	HTTP Challenge = "http" // a file of the site (RFC 8555, section 8.3)
	DNS  Challenge = "dns"  // a record of the zone (section 8.4)
)

// phase is how far an order is.
type phase string

const (
	idle     phase = "idle"
	wanted   phase = "wanted"
	ordering phase = "ordering"
)

// Status is the state of a certificate as customers see it (resources, section 19).
type Status string

// The states.
const (
	Pending  Status = "pending"  // will be ordered
	Issuing  Status = "issuing"  // the first one is being ordered
	Active   Status = "active"   // in use
	Renewing Status = "renewing" // in use, and its successor is being ordered
	Expiring Status = "expiring" // in use, and nothing renews it yet
	Expired  Status = "expired"
	Failed   Status = "failed" // there is none; it is tried again
)

// row is a row of the table certificates. Its Status is how far the panel has followed; see status for what customers see.
type row struct {
	site.Item
	kind            Kind
	names           []string
	challenge       Challenge
	automatic       bool // the platform ordered it by itself
	autoRenew, hsts bool
	chosenAt        time.Time

	current
	renewAt, askAt *time.Time // when to renew, and when to ask the authority again when that is

	phase phase
	order
	failures      int
	lastAttemptAt *time.Time
	lastErrorKey  *string
	lastReason    *string
	lastError     string
	dueAt         time.Time
	warnedDays    *int
	createdAt     time.Time
}

// current is the certificate in use; zero when there is none.
type current struct {
	chain               string
	secret              []byte // its key, sealed
	sans                []string
	issuer, fingerprint string
	issuedAt, expiresAt *time.Time
}

// order is an order that is under way.
type order struct {
	url    string
	names  []string
	secret []byte // the key of the certificate to come, sealed
}

func (r row) isIssued() bool { return r.chain != "" }

func (r row) valid(now time.Time) bool { return r.isIssued() && now.Before(*r.expiresAt) }

// warningDays is how long before its end a certificate is called expiring, in days, and when it is told.
var warningDays = []int{14, 7, 1}

const day = 24 * time.Hour

func (r row) status(now time.Time) Status {
	switch {
	case !r.isIssued() && r.phase == ordering:
		return Issuing
	case !r.isIssued() && r.lastErrorKey != nil && !r.waiting():
		return Failed
	case !r.isIssued():
		return Pending
	case !now.Before(*r.expiresAt):
		return Expired
	case r.phase == ordering:
		return Renewing
	case r.expiresAt.Sub(now) < r.warning():
		return Expiring
	default:
		return Active
	}
}

// waiting tells that the domain is not ready for its first certificate. That is no failure: it is checked again.
func (r row) waiting() bool {
	return r.automatic && !r.isIssued() && r.lastErrorKey != nil &&
		(*r.lastErrorKey == errNotPointed.Key || (r.lastReason != nil && *r.lastReason != reasonProof))
}

// warning is how long before the end of a certificate its owner is warned first; of a short-lived one a sixth of its life.
func (r row) warning() time.Duration {
	return min(time.Duration(warningDays[0])*day, r.life()/6)
}

func (r row) life() time.Duration { return r.expiresAt.Sub(*r.issuedAt) }

// renewal is when to renew a certificate if the authority does not suggest a time: a third of the lifetime before the end, earlier by up to a
// tenth of that, so that what was issued together is not renewed together.
func renewal(issued, expires time.Time) time.Time {
	third := expires.Sub(issued) / 3
	return expires.Add(-third - jitter(third/10))
}

// jitter returns a random time below most. It spreads what would otherwise happen at once.
func jitter(most time.Duration) time.Duration {
	return rand.N(max(most, 1)) //nolint:gosec // nobody gains from foreseeing it
}

// How long a failed order waits before the next try; the wait doubles each time.
const (
	firstPause = 30 * time.Minute
	mostPause  = 24 * time.Hour
)

// pause is how long to wait after so many failures in a row, with up to a quarter more as jitter.
func pause(failures int) time.Duration {
	wait := firstPause << min(max(failures-1, 0), 10)
	wait = min(wait, mostPause)
	return wait + jitter(wait/4)
}

// How long a name that is not ready waits. A young one is checked often, because its owner is setting it up.
const (
	youngPause = 5 * time.Minute
	adultPause = time.Hour
	oldPause   = 12 * time.Hour
)

func unreadyPause(age time.Duration) time.Duration {
	wait := oldPause
	switch {
	case age < 2*day:
		wait = youngPause
	case age < 30*day:
		wait = adultPause
	}
	return wait + jitter(wait/4)
}

// usable are the domains that may have certificates now.
func usable(domains []site.Domain) []site.Domain {
	return slices.DeleteFunc(slices.Clone(domains), func(d site.Domain) bool { return !d.Usable })
}

// hosts tells whether a name is a domain of the service, the "www." of one, or a wildcard below one.
func hosts(domains []site.Domain, name string) bool {
	bare, _ := strings.CutPrefix(name, "*.")
	without, _ := strings.CutPrefix(bare, "www.")
	return slices.ContainsFunc(domains, func(d site.Domain) bool { return d.Name == bare || d.Name == without })
}

// assign returns the domains that each certificate answers for. A domain gets, of those that cover it, the valid one that was
// requested last. An expired one is better than none: browsers warn, and HSTS stays in force.
func assign(rows []row, domains []site.Domain, now time.Time) map[int64][]string {
	of := map[int64][]string{}
	for _, d := range domains {
		if !d.Served || !d.Usable {
			continue
		}
		var best *row
		for i := range rows {
			r := &rows[i]
			if !r.isIssued() || !certificate.Covers(r.sans, d.Name) {
				continue
			}
			if best == nil || isPreferred(*r, *best, now) {
				best = r
			}
		}
		if best != nil {
			of[best.ID] = append(of[best.ID], d.Name)
		}
	}
	for _, names := range of {
		slices.Sort(names)
	}
	return of
}

// successorLead is how long before its end a certificate gives way to one that lasts longer, so that the panel has the
// successor in time.
const successorLead = day

func isPreferred(a, b row, now time.Time) bool {
	for _, at := range []time.Time{now.Add(successorLead), now} {
		if a.valid(at) != b.valid(at) {
			return a.valid(at)
		}
	}
	if !a.chosenAt.Equal(b.chosenAt) {
		return a.chosenAt.After(b.chosenAt)
	}
	return a.ID > b.ID
}

// PanelName implements site.Row.
func (r row) PanelName() string { return "c" + strconv.FormatInt(r.ID, 10) }

// renewalDue tells whether an order for the row renews a certificate in its time.
func (r row) renewalDue(now time.Time) bool {
	return r.isIssued() && r.renewAt != nil && !now.Before(*r.renewAt)
}
