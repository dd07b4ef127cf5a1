package release

import (
	"runtime/debug"
	"testing"
)

const revision = "0123456789abcdef0123456789abcdef01234567"

func TestABuildSaysWhatItIs(t *testing.T) {
	noted := []debug.BuildSetting{
		{Key: "vcs.revision", Value: revision}, {Key: "vcs.time", Value: "2026-11-26T10:00:00Z"}, {Key: "vcs.modified", Value: "true"},
	}
	for name, test := range map[string]struct {
		build *debug.BuildInfo
		want  Info
	}{
		"nothing known":   {nil, Info{Version: "dev"}},
		"a commit":        {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: noted}, Info{Version: "dev-0123456789ab", Commit: revision, Date: "2026-11-26T10:00:00Z", Modified: true}},
		"a tag":           {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: noted}, Info{Version: "v1.2.3", Commit: revision, Date: "2026-11-26T10:00:00Z", Modified: true}},
		"no short commit": {&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "01"}}}, Info{Version: "dev", Commit: "01"}},
	} {
		got := read(test.build)
		got.Go, got.Platform = "", ""
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
	if i := Read(); i.Go == "" || i.Platform == "" {
		t.Errorf("this program is %+v", i)
	}
}

func TestTheLinkerIsBelievedFirst(t *testing.T) {
	version, commit, date = "v2.0.0", revision, "2026-11-26T10:00:00Z"
	t.Cleanup(func() { version, commit, date = "", "", "" })
	got := read(&debug.BuildInfo{Main: debug.Module{Version: "v1.0.0"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "another"}, {Key: "vcs.modified", Value: "true"},
	}})
	if got.Version != "v2.0.0" || got.Commit != revision || got.Modified {
		t.Errorf("it says %+v", got)
	}
}
