package brand

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// Settings are what somebody has set of a brand; each may be empty.
type Settings struct {
	Name    string `json:"name" maxLength:"80" doc:"Name on pages and in mails: one line"`
	Color   string `json:"color" maxLength:"7" doc:"Accent of buttons and links, #rrggbb. Pages make it as much darker or lighter as text needs."`
	Support string `json:"support_email" maxLength:"254" doc:"Address where customers find help"`
	Terms   string `json:"terms_url" maxLength:"500" doc:"The terms of service: a whole address"`
	Privacy string `json:"privacy_url" maxLength:"500" doc:"How personal data is used"`
	Imprint string `json:"imprint_url" maxLength:"500" doc:"Who the company is"`
}

// Checked returns the settings without spaces around them, or refuses them.
func (s Settings) Checked() (Settings, error) {
	for _, text := range []*string{&s.Name, &s.Color, &s.Support, &s.Terms, &s.Privacy, &s.Imprint} {
		*text = strings.TrimSpace(*text)
	}
	s.Color = strings.ToLower(s.Color)
	// Invisible marks could turn the text around the name.
	if strings.ContainsFunc(s.Name, i18n.Unprintable) {
		return s, fault.Invalid("name", "company_text")
	}
	if s.Color != "" && !IsColor(s.Color) {
		return s, fault.Invalid("color", "company_color")
	}
	if s.Support != "" {
		a, err := mail.ParseAddress(s.Support)
		if err != nil || a.Address != s.Support || a.Name != "" || strings.ContainsAny(s.Support, "\"<> ") {
			return s, fault.Invalid("support_email", "expected_email")
		}
	}
	for member, link := range map[string]string{"terms_url": s.Terms, "privacy_url": s.Privacy, "imprint_url": s.Imprint} {
		if link != "" && !isLink(link) {
			return s, fault.Invalid(member, "company_link")
		}
	}
	return s, nil
}

// ETag is the version of the settings with the pictures of these hashes, by their kinds.
func (s Settings) ETag(pictures map[string]string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", s, pictures[LogoKind], pictures[IconKind]))
	return hex.EncodeToString(sum[:12])
}

// isLink reports whether a text is the whole address of a page.
func isLink(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '<' || r == '>' || r == '"' })
}

// Over lays the settings over the values of a brand.
func (s Settings) Over(b Brand) Brand {
	for _, v := range []struct {
		set  string
		into *string
	}{{s.Name, &b.Name}, {s.Color, &b.Color}, {s.Support, &b.Support}, {s.Terms, &b.Terms}, {s.Privacy, &b.Privacy}, {s.Imprint, &b.Imprint}} {
		if v.set != "" {
			*v.into = v.set
		}
	}
	b.Sender = s.Name
	return b
}

// lookalikes are letters and digits that are read as another letter.
var lookalikes = strings.NewReplacer(
	"а", "a", "в", "b", "е", "e", "ё", "e", "к", "k", "м", "m", "н", "h", "о", "o", "р", "p", "с", "c", "т", "t", "у", "y", "х", "x", "і", "i", "ѕ", "s", "ј", "j",
	"ԁ", "d", "ӏ", "l", "α", "a", "ε", "e", "ι", "i", "κ", "k", "ν", "v", "ο", "o", "ρ", "p", "τ", "t", "υ", "u", "χ", "x", "ı", "i",
	"0", "o", "1", "l", "5", "s",
)

// SpeaksFor reports whether a name is read as that of a company, or as a part of it, such as "Stead Support": whatever case,
// spaces and signs, and with letters of other alphabets or digits that look like those of the other.
func SpeaksFor(name, company string) bool {
	switch seen(company) {
	case "":
		return false
	case seen(name):
		return true
	}
	words, own := strings.Fields(spaced(name)), strings.Fields(spaced(company))
	return len(words) > len(own) && slices.EqualFunc(words[:len(own)], own, func(a, b string) bool { return seen(a) == seen(b) })
}

// spaced has a space in the place of each sign between words.
func spaced(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			return r
		}
		return ' '
	}, name)
}

// seen is a name as the eye takes it.
func seen(name string) string {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1 // accents, too, which the normal form has apart
	}, norm.NFKD.String(strings.ToLower(name)))
	return strings.ReplaceAll(lookalikes.Replace(plain), "i", "l")
}
