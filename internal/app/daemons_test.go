package app

import (
	"testing"

	"stead.dev/stead/internal/platform/config"
)

// A Linux machine's sites are where its web server listens, which is not STEAD_NODE_LISTEN.
func TestWhereALinuxMachineServesItsSites(t *testing.T) {
	for want, cfg := range map[string]config.Config{
		"http://127.0.0.1":        {},
		"http://127.0.0.1:18090":  {NodePorts: []string{"http=18090"}},
		"http://192.0.2.7":        {NodeIPv4: "192.0.2.7", NodeIPv6: "2001:db8::7"},
		"http://192.0.2.9:81":     {NodeIPv4: "192.0.2.7", NodeHost: "192.0.2.9", NodePorts: []string{"http=81"}},
		"http://192.0.2.8":        {NodeIPv4: "192.0.2.8", NodeHost: "0.0.0.0"},
		"http://[2001:db8::7]":    {NodeIPv6: "2001:db8::7"},
		"http://[2001:db8::7]:81": {NodeIPv6: "2001:db8::7", NodePorts: []string{"http=81"}},
	} {
		if got := daemonsURL(cfg); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
