package mail

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// box is a row of the table mail_boxes.
type box struct {
	site.Item
	// mailbox is what should be. Its counters are what the panel last reported.
	what          panel.Mailbox
	toldSuspended bool // mailbox.suspended was emitted since it was last active
	measuredAt    *time.Time
	full          bool
	createdAt     time.Time
	activatedAt   *time.Time
}

// PanelName implements site.Row.
func (b box) PanelName() string { return b.what.Address }

func (b box) domain() string { return domainOf(b.what.Address) }

func domainOf(address string) string {
	_, domain, _ := strings.Cut(address, "@")
	return domain
}

// Status is what a customer sees of a mailbox.
type Status string

// The states of a mailbox. Pending to Removing are how far the panel has followed.
const (
	Pending   Status = "pending"
	Active    Status = "active"
	Suspended Status = "suspended" // by its owner
	Disabled  Status = "disabled"  // its service is suspended, or its domain is no longer the service's
	Failed    Status = "failed"
	Removing  Status = "removing"
)

// Reasons of a status, besides the keys of failures.
const (
	reasonService = "service_suspended"
	reasonDomain  = "domain_removed"
)

// visibleStatus is the status of a mailbox as customers see it, with the reason where it has one.
func (b box) visibleStatus(on site.Site, domains []site.Domain) (Status, *string) {
	reason := func(s Status, why string) (Status, *string) { return s, &why }
	switch {
	case b.Status == site.Removing:
		return Removing, nil
	case !owned(domains, b.domain()):
		return reason(Disabled, reasonDomain)
	case b.Status == site.Failed:
		return Failed, b.FailureKey
	case !on.Online():
		return reason(Disabled, reasonService)
	case b.Status == site.Pending:
		return Pending, nil
	case b.what.Suspended:
		return Suspended, nil
	}
	return Active, nil
}

// served is the mailbox without aliases of domains that have left the service.
func (b box) served(domains []site.Domain) panel.Mailbox {
	m := b.what
	m.Aliases = slices.DeleteFunc(slices.Clone(m.Aliases), func(a string) bool { return !owned(domains, domainOf(a)) })
	m.PasswordTag, m.UsedBytes, m.Messages, m.LastLoginAt = "", 0, 0, time.Time{}
	return m
}

// owned tells whether a domain is the service's.
func owned(domains []site.Domain, name string) bool {
	return slices.ContainsFunc(domains, func(d site.Domain) bool { return d.Name == name })
}

// takes tells whether a domain may be given addresses.
func takes(domains []site.Domain, name string) bool {
	return slices.ContainsFunc(domains, func(d site.Domain) bool { return d.Name == name && d.Usable })
}

// Bounds and defaults of what a customer may ask.
const (
	defaultQuotaMB   = 1024
	defaultSendLimit = 200
	// defaultSpamThreshold is also the mail server's usual one, of mailboxes in backups from before there was a filter.
	defaultSpamThreshold = 6
	maxSendLimit         = 500 // recipients in an hour
	minPassword          = 10  // characters
	maxPassword          = 72  // bytes: bcrypt looks at no more
	minDistinct          = 5   // characters of a password
)

// change is what a customer wants of a mailbox; nil leaves a member as it is.
type change struct {
	quotaMB       *int64
	password      *string
	aliases       *[]string
	forwardTo     *[]string
	keepCopy      *bool
	catchAll      *bool
	autoresponder *panel.Autoresponder
	protocols     *panel.MailProtocols
	sendLimit     *int
	spamThreshold *int // of the interface: 0 is none
	suspended     *bool
}

