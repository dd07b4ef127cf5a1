package wallet

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/port/gateway"
)

// status of a top-up (resources, section 5).
type status string

const (
	pending     status = "pending"    // made, not begun to be paid
	processing  status = "processing" // the gateway has it
	succeeded   status = "succeeded"  // the money is in the wallet
	failed      status = "failed"
	cancelled   status = "cancelled"
	expired     status = "expired"
	refunded    status = "refunded"
	chargedBack status = "charged_back"
)

// open top-ups wait for their money.
func (s status) open() bool { return s == pending || s == processing }

// paid top-ups were credited once.
func (s status) paid() bool { return s == succeeded || s == refunded || s == chargedBack }

// next is the status after what the gateway says happened, and whether that
// changes anything. Events come late, twice and out of order, so whatever makes
// no sense now is passed over. Money that has arrived is credited even when the
// top-up was given up before: it is the customer's.
func next(s status, e gateway.EventKind) (status, bool) {
	switch {
	case e == gateway.Succeeded && !s.paid():
		return succeeded, true
	case e == gateway.Waiting && s.open():
		return processing, true
	case e == gateway.Failed && s.open():
		return failed, true
	case e == gateway.Cancelled && s.open():
		return cancelled, true
	case e == gateway.Expired && s.open():
		return expired, true
	case e == gateway.Refunded && s == succeeded:
		return refunded, true
	case e == gateway.ChargedBack && s == succeeded:
		return chargedBack, true
	default:
		return s, false
	}
}

// topup is a payment into a wallet.
type topup struct {
	ID          int64
	AccountID   int64
	Gateway     string
	Amount      money.USDCents // credited
	Fee         money.USDCents // paid on top
	Status      status
	TokenHash   []byte
	TokenSealed []byte
	Language    string
	ReturnURL   string
	RedirectURL string // where the gateway takes the money, when not on our page
	Reference   *string
	Payment     *string
	FailureKey  string
	TakenBack   money.USDCents // of Amount + Fee
	CreatedAt   time.Time
	ExpiresAt   time.Time
	CompletedAt *time.Time
	// Automatic top-ups are taken from a kept means of payment: Method.
	Automatic bool
	Method    string
	// Save: the customer wants the means of payment to be kept.
	Save bool
}

// total is what is paid. Both parts were checked when the top-up was made.
func (t topup) total() money.USDCents { return t.Amount + t.Fee }

// unpaidAfter is how long money that is on its way is waited for.
const unpaidAfter = 14 * 24 * time.Hour

// loopback hosts may be returned to without TLS: native applications in
// development and on the customer's own machine (RFC 8252).
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// returnURL checks where the customer goes after paying.
func returnURL(text string) bool {
	if len(text) > 2000 || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return false
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.User != nil || u.Hostname() == "" || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || (u.Scheme == "http" && loopback(u.Hostname()))
}
