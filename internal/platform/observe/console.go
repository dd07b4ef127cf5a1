package observe

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// NewConsole is a log of short lines for a person who tries Stead at a terminal. It leaves out what only programs need, and
// jobs that went well. An installation in production logs JSON (NewLog).
func NewConsole(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(&console{mu: &sync.Mutex{}, w: w, level: level})
}

type console struct {
	mu    *sync.Mutex
	w     io.Writer
	level slog.Leveler
	attrs []slog.Attr
}

// unsaid are attributes that a person does not need; plain are those whose value says what it is.
var (
	unsaid = []string{"request_id", "trace_id", "account", "application", "token", "operation", "bytes", "operations", "nodes", "version"}
	plain  = []string{"method", "path", "status", "took", "url"}
)

// Enabled implements slog.Handler.
func (c *console) Enabled(_ context.Context, l slog.Level) bool { return l >= c.level.Level() }

// Handle implements slog.Handler.
func (c *console) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "job" && r.Level < slog.LevelWarn {
		return nil
	}
	var b strings.Builder
	b.WriteString(r.Time.Format("15:04:05"))
	if r.Level != slog.LevelInfo {
		b.WriteString(" " + r.Level.String())
	}
	if r.Message != "request" { // its method says so
		b.WriteString(" " + r.Message)
	}
	add := func(a slog.Attr) bool {
		text := a.Value.Resolve().String()
		switch {
		case slices.Contains(unsaid, a.Key) || text == "":
		case slices.Contains(plain, a.Key):
			b.WriteString(" " + short(text))
		default:
			fmt.Fprintf(&b, " %s=%s", a.Key, short(text))
		}
		return true
	}
	for _, a := range c.attrs {
		add(a)
	}
	r.Attrs(add)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := io.WriteString(c.w, b.String()+"\n")
	return err
}

// short keeps a value on the line, and its control characters from the terminal.
func short(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
	const most = 100
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return text
}

// WithAttrs implements slog.Handler.
func (c *console) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &console{mu: c.mu, w: c.w, level: c.level, attrs: slices.Concat(c.attrs, attrs)}
}

// WithGroup implements slog.Handler. Stead's lines have no groups.
func (c *console) WithGroup(string) slog.Handler { return c }
