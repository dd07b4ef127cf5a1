package announcements

import (
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// Level says how much an announcement stands out.
type Level string

// The levels.
const (
	Info    Level = "info"
	Warning Level = "warning"
)

// AudienceKind says whom an announcement is for.
type AudienceKind string

// The audiences.
const (
	Everybody AudienceKind = "all"
	OnNode    AudienceKind = "node"      // those with a service on a machine
	OfPlan    AudienceKind = "plan"      // those with a service of a plan
	Resellers AudienceKind = "resellers" // resellers themselves, not their clients
)

// Audience is whom an announcement is for.
type Audience struct {
	Kind AudienceKind
	// Of is the name of the machine or the slug of the plan; empty for the other kinds.
	Of string
}

// State is where an announcement is in its life.
type State string

// The states.
const (
	Draft     State = "draft"
	Scheduled State = "scheduled" // published, and not begun
	Shown     State = "shown"
	Over      State = "over"
	Withdrawn State = "withdrawn"
)

// Wish is an announcement as staff write it.
type Wish struct {
	Title, Body i18n.Text
	// Link is the path of a page on this site; empty without one.
	Link     string
	Level    Level
	Audience Audience
	// StartsAt is when it is shown first; nil: when it is published.
	StartsAt *time.Time
	// EndsAt is when it is not shown any more; nil: when it is withdrawn.
	EndsAt *time.Time
	// Notify makes a notification for each account that is concerned, and Mail has it mailed, too.
	Notify, Mail bool
}

// Announcement is an announcement as the table has it.
type Announcement struct {
	ID int64
	Wish
	// Version is one more with each change.
	Version                  int64
	CreatedAt, UpdatedAt     time.Time
	PublishedAt, WithdrawnAt *time.Time

	// Of the notifications: when their first batch was ordered, the last account that was reached, how many were made, and when
	// the last was.
	begunAt    *time.Time
	reached    int64
	Told       int64
	FinishedAt *time.Time
}

// State is where the announcement is in its life at a time.
func (a Announcement) State(now time.Time) State {
	switch {
	case a.WithdrawnAt != nil:
		return Withdrawn
	case a.PublishedAt == nil:
		return Draft
	case a.StartsAt != nil && a.StartsAt.After(now):
		return Scheduled
	case a.EndsAt != nil && !a.EndsAt.After(now):
		return Over
	default:
		return Shown
	}
}

// The bounds of what staff write, in letters; that of the link in bytes.
const (
	maxTitle = 120
	maxBody  = 2000
	maxLink  = 300
)

// checked returns the announcement without spaces around its texts, or refuses it.
func (w Wish) checked(now time.Time) (Wish, error) {
	w.Title, w.Body = trimmed(w.Title), trimmed(w.Body)
	w.Link = strings.TrimSpace(w.Link)
	if len(w.Title) == 0 {
		return w, fault.Invalid("title", "required")
	}
	for _, lang := range i18n.Supported() {
		switch {
		case (w.Title[lang] == "") != (w.Body[lang] == ""):
			return w, fault.Invalid("body", "announcement_half")
		case strings.ContainsFunc(w.Title[lang], i18n.Unprintable):
			return w, fault.Invalid("title", "company_text")
		case strings.ContainsFunc(w.Body[lang], func(r rune) bool { return r != '\n' && i18n.Unprintable(r) }):
			return w, fault.Invalid("body", "letter_character")
		case len([]rune(w.Title[lang])) > maxTitle:
			return w, fault.InvalidData("title", "announcement_length", map[string]any{"Max": maxTitle})
		case len([]rune(w.Body[lang])) > maxBody:
			return w, fault.InvalidData("body", "announcement_length", map[string]any{"Max": maxBody})
		}
	}
	if w.Link != "" && !isPage(w.Link) {
		return w, fault.Invalid("link", "announcement_link")
	}
	switch named := w.Audience.Kind == OnNode || w.Audience.Kind == OfPlan; {
	case named && w.Audience.Of == "":
		return w, fault.Invalid("audience", "required")
	case !named:
		w.Audience.Of = ""
	}
	if w.EndsAt != nil && (!w.EndsAt.After(now) || w.StartsAt != nil && !w.EndsAt.After(*w.StartsAt)) {
		return w, fault.Invalid("ends_at", "announcement_end")
	}
	w.Mail = w.Mail && w.Notify
	return w, nil
}

// trimmed is a text in the supported languages that have one.
func trimmed(t i18n.Text) i18n.Text {
	out := i18n.Text{}
	for lang, text := range t {
		if text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")); text != "" && slices.Contains(i18n.Supported(), lang) {
			out[lang] = text
		}
	}
	return out
}

// isPage reports whether a link is the path of a page on this site, and cannot be read as anything else.
func isPage(link string) bool {
	return len(link) <= maxLink && strings.HasPrefix(link, "/") && !strings.HasPrefix(link, "//") &&
		!strings.ContainsFunc(link, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"\<>`, r) })
}

// sameReach reports whether two announcements are for the same accounts, from the same time, by the same ways.
func (w Wish) sameReach(o Wish) bool {
	return w.Audience == o.Audience && w.Notify == o.Notify && w.Mail == o.Mail && equalTimes(w.StartsAt, o.StartsAt)
}

func equalTimes(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}
