package web_test

import (
	"testing"

	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/web"
)

func TestIsSource(t *testing.T) {
	for _, name := range append([]string{"x.php"}, nodetest.Sources...) {
		if !web.IsSource("dir/" + name) {
			t.Errorf("%s would be sent", name)
		}
	}
	for _, name := range nodetest.NoSources {
		if web.IsSource("dir.inc/" + name) {
			t.Errorf("%s would not be sent", name)
		}
	}
}
