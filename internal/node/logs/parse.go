package logs

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// Levels of lines.
const (
	levelInfo     = "info"
	levelWarning  = "warning"
	levelError    = "error"
	levelCritical = "critical"
	levelDebug    = "debug"
)

// parse parses a line of a log; false when it does not begin an entry but, where entries have several lines, continues
// the one before it.
func parse(t panel.LogType, line string) (panel.LogLine, bool) {
	var (
		l  panel.LogLine
		ok bool
	)
	switch t {
	case panel.LogAccess:
		l, _, ok = ParseAccess(line)
	case panel.LogError:
		l, ok = ParseError(line)
	case panel.LogPHP:
		l, ok = ParsePHP(line)
	default:
		ok = json.Unmarshal([]byte(line), &l) == nil && !l.At.IsZero()
	}
	l.Source, l.Cursor, l.At = t, "", l.At.UTC()
	return l, ok
}

const accessTime = "02/Jan/2006:15:04:05 -0700"

// ParseAccess parses a line of the access log, in the combined format with three more fields: the host, all sent bytes,
// and the seconds it took. sent is the former of the two numbers.
func ParseAccess(line string) (l panel.LogLine, sent int64, ok bool) {
	// nginx escapes every quotation mark within a value, so the first one begins the request.
	head, rest, ok := strings.Cut(line, ` "`)
	if !ok || len(head) < len(accessTime)+2 || !strings.HasSuffix(head, "]") {
		return l, 0, false
	}
	at, err := time.Parse(accessTime, head[len(head)-1-len(accessTime):len(head)-1])
	if err != nil {
		return l, 0, false
	}
	request, rest, ok := strings.Cut(rest, `" `)
	if !ok {
		return l, 0, false
	}
	status, _, _ := strings.Cut(rest, " ")
	l.At = at
	l.IP, _, _ = strings.Cut(head, " ")
	l.Message = unescape(request)
	if l.Status, err = strconv.Atoi(status); err != nil {
		return l, 0, false
	}
	l.Level = levelInfo
	switch {
	case l.Status >= 500:
		l.Level = levelError
	case l.Status >= 400:
		l.Level = levelWarning
	}
	l.Path = requestPath(l.Message)
	if fields := strings.Split(rest, " "); len(fields) >= 2 {
		sent, err = strconv.ParseInt(fields[len(fields)-2], 10, 64)
	}
	return l, sent, err == nil && sent >= 0
}

// requestPath is the path of a request line, without the query.
func requestPath(request string) string {
	fields := strings.Fields(request)
	if len(fields) < 2 {
		return ""
	}
	path, _, _ := strings.Cut(fields[1], "?")
	return path
}

// unescape undoes nginx's \xHH.
func unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' {
			if c, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

var nginxLevels = map[string]string{
	"debug": levelDebug, "info": levelInfo, "notice": levelInfo, "warn": levelWarning, "error": levelError,
	"crit": levelCritical, "alert": levelCritical, "emerg": levelCritical,
}

// ParseError parses a line of nginx's error log:
//
//	2026/11/21 18:24:00 [error] 12#12: *7 what happened, client: 192.0.2.1, server: a.example, request: "GET / HTTP/1.1", host: "a.example"
func ParseError(line string) (l panel.LogLine, ok bool) {
	const form = "2006/01/02 15:04:05"
	if len(line) < len(form)+3 {
		return l, false
	}
	at, err := time.Parse(form, line[:len(form)])
	if err != nil {
		return l, false
	}
	level, rest, ok := strings.Cut(line[len(form)+1:], "] ")
	if !ok || !strings.HasPrefix(level, "[") {
		return l, false
	}
	l.At, l.Level = at, nginxLevels[level[1:]]
	if l.Level == "" {
		l.Level = levelError
	}
	if _, after, found := strings.Cut(rest, ": "); found { // process and thread
		rest = after
	}
	if strings.HasPrefix(rest, "*") { // the connection
		_, rest, _ = strings.Cut(rest, " ")
	}
	message, details, _ := strings.Cut(rest, ", client: ")
	l.Message = strings.ToValidUTF8(message, "\ufffd")
	l.IP, _, _ = strings.Cut(details, ",")
	if _, request, found := strings.Cut(details, `, request: "`); found {
		request, _, _ = strings.Cut(request, `"`)
		l.Path = strings.ToValidUTF8(requestPath(request), "\ufffd")
	}
	return l, true
}

var phpLevels = []struct{ prefix, level string }{
	{"PHP Fatal error:", levelCritical},
	{"PHP Parse error:", levelCritical},
	{"PHP Warning:", levelWarning},
	{"PHP Recoverable fatal error:", levelError},
	{"PHP Notice:", levelInfo},
	{"PHP Deprecated:", levelInfo},
}

// ParsePHP parses a line of PHP's error log: "[21-Nov-2026 18:24:00 UTC] PHP Warning: …". The zone is the one that the
// program has set.
func ParsePHP(line string) (l panel.LogLine, ok bool) {
	if !strings.HasPrefix(line, "[") {
		return l, false
	}
	stamp, rest, ok := strings.Cut(line[1:], "] ")
	const form = "02-Jan-2006 15:04:05"
	if !ok || len(stamp) <= len(form) || len(stamp) > 80 {
		return l, false
	}
	zone, err := zoneOf(strings.TrimSpace(stamp[len(form):]))
	if err != nil {
		return l, false
	}
	if l.At, err = time.ParseInLocation(form, stamp[:len(form)], zone); err != nil {
		return l, false
	}
	l.Level = levelError
	for _, known := range phpLevels {
		if strings.HasPrefix(rest, known.prefix) {
			l.Level = known.level
			break
		}
	}
	l.Message = strings.ToValidUTF8(rest, "\ufffd")
	return l, true
}

// zoneOf finds a zone by its name or its offset.
func zoneOf(name string) (*time.Location, error) {
	if at, err := time.Parse("-07:00", name); err == nil {
		return at.Location(), nil
	}
	if name == "Local" || strings.Contains(name, "..") {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil { // an abbreviation: the time is approximately right
		return time.UTC, nil //nolint:nilerr // a line with an odd zone is a line all the same
	}
	return zone, nil
}
