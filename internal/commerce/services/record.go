package services

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/port/panel"
)

// record is a row of the table services.
type record struct {
	id, accountID, orderID int64
	typ, label             string
	status                 Status
	domain, clientRef      *string
	planID                 int64
	planSlug               string
	planName               string
	limits                 string // of the plan, raised by add-ons
	planLimits             string
	addonLimits            string         // by how much, an object of numbers
	addonPrice             money.USDCents // in renewPrice, too
	periodMonths           int
	autoRenew              bool
	renewPrice, firstPrice money.USDCents
	sandbox                bool
	failureKey             *string
	suspendReason          *SuspendReason
	pendingPlanID          *int64
	pendingPlanAt          *time.Time
	pendingPrice           *money.USDCents // of the pending plan, as its owner saw it
	panel, panelRef        string
	place                  placement
	epoch                  int64 // how often it has moved
	moving                 bool
	createdAt              time.Time
	provisionedAt          *time.Time
	expiresAt              *time.Time
	nextRenewalAttemptAt   *time.Time
	graceUntil             *time.Time
	suspendedAt            *time.Time
	terminatesAt           *time.Time
	metadata               string // a JSON object of strings
	ownerSuspendedAt       *time.Time
	endsAtExpiry           bool           // its owner has ordered so
	restoreOrderID         *int64         // held while it comes back
	restorePrice           money.USDCents // of the plan, in that order
	suspendNote            string
	cleaningUntil          *time.Time // what is left of its account is being removed
	reminded, warned       *int       // fewest days before expiry, and before the end, of which the owner was told
}

// placement is where a panel serves an account.
type placement struct {
	username, originURL, location, ipv4, ipv6 string
	nameservers                               []string
}

func placementOf(a panel.Account) placement {
	return placement{
		username: a.Username, originURL: a.OriginURL, location: a.Location,
		ipv4: a.IPv4, ipv6: a.IPv6, nameservers: a.Nameservers,
	}
}

// same tells whether two places are one.
func (p placement) same(other placement) bool {
	return p.username == other.username && p.originURL == other.originURL && p.location == other.location && p.ipv4 == other.ipv4 &&
		p.ipv6 == other.ipv6 && slices.Equal(p.nameservers, other.nameservers)
}

// unicodeDomain is the domain as people write it.
func (r record) unicodeDomain() *string {
	if r.domain == nil {
		return nil
	}
	shown := domainname.Unicode(*r.domain)
	return &shown
}

// usernameOf is the name of the service's account on every panel.
func usernameOf(id int64) string { return "s" + strconv.FormatInt(id, 10) }

// nextPrice is what the next renewal costs: at the price of the plan that comes with it, where another one does.
func (r record) nextPrice() money.USDCents {
	if r.pendingPrice != nil {
		return *r.pendingPrice + r.addonPrice
	}
	return r.renewPrice
}

// Renewing is the condition of record.renewing in SQL, also for reports of fronts.
const Renewing = `auto_renew AND (status IN ('active', 'past_due') OR (status = 'suspended' AND suspend_reason = 'unpaid'))`

// NextPrice is record.nextPrice in SQL.
const NextPrice = `COALESCE(pending_price + addon_price, renew_price)`

// searchText is what a search looks through: the label and the domain in both its forms, each once, because a search
// looks through it for every service of an account.
func searchText(label string, domain *string) string {
	lines := []string{strings.ToLower(label)}
	if domain != nil {
		for _, name := range []string{*domain, strings.ToLower(domainname.Unicode(*domain))} {
			if !slices.Contains(lines, name) {
				lines = append(lines, name)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// cleanLabel is a label as it is kept: one line, no blanks around it.
func cleanLabel(label string) (string, error) {
	label = strings.TrimSpace(label)
	if label == "" {
		return "", fault.Invalid("label", "required")
	}
	if strings.ContainsFunc(label, unicode.IsControl) {
		return "", fault.Invalid("label", "characters")
	}
	return label, nil
}

// nextEnd is when n months end that follow the paid time until end. An end that a short month has moved to its last day goes back
// to the day on which the service began: from 31 January a service is paid until 28 February, then until 31 March.
func nextEnd(end time.Time, n int, began *time.Time) time.Time {
	until := addMonths(end, n)
	if began == nil || began.Day() <= end.Day() || end.AddDate(0, 0, 1).Day() != 1 {
		return until
	}
	return until.AddDate(0, 0, min(began.Day(), lastDay(until))-until.Day())
}

// lastDay is the number of days of the month of t.
func lastDay(t time.Time) int {
	return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, t.Location()).Day()
}

// addMonths goes n calendar months on. A day that the month does not have is its
// last one: a month after 31 January is 28 or 29 February.
func addMonths(t time.Time, n int) time.Time {
	year, month, day := t.Date()
	last := time.Date(year, month+time.Month(n)+1, 0, 0, 0, 0, 0, t.Location()).Day()
	hour, minute, second := t.Clock()
	return time.Date(year, month+time.Month(n), min(day, last), hour, minute, second, t.Nanosecond(), t.Location())
}
