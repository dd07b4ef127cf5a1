package nginx

import (
	"math"
	"os"
	"strings"
	"testing"

	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/port/panel"
)

func TestWorkersTakeTheFilesThatTheMachineGives(t *testing.T) {
	for _, c := range []struct {
		most             uint64
		beyond           bool
		files, connected int
	}{
		{1 << 20, false, 131072, 8192},
		{131072, false, 131072, 8192},
		{20000, false, 20000, 8192},
		{4096, false, 4096, 2048},
		{4096, true, 131072, 8192},
		{math.MaxUint64, false, 131072, 8192},
	} {
		if files, connected := bounds(c.most, c.beyond); files != c.files || connected != c.connected {
			t.Errorf("%+v: %d files, %d connections", c, files, connected)
		}
	}

	// On this machine: nothing was refused to them.
	w := newWorld(t)
	a := w.machine.Account("alice", panel.Limits{})
	w.put(a, "public_html/index.html", "INDEX")
	w.apply(a, web.Site{Domain: "alice.example"})
	if res := w.ask("GET", "http://alice.example/"); res.body != "INDEX" {
		t.Errorf("%d %q", res.StatusCode, res.body)
	}
	said, err := os.ReadFile(w.file("error.log"))
	w.must(err)
	if strings.Contains(string(said), "RLIMIT_NOFILE") || strings.Contains(string(said), "worker_connections") {
		t.Errorf("%s", said)
	}
}
