package config_test

import (
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/config"
)

func TestTheRegistrysSettings(t *testing.T) {
	good := []string{
		"STEAD_REGISTRAR=epp", "STEAD_EPP_ADDRESS=epp.registry.example:700", "STEAD_EPP_USER=stead-1", "STEAD_EPP_PASSWORD=hunter22",
		"STEAD_EPP_CERT_FILE=c", "STEAD_EPP_KEY_FILE=k",
	}
	if c := load(t, config.Input{Environ: good}); c.EPPPassword.Reveal() != "hunter22" || c.EPPSessions != 2 {
		t.Errorf("%+v", c.EPPSessions)
	}
	for setting, want := range map[string]string{
		"STEAD_EPP_ADDRESS=":                           "epp_address:",
		"STEAD_EPP_ADDRESS=:700":                       "epp_address:",
		"STEAD_EPP_ADDRESS=epp.example:0":              "epp_address:",
		"STEAD_EPP_USER=ab":                            "epp_user: must have 3 to 16 characters",
		"STEAD_EPP_PASSWORD=hunter2hunter2hunter2":     "epp_password: must have 6 to 16 characters",
		"STEAD_EPP_PASSWORD= hunter2":                  "epp_password: must have",
		"STEAD_EPP_KEY_FILE=":                          "epp_key_file: goes together with epp_cert_file",
		"STEAD_EPP_SESSIONS=0":                         "STEAD_EPP_SESSIONS:",
		"STEAD_REGISTRAR=epp.registry.example:hunter2": "registrar:",
	} {
		name, _, _ := strings.Cut(setting, "=")
		settings := slices.DeleteFunc(slices.Clone(good), func(s string) bool { return strings.HasPrefix(s, name+"=") })
		_, err := config.Load(config.Input{Environ: append(settings, setting)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2hunter2") {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
