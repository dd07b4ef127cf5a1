package panel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// CapMail is the capability Mail.
const CapMail Capability = "mail"

// Mailbox is a mailbox of an account: the mail that it stores, what else is delivered to it, and who may use it.
type Mailbox struct {
	// Address is unique on the machine and does not change: see MailAddress.
	Address string `json:"address"`
	// PasswordHash is the hash with which the mail server compares passwords, in crypt(3)'s form after the scheme
	// ("{BLF-CRYPT}$2y$…"). The clear text never comes here. It is never returned: PasswordTag is. Empty keeps the
	// present one; a new mailbox needs one.
	PasswordHash string `json:"password_hash,omitempty"`
	PasswordTag  string `json:"password_tag"` // see PasswordTag; reported, never asked for

	QuotaMB int64 `json:"quota_mb"` // mebibytes; zero is no bound. A full mailbox refuses mail for good (552)
	// Aliases are other addresses of the account's domains whose mail comes here.
	Aliases []string `json:"aliases"`
	// ForwardTo are addresses anywhere that get all mail. Without KeepCopy the mailbox itself then gets none.
	ForwardTo []string `json:"forward_to"`
	KeepCopy  bool     `json:"keep_copy"`
	// CatchAll says that mail to unknown addresses of the domain comes here. One mailbox of a domain may.
	CatchAll      bool          `json:"catch_all"`
	Autoresponder Autoresponder `json:"autoresponder"`
	Protocols     MailProtocols `json:"protocols"`
	// SendLimitPerHour is how many recipients the mailbox may send to within an hour; zero is no bound.
	SendLimitPerHour int `json:"send_limit_per_hour"`
	// SpamThreshold is the score from which on mail goes to Junk; zero is the server's usual one. See NoSpamFilter.
	SpamThreshold int `json:"spam_threshold"`
	// Suspended says that nobody signs in or sends, and that mail for it is deferred (450), not lost.
	Suspended bool `json:"suspended"`

	// The following is reported by the mail server's own counters, never set.
	UsedBytes   int64     `json:"used_bytes"`
	Messages    int64     `json:"messages"`
	LastLoginAt time.Time `json:"last_login_at"` // by IMAP or POP3; zero: never
}

const (
	// NoSpamFilter is the threshold of a mailbox of which no mail goes to Junk.
	NoSpamFilter = -1
	// MaxSpamThreshold is the highest threshold: mail of a higher score is refused.
	MaxSpamThreshold = 14
)

// Autoresponder answers each sender at most once a day (RFC 5230).
type Autoresponder struct {
	Enabled  bool      `json:"enabled"`
	Subject  string    `json:"subject"` // one line; empty leaves it to the mail server
	Body     string    `json:"body"`
	StartsAt time.Time `json:"starts_at"` // zero: it has started
	EndsAt   time.Time `json:"ends_at"`   // zero: it does not end
}

// MailProtocols selects the protocols of a mailbox.
type MailProtocols struct {
	IMAP    bool `json:"imap"`
	POP3    bool `json:"pop3"`
	SMTPOut bool `json:"smtp_out"` // it may send
}

// MailDomain is a domain of an account that has mailboxes, with its signing key.
type MailDomain struct {
	Name string `json:"name"`
	// DKIMSelector and DKIMPublicKey are for the record <selector>._domainkey.<name> (RFC 6376): the
	// RSA key in DER, base64. The private key never leaves the machine.
	DKIMSelector  string `json:"dkim_selector"`
	DKIMPublicKey string `json:"dkim_public_key"`
}

// MailServer is how mail programs and other mail servers reach the machine. The port of an unavailable protocol is
// zero.
type MailServer struct {
	Hostname    string `json:"hostname"`
	IMAP        int    `json:"imap"`        // STARTTLS
	IMAPS       int    `json:"imaps"`       // TLS from the start
	POP3        int    `json:"pop3"`        // STARTTLS
	POP3S       int    `json:"pop3s"`       // TLS from the start
	Submission  int    `json:"submission"`  // STARTTLS
	Submissions int    `json:"submissions"` // TLS from the start
	Sieve       int    `json:"sieve"`       // STARTTLS; of filters (RFC 5804)
	IPv4        string `json:"ipv4"`        // it sends from; empty when not known
	IPv6        string `json:"ipv6"`
}

