package arch

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

// layer is a height in the building: a package may import what is strictly below it, and its own tree.
type layer int

const (
	assets   layer = iota // embedded files; import nothing of ours
	platform              // knows no section; its parts build on each other
	port                  // where the outside differs: hosting panels, gateways, mail
	kernel                // what sections that manage a hosted service share
	section               // what the specification calls sections
	front                 // surfaces that cut across sections
	app                   // builds and plugs together
	command               // main packages
	tool                  // development aids; stand alone
	checks                // this package: may read everything
)

// trees gives every package its layer by the tree it is in. A new top-level package gets its line here.
var trees = map[string]layer{
	"api": assets, "docs": assets, "web": assets, "sdk": assets,
	"internal/platform": platform, "internal/schema": platform, "internal/observe": platform,

	"internal/panel": port, "internal/registrar": port, "internal/gateway": port, "internal/llm": port,
	"internal/push": port, "internal/mailer": port, "internal/node": port,
	"internal/nameserver": port,

	"internal/site": kernel,

	"internal/account": section, "internal/oauth": section, "internal/catalog": section, "internal/wallet": section,
	"internal/orders": section, "internal/services": section, "internal/hosting": section, "internal/files": section,
	"internal/addons": section, "internal/coupons": section, "internal/domains": section, "internal/monitors": section, "internal/security": section,
	"internal/dns":       section,
	"internal/devices":   section,
	"internal/databases": section, "internal/mail": section, "internal/access": section, "internal/credentials": section,
	"internal/certificates": section, "internal/cron": section, "internal/php": section, "internal/logs": section,
	"internal/backups": section, "internal/notifications": section, "internal/loyalty": section, "internal/webhooks": section, "internal/nodes": section,
	"internal/invoices": section,
	"internal/clocks":   section,
	"internal/content":  section, "internal/embeds": section, "internal/agent": section,

	"internal/reseller": front, "internal/mcp": front, "internal/admin": front, "internal/webui": front,
	"internal/demo": front,

	"internal/doctor": front, "internal/app": app, "cmd": command, "bench": command, "internal/e2e": command, "scripts": tool, "internal/arch": checks,
}

// neighbours are the imports between trees of one layer that are meant: the node speaks the panel port's words, and
// two adapters of the port run it.
var neighbours = map[[2]string]bool{
	{"internal/node", "internal/panel"}:         true,
	{"internal/panel/node", "internal/node"}:    true,
	{"internal/panel/sandbox", "internal/node"}: true,
	{"internal/panel/remote", "internal/node"}:  true, // its tests: the suite runs on a real node
}

// treeOf finds the tree that a package is in.
func treeOf(dir string) (tree string, height layer, ok bool) {
	for tree = dir; tree != "."; tree = path.Dir(tree) {
		if height, ok = trees[tree]; ok {
			return tree, height, true
		}
	}
	return "", 0, false
}

func within(dir, tree string) bool { return dir == tree || strings.HasPrefix(dir, tree+"/") }

// testOnly reports whether a package exists for tests: testkit, and suites such as panel/paneltest.
func testOnly(dir string) bool {
	return path.Base(dir) == "testkit" || (strings.HasSuffix(dir, "test") && strings.HasPrefix(dir, "internal/"))
}

// adapter reports whether a package is one of the ways to do what a port asks for. Only app chooses among them.
func adapter(dir, tree string) bool {
	return trees[tree] == port && (dir != tree || tree == "internal/node")
}

func TestEveryPackageHasALayer(t *testing.T) {
	reported := map[string]bool{}
	for _, f := range files(t) {
		if _, _, ok := treeOf(f.dir); !ok && !reported[f.dir] {
			reported[f.dir] = true
			t.Errorf("%s has no layer: give it one in the table of this test", f.dir)
		}
	}
}

// TestImportsGoDown holds: cmd → app → fronts → sections → ports → platform; sections never import sections; only
// app chooses adapters; testkit and suites are for tests.
func TestImportsGoDown(t *testing.T) {
	for _, f := range files(t) {
		for _, imported := range f.imports {
			if reason := forbidden(f, imported); reason != "" {
				t.Errorf("%s imports %s: %s", f.path, imported, reason)
			}
		}
	}
}

func forbidden(f *file, imported string) string {
	if testOnly(imported) && !f.test && !testOnly(f.dir) {
		return "it is for tests only"
	}
	from, height, known := treeOf(f.dir)
	to, below, knownToo := treeOf(imported)
	if !known || !knownToo || within(imported, from) || height == checks || (height == platform && below == platform) {
		return ""
	}
	for pair := range neighbours {
		if within(f.dir, pair[0]) && within(imported, pair[1]) {
			return ""
		}
	}
	switch {
	case height == tool:
		return "a development tool stands alone"
	case height == section && below == section:
		return "sections never import sections: declare a small interface in your own words, app plugs it in"
	case below >= height:
		return fmt.Sprintf("imports go down only, from %s to what is below it", from)
	case adapter(imported, to) && height < app && !f.test && !testOnly(imported):
		return "only app chooses an adapter: use the port " + to
	}
	return ""
}

func TestTheRuleOfImportsIsItselfRight(t *testing.T) {
	for _, c := range []struct {
		file     string
		imported string
		allowed  bool
	}{
		{"internal/orders/service.go", "internal/wallet", false},
		{"internal/orders/service_test.go", "internal/wallet", false},
		{"internal/orders/service.go", "internal/platform/db", true},
		{"internal/orders/service.go", "internal/panel", true},
		{"internal/orders/service.go", "internal/panel/node", false},
		{"internal/orders/service_test.go", "internal/panel/sandbox", true},
		{"internal/files/service.go", "internal/node/files", false},
		{"internal/orders/service.go", "internal/platform/testkit", false},
		{"internal/orders/service_test.go", "internal/platform/testkit", true},
		{"internal/panel/paneltest/suite.go", "internal/platform/testkit", true},
		{"internal/panel/node/node.go", "internal/node/web", true},
		{"internal/node/web/web.go", "internal/panel", true},
		{"internal/panel/panel.go", "internal/mailer", false},
		{"internal/panel/panel.go", "internal/orders", false},
		{"internal/platform/api/edge.go", "internal/orders", false},
		{"internal/platform/api/edge.go", "internal/platform/db", true},
		{"internal/platform/testkit/testkit.go", "internal/schema", true},
		{"internal/webui/pages.go", "internal/orders", true},
		{"internal/webui/pages.go", "internal/admin", false},
		{"internal/app/app.go", "internal/panel/node", true},
		{"internal/app/app.go", "internal/webui", true},
		{"internal/webui/pages.go", "internal/app", false},
		{"cmd/stead/main.go", "internal/app", true},
		{"scripts/testsum/main.go", "internal/platform/clock", false},
	} {
		f := &file{path: c.file, dir: path.Dir(c.file), test: strings.HasSuffix(c.file, "_test.go")}
		if reason := forbidden(f, c.imported); (reason == "") != c.allowed {
			t.Errorf("%s importing %s: allowed %v, want %v (%s)", c.file, c.imported, reason == "", c.allowed, reason)
		}
	}
}
