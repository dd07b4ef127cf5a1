package panel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// CapMail is the capability Mail.
const CapMail Capability = "mail"

// Mailbox is a mailbox of an account: where its mail is kept, what else is delivered to it, and who
// may use it.
type Mailbox struct {
	// Address is unique on the machine and does not change: see MailAddress.
	Address string `json:"address"`
	// PasswordHash is what the mail server compares passwords with, in crypt(3)'s form with the scheme
	// before it ("{BLF-CRYPT}$2y$…"). The clear text never comes here. It is set and never answered:
	// PasswordTag is. Empty leaves the one that the mailbox has; a new mailbox needs one.
	PasswordHash string `json:"password_hash,omitempty"`
	PasswordTag  string `json:"password_tag"` // see PasswordTag; reported, never asked for

	QuotaMB int64 `json:"quota_mb"` // mebibytes; zero is no bound. A full mailbox refuses mail for good (552)
	// Aliases are other addresses of the account's domains whose mail comes here.
	Aliases []string `json:"aliases"`
	// ForwardTo are addresses anywhere that get all mail. Unless KeepCopy the mailbox itself then gets none.
	ForwardTo []string `json:"forward_to"`
	KeepCopy  bool     `json:"keep_copy"`
	// CatchAll: mail to addresses of the domain that nobody has comes here. One mailbox of a domain may.
	CatchAll      bool          `json:"catch_all"`
	Autoresponder Autoresponder `json:"autoresponder"`
	Protocols     MailProtocols `json:"protocols"`
	// SendLimitPerHour is how many recipients the mailbox may send to within an hour; zero is no bound.
	SendLimitPerHour int `json:"send_limit_per_hour"`
	// Suspended: nobody signs in or sends, and mail for it is put off (450) and not lost.
	Suspended bool `json:"suspended"`

	// What follows is reported, never asked for, from the mail server's own counters.
	UsedBytes   int64     `json:"used_bytes"`
	Messages    int64     `json:"messages"`
	LastLoginAt time.Time `json:"last_login_at"` // by IMAP or POP3; zero: never
}

// Autoresponder answers who writes to a mailbox, at most once a day each (RFC 5230).
type Autoresponder struct {
	Enabled  bool      `json:"enabled"`
	Subject  string    `json:"subject"` // one line; empty leaves it to the mail server
	Body     string    `json:"body"`
	StartsAt time.Time `json:"starts_at"` // zero: it has started
	EndsAt   time.Time `json:"ends_at"`   // zero: it does not end
}

// MailProtocols says by which protocols a mailbox is used.
type MailProtocols struct {
	IMAP    bool `json:"imap"`
	POP3    bool `json:"pop3"`
	SMTPOut bool `json:"smtp_out"` // it may send
}

// MailDomain is a domain of an account that has mailboxes, and the key that signs what it sends.
type MailDomain struct {
	Name string `json:"name"`
	// DKIMSelector and DKIMPublicKey are for the record <selector>._domainkey.<name> (RFC 6376): the
	// RSA key in DER, base64. The private key never leaves the machine.
	DKIMSelector  string `json:"dkim_selector"`
	DKIMPublicKey string `json:"dkim_public_key"`
}

// MailServer is where mail programs and other mail servers reach the machine. A port is zero where it
// is not served.
type MailServer struct {
	Hostname    string `json:"hostname"`
	IMAP        int    `json:"imap"`        // STARTTLS
	IMAPS       int    `json:"imaps"`       // TLS from the start
	POP3        int    `json:"pop3"`        // STARTTLS
	POP3S       int    `json:"pop3s"`       // TLS from the start
	Submission  int    `json:"submission"`  // STARTTLS
	Submissions int    `json:"submissions"` // TLS from the start
	IPv4        string `json:"ipv4"`        // it sends from; empty when not known
	IPv6        string `json:"ipv6"`
}

// Mail keeps mailboxes. A domain of the account is one of mail as long as it has a mailbox; mail for
// the account's other domains goes where the DNS says.
type Mail interface {
	// Mailboxes lists the account's with what they use, by address.
	Mailboxes(ctx context.Context, ref string) ([]Mailbox, error)
	// SetMailbox has the account have the mailbox as m says, whether it was there before or not.
	// ErrInvalid: the address or what m asks is not well formed, or a domain is not the account's.
	// ErrExists: the address or an alias is another mailbox's, or another catches the domain's rest.
	SetMailbox(ctx context.Context, ref string, m Mailbox) (Mailbox, error)
	// RemoveMailbox ends a mailbox with all its mail, at once and for good.
	RemoveMailbox(ctx context.Context, ref, address string) error
	// MailDomains lists the account's domains that have mailboxes, by name.
	MailDomains(ctx context.Context, ref string) ([]MailDomain, error)
	// MailServer tells where the account's mailboxes are reached.
	MailServer(ctx context.Context, ref string) (MailServer, error)
}

// Bounds of a mailbox.
const (
	MaxMailAliases  = 100
	MaxMailForwards = 20
	MaxReplySubject = 200    // characters
	MaxReplyBody    = 10_000 // characters
)

// PasswordTag tells hashes of passwords apart without being one.
func PasswordTag(hash string) string {
	if hash == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(hash))
	return hex.EncodeToString(sum[:])
}

