package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// TestTheTypeScriptSDK runs the SDK's own tests and its example against a server. Its packages are installed by scripts/test.
func TestTheTypeScriptSDK(t *testing.T) {
	t.Parallel()
	p := newInstallation(t).serve(t, "--demo")
	customer := p.signIn(t)
	for _, args := range [][]string{{"npm", "run", "--silent", "build"}, {"npm", "test", "--silent"}, {"node", "build/examples/publish.js"}} {
		c := exec.CommandContext(t.Context(), args[0], args[1:]...)
		c.Dir = "../../sdk/typescript"
		c.Env = append(c.Environ(), "STEAD_URL="+p.url, "STEAD_TOKEN="+customer.token)
		output, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, output)
		}
		if args[0] == "node" && !strings.HasPrefix(string(output), "published ") {
			t.Errorf("the example printed %s", output)
		}
	}
}
