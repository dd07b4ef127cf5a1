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
