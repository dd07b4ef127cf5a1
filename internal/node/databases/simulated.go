package databases

import (
	"context"
	"fmt"
	"io"
	"strings"

	"stead.dev/stead/internal/port/panel"
)

// simulated is a server without data: its databases are those of the records.
type simulated struct {
	number string
	on     int
}

func (simulated) start(context.Context) error { return nil }
func (simulated) stop(context.Context) error  { return nil }
func (s simulated) version() string           { return s.number }
func (s simulated) port() int                 { return s.on }

func (simulated) verifier(password string) (string, error) { return nativeVerifier(password), nil }

func (simulated) present(_ context.Context, names []string) (map[string]bool, error) {
	there := map[string]bool{}
	for _, name := range names {
		there[name] = true
	}
	return there, nil
}

func (simulated) create(context.Context, string, string) error { return nil }
func (simulated) apply(context.Context, login) error           { return nil }
func (simulated) drop(context.Context, string) error           { return nil }
func (simulated) dropUser(context.Context, string) error       { return nil }

func (simulated) others(context.Context, string, []string) (users, databases []string, err error) {
	return nil, nil, nil
}

// emptyBytes is about what an empty database occupies.
const emptyBytes = 64 << 10

func (simulated) size(context.Context, string, int64) (int64, hold, error) {
	return emptyBytes, holdNone, nil
}

func (simulated) privileges(hold) []string { return []string{"ALL"} }

const simulatedDump = "-- simulated: no database stands behind this\n"

func (simulated) dump(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(simulatedDump)), nil
}

// load accepts what dump writes, and nothing else: there is nothing that could run other SQL.
func (simulated) load(_ context.Context, _ string, sql io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(sql, int64(len(simulatedDump))+1))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "--") {
			return fmt.Errorf("%w: no database stands behind this", panel.ErrInvalid)
		}
	}
	return nil
}
