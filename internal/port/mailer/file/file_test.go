package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/mailer"
	"stead.dev/stead/internal/port/mailer/file"
	"stead.dev/stead/internal/port/mailer/mailertest"
)

const from = "Stead <no-reply@stead.test>"

func TestFile(t *testing.T) {
	mailertest.Suite(t, from, func(t *testing.T) mailertest.Adapter {
		dir := filepath.Join(t.TempDir(), "mail")
		m, err := file.New(dir, from, clock.NewFake(testkit.Start))
		if err != nil {
			t.Fatal(err)
		}
		return mailertest.Adapter{Mailer: m, Received: func() (all [][]byte) {
			names, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range names {
				b, err := os.ReadFile(n)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, b)
			}
			return all
		}}
	})
}

func TestMailsAreReadableForTheOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mail")
	m, err := file.New(dir, from, clock.NewFake(testkit.Start))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Send(t.Context(), mailer.Message{ID: "a-1", To: "anna@example.com", Subject: "x", Text: "x"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, filepath.Join(dir, "a-1.eml"): 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
}
