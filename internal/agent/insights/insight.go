package insights

import (
	"slices"
	"time"

	"stead.dev/stead/internal/platform/plaintext"
)

// Status is where an insight stands.
type Status string

// The states of insights.
const (
	Open      Status = "open"
	Dismissed Status = "dismissed"
	Resolved  Status = "resolved"
	Expired   Status = "expired"
)

// Kind is what an insight is about.
type Kind string

// The kinds of insights.
const (
	Performance  Kind = "performance"
	Security     Kind = "security"
	SEO          Kind = "seo" // being found, and being usable by everybody
	Availability Kind = "availability"
	Error        Kind = "error"
	Update       Kind = "update"
)

// Severity tells how much an insight matters.
type Severity string

// The severities, the worst first.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
	Info     Severity = "info"
)

// severities in the order in which insights are ranked.
var severities = []Severity{Critical, High, Medium, Low, Info}

// rank orders severities, the worst first.
func rank(s Severity) int {
	if i := slices.Index(severities, s); i >= 0 {
		return i
	}
	return len(severities)
}

// Texts name an insight's texts in the catalogue.
type Texts struct {
	Title, Detail, Fix string
}

// Finding is a fault that a check has found.
type Finding struct {
	Check string
	// Subject is what has the fault, such as the path of a page; empty when that is the site itself.
	Subject  string
	Kind     Kind
	Severity Severity
	Texts    Texts
	// Evidence is what was seen, without secrets.
	Evidence map[string]any
	// Fixable says that changing files of the site can mend it.
	Fixable bool
}

// Report is what a source knows of a service at one time.
type Report struct {
	Findings []Finding
	// Judged tells whether the source looked at a subject of a check. Only there a missing finding means that it is gone.
	Judged func(check, subject string) bool
}

// insight is a row of the table.
type insight struct {
	id, accountID, serviceID int64
	Finding

	status        Status
	dismissedAt   *time.Time
	dismissReason *string
	firstSeenAt   time.Time
	lastSeenAt    time.Time
	// advice is what a model says is to do, in the language adviceLang; both are empty without.
	advice, adviceLang string
}

// Bounds of what is kept of a service.
const (
	mostSubject  = 300 // bytes of a subject
	mostInsights = 200 // open and dismissed ones of a service
)

// change is what a report makes of an insight.
type change int

const (
	same   change = iota
	opened        // new, or back
	seen          // there still
	gone          // resolved
)

// update is a row with what becomes of it.
type update struct {
	insight

	change change
}

// compare says what a report makes of the rows of a service. Of two findings with one check and subject the first counts.
func compare(rows []insight, r Report) []update {
	type key struct{ check, subject string }
	at := map[key]int{}
	all := make([]update, 0, len(rows)+len(r.Findings))
	kept := 0
	for i, row := range rows {
		at[key{row.Check, row.Subject}] = i
		all = append(all, update{insight: row})
		if row.live() {
			kept++
		}
	}
	found := map[key]bool{}
	for _, f := range r.Findings {
		f.Subject = asSubject(f.Subject)
		k := key{f.Check, f.Subject}
		if found[k] {
			continue
		}
		found[k] = true
		i, known := at[k]
		switch {
		case known && all[i].live():
			all[i].Finding, all[i].change = f, seen
		case kept >= mostInsights:
			continue
		case known:
			all[i].Finding, all[i].status, all[i].change = f, Open, opened
			all[i].dismissedAt, all[i].dismissReason = nil, nil
			all[i].advice, all[i].adviceLang = "", ""
			kept++
		default:
			all = append(all, update{insight: insight{Finding: f, status: Open}, change: opened})
			kept++
		}
	}
	for i := range rows {
		u := &all[i]
		if u.live() && !found[key{u.Check, u.Subject}] && r.Judged(u.Check, u.Subject) {
			u.change = gone
		}
	}
	return all
}

// live tells that the fault is there, as far as is known.
func (i insight) live() bool { return i.status == Open || i.status == Dismissed }

// asSubject makes a name from a site fit to be a subject: databases store it, and it is one line of at most mostSubject bytes.
func asSubject(name string) string {
	return shorten(plaintext.Line(name, 3*mostSubject), mostSubject) // three, so that shorten cuts: a bad byte becomes three
}

// shorten cuts a text to at most n bytes, between two letters.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	end := 0
	for i := range text {
		if i > n-len("…") {
			break
		}
		end = i
	}
	return text[:end] + "…"
}
