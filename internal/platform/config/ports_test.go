package config

import (
	"maps"
	"testing"
)

func TestPortsOfAMachine(t *testing.T) {
	got, err := parsePorts([]string{"http=8081", " https=8443"})
	if err != nil || !maps.Equal(got, map[string]int{"http": 8081, "https": 8443}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{"http", "http=", "http=0", "http=65536", "http=a", "telnet=23", "=1"} {
		if got, err := parsePorts([]string{wrong}); err == nil {
			t.Errorf("%q: %v", wrong, got)
		}
	}
	if _, err := parsePorts([]string{"http=1", "http=2"}); err == nil {
		t.Error("one service has two ports")
	}
	for prefix, ok := range map[string]bool{"c": true, "host1": true, "1c": false, "C": false, "a-b": false, "abcdefghi": false} {
		if err := userPrefix(prefix); (err == nil) != ok {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
}
