package doctor_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"stead.dev/stead/internal/front/doctor"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/replicas"
)

func TestReplicasOfAnotherVersionAreNamed(t *testing.T) {
	in := installation(t, nil)
	if got := finding(t, doctor.Examine(t.Context(), in), "replicas"); got.Status != doctor.Skip {
		t.Errorf("without a server: %+v", got)
	}
	d, err := db.Open(t.Context(), db.Config{Path: in.DatabaseFile, Clock: clock.System(0)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	join := func(id, version string) {
		m := replicas.New(d, id, version, slog.New(slog.DiscardHandler), func(context.Context, *db.Tx, []string) error { return nil })
		if err := m.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	join("one", "v1")
	if got := finding(t, doctor.Examine(t.Context(), in), "replicas"); got.Status != doctor.OK {
		t.Errorf("of this version: %+v", got)
	}
	join("another", "v0")
	got := finding(t, doctor.Examine(t.Context(), in), "replicas")
	if got.Status != doctor.Warn || !strings.Contains(got.Found, "1 of version v0 and 1 of version v1") {
		t.Errorf("of two versions: %+v", got)
	}
}