// with is the mailbox after the change, whose password is hashed already. diskMB is what the plan allows,
// site.Unlimited for no bound.
func (b box) with(c change, hash string, diskMB int64, domains []site.Domain) (box, error) {
	m := b.what
	set(&m.QuotaMB, c.quotaMB)
	set(&m.Aliases, c.aliases)
	set(&m.ForwardTo, c.forwardTo)
	set(&m.KeepCopy, c.keepCopy)
	set(&m.CatchAll, c.catchAll)
	set(&m.Autoresponder, c.autoresponder)
	set(&m.Protocols, c.protocols)
	set(&m.SendLimitPerHour, c.sendLimit)
	if c.spamThreshold != nil {
		if m.SpamThreshold = *c.spamThreshold; m.SpamThreshold == 0 {
			m.SpamThreshold = panel.NoSpamFilter
		}
	}
	set(&m.Suspended, c.suspended)
	if hash != "" {
		m.PasswordHash = hash
	}
	if m.QuotaMB < 1 {
		return b, fault.Invalid("quota_mb", "mail_quota")
	}
	if diskMB != site.Unlimited && m.QuotaMB > diskMB && m.QuotaMB > b.what.QuotaMB {
		return b, errQuota.With(fault.Fields{"maximum": diskMB})
	}
	if m.SendLimitPerHour < 1 || m.SendLimitPerHour > maxSendLimit {
		return b, fault.InvalidData("send_limit_per_hour", "mail_send_limit", map[string]any{"Max": maxSendLimit})
	}
	// What it has may stay. Of domains that have left the service it is not served (served).
	had := func(domain string) bool {
		return domain == b.domain() || slices.ContainsFunc(b.what.Aliases, func(a string) bool { return domainOf(a) == domain })
	}
	owns := func(domain string) bool { return takes(domains, domain) || had(domain) }
	if err := checkMembers(m, owns); err != nil {
		return b, err
	}
	m, err := panel.CheckMailbox(m, owns)
	if err != nil {
		return b, fault.Validation.Wrap(err) // what was checked above has its own words
	}
	b.what = m
	return b, nil
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// checkMembers says which member of a mailbox cannot be, in words for people.
func checkMembers(m panel.Mailbox, owns func(domain string) bool) error {
	if len(m.Aliases) > panel.MaxMailAliases {
		return fault.InvalidData("aliases", "mail_too_many", map[string]any{"Max": panel.MaxMailAliases})
	}
	for _, a := range m.Aliases {
		canonical, _, domain, err := panel.MailAddress(a)
		if err != nil || !owns(domain) || canonical == m.Address {
			return errAddress.With(fault.Fields{"field": "aliases", "address": a})
		}
	}
	if len(m.ForwardTo) > panel.MaxMailForwards {
		return fault.InvalidData("forward_to", "mail_too_many", map[string]any{"Max": panel.MaxMailForwards})
	}
	for _, f := range m.ForwardTo {
		canonical, _, err := panel.ForwardAddress(f)
		if err != nil || strings.EqualFold(canonical, m.Address) {
			return errAddress.With(fault.Fields{"field": "forward_to", "address": f})
		}
	}
	a := m.Autoresponder
	switch {
	case strings.ContainsFunc(a.Subject, unicode.IsControl) || utf8.RuneCountInString(a.Subject) > panel.MaxReplySubject:
		return fault.Invalid("autoresponder", "mail_reply_subject")
	case utf8.RuneCountInString(a.Body) > panel.MaxReplyBody ||
		strings.ContainsFunc(a.Body, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\r\n\t", r) }):
		return fault.Invalid("autoresponder", "mail_reply_body")
	case a.Enabled && strings.TrimSpace(a.Body) == "":
		return fault.Invalid("autoresponder", "mail_reply_empty")
	case !a.StartsAt.IsZero() && !a.EndsAt.IsZero() && !a.StartsAt.Before(a.EndsAt):
		return fault.Invalid("autoresponder", "mail_reply_dates")
	case !isWritable(a.StartsAt) || !isWritable(a.EndsAt):
		return fault.Invalid("autoresponder", "mail_reply_years")
	}
	return nil
}

// isWritable tells whether a time can be isWritable by RFC 3339 in UTC, in which it is kept and told: the last
// hours of the year 9999 elsewhere are none of its years.
func isWritable(t time.Time) bool { return t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 }

// newBox returns a mailbox with default settings.
func newBox(localPart, domain string, domains []site.Domain) (box, error) {
	refuse := func() (box, error) {
		return box{}, errAddress.With(fault.Fields{"field": "local_part", "address": localPart + "@" + domain})
	}
	if strings.Contains(localPart, "@") {
		return refuse()
	}
	address, _, domain, err := panel.MailAddress(localPart + "@" + strings.TrimSpace(domain))
	if err != nil {
		return refuse()
	}
	if !takes(domains, domain) {
		return box{}, fault.Invalid("domain", "mail_domain")
	}
	return box{what: panel.Mailbox{
		Address: address, QuotaMB: defaultQuotaMB, SendLimitPerHour: defaultSendLimit, SpamThreshold: defaultSpamThreshold,
		Protocols: panel.MailProtocols{IMAP: true, POP3: true, SMTPOut: true},
	}}, nil
}

// hash checks a password for the address and hashes it as mail servers read it.
func (s *Service) hash(password, address string) (string, error) {
	local, _, _ := strings.Cut(address, "@")
	distinct := map[rune]bool{}
	for _, r := range password {
		if unicode.IsControl(r) {
			return "", fault.InvalidData("password", "mail_password", passwordBounds())
		}
		distinct[r] = true
	}
	lower := strings.ToLower(password)
	const telling = 4 // a local part of fewer characters is in many passwords
	switch {
	case !utf8.ValidString(password) || utf8.RuneCountInString(password) < minPassword || len(password) > maxPassword || len(distinct) < minDistinct,
		strings.Contains(lower, address), len(local) >= telling && strings.Contains(lower, local):
		return "", fault.InvalidData("password", "mail_password", passwordBounds())
	}
	h, err := bcrypt.GenerateFromPassword([]byte(password), s.HashCost)
	if errors.Is(err, bcrypt.ErrPasswordTooLong) {
		return "", fault.InvalidData("password", "mail_password", passwordBounds())
	}
	if err != nil {
		return "", fmt.Errorf("mail: %w", err)
	}
	return "{BLF-CRYPT}" + string(h), nil
}

func passwordBounds() map[string]any { return map[string]any{"Min": minPassword, "Max": maxPassword} }

// clash returns the refusal of b when another mailbox of the service has one of its addresses, or its catch-all.
func clash(all []box, b box) error {
	for _, other := range all {
		if other.ID == b.ID {
			continue
		}
		if other.what.Address == b.what.Address && other.Status == site.Removing {
			return fault.JobRunning.New()
		}
		if other.Status == site.Removing {
			continue
		}
		if other.what.CatchAll && b.what.CatchAll && other.domain() == b.domain() {
			return fault.AlreadyExists.With(fault.Fields{"field": "catch_all", "address": other.what.Address})
		}
		theirs := append([]string{other.what.Address}, other.what.Aliases...)
		for _, a := range append([]string{b.what.Address}, b.what.Aliases...) {
			if slices.Contains(theirs, a) {
				return fault.AlreadyExists.With(fault.Fields{"address": a})
			}
		}
	}
	return nil
}

// full tells whether a mailbox has reached its quota. One that has stays full until it is well below, so that the event is
// not repeated.
func full(m panel.Mailbox, before bool) bool {
	quota := m.QuotaMB << 20
	if before {
		return m.UsedBytes > quota/100*90
	}
	return m.UsedBytes >= quota/100*98
}
