package app

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"stead.dev/stead/internal/platform/controlbackup"
	"stead.dev/stead/internal/platform/testkit"
)

func TestNoServerStartsOnARestoreThatWasInterrupted(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, map[string]string{"database_url": testkit.PostgresURL(t)})
	c, err := pgx.Connect(t.Context(), cfg.DatabaseURL.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Exec(t.Context(), `CREATE TABLE stead_restoring ()`)
	if err = errors.Join(err, c.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), cfg, quietly()); !errors.Is(err, controlbackup.ErrUnfinished) {
		t.Errorf("a server starts: %v", err)
	}
	if _, err := Migrate(t.Context(), cfg); !errors.Is(err, controlbackup.ErrUnfinished) {
		t.Errorf("it is migrated: %v", err)
	}
}
