package daemon

import (
	"strings"
	"testing"
)

func TestAUnitThatHidesProcesses(t *testing.T) {
	for _, hide := range []bool{true, false} {
		spec, err := Spec{Name: "x", Command: []string{"/bin/true"}, HideProcesses: hide}.complete()
		if err != nil {
			t.Fatal(err)
		}
		text, err := unit(spec)
		if err != nil || strings.Contains(text, "\nProtectProc=invisible\n") != hide {
			t.Errorf("%v: %s, %v", hide, text, err)
		}
	}
}

func TestAUnitThatIsConfined(t *testing.T) {
	spec, err := Spec{Name: "x", Command: []string{"/bin/true"}, HideProcesses: true, Confine: true}.complete()
	if err != nil {
		t.Fatal(err)
	}
	text, err := unit(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"NoNewPrivileges=true", "TemporaryFileSystem=/tmp:mode=0755,size=16m,nosuid,nodev,noexec /var/tmp:mode=0755,size=16m,nosuid,nodev,noexec /dev/shm:mode=0755,size=16m,nosuid,nodev,noexec",
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no %s in %s", line, text)
		}
	}
}

func TestADaemonWithoutNetwork(t *testing.T) {
	spec, err := Spec{Name: "x", Command: []string{"/bin/true"}, NoNetwork: true}.complete()
	if err != nil {
		t.Fatal(err)
	}
	text, err := unit(spec)
	if err != nil || !strings.Contains(text, "\nPrivateNetwork=true\n") {
		t.Errorf("%s, %v", text, err)
	}
	with := spec
	with.NoNetwork = false
	if with.fingerprint() == spec.fingerprint() {
		t.Error("a running daemon would keep its network")
	}
}