var (
	// A local part is ASCII (RFC 5321, not 6531) and of what every mail program and server takes. "+"
	// is not in it: what follows one is the recipient's own (RFC 5233).
	localPart = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9_-])?$`)
	// What mail may be forwarded to has a wider form, and none of what means something in a table of
	// a mail server: quotes, routes, lists, programs and files.
	forwardLocalPart = regexp.MustCompile(`^[A-Za-z0-9_](?:[A-Za-z0-9._+=&'~^-]{0,62}[A-Za-z0-9_+=~-])?$`)
)

// MailAddress is the canonical form of an address that a mailbox can have, lower-case ASCII, and its
// parts. What cannot be one is ErrInvalid.
func MailAddress(address string) (canonical, local, domain string, err error) {
	return mailAddress(strings.ToLower(address), localPart)
}

// ForwardAddress is the canonical form of an address to which mail can be forwarded.
func ForwardAddress(address string) (canonical, domain string, err error) {
	canonical, _, domain, err = mailAddress(address, forwardLocalPart)
	return canonical, domain, err
}

func mailAddress(address string, form *regexp.Regexp) (canonical, local, domain string, err error) {
	const most = 254 // RFC 5321, 4.5.3.1.3, without the brackets
	local, domain, _ = strings.Cut(address, "@")
	if len(address) > most || !form.MatchString(local) || strings.Contains(local, "..") {
		return "", "", "", fmt.Errorf("%w: %q is no address for mail", ErrInvalid, address)
	}
	if domain, err = CanonicalDomain(domain); err != nil {
		return "", "", "", err
	}
	return local + "@" + domain, local, domain, nil
}

// passwordHash is the form of a hash: a scheme, and nothing that ends a field or a line of a file of
// passwords.
var passwordHash = regexp.MustCompile(`^\{(BLF-CRYPT|SHA512-CRYPT|ARGON2ID)\}\$[A-Za-z0-9./$=,+]{20,300}$`)

// CheckMailbox brings what is asked of a mailbox to its canonical form, with lists sorted, or is
// ErrInvalid. owns tells whether the account has a domain. Every panel uses it.
func CheckMailbox(m Mailbox, owns func(domain string) bool) (Mailbox, error) {
	invalid := func(format string, args ...any) (Mailbox, error) {
		return Mailbox{}, fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
	}
	var err error
	if m.Address, err = ownAddress(m.Address, owns); err != nil {
		return Mailbox{}, err
	}
	const most = 1 << 30 // mebibytes
	switch {
	case m.PasswordHash != "" && !passwordHash.MatchString(m.PasswordHash):
		return invalid("the password of %s is not hashed as it should be", m.Address)
	case m.QuotaMB < 0 || m.QuotaMB > most || m.SendLimitPerHour < 0:
		return invalid("limits of %s", m.Address)
	case len(m.Aliases) > MaxMailAliases || len(m.ForwardTo) > MaxMailForwards:
		return invalid("%s has too many aliases or forwards", m.Address)
	case m.KeepCopy && len(m.ForwardTo) == 0:
		m.KeepCopy = false // it means nothing without
	}
	aliases := make([]string, len(m.Aliases))
	for i, a := range m.Aliases {
		if aliases[i], err = ownAddress(a, owns); err != nil {
			return Mailbox{}, err
		}
		if aliases[i] == m.Address {
			return invalid("%s is an alias of itself", a)
		}
	}
	m.Aliases = sortedSet(aliases)
	forwards := make([]string, len(m.ForwardTo))
	for i, f := range m.ForwardTo {
		if forwards[i], _, err = ForwardAddress(f); err != nil {
			return Mailbox{}, err
		}
		if strings.EqualFold(forwards[i], m.Address) {
			return invalid("%s is forwarded to itself", f)
		}
	}
	m.ForwardTo = sortedSet(forwards)
	a := &m.Autoresponder
	a.Body = strings.ReplaceAll(a.Body, "\r\n", "\n")
	a.StartsAt, a.EndsAt = a.StartsAt.UTC().Truncate(time.Second), a.EndsAt.UTC().Truncate(time.Second)
	switch {
	case !plainText(a.Subject, "") || utf8.RuneCountInString(a.Subject) > MaxReplySubject:
		return invalid("subject of the automatic answer of %s", m.Address)
	case !plainText(a.Body, "\n\t") || utf8.RuneCountInString(a.Body) > MaxReplyBody:
		return invalid("text of the automatic answer of %s", m.Address)
	case a.Enabled && strings.TrimSpace(a.Body) == "":
		return invalid("the automatic answer of %s is empty", m.Address)
	case !a.StartsAt.IsZero() && !a.EndsAt.IsZero() && !a.StartsAt.Before(a.EndsAt):
		return invalid("the automatic answer of %s ends before it starts", m.Address)
	}
	return m, nil
}

func ownAddress(address string, owns func(domain string) bool) (string, error) {
	canonical, _, domain, err := MailAddress(address)
	if err == nil && !owns(domain) {
		err = fmt.Errorf("%w: %s is no domain of the account", ErrInvalid, domain)
	}
	return canonical, err
}

// plainText tells whether text has no control characters but those that are allowed.
func plainText(text, allowed string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune(allowed, r)
	})
}

func sortedSet(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// SameMailbox tells whether a mailbox that a panel answered is as it is wished.
func SameMailbox(have, wish Mailbox) bool {
	return have.Address == wish.Address && (wish.PasswordHash == "" || have.PasswordTag == PasswordTag(wish.PasswordHash)) &&
		have.QuotaMB == wish.QuotaMB && slices.Equal(have.Aliases, wish.Aliases) && slices.Equal(have.ForwardTo, wish.ForwardTo) &&
		have.KeepCopy == wish.KeepCopy && have.CatchAll == wish.CatchAll && have.Protocols == wish.Protocols &&
		have.SendLimitPerHour == wish.SendLimitPerHour && have.Suspended == wish.Suspended &&
		have.Autoresponder.same(wish.Autoresponder)
}

func (a Autoresponder) same(b Autoresponder) bool {
	return a.Enabled == b.Enabled && a.Subject == b.Subject && a.Body == b.Body &&
		a.StartsAt.Equal(b.StartsAt) && a.EndsAt.Equal(b.EndsAt)
}
