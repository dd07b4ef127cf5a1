package release

import "testing"

func TestReleasesHaveAnOrder(t *testing.T) {
	inOrder := []string{
		"v0.1.0", "v0.1.1~20261126092050.0123456789ab", "v0.1.1~20261127092050.0000000000ab", "v0.1.1", "v0.2.0-rc.1", "v0.2.0-rc.9", "v0.2.0-rc.10",
		"v0.2.0", "v0.9.0", "v0.10.0", "v1.0.0",
	}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if got := Newer(a, b); got != (i > j) {
				t.Errorf("%s after %s: %v", a, b, got)
			}
		}
	}
	if Newer("v1.0.0+dirty", "v1.0.0") || Newer("v1.0.0", "v1.0.0+dirty") {
		t.Error("what follows a plus changes the order")
	}
	for _, nothing := range []string{"", "dev", "dev-0123456789ab", "1.0.0", "v1.0", "v1.0.0 ", "v1.0.0-", "v9999999999.0.0"} {
		if Newer(nothing, "v0.1.0") || Newer("v0.1.0", nothing) {
			t.Errorf("%q has a place in the order", nothing)
		}
	}
}
