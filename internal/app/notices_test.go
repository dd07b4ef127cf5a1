package app

import (
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/config"
)

// TestADemoSaysWhereItsMailsAre: without a mail server nobody gets the links to confirm an address and to recover a password.
func TestADemoSaysWhereItsMailsAre(t *testing.T) {
	for smtp, want := range map[config.Secret]bool{"": true, "smtp://127.0.0.1:25": false} {
		var out strings.Builder
		a := &App{core: &core{cfg: config.Config{Demo: true, DataDir: "/srv/data", SMTPURL: smtp}}}
		notices{out: &out}.show(a)
		if got := out.String(); !strings.Contains(got, DemoPassword) || strings.Contains(got, "/srv/data/mail") != want {
			t.Errorf("%q: %s", smtp, got)
		}
	}
}
