package keycheck_test

import (
	"errors"
	"path/filepath"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/keycheck"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
)

func TestAnotherKeyIsNoticed(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		file := filepath.Join(t.TempDir(), "secret.key")
		key := func(path string) *secret.Box {
			box, err := secret.OpenKeyFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return box
		}
		if sealed, err := keycheck.Sealed(t.Context(), d); sealed || err != nil {
			t.Fatalf("a new database: %v, %v", sealed, err)
		}
		for range 2 {
			if err := keycheck.Check(t.Context(), d, key(file)); err != nil {
				t.Fatal(err)
			}
		}
		if sealed, err := keycheck.Sealed(t.Context(), d); !sealed || err != nil {
			t.Errorf("after the first start: %v, %v", sealed, err)
		}
		other := key(filepath.Join(t.TempDir(), "secret.key"))
		_, looked := keycheck.Look(t.Context(), d, other)
		for _, err := range []error{looked, keycheck.Check(t.Context(), d, other)} {
			if !errors.Is(err, keycheck.ErrWrongKey) {
				t.Errorf("another key: %v", err)
			}
		}
		rotated, err := secret.Rotate(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := keycheck.Check(t.Context(), d, rotated); err != nil {
			t.Errorf("a rotated key: %v", err)
		}
	})
}
