package panel

import (
	"context"
	"io"
	"time"
)

// CapLogs is Logs.
const CapLogs Capability = "logs"

// LogType selects a log of an account.
type LogType string

// The logs of an account. More may come.
const (
	LogAccess LogType = "access" // requests to its sites
	LogError  LogType = "error"  // the web server's messages about them
	LogPHP    LogType = "php"    // errors of its PHP programs
	LogMail   LogType = "mail"   // mail that it received and sent
	LogCron   LogType = "cron"   // runs of its cron jobs
)

// LogTypes lists all logs, in the order in which they are shown.
func LogTypes() []LogType { return []LogType{LogAccess, LogError, LogPHP, LogMail, LogCron} }

// LogLine is a parsed line of a log (resources, section 22).
type LogLine struct {
	Cursor  string    `json:"cursor,omitempty"` // the position of the line; opaque
	At      time.Time `json:"at"`
	Source  LogType   `json:"source"`
	Level   string    `json:"level"` // debug, info, warning, error, critical
	Message string    `json:"message"`
	IP      string    `json:"ip,omitempty"`     // of the visitor or the other server
	Status  int       `json:"status,omitempty"` // of HTTP or SMTP, or the exit code of a program
	Path    string    `json:"path,omitempty"`   // of the request, or the command
}

// LogQuery asks for lines.
type LogQuery struct {
	Type  LogType   `json:"type"`
	Text  string    `json:"text,omitempty"`  // lines that contain it, upper and lower case alike; empty is all
	Since time.Time `json:"since,omitzero"`  // not before
	Until time.Time `json:"until,omitzero"`  // before
	After string    `json:"after,omitempty"` // FollowLog: the cursor of the last line that is known
	// Before continues a page: only lines that stand before this cursor.
	Before string `json:"before,omitempty"`
	Limit  int    `json:"limit,omitempty"` // lines of a page, 1 to MaxLogLines
}

// MaxLogLines bounds a page of a log.
const MaxLogLines = 500

// LogPage is a page of a log, the newest line first.
type LogPage struct {
	Lines []LogLine `json:"lines"`
	// Before continues with older lines; empty when there are none. A page may be short, even empty, and
	// go on nevertheless: a search reads only so much at a time.
	Before string `json:"before,omitempty"`
}

// MaxVisitDays bounds the days of which visits are kept.
const MaxVisitDays = 400

// VisitDay is what an account's sites have sent on a day (UTC). Views and visitors are people's; a visitor is an address with a
// browser, on that day alone.
type VisitDay struct {
	Date      string `json:"date"` // "2026-11-27"
	Requests  int64  `json:"requests"`
	Bytes     int64  `json:"bytes"`
	Views     int64  `json:"views"` // of pages, which are neither pictures nor styles
	Visitors  int64  `json:"visitors"`
	Bots      int64  `json:"bots"` // requests by programs that say so
	Status2xx int64  `json:"status_2xx"`
	Status3xx int64  `json:"status_3xx"`
	Status4xx int64  `json:"status_4xx"`
	Status5xx int64  `json:"status_5xx"`
}

// PageVisits is how often people looked at a page.
type PageVisits struct {
	Path  string `json:"path"` // without the query
	Views int64  `json:"views"`
}

// Visits is what is known of the visitors of an account's sites.
type Visits struct {
	Days  []VisitDay   `json:"days"`  // the oldest first; days without a request may be left out
	Pages []PageVisits `json:"pages"` // at most 20, the most visited first; of the last month only
}

// Logs reads what the daemons of a machine wrote about an account.
type Logs interface {
	// ReadLog answers the newest lines of a log that match, newest first. Rotation hides none of those
	// that are kept. A log into which nothing was written yet is empty. ErrInvalid: an unknown type, a
	// cursor that was never given out, a limit out of range.
	ReadLog(ctx context.Context, ref string, q LogQuery) (LogPage, error)
	// FollowLog returns a stream of matching lines, oldest first, each a LogLine in JSON on a line of its own, as they
	// are written: those after q.After, else new ones. Empty lines are keep-alives. The stream ends when it is closed,
	// when ctx ends, or when the account is deleted; it ignores Since, Until, Before and Limit. ErrBusy: the account
	// has the maximum number of streams.
	FollowLog(ctx context.Context, ref string, q LogQuery) (io.ReadCloser, error)
	// Visits answers what was counted on the last days, of which the present one is the last. ErrInvalid: fewer than one
	// day, more than MaxVisitDays.
	Visits(ctx context.Context, ref string, days int) (Visits, error)
}
