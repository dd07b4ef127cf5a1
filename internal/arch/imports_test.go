package arch

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layer is a floor of the building: a package may import what is strictly below it, and its own tree.
type layer int

const (
	assets   layer = iota // embedded files; import nothing of ours
	platform              // knows no section; its parts build on each other
	port                  // where the outside differs: hosting panels, gateways, mail
	kernel                // what the sections of one room share
	section               // what the specification calls sections
	front                 // surfaces that cut across sections
	app                   // builds and plugs together
	command               // main packages
	tool                  // development aids; stand alone
	checks                // this package: may read everything
)

// rooms gives each folder its floor. A folder of internal/ that holds several trees (an adapter's port, a section)
// has each of its own folders as a tree; the others are one tree themselves. So a new package gets its floor from its
// path, and nothing is added here.
var rooms = map[string]struct {
	floor layer
	trees bool // each folder in it is a tree of its own
}{
	"web": {assets, false}, "sdk": {assets, false}, "docs": {assets, false},
	"internal/platform":   {platform, false},
	"internal/port":       {port, true},
	"internal/node":       {port, false},
	"internal/identity":   {section, true},
	"internal/commerce":   {section, true},
	"internal/hosting":    {section, true},
	"internal/content":    {section, true},
	"internal/names":      {section, true},
	"internal/resale":     {section, true},
	"internal/monitoring": {section, true},
	"internal/agent":      {section, true},
	"internal/support":    {section, true},
	"internal/front":      {front, true},
	"internal/app":        {app, false},
	"internal/e2e":        {command, false},
	"cmd":                 {command, false}, "bench": {command, false},
	"scripts":       {tool, false},
	"internal/arch": {checks, false},
}

// kernels are the trees in a room of sections that the sections there share. They know no section.
var kernels = []string{"internal/commerce/sale", "internal/hosting/site"}

// neighbours are the imports between trees of one layer that are meant: the node speaks the panel port's words, and
// two adapters of the port run it.
var neighbours = map[[2]string]bool{
	{"internal/node", "internal/port/panel"}:         true,
	{"internal/port/panel/node", "internal/node"}:    true,
	{"internal/port/panel/sandbox", "internal/node"}: true,
	{"internal/port/panel/remote", "internal/node"}:  true, // its tests: the suite runs on a real node
}

// treeOf finds the tree that a package is in, and its floor.
func treeOf(dir string) (tree string, floor layer, ok bool) {
	below := dir // the tree, if it turns out that its parent is a room of trees
	for tree = dir; tree != "."; below, tree = tree, path.Dir(tree) {
		room, known := rooms[tree]
		switch {
		case !known:
		case !room.trees:
			return tree, room.floor, true
		case below == tree:
			return "", 0, false // a room of trees holds folders, no files
		case slices.Contains(kernels, below):
			return below, kernel, true
		default:
			return below, room.floor, true
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
	_, floor, _ := treeOf(tree)
	return floor == port && (dir != tree || tree == "internal/node")
}

func TestEveryPackageHasALayer(t *testing.T) {
	reported := map[string]bool{}
	for _, f := range files(t) {
		if _, _, ok := treeOf(f.dir); !ok && !reported[f.dir] {
			reported[f.dir] = true
			t.Errorf("%s has no floor: put it into one of the rooms of docs/architecture.md", f.dir)
		}
	}
}

func TestNoEntryIsLeftOver(t *testing.T) {
	exists := map[string]bool{}
	for _, f := range files(t) {
		for dir := f.dir; dir != "."; dir = path.Dir(dir) {
			exists[dir] = true
		}
	}
	var entries []string
	for room := range rooms {
		entries = append(entries, room)
	}
	for pair := range neighbours {
		entries = append(entries, pair[:]...)
	}
	for _, entry := range append(entries, kernels...) {
		if !exists[entry] {
			t.Errorf("%s is in a table of this test and holds no package", entry)
		}
	}
}

func TestInternalStaysSmall(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join(root, "internal"))
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) > 16 {
		t.Errorf("internal/ has %d folders; a newcomer takes in 16 at most", len(folders))
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
		{"internal/commerce/orders/service.go", "internal/commerce/wallet", false},
		{"internal/commerce/orders/service_test.go", "internal/commerce/wallet", false},
		{"internal/commerce/orders/service.go", "internal/platform/db", true},
		{"internal/commerce/orders/service.go", "internal/port/panel", true},
		{"internal/commerce/orders/service.go", "internal/port/panel/node", false},
		{"internal/commerce/orders/service_test.go", "internal/port/panel/sandbox", true},
		{"internal/hosting/files/service.go", "internal/node/files", false},
		{"internal/commerce/orders/service.go", "internal/platform/testkit", false},
		{"internal/commerce/orders/service_test.go", "internal/platform/testkit", true},
		{"internal/port/panel/paneltest/suite.go", "internal/platform/testkit", true},
		{"internal/port/panel/node/node.go", "internal/node/web", true},
		{"internal/node/web/web.go", "internal/port/panel", true},
		{"internal/port/panel/panel.go", "internal/port/mailer", false},
		{"internal/port/panel/panel.go", "internal/commerce/orders", false},
		{"internal/platform/api/edge.go", "internal/commerce/orders", false},
		{"internal/platform/api/edge.go", "internal/platform/db", true},
		{"internal/platform/testkit/testkit.go", "internal/platform/schema", true},
		{"internal/front/webui/pages.go", "internal/commerce/orders", true},
		{"internal/front/webui/pages.go", "internal/front/admin", false},
		{"internal/app/app.go", "internal/port/panel/node", true},
		{"internal/app/app.go", "internal/front/webui", true},
		{"internal/front/webui/pages.go", "internal/app", false},
		{"cmd/stead/main.go", "internal/app", true},
		{"internal/hosting/cron/service.go", "internal/hosting/site", true},
		{"internal/hosting/site/follow.go", "internal/hosting/cron", false},
		{"internal/commerce/wallet/ledger.go", "internal/hosting/site", true},
		{"scripts/testsum/main.go", "internal/platform/clock", false},
	} {
		f := &file{path: c.file, dir: path.Dir(c.file), test: strings.HasSuffix(c.file, "_test.go")}
		if reason := forbidden(f, c.imported); (reason == "") != c.allowed {
			t.Errorf("%s importing %s: allowed %v, want %v (%s)", c.file, c.imported, reason == "", c.allowed, reason)
		}
	}
}
