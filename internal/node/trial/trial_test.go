package trial

import (
	"os"
	"path/filepath"
	"testing"

	"stead.dev/stead/internal/node/cgroup"
	"stead.dev/stead/internal/node/mailguard"
)

const testUID = 59_998

func newConfig(t *testing.T) Config {
	t.Helper()
	dir, err := os.MkdirTemp("/var/lib", "stead-selftest-") // users must reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return Config{Dir: dir, UID: testUID, Users: mailguard.Users{First: 59_000, Last: 59_001}}
}

func TestWhatThisMachineHolds(t *testing.T) {
	c := newConfig(t)
	results, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]Outcome{}
	for _, r := range results {
		t.Logf("%s: %s: %s", r.Check, r.Outcome, r.Detail)
		outcomes[r.Check] = r.Outcome
		if r.Outcome == Broken || r.Detail == "" {
			t.Errorf("%s is %s: %s", r.Check, r.Outcome, r.Detail)
		}
	}
	if len(outcomes) != 9 || outcomes["privileges"] != Holds {
		t.Errorf("%v", outcomes)
	}
	if has := cgroup.Machine().String(); has == "v2" || has == "v1: cpu memory pids" {
		for _, check := range []string{"processes", "memory", "processor"} {
			if outcomes[check] != Holds {
				t.Errorf("%s is %s on a machine with cgroups %s", check, outcomes[check], has)
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(c.Dir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Without the limit, the same programs do what the checks call broken: so a check can fail.
func TestChecksFailWhereNothingIsLimited(t *testing.T) {
	test := &test{Config: newConfig(t), groups: &cgroup.Controllers{}}
	if _, err := test.prepare(); err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]string{
		`for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 0.1 & done; wait; echo all`: "all",
		`head -c 200000000 /dev/zero | tail -n 1 | wc -c`:                                      "200000000",
		`head -c 20000000 /dev/zero >big; wc -c <big`:                                          "20000000",
	} {
		output, _, err := test.run(t.Context(), script)
		if err != nil || output != want {
			t.Errorf("%s: %q, %v", script, output, err)
		}
	}
	for check, has := range map[string]func() (Outcome, string, error){
		"processes": func() (Outcome, string, error) { return test.processes(t.Context()) },
		"disk":      func() (Outcome, string, error) { return test.disk(t.Context()) },
	} {
		if outcome, detail, err := has(); outcome != Lacks || err != nil {
			t.Errorf("%s: %s, %s, %v", check, outcome, detail, err)
		}
	}
}
