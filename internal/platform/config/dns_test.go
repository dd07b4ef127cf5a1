package config_test

import (
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/config"
)

func TestTheNameServersSettings(t *testing.T) {
	c := load(t, config.Input{Environ: []string{
		"STEAD_NAMESERVERS=ns1.example.com, ns2.example.com", "STEAD_DNS_SECONDARIES=192.0.2.1:53,[2001:db8::1]:53",
		"STEAD_DNS_TSIG_KEY=hmac-sha256:transfer:AAAAAAAAAAAAAAAAAAAAAA==",
	}})
	algorithm, name, secret := c.TSIGKey()
	if !slices.Equal(c.Nameservers, []string{"ns1.example.com", "ns2.example.com"}) || len(c.DNSSecondaries) != 2 ||
		algorithm != "hmac-sha256" || name != "transfer" || secret != "AAAAAAAAAAAAAAAAAAAAAA==" {
		t.Errorf("%v, %v, %s %s", c.Nameservers, c.DNSSecondaries, algorithm, name)
	}
	for setting, want := range map[string]string{
		"STEAD_DNS_SECONDARIES=192.0.2.1:53":           "dns_tsig_key: is required",
		"STEAD_DNS_SECONDARIES=ns.example.com":         "is not an address with a port",
		"STEAD_NAMESERVERS=ns1":                        `nameservers: "ns1" is not a name`,
		"STEAD_DNS_CATALOG=Catalog":                    "dns_catalog:",
		"STEAD_DNS_TSIG_KEY=hunter2":                   "dns_tsig_key: is not of the form",
		"STEAD_DNS_TSIG_KEY=hmac-md5:a:hunter2":        "dns_tsig_key: is not of the form",
		"STEAD_DNS_TSIG_KEY=hmac-sha256:key:hunter2==": "dns_tsig_key: has a secret",
		"STEAD_DNS_LISTEN=53":                          "dns_listen:",
	} {
		_, err := config.Load(config.Input{Environ: []string{setting}})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
