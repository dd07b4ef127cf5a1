package account

import (
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/secret"
)

// Profile is an account without its secrets.
type Profile struct {
	ID            int64
	Email         string
	EmailVerified bool
	Name          string
	Locale        string
	Currency      string
	// Role is that of a member of staff; customers have none.
	Role auth.Role
	// TwoFactor says that a sign-in needs a second factor.
	TwoFactor     bool
	SuspendedAt   *time.Time
	SuspendReason string
	ClosedAt      *time.Time
	CreatedAt     time.Time
	// Sandbox accounts belong to a reseller's sandbox keys; nobody signs in to them and no mail reaches them.
	Sandbox bool
}

// Open reports whether the account is neither suspended nor closed.
func (p Profile) Open() bool { return p.SuspendedAt == nil && p.ClosedAt == nil }

// Client is the sender of a request: its address and its user agent.
type Client struct {
	Address   netip.Addr
	UserAgent string
	// Device is the browser's token by which it is recognized (Outcome.Device); empty when it has none.
	Device string
}

const devicePrefix = "st_dv_"

// device returns the browser's token, and a new one when it has none.
func (c Client) device() string {
	if !strings.HasPrefix(c.Device, devicePrefix) {
		return secret.Token(devicePrefix, 32)
	}
	return c.Device
}

// maxUserAgent bounds the stored length of a user agent.
const maxUserAgent = 300

func (c Client) userAgent() string {
	ua := withoutControls(c.UserAgent)
	for len(ua) > maxUserAgent {
		_, size := utf8.DecodeLastRuneInString(ua[:maxUserAgent+1])
		ua = ua[:maxUserAgent+1-size]
	}
	return ua
}

// withoutControls converts a text to one line that every database accepts.
func withoutControls(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// key groups the addresses that one caller can choose from, for limits.
func (c Client) key() string {
	a := c.Address.Unmap()
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

func (c Client) address() string {
	if !c.Address.IsValid() {
		return ""
	}
	return c.Address.Unmap().String()
}

// maxWrittenEmail is more bytes than any spelling of an address of 254 characters needs.
const maxWrittenEmail = 2048

// NormalizeEmail converts an address to its one stored spelling: lower case, the domain in ASCII. It returns false for
// an invalid address.
func NormalizeEmail(s string) (string, bool) {
	// Punycode takes the square of a label's length, and anybody may try to sign in.
	if len(s) > maxWrittenEmail {
		return "", false
	}
	local, domain, ok := strings.Cut(strings.TrimSpace(s), "@")
	if !ok || local == "" || len(local) > 64 || strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, "..") {
		return "", false
	}
	for _, r := range local {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.!#$%&'*+-/=?^_`{|}~", r) {
			return "", false
		}
	}
	ascii, err := idna.Lookup.ToASCII(domain)
	if err != nil || !strings.Contains(ascii, ".") && ascii != "localhost" || len(ascii) > 253 || len(local)+1+len(ascii) > 254 {
		return "", false
	}
	return strings.ToLower(local) + "@" + strings.ToLower(ascii), true
}

// The bounds of a password, in characters. The upper one only bounds the work of hashing.
const (
	minPassword = 10
	maxPassword = 256
)

// normalizePassword gives one form to the same characters typed on different keyboards.
func normalizePassword(s string) string { return norm.NFC.String(s) }

// checkPassword refuses passwords that are easy to guess. There are no composition rules: they make passwords worse
// (NIST SP 800-63B).
func (s *Service) checkPassword(field, password, email, name string) error {
	password = normalizePassword(password)
	n := utf8.RuneCountInString(password)
	switch {
	case n < minPassword:
		return fault.InvalidData(field, "min_length", map[string]any{"Value": minPassword})
	case n > maxPassword:
		return fault.InvalidData(field, "max_length", map[string]any{"Value": maxPassword})
	}
	lower := strings.ToLower(password)
	distinct := map[rune]bool{}
	for _, r := range lower {
		distinct[r] = true
	}
	if len(distinct) < 4 || isCommon(lower) || namesSomebody(lower, email, name, s.Brand().Name) {
		return fault.Invalid(field, "account_password_guessable")
	}
	return nil
}

// shortestName is the length from which a password may not contain a name: shorter ones occur in words.
const shortestName = 4

// namesSomebody reports whether a password contains the address or its local part or the company, or is the name of its
// owner.
func namesSomebody(lower, email, name, company string) bool {
	local, _, _ := strings.Cut(email, "@")
	for _, part := range []string{email, local, strings.ToLower(company), strings.ToLower(strings.ReplaceAll(company, " ", ""))} {
		if utf8.RuneCountInString(part) >= shortestName && strings.Contains(lower, part) {
			return true
		}
	}
	return lower == strings.ToLower(name) || lower == local
}

// checkName returns the name in its stored form.
func checkName(name string) (string, error) {
	name = strings.Join(strings.Fields(norm.NFC.String(name)), " ")
	n := utf8.RuneCountInString(name)
	switch {
	case n == 0:
		return "", fault.Invalid("name", "required")
	case n > 100:
		return "", fault.InvalidData("name", "max_length", map[string]any{"Value": 100})
	case strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name):
		return "", fault.Invalid("name", "characters")
	case strings.Contains(name, "://") || strings.Contains(strings.ToLower(name), "www."):
		// Names appear in our mails: a registration must not send links to strangers.
		return "", fault.Invalid("name", "account_name_link")
	}
	return name, nil
}

func checkLocale(locale string) error {
	for _, l := range i18n.Supported() {
		if l == locale {
			return nil
		}
	}
	return fault.InvalidData("locale", "one_of", map[string]any{"Value": strings.Join(i18n.Supported(), ", ")})
}

// checkCurrency returns the code of a display currency in its stored form.
func checkCurrency(code string) (string, error) {
	if c, ok := money.ParseCurrency(code); ok {
		return string(c), nil
	}
	var known []string
	for _, c := range money.Currencies() {
		known = append(known, string(c))
	}
	return "", fault.InvalidData("currency", "one_of", map[string]any{"Value": strings.Join(known, ", ")})
}
