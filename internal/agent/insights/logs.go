package insights

import (
	"context"
	"regexp"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/redact"
	"stead.dev/stead/internal/port/panel"
)

// Logs reads the logs of a hosting account; panel.Logs is one.
type Logs interface {
	ReadLog(ctx context.Context, ref string, q panel.LogQuery) (panel.LogPage, error)
}

const (
	logWindow  = 24 * time.Hour
	logTime    = 5 * time.Second
	mostSample = 240 // bytes
)

// noise are messages of the web server about what visitors ask for that is not there.
var noise = regexp.MustCompile(`(?i)no such file or directory|is not found|access forbidden by rule|directory index of .* is forbidden|client intended|File name too long`)

var fatal = regexp.MustCompile(`(?i)PHP (?:Fatal|Parse) error|Uncaught `)

// readLogs finds the errors of the last day. A log that cannot be read is left out.
func readLogs(ctx context.Context, logs Logs, ref string, now time.Time) map[string]logFacts {
	found := map[string]logFacts{}
	if logs == nil || ref == "" {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	for _, log := range []panel.LogType{panel.LogPHP, panel.LogError} {
		page, err := logs.ReadLog(ctx, ref, panel.LogQuery{Type: log, Since: now.Add(-logWindow), Limit: panel.MaxLogLines})
		if err != nil {
			continue
		}
		found[string(log)] = errorsIn(page.Lines)
	}
	return found
}

// errorsIn counts errors and gives examples of them, each kind once.
func errorsIn(lines []panel.LogLine) (l logFacts) {
	var (
		mask  redact.Masker
		known = map[string]bool{}
	)
	for _, line := range lines {
		isFatal := line.Level == "critical" || fatal.MatchString(line.Message)
		if line.Level != "error" && !isFatal || noise.MatchString(line.Message) {
			continue
		}
		l.count++
		if isFatal {
			l.fatal++
		}
		kind := kindOf(line.Message)
		if known[kind] || len(l.samples) == mostExamples {
			continue
		}
		known[kind] = true
		l.samples = append(l.samples, shorten(mask.Mask("", line.Message), mostSample))
	}
	return l
}

var (
	digits = regexp.MustCompile(`\d+`)
	quoted = regexp.MustCompile(`"[^"]*"`)
)

// kindOf is a message without what differs from one time to the next.
func kindOf(message string) string {
	first, _, _ := strings.Cut(message, "\n")
	return digits.ReplaceAllString(quoted.ReplaceAllString(first, `""`), "0")
}
