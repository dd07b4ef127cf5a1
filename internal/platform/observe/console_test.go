package observe_test

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/observe"
)

func TestAConsoleHasShortLines(t *testing.T) {
	var b strings.Builder
	log := observe.NewConsole(&b, slog.LevelInfo).With("section", "x")
	log.Debug("too much")
	log.Info("job", "kind", "platform.clean")
	log.Info("database migrated", "applied", strings.Repeat("0010_platform.sql ", 50))
	log.Info("request", "request_id", "req_1", "method", "GET", "path", "/a\x1b[2J", "status", 200, "bytes", 5)
	log.Error("job", "kind", "platform.clean", "error", "no\nroom")
	got := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d`).ReplaceAllString(b.String(), "T")
	lines := strings.Split(got, "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "T database migrated section=x applied=0010") || len(lines[0]) > 160 ||
		lines[1] != "T section=x GET /a [2J 200" || lines[2] != "T ERROR job section=x kind=platform.clean error=no room" {
		t.Errorf("%q", lines)
	}
}
