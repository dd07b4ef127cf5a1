package paneltest

import (
	"errors"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

func logs(t *testing.T, p panel.Panel) {
	reader := capability[panel.Logs](t, p)
	create(t, p, spec)
	for _, of := range panel.LogTypes() {
		page, err := reader.ReadLog(t.Context(), ref, panel.LogQuery{Type: of, Limit: 10})
		if err != nil {
			t.Fatalf("%s: %v", of, err)
		}
		for _, l := range page.Lines {
			if l.Source != of || l.Cursor == "" || l.At.IsZero() || l.Level == "" {
				t.Errorf("%s: %+v", of, l)
			}
		}
		stream, err := reader.FollowLog(t.Context(), ref, panel.LogQuery{Type: of})
		if err != nil {
			t.Fatalf("%s: %v", of, err)
		}
		if err := stream.Close(); err != nil {
			t.Errorf("%s: %v", of, err)
		}
	}
	for name, q := range map[string]panel.LogQuery{
		"no type": {Limit: 1}, "an unknown type": {Type: "shadow", Limit: 1}, "a path": {Type: "../access", Limit: 1},
		"no limit": {Type: panel.LogAccess}, "too many": {Type: panel.LogAccess, Limit: panel.MaxLogLines + 1},
		"no cursor": {Type: panel.LogAccess, Limit: 1, Before: "x"}, "a cursor of the future": {Type: panel.LogAccess, Limit: 1, Before: "99-0"},
	} {
		if _, err := reader.ReadLog(t.Context(), ref, q); !errors.Is(err, panel.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := reader.FollowLog(t.Context(), ref, panel.LogQuery{Type: panel.LogAccess, After: "-1-0"}); !errors.Is(err, panel.ErrInvalid) {
		t.Errorf("following from no cursor: %v", err)
	}
	if _, err := reader.ReadLog(t.Context(), "none", panel.LogQuery{Type: panel.LogAccess, Limit: 1}); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("unknown ref: %v", err)
	}
	if _, err := reader.FollowLog(t.Context(), "none", panel.LogQuery{Type: panel.LogAccess}); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("unknown ref: %v", err)
	}
}
