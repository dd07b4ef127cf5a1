package reseller

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/fault"
)

// Brand is what a reseller's clients see on the pages of their services in place of ours. Its empty members are left out
// there.
type Brand struct {
	Name string `json:"name" doc:"Name of your company, on the pages that your clients see; empty shows the service's name" example:"Samarkand Web"`
	// Color is #rrggbb in small letters.
	Color        string `json:"color" doc:"Colour of buttons and links there, as #rrggbb; empty is a neutral one" example:"#0f5fa8"`
	SupportEmail string `json:"support_email" doc:"Where your clients ask for help; empty shows none" example:"help@reseller.example"`
}

// brandIn is the brand in a body.
type brandIn struct {
	Name         string `json:"name,omitempty" maxLength:"240" doc:"Name of your company: one line of at most 60 letters" example:"Samarkand Web"`
	Color        string `json:"color,omitempty" maxLength:"7" doc:"Colour of buttons and links, as #rrggbb" example:"#0f5fa8"`
	SupportEmail string `json:"support_email,omitempty" maxLength:"254" doc:"Where your clients ask for help" example:"help@reseller.example"`
}

var colorForm = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// checked returns the brand in its normal form, or the refusal of a member.
func (in brandIn) checked() (Brand, error) {
	b := Brand(in)
	b.Name = strings.TrimSpace(b.Name)
	b.Color = strings.ToLower(b.Color)
	if utf8.RuneCountInString(b.Name) > 60 || strings.ContainsFunc(b.Name, isControl) {
		return b, fault.Invalid("brand", "brand_name")
	}
	if b.Color != "" && !colorForm.MatchString(b.Color) {
		return b, fault.Invalid("brand", "brand_color")
	}
	if b.SupportEmail != "" {
		email, ok := account.NormalizeEmail(b.SupportEmail)
		if !ok {
			return b, fault.Invalid("brand", "expected_email")
		}
		b.SupportEmail = email
	}
	return b, nil
}
