package release

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// form is that of a release's version, such as v0.2.0, and of what is built before it: v0.2.0-rc.1, v0.2.0~20261126.0123456789ab.
var form = regexp.MustCompile(`^v(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[~-]([0-9A-Za-z.~-]+))?(?:\+.*)?$`)

// Newer reports whether version a is known to come after version b. A version that names no release, such as dev, comes after none
// and before none.
func Newer(a, b string) bool {
	x, y := form.FindStringSubmatch(a), form.FindStringSubmatch(b)
	if x == nil || y == nil {
		return false
	}
	for i := 1; i <= 3; i++ {
		if c := compareFields(x[i], y[i]); c != 0 {
			return c > 0
		}
	}
	if x[4] == "" || y[4] == "" { // the release itself is the last of its version
		return x[4] == "" && y[4] != ""
	}
	before, other := strings.Split(x[4], "."), strings.Split(y[4], ".")
	for i := range min(len(before), len(other)) {
		if c := compareFields(before[i], other[i]); c != 0 {
			return c > 0
		}
	}
	return len(before) > len(other)
}

// compareFields compares numbers by their value, and everything else as text.
func compareFields(a, b string) int {
	x, xErr := strconv.ParseUint(a, 10, 64)
	y, yErr := strconv.ParseUint(b, 10, 64)
	if xErr == nil && yErr == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}
