package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/registrar/epp/epptest"
)

// A customer orders a domain, and a registry that speaks EPP has it; what it refuses is paid back. The settings are
// those of an operator.
func TestDomainsAreRegisteredOverEPP(t *testing.T) {
	registry := epptest.New(t, clock.System(0))
	registry.Demand()
	authority, key := filepath.Join(t.TempDir(), "registry.pem"), filepath.Join(t.TempDir(), "key.pem")
	if err := errors.Join(os.WriteFile(authority, registry.Authority, 0o600), os.WriteFile(key, registry.Key, 0o600)); err != nil {
		t.Fatal(err)
	}
	a := start(t, map[string]string{
		"demo": "true", "panel": "sandbox", "node_listen": "off", "registrar": "epp", "epp_address": registry.Address,
		"epp_user": epptest.User, "epp_password": epptest.Password, "epp_ca_file": authority,
		"epp_cert_file": authority, "epp_key_file": key, // whoever's: the registry of the test looks that there is one
	})
	if err := registryReady(a.cfg)(t.Context()); err != nil {
		t.Errorf("the doctor: %v", err)
	}
	owner := a.customer(t, a.application(t, false), 100_00)
	w := &world{App: a, t: t, owner: owner}
	const balance = 100_00
	order := func(name, status string) {
		t.Helper()
		id := w.id(a.post(t, owner.token, "/api/v1/domains", registrationRequest(name)))
		testkit.Eventually(t, time.Minute, func() bool {
			return strings.Contains(string(a.get(t, owner.token, fmt.Sprintf("/api/v1/domains/%d", id)).body), `"status":"`+status+`"`)
		}, name+" is "+status)
	}
	order("shop.com", "active")
	if registry.Created("shop.com") != 1 || registry.Sponsor("shop.com") != epptest.User {
		t.Errorf("registered %d times, is %q's", registry.Created("shop.com"), registry.Sponsor("shop.com"))
	}
	if got := w.balance(owner); got != balance-12_00 {
		t.Errorf("a balance of %d", got)
	}
	order("refused-shop.com", "failed")
	if got := w.balance(owner); got != balance-12_00 || registry.Created("refused-shop.com") != 0 {
		t.Errorf("a balance of %d after the registry refused", got)
	}
	if check := a.get(t, owner.token, "/api/v1/domains/check?domain=shop.com"); !strings.Contains(string(check.body), `"available":false`) {
		t.Error(check)
	}
	if check := a.get(t, owner.token, "/api/v1/domains/check?domain=other-shop.com"); !strings.Contains(string(check.body), `"available":true`) {
		t.Error(check)
	}
}

func TestRegistriesSettingsThatCannotBeReadStopTheServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "no.pem")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, settings := range map[string]map[string]string{
		"epp_ca_file":   {"epp_ca_file": file},
		"epp_cert_file": {"epp_cert_file": file, "epp_key_file": file},
	} {
		settings["registrar"], settings["epp_address"], settings["epp_user"], settings["epp_password"] = "epp", "127.0.0.1:1", "stead", "s3cret"
		_, err := New(t.Context(), testConfig(t, settings), quietly())
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
