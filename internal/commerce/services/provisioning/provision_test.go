package provisioning

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

func TestTheAccountAskedForDependsOnTheServiceAlone(t *testing.T) {
	got := SpecOf(site.Site{
		ServiceID: 1042, Username: "s1042", Domain: "shop.test",
		Limits: site.Limits{"disk_mb": 500, "inodes": -1, "domains": 3, "subdomains": 2, "mailboxes": 7},
	})
	want := panel.AccountSpec{Ref: "1042", Username: "s1042", PrimaryDomain: "shop.test", Limits: panel.Limits{DiskMB: 500, Domains: 5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryFailureOfAPanelHasAPublicKey(t *testing.T) {
	known := map[string]bool{}
	for _, d := range fault.Defs() {
		known[d.Key] = true
	}
	known["disk_full"] = true // defined by the section files
	for _, kind := range []panel.Kind{
		panel.ErrNotFound, panel.ErrExists, panel.ErrSuspended, panel.ErrInUse, panel.ErrLimit, panel.ErrDiskFull,
		panel.ErrUnreachable, panel.ErrBusy, panel.ErrInvalid, panel.ErrUnsupported, panel.ErrInternal,
	} {
		if key := failureKey(kind); !known[key] {
			t.Errorf("%s becomes %q, which is no key", kind, key)
		}
	}
}