// Mail manages mailboxes. A domain of the account is a mail domain as long as it has a mailbox; mail for the account's
// other domains goes where the DNS says.
type Mail interface {
	// Mailboxes lists the account's mailboxes with their use, by address.
	Mailboxes(ctx context.Context, ref string) ([]Mailbox, error)
	// SetMailbox creates or changes the mailbox. ErrInvalid: the address or a setting is invalid, or a domain does not
	// belong to the account. ErrExists: another mailbox has the address or an alias, or is the domain's catch-all.
	SetMailbox(ctx context.Context, ref string, m Mailbox) (Mailbox, error)
	// RemoveMailbox deletes a mailbox with all its mail, for good.
	RemoveMailbox(ctx context.Context, ref, address string) error
	// MailDomains lists the account's domains that have mailboxes, by name.
	MailDomains(ctx context.Context, ref string) ([]MailDomain, error)
	// MailServer returns how the account's mailboxes are reached.
	MailServer(ctx context.Context, ref string) (MailServer, error)
	// AddMail adds messages to a mailbox that were another server's: a tar of a Maildir (cur/, new/, .Folder/cur/), with its subscriptions and
	// uid lists. What the mailbox has stays, and a message that it has already, by its name, is not added again. Entries that are nothing of
	// a Maildir are skipped and counted. ErrDiskFull: the quota of the mailbox is reached; what came before is there.
	AddMail(ctx context.Context, ref, address string, maildir io.Reader) (AddedMail, error)
}

// AddedMail counts what AddMail did.
type AddedMail struct {
	Messages int64 `json:"messages"` // added
	There    int64 `json:"there"`    // there already
	Skipped  int64 `json:"skipped"`  // nothing of a Maildir
	Bytes    int64 `json:"bytes"`    // added
}

// Bounds of a mailbox.
const (
	MaxMailAliases  = 100
	MaxMailForwards = 20
	MaxReplySubject = 200    // characters
	MaxReplyBody    = 10_000 // characters
)

// PasswordTag distinguishes hashes of passwords without revealing them.
func PasswordTag(hash string) string {
	if hash == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(hash))
	return hex.EncodeToString(sum[:])
}

var (
	// A local part is ASCII (RFC 5321, not 6531), in characters that every mail program and server accepts. "+" is
	// excluded: what follows it belongs to the recipient (RFC 5233).
	localPart = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9_-])?$`)
	// A forward's local part has a wider form, without characters that have a meaning in a mail server's tables:
	// quotes, routes, lists, programs and files.
	forwardLocalPart = regexp.MustCompile(`^[A-Za-z0-9_](?:[A-Za-z0-9._+=&'~^-]{0,62}[A-Za-z0-9_+=~-])?$`)
)

// MailAddress returns the canonical form of an address that a mailbox can have, lower-case ASCII, and its parts. An
// invalid one is ErrInvalid.
func MailAddress(address string) (canonical, local, domain string, err error) {
	return mailAddress(strings.ToLower(address), localPart)
}

// ForwardAddress returns the canonical form of an address to which mail can be forwarded.
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

// passwordHash is the form of a hash: a scheme, and no character that ends a field or a line of a password file.
var passwordHash = regexp.MustCompile(`^\{(BLF-CRYPT|SHA512-CRYPT|ARGON2ID)\}\$[A-Za-z0-9./$=,+]{20,300}$`)

// CheckMailbox returns the settings of a mailbox in canonical form, with sorted lists, or ErrInvalid. owns reports
// whether the account has a domain. Every panel uses it.
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
	case m.SpamThreshold < NoSpamFilter || m.SpamThreshold > MaxSpamThreshold:
		return invalid("the threshold of spam of %s", m.Address)
	case len(m.Aliases) > MaxMailAliases || len(m.ForwardTo) > MaxMailForwards:
		return invalid("%s has too many aliases or forwards", m.Address)
	case m.KeepCopy && len(m.ForwardTo) == 0:
		m.KeepCopy = false // it has no meaning without forwards
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

// plainText reports whether text has no control characters except the allowed ones.
func plainText(text, allowed string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune(allowed, r)
	})
}

func sortedSet(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// SameMailbox reports whether a mailbox that a panel returned has the wanted settings.
func SameMailbox(have, wish Mailbox) bool {
	return have.Address == wish.Address && (wish.PasswordHash == "" || have.PasswordTag == PasswordTag(wish.PasswordHash)) &&
		have.QuotaMB == wish.QuotaMB && slices.Equal(have.Aliases, wish.Aliases) && slices.Equal(have.ForwardTo, wish.ForwardTo) &&
		have.KeepCopy == wish.KeepCopy && have.CatchAll == wish.CatchAll && have.Protocols == wish.Protocols &&
		have.SendLimitPerHour == wish.SendLimitPerHour && have.SpamThreshold == wish.SpamThreshold && have.Suspended == wish.Suspended &&
		have.Autoresponder.same(wish.Autoresponder)
}

func (a Autoresponder) same(b Autoresponder) bool {
	return a.Enabled == b.Enabled && a.Subject == b.Subject && a.Body == b.Body &&
		a.StartsAt.Equal(b.StartsAt) && a.EndsAt.Equal(b.EndsAt)
}
