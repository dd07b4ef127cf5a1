//go:build !race

package app

import "testing"

// Thousands of requests, one after the other, that end in front of the sections' statements unless something is wrong:
// the race detector would find nothing and take most of the time. They are told on PostgreSQL alone, which refuses more
// of what must not come through (NUL bytes, bad UTF-8, numbers that are too large).
func TestEveryOperationRefuses(t *testing.T) {
	t.Parallel()
	newWorld(t, startOnPostgres(t, simulated)).tell(t, []story{
		{"without a token it is 401", withoutAToken},
		{"without the scope it is 403", withoutTheScope},
		{"a section switched off is gone", switchedOff},
		{"bad bodies are refused by key", badBodies},
		{"path tricks name nothing", pathTricks},
		{"bad queries and headers are refused", badQueries},
		{"without a database it is 503", withoutADatabase},
	})
}
