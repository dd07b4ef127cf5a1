package reviews

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/fault"
)

// Status is what staff have decided about a review.
type Status string

// The states of a review.
const (
	Pending  Status = "pending"
	Approved Status = "approved"
	Rejected Status = "rejected"
)

// Statuses lists the states of a review.
func Statuses() []Status { return []Status{Pending, Approved, Rejected} }

// Bounds of what an author writes, in characters.
const (
	maxAuthor = 60
	maxTitle  = 120
	minBody   = 20
	maxBody   = 4000
	maxReason = 500
)

// Text is what an author writes.
type Text struct {
	Author string // the name that is shown
	Rating int    // 1 to 5
	Title  string
	Body   string
	Locale string // language of the text
}

// Review is a row of the table reviews.
type Review struct {
	ID        int64
	AccountID int64 // 0 for a sample
	Text
	Product   string // name of the plan that the author had
	Sample    bool
	Status    Status
	Version   int
	Reason    string // of a rejection
	CreatedAt time.Time
	UpdatedAt time.Time
	DecidedAt *time.Time
}

// normal returns the text in the form that is kept, or says what is wrong with it.
func (t Text) normal() (Text, error) {
	t.Author, t.Title = oneLine(t.Author), oneLine(t.Title)
	t.Body = strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(t.Body))
	switch n := utf8.RuneCountInString(t.Body); {
	case !isLine(t.Author, maxAuthor):
		return t, fault.Invalid("author", "review_author")
	case !isLine(t.Title, maxTitle):
		return t, fault.Invalid("title", "review_title")
	case n < minBody || n > maxBody || strings.ContainsFunc(t.Body, isControl):
		return t, fault.Invalid("body", "review_body")
	}
	return t, nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// isLine reports whether text is one line that is not empty.
func isLine(text string, most int) bool {
	return text != "" && utf8.RuneCountInString(text) <= most && !strings.ContainsFunc(text, isControl)
}

// isControl finds what could disguise a text: control characters other than line ends, and those that turn its
// direction.
func isControl(r rune) bool {
	return unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r)
}

// Rating sums up all approved reviews.
type Rating struct {
	Count        int
	Sum          int
	Distribution [5]int // how many gave 1 to 5 stars
}

// Average is the mean of all ratings, rounded to hundredths; 0 without reviews.
func (r Rating) Average() float64 {
	if r.Count == 0 {
		return 0
	}
	return float64((r.Sum*200+r.Count)/(2*r.Count)) / 100
}
