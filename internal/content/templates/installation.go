package templates

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/fault"
)

// Status is how far an installation came.
type Status string

// The states of an installation: pending → completed | failed.
const (
	Pending   Status = "pending"
	Completed Status = "completed"
	Failed    Status = "failed"
)

// Wish is what a customer asks for.
type Wish struct {
	Slug      string
	Language  string
	Title     string // of the site; empty for the template's own
	Directory string // from the account's home
	Overwrite bool
}

// Installation is a row of the table templates_installations.
type Installation struct {
	ID, ServiceID, AccountID int64
	Wish
	Status     Status
	FailureKey *string
	KeptIn     string // folder with what was replaced
	CreatedAt  time.Time
	FinishedAt *time.Time
}

const (
	// documentRoot is where the site of a service is, from the account's home.
	documentRoot = "/public_html"

	maxTitle = 100 // characters

	// abandoned is how old an installation must be that is still pending to give way to another: its hosting machine
	// does not come back.
	abandoned = time.Hour
)

// normal returns the wish with what was left out, or says what is wrong with it.
func (w Wish) normal() (Wish, error) {
	if Find(w.Slug) == nil {
		return w, errUnknown()
	}
	w.Title = strings.TrimSpace(w.Title)
	if utf8.RuneCountInString(w.Title) > maxTitle || strings.ContainsFunc(w.Title, unsuited) {
		return w, fault.Invalid("title", "template_title")
	}
	if w.Directory == "" {
		w.Directory = documentRoot
	}
	return w, nil
}

// unsuited finds characters that no name of a site has: control characters, and those that turn the direction of text.
func unsuited(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// keptDirectory is the folder of the account's home that keeps what the installation replaces.
func (i Installation) keptDirectory() string { return fmt.Sprintf("/before-template-%d", i.ID) }

// at is the path of a file in the installation's directory. It is joined as text: what a path may be is judged by the
// panel.
func (i Installation) at(name string) string { return strings.TrimRight(i.Directory, "/") + "/" + name }

// kept is the path at which a file is kept that the installation replaces.
func (i Installation) kept(name string) string { return i.keptDirectory() + "/" + name }
