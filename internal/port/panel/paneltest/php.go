package paneltest

import (
	"errors"
	"slices"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

func phpSettings(t *testing.T, p panel.Panel) {
	php := capability[panel.PHP](t, p)
	create(t, p, spec)
	first, err := php.PHPSettings(t.Context(), ref)
	if err != nil || !slices.Contains(first.Versions, first.Version) || len(first.Choice[first.Version]) == 0 || len(first.Options) != 0 {
		t.Fatalf("a new account: %+v, %v", first, err)
	}
	wish := panel.PHPSettings{Version: first.Versions[0], Options: map[string]string{"memory_limit": "128M", "max_input_vars": "3000"}}
	for _, e := range first.Choice[first.Versions[0]] {
		if e.State == panel.PHPDisabled && len(wish.Extensions) == 0 {
			wish.Extensions = []string{e.Name}
		}
	}
	for range 2 { // the second time nothing changes
		got, err := php.SetPHPSettings(t.Context(), ref, wish)
		if err != nil {
			t.Fatal(err)
		}
		now, err := php.PHPSettings(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []panel.PHPState{got, now} {
			if s.Version != wish.Version || s.Option("memory_limit") != "128M" || len(s.Options) != 1 || !slices.Equal(s.Extensions, wish.Extensions) {
				t.Errorf("settings: %+v", s)
			}
		}
	}
	for name, c := range map[string]struct {
		s    panel.PHPSettings
		kind panel.Kind
	}{
		"a version that is not there": {panel.PHPSettings{Version: "4.0"}, panel.ErrUnsupported},
		"no version":                  {panel.PHPSettings{Version: "eight"}, panel.ErrInvalid},
		"an unknown option":           {panel.PHPSettings{Options: map[string]string{"open_basedir": "/"}}, panel.ErrInvalid},
		"a value out of range":        {panel.PHPSettings{Options: map[string]string{"max_input_vars": "1"}}, panel.ErrInvalid},
		"an unknown extension":        {panel.PHPSettings{Extensions: []string{"ffi"}}, panel.ErrInvalid},
	} {
		if _, err := php.SetPHPSettings(t.Context(), ref, c.s); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now, err := php.PHPSettings(t.Context(), ref); err != nil || now.Option("memory_limit") != "128M" {
		t.Errorf("after refusals: %+v, %v", now, err)
	}
	if err := capability[panel.Accounts](t, p).SuspendAccount(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if _, err := php.SetPHPSettings(t.Context(), ref, wish); !errors.Is(err, panel.ErrSuspended) {
		t.Errorf("suspended: %v", err)
	}
	if _, err := php.PHPSettings(t.Context(), "none"); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("unknown ref: %v", err)
	}
	if _, err := php.SetPHPSettings(t.Context(), "none", wish); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("unknown ref: %v", err)
	}
}
