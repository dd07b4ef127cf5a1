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

// Row is a row of the table services. The exported members are what was sold: package billing reads them, and changes them by
// the methods of billing.go alone.
type Row struct {
	ID, AccountID     int64
	Status            Status
	Domain, ClientRef *string
	PlanID            int64
	PlanSlug          string
	PlanName          string
	Limits            string // of the plan, raised by add-ons
	PlanLimits        string
	AddonLimits       string         // by how much, an object of numbers
	AddonPrice        money.USDCents // in RenewPrice, too
	PeriodMonths      int
	RenewPrice        money.USDCents
	Sandbox           bool
	PendingPlanID     *int64
	PendingPlanAt     *time.Time
	PendingPrice      *money.USDCents // of the pending plan, as its owner saw it
	ProvisionedAt     *time.Time
	ExpiresAt         *time.Time

	orderID              int64
	typ, label           string
	autoRenew            bool
	firstPrice           money.USDCents
	failureKey           *string
	suspendReason        *SuspendReason
	panel, panelRef      string
	place                placement
	epoch                int64 // how often it has moved
	moving               bool
	createdAt            time.Time
	nextRenewalAttemptAt *time.Time
	graceUntil           *time.Time
	suspendedAt          *time.Time
	terminatesAt         *time.Time
	metadata             string // a JSON object of strings
	ownerSuspendedAt     *time.Time
	endsAtExpiry         bool           // its owner has ordered so
	restoreOrderID       *int64         // held while it comes back
	restorePrice         money.USDCents // of the plan, in that order
	suspendNote          string
	cleaningUntil        *time.Time // what is left of its account is being removed
	reminded, warned     *int       // fewest days before expiry, and before the end, of which the owner was told
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
func (r Row) unicodeDomain() *string {
	if r.Domain == nil {
		return nil
	}
	shown := domainname.Unicode(*r.Domain)
	return &shown
}

// usernameOf is the name of the service's account on every panel.
func usernameOf(id int64) string { return "s" + strconv.FormatInt(id, 10) }

// nextPrice is what the next renewal costs: at the price of the plan that comes with it, where another one does. A service that has ended
// comes back as what it was.
func (r Row) nextPrice() money.USDCents {
	if r.PendingPrice != nil && r.Status != Terminated {
		return *r.PendingPrice + r.AddonPrice
	}
	return r.RenewPrice
}

// Renewing is the condition of Row.renewing in SQL, also for reports of fronts.
const Renewing = `auto_renew AND (status IN ('active', 'past_due') OR (status = 'suspended' AND suspend_reason = 'unpaid'))`

// NextPrice is Row.nextPrice in SQL.
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
