// Package brand has the values by which the company, or a reseller, shows itself on pages and in mails, with the check of what
// people enter and upload. Section company and the front of resellers own them; what shows the company asks its Source each
// time, because staff change it while the program runs.
package brand

import (
	"fmt"
	"math"
	"strconv"
)

// Brand is how the company shows itself.
type Brand struct {
	// Name is the company's name; it is never empty.
	Name string
	// Color is the accent of buttons and links as #rrggbb; empty for the program's own.
	Color string
	// Support is the mail address where customers find help; it may be empty.
	Support string
	// Terms, Privacy and Imprint are absolute addresses of legal pages; each may be empty.
	Terms, Privacy, Imprint string
	// Logo is the path of the picture that stands for the name on this site; empty without one. Icon is that of the small
	// picture in a browser's tab, and Style that of the style sheet with the colours, empty where Color is.
	Logo, Icon, Style string
	// MailLogo says that mail programs can show the logo.
	MailLogo bool
	// Sender is the name of mails' sender; empty for that of the configured address.
	Sender string
}

// Source returns the present brand.
type Source func() Brand

// Fixed is the Source of a brand that does not change.
func Fixed(b Brand) Source { return func() Brand { return b } }

// Own is the accent where the company has chosen none.
const Own = "#0f7a50"

// Palette is what is made of the accent, so that text has a contrast of 4.5:1 (WCAG 2.2) whatever colour was chosen.
type Palette struct {
	// Accent is for buttons with the text OnAccent and for links, Hover for both under the pointer. Ground is behind notices.
	Accent, OnAccent, Hover, Ground string
}

// Light is the palette on light pages: the accent itself, or as much darker as white text on it needs.
func (b Brand) Light() Palette {
	c := parse(b.Color)
	for c.luminance() > readableUnderWhite {
		c = c.mixed(black, 0.05)
	}
	return Palette{c.String(), white.String(), c.mixed(black, 0.2).String(), c.mixed(white, 0.94).String()}
}

// Dark is the palette on dark pages: as much lighter as links on their surfaces need.
func (b Brand) Dark() Palette {
	c := parse(b.Color)
	for c.luminance() < readableOnDark {
		c = c.mixed(white, 0.05)
	}
	return Palette{c.String(), c.mixed(black, 0.88).String(), c.mixed(white, 0.25).String(), c.mixed(black, 0.8).String()}
}

// StyleSheet sets the colours of the site's pages.
func (b Brand) StyleSheet() string {
	l, d := b.Light(), b.Dark()
	rule := func(p Palette) string {
		return fmt.Sprintf(":root { --accent: %s; --on-accent: %s; --accent-dark: %s; --note-ground: %s; }", p.Accent, p.OnAccent, p.Hover, p.Ground)
	}
	return rule(l) + "\n@media (prefers-color-scheme: dark) { " + rule(d) + " }\n"
}

const (
	readableUnderWhite = 0.168 // luminance below which white text has a contrast of 4.5:1, and such text on the light ground too
	readableOnDark     = 0.3   // luminance above which text on the dark surfaces has it, with dark text on it too
)

type rgb [3]float64

var black, white = rgb{}, rgb{255, 255, 255}

// IsColor reports whether a text is a colour as #rrggbb.
func IsColor(s string) bool {
	if len(s) != 7 || s[0] != '#' {
		return false
	}
	_, err := strconv.ParseUint(s[1:], 16, 32)
	return err == nil
}

// parse reads a colour; what is none is the program's own.
func parse(s string) (c rgb) {
	if !IsColor(s) {
		s = Own
	}
	n, _ := strconv.ParseUint(s[1:], 16, 32)
	return rgb{float64(n >> 16 & 255), float64(n >> 8 & 255), float64(n & 255)}
}

func (c rgb) String() string {
	return fmt.Sprintf("#%02x%02x%02x", int(math.Round(c[0])), int(math.Round(c[1])), int(math.Round(c[2])))
}

// mixed is a mix of two colours; share is that of the other.
func (c rgb) mixed(other rgb, share float64) rgb {
	for i := range c {
		c[i] += (other[i] - c[i]) * share
	}
	return c
}

// luminance is the relative luminance.
func (c rgb) luminance() float64 {
	linear := func(v float64) float64 {
		v = math.Round(v) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}
