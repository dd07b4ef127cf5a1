package labels_test

import (
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/labels"
)

func TestLabelsAreReadAndWrittenAsPeopleDo(t *testing.T) {
	t.Parallel()
	set, err := labels.Parse([]string{"gpu", "disk=nvme", "example.com/rack=B-7", "disk=nvme"})
	if err != nil || set.String() != "disk=nvme, example.com/rack=B-7, gpu" {
		t.Errorf("%v, %v", set, err)
	}
	for _, bad := range []string{"", "=x", "Disk=nvme", "disk=a b", "disk=a\x1b", "disk==", "-disk", "disk=-", "x=" + strings.Repeat("a", 64), strings.Repeat("a", 64)} {
		if set, err := labels.Parse([]string{bad}); err == nil {
			t.Errorf("%q is read as %v", bad, set)
		}
	}
	if set, err := labels.Parse([]string{"disk=nvme", "disk=sata"}); err == nil {
		t.Errorf("two values are read as %v", set)
	}
	many := labels.Set{}
	for i := range labels.Most + 1 {
		many[strings.Repeat("a", i+1)] = ""
	}
	if many.Check() == nil {
		t.Error("there is no bound")
	}
}

func TestLabelsAreCompared(t *testing.T) {
	t.Parallel()
	has := labels.Set{"disk": "nvme", "gpu": ""}
	for wanted, lacking := range map[string]string{"disk=nvme": "", "gpu": "", "disk=sata": "disk=sata", "disk": "disk", "gpu=a100": "gpu=a100", "rack": "rack"} {
		set, err := labels.Parse([]string{wanted})
		if got := has.Lacking(set).String(); err != nil || got != lacking {
			t.Errorf("%s: lacks %q, %v", wanted, got, err)
		}
	}
	if got := has.With(labels.Set{"disk": "sata", "rack": "7"}, []string{"gpu", "disk", "none"}).String(); got != "disk=sata, rack=7" || len(has) != 2 {
		t.Errorf("changed: %s; before: %s", got, has)
	}
}
