// Package observe is what operators see of a running Stead: logs, metrics and
// traces.
//
// Logs are one JSON object a line on standard error: one line for each request
// (package api writes it) and one for each job. Metrics have few labels, and
// none that a caller can make up. Traces are made only when a collector is
// configured; without one they cost nothing.
package observe

import (
	"io"
	"log/slog"
)

// NewLog is a log of JSON lines at level and above.
func NewLog(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}
