package loyalty

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/money"
)

// Tier is a rank of customers.
type Tier struct {
	Key string
	// From is the amount that has to be spent within the Window.
	From money.USDCents
	// Cashback is the part of an order's price that is given back as a bonus, in hundredths of a percent.
	Cashback int64
}

// Program holds the tiers and the referral that the operator promises.
type Program struct {
	// Tiers are ordered from the lowest; everybody has at least the first.
	Tiers []Tier
	// Referral is the part of a referred customer's first order that the referrer gets, in
	// hundredths of a percent, and ReferralMax bounds it.
	Referral    int64
	ReferralMax money.USDCents
}

// Window is the time back in which spending counts.
const Window = 365 * 24 * time.Hour

// paceWindow is the time back from which the pace of spending is computed.
const paceWindow = 90 * 24 * time.Hour

var tierKey = regexp.MustCompile(`^[a-z][a-z0-9_]{0,19}$`)

// ParseTiers reads tiers as the configuration has them: name=dollars, or
// name=dollars:percent with the percent that comes back.
func ParseTiers(list []string) ([]Tier, error) {
	var tiers []Tier
	for _, text := range list {
		name, rest, ok := strings.Cut(strings.TrimSpace(text), "=")
		dollars, percent, more := strings.Cut(rest, ":")
		from, err := strconv.ParseInt(dollars, 10, 64)
		if !ok || !tierKey.MatchString(name) || err != nil || from < 0 || from > 10_000_000 {
			return nil, fmt.Errorf("loyalty: %q is not a tier such as silver=100 or gold=500:2", text)
		}
		t := Tier{Key: name, From: money.USDCents(from * 100)}
		if more {
			p, err := strconv.ParseFloat(percent, 64)
			if err != nil || !(p >= 0 && p <= 50) {
				return nil, fmt.Errorf("loyalty: %q: what comes back is 0 to 50 percent", text)
			}
			t.Cashback = int64(p*100 + 0.5)
		}
		if n := len(tiers); n > 0 && t.From <= tiers[n-1].From {
			return nil, fmt.Errorf("loyalty: the tier %s needs more than the one before it", name)
		}
		tiers = append(tiers, t)
	}
	if len(tiers) == 0 || tiers[0].From != 0 {
		return nil, errors.New("loyalty: the first tier is everybody's, and begins at 0")
	}
	return tiers, nil
}

// standing is a customer's tier, and how far the next one is.
type standing struct {
	Tier  Tier
	Next  *Tier
	Spent money.USDCents
	// Days until the next tier when spending continues at the pace of the last 90 days; nil without a next tier or
	// without spending.
	Days *int
}

// standingOf finds the tier for the amount spent within the Window; recent is the part of it spent within the paceWindow.
func (p Program) standingOf(spent, recent money.USDCents) standing {
	s := standing{Tier: p.Tiers[0], Spent: spent}
	for i, t := range p.Tiers {
		if spent >= t.From {
			s.Tier = t
			s.Next = nil
			if i+1 < len(p.Tiers) {
				s.Next = &p.Tiers[i+1]
			}
		}
	}
	if s.Next == nil || recent <= 0 {
		return s
	}
	missing := s.Next.From - spent
	paceDays := int64(paceWindow / (24 * time.Hour))
	// Rounded up: on that day it is reached.
	days, err := missing.MulDiv(paceDays, int64(recent))
	if err != nil {
		return s
	}
	if back, err := recent.MulDiv(int64(days), paceDays); err == nil && back < missing {
		days++
	}
	if n := int(days); n <= maxDays {
		s.Days = &n
	}
	return s
}

// maxDays bounds the forecast: beyond the Window the first of the spending no longer counts.
const maxDays = int(Window / (24 * time.Hour))

// part returns a part of an amount, in hundredths of a percent, rounded down so that rounding never exceeds a promise.
func part(amount money.USDCents, basisPoints int64) money.USDCents {
	if amount <= 0 || basisPoints <= 0 {
		return 0
	}
	scaled := amount / 10_000 * money.USDCents(basisPoints)
	return scaled + amount%10_000*money.USDCents(basisPoints)/10_000
}
