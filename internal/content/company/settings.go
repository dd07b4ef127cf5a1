package company

import (
	"net/mail"
	"net/url"
	"strings"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// Settings are what staff have set; an empty member means that the configuration's value holds.
type Settings struct {
	Name    string `json:"name" maxLength:"80" doc:"Name on pages and in mails"`
	Color   string `json:"color" maxLength:"7" doc:"Accent of buttons and links, #rrggbb. Pages make it as much darker or lighter as text needs."`
	Support string `json:"support_email" maxLength:"254" doc:"Address where customers find help; answers to tickets arrive there"`
	Terms   string `json:"terms_url" maxLength:"500" doc:"The terms of service"`
	Privacy string `json:"privacy_url" maxLength:"500" doc:"How personal data is used"`
	Imprint string `json:"imprint_url" maxLength:"500" doc:"Who the company is"`
}

// checked returns the settings without spaces around them, or refuses them.
func (s Settings) checked() (Settings, error) {
	for _, text := range []*string{&s.Name, &s.Color, &s.Support, &s.Terms, &s.Privacy, &s.Imprint} {
		*text = strings.TrimSpace(*text)
	}
	s.Color = strings.ToLower(s.Color)
	// Invisible marks could turn the text around the name.
	if strings.ContainsFunc(s.Name, i18n.Unprintable) {
		return s, errText("name")
	}
	if s.Color != "" && !brand.IsColor(s.Color) {
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
			return s, errLink(member)
		}
	}
	return s, nil
}

// isLink reports whether a text is the whole address of a page.
func isLink(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '<' || r == '>' || r == '"' })
}

// over lays the settings over the configuration's values.
func (s Settings) over(b brand.Brand) brand.Brand {
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
