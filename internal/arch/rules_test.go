package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/i18n"
)

// excused reports whether a line carries the linter's excuse with a reason: the tests and golangci-lint accept the
// same words.
func excused(line string) bool {
	_, reason, found := strings.Cut(line, "//nolint:forbidigo //")
	return found && strings.TrimSpace(reason) != ""
}

func TestTimeIsInjected(t *testing.T) {
	for _, f := range files(t) {
		if f.test || within(f.dir, "internal/platform/clock") || within(f.dir, "sdk") { // sdk runs in programs of others
			continue
		}
		f.calls("time", func(function string, call *ast.CallExpr) {
			place, line := f.at(call)
			if slices.Contains([]string{"Now", "Since", "Until"}, function) && !excused(line) {
				t.Errorf("%s: time.%s: take tx.Now in a transaction and a clock.Clock elsewhere "+
					"(or say why not: //nolint:forbidigo // reason)", place, function)
			}
		})
	}
}

// sleepExcused reports whether a line says why a test sleeps. What must happen at any moment, such as the end of a
// process, has no condition to wait for.
func sleepExcused(line string) bool {
	_, reason, found := strings.Cut(line, "// sleeps: ")
	return found && strings.TrimSpace(reason) != ""
}

func TestTestsDoNotSleep(t *testing.T) {
	for _, f := range files(t) {
		if !f.test {
			continue
		}
		for _, n := range sleeps(f.syntax) {
			if place, line := f.at(n); !sleepExcused(line) {
				t.Errorf("%s: a test waits for a condition (testkit.Eventually), never for a time "+
					"(or say why: // sleeps: reason)", place)
			}
		}
	}
}

// sleeps returns the calls of time.Sleep and the receptions from a timer. A select that waits for something else, too,
// has a deadline and does not sleep.
func sleeps(syntax ast.Node) (found []ast.Node) {
	deadlines := map[ast.Node]bool{}
	named := timers(syntax)
	isTimer := func(x ast.Expr) bool { return isTimer(x, named) }
	ast.Inspect(syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectStmt:
			var timers []ast.Node
			others := false
			for _, c := range n.Body.List {
				comm := c.(*ast.CommClause).Comm
				if received, ok := comm.(*ast.ExprStmt); ok && isTimer(received.X) {
					timers = append(timers, received.X)
				} else if comm != nil {
					others = true
				}
			}
			if others {
				for _, timer := range timers {
					deadlines[timer] = true
				}
			}
		case *ast.CallExpr:
			if isTime(n, "Sleep") {
				found = append(found, n)
			}
		case *ast.UnaryExpr:
			if isTimer(n) && !deadlines[n] {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// timers are the names of variables that hold a timer, a ticker or the channel of one.
func timers(syntax ast.Node) map[string]bool {
	named := map[string]bool{}
	ast.Inspect(syntax, func(n ast.Node) bool {
		assigned, ok := n.(*ast.AssignStmt)
		if !ok || len(assigned.Lhs) != len(assigned.Rhs) {
			return true
		}
		for i, value := range assigned.Rhs {
			name, ok := assigned.Lhs[i].(*ast.Ident)
			if ok && (isTime(value, "NewTimer") || isTime(value, "NewTicker") || isTime(value, "After") || isTime(value, "Tick")) {
				named[name.Name] = true
			}
		}
		return true
	})
	return named
}

// isTimer reports whether x is <-time.After(…), <-time.Tick(…), or the same of the channel of a timer, which may be one
// of the named variables.
func isTimer(x ast.Expr, named map[string]bool) bool {
	received, ok := x.(*ast.UnaryExpr)
	if !ok || received.Op != token.ARROW {
		return false
	}
	channel := received.X
	if selector, ok := channel.(*ast.SelectorExpr); ok && selector.Sel.Name == "C" {
		channel = selector.X
	}
	if name, ok := channel.(*ast.Ident); ok {
		return named[name.Name]
	}
	return isTime(channel, "NewTimer") || isTime(channel, "NewTicker") || isTime(channel, "After") || isTime(channel, "Tick")
}

// isTime reports whether x is a call of a function of package time.
func isTime(x ast.Expr, function string) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != function {
		return false
	}
	pkg, ok := selector.X.(*ast.Ident)
	return ok && pkg.Name == "time"
}

func TestWhatCountsAsSleeping(t *testing.T) {
	for body, want := range map[string]int{
		`time.Sleep(1)`:        1,
		`<-time.After(1)`:      1,
		`_ = <-time.Tick(1)`:   1,
		`<-time.NewTimer(1).C`: 1,
		`<-done`:               0,
		`timer := time.NewTimer(1); timer.Stop()`:                               0,
		`tick := time.NewTicker(1); <-tick.C`:                                   1,
		`over := time.After(1); select { case <-over: case <-time.Tick(1): }`:   2,
		`over := time.After(1); select { case <-over: case <-done: }`:           0,
		`select { case <-time.After(1): }`:                                      1,
		`select { case <-time.After(1): default: }`:                             1,
		`select { case <-done: case <-time.After(1): }`:                         0,
		`select { case done <- 1: case <-time.NewTimer(1).C: <-time.After(1) }`: 1,
	} {
		syntax, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+body+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(sleeps(syntax)); got != want {
			t.Errorf("%s: %d, want %d", body, got, want)
		}
	}
}

func TestOnlyCommandsReadTheEnvironment(t *testing.T) {
	for _, f := range files(t) {
		if f.test || testOnly(f.dir) || within(f.dir, "cmd") || within(f.dir, "sdk") { // sdk has examples that are commands
			continue
		}
		f.calls("os", func(function string, call *ast.CallExpr) {
			place, line := f.at(call)
			if slices.Contains([]string{"Getenv", "LookupEnv", "Environ"}, function) && !excused(line) {
				t.Errorf("%s: os.%s: the command hands it to internal/platform/config, which hands settings down", place, function)
			}
		})
	}
}

func TestNoPackageIsADrawerForEverything(t *testing.T) {
	drawers := []string{"util", "utils", "common", "helper", "helpers", "model", "models", "manager", "misc", "shared", "types"}
	for _, f := range files(t) {
		if slices.Contains(drawers, f.syntax.Name.Name) || slices.Contains(drawers, path.Base(f.dir)) {
			t.Errorf("%s: a package is named for what it does, not %s", f.path, f.syntax.Name.Name)
		}
	}
}

// writing finds the table of a statement that changes one.
var writing = regexp.MustCompile(`\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+([a-z][a-z0-9_]*)`)

// written are the tables that a node writes: by a statement, or as the table of a collection (site.Table).
func written(n ast.Node) (tables []string) {
	switch n := n.(type) {
	case *ast.BasicLit:
		for _, match := range writing.FindAllStringSubmatch(n.Value, -1) {
			tables = append(tables, match[1])
		}
	case *ast.CompositeLit:
		of, ok := n.Type.(*ast.SelectorExpr)
		if !ok || of.Sel.Name != "Table" {
			return nil
		}
		ast.Inspect(n, func(n ast.Node) bool {
			pair, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			if member, ok := pair.Key.(*ast.Ident); !ok || member.Name != "Name" && member.Name != "Others" {
				return false
			}
			ast.Inspect(pair.Value, func(n ast.Node) bool {
				if name, ok := n.(*ast.BasicLit); ok && name.Kind == token.STRING {
					if table, err := strconv.Unquote(name.Value); err == nil {
						tables = append(tables, table)
					}
				}
				return true
			})
			return false
		})
	}
	return tables
}

// tableNames are the names that the tables of a package begin with, where that is not the package's own name.
var tableNames = map[string]string{
	"internal/hosting/sitedomains":    "hosting", // as its events and its part of the document
	"internal/agent/runs":             "ai",
	"internal/platform/hold":          "hold_restored",
	"internal/platform/controlbackup": "controlbackup_archives",
	"internal/platform/switches":      "section_switches",
	"internal/platform/jobs":          "river_job",       // the library's; at the start jobs are taken back that a killed process had
	"internal/platform/db":            "sqlite_sequence", // the engine's own, from which ids are taken
}

func TestATableHasOneWriter(t *testing.T) {
	writers := map[string]string{}
	for _, f := range files(t) {
		tree, floor, ok := treeOf(f.dir)
		if f.test || !ok || testOnly(f.dir) { // tests make tables of their own
			continue
		}
		if floor == platform {
			tree = f.dir
		}
		owner, named := tableNames[tree]
		if !named {
			owner = path.Base(tree)
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			for _, table := range written(n) {
				if table != owner && table != owner+"s" && !strings.HasPrefix(table, owner+"_") {
					place, _ := f.at(n)
					t.Errorf("%s: %s writes the table %s, which is another's", place, tree, table)
				}
				if other, known := writers[table]; known && other != tree {
					t.Errorf("the table %s is written by %s and %s", table, other, tree)
				}
				writers[table] = tree
			}
			return true
		})
	}
	for tree := range tableNames {
		if !slices.Contains(slices.Collect(maps.Values(writers)), tree) {
			t.Errorf("%s writes no table: its entry is left over", tree)
		}
	}
}

// statement finds a string that is a statement of SQL.
var statement = regexp.MustCompile("^[`\"]\\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\\s")

func TestOperationsAndJobsHoldNoStatements(t *testing.T) {
	without := []string{"doc.go", "errors.go", "http.go", "jobs.go", "module.go"}
	for _, f := range files(t) {
		_, floor, _ := treeOf(f.dir)
		if floor != section && floor != front || !slices.Contains(without, path.Base(f.path)) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if basic, ok := n.(*ast.BasicLit); ok && basic.Kind == token.STRING && statement.MatchString(basic.Value) {
				place, _ := f.at(n)
				t.Errorf("%s: a statement of SQL belongs into store.go or the file of its resource", place)
			}
			return true
		})
	}
}

// textArguments names the functions that take the id of a text, which argument it is, and what they put before it.
var textArguments = map[[2]string]struct {
	argument int
	prefix   string
}{
	{"i18n", "T"}:            {1, ""},
	{"fault", "Invalid"}:     {1, "invalid."},
	{"fault", "InvalidData"}: {1, "invalid."},
}

func TestEveryTextThatTheCodeNamesExists(t *testing.T) {
	for _, f := range files(t) {
		if f.test {
			continue
		}
		need := func(n ast.Node, id string) {
			for _, lang := range i18n.Supported() {
				if !i18n.Has(lang, id) {
					place, _ := f.at(n)
					t.Errorf("%s: %q has no text in %q", place, id, lang)
				}
			}
		}
		for target, text := range textArguments {
			f.calls(target[0], func(function string, call *ast.CallExpr) {
				if id, ok := literal(call, text.argument); ok && function == target[1] {
					need(call, text.prefix+id)
				}
			})
		}
		f.defines(func(call *ast.CallExpr, key string) { need(call, "error."+key) })
	}
}

// TestNoTextIsLeftOver: a text that nothing names is a mistake in its id, or
// dead. An id is named whole, or built of a family ("account.mail." + kind +
// ".subject") and a member that the code has as a word of its own. Errors are
// left out: the catalogue has every key of the specification, also of sections
// that are not there yet.
func TestNoTextIsLeftOver(t *testing.T) {
	said := words(t)
	for _, id := range i18n.IDs() {
		if !strings.HasPrefix(id, "error.") && !named(id, said) {
			t.Errorf("nothing names the text %q", id)
		}
	}
}

// named reports whether an id stands among the words whole, or in parts of
// which each but the last is a family that ends in a dot or an underscore, or as
// family, member and ".last".
func named(id string, said map[string]bool) bool {
	if said[id] {
		return true
	}
	for i, c := range id {
		if c != '.' && c != '_' || !said[id[:i+1]] {
			continue
		}
		rest := id[i+1:]
		if named(rest, said) {
			return true
		}
		if member, last, found := strings.Cut(rest, "."); found && said[member] && said["."+last] {
			return true
		}
	}
	return false
}

func TestTheRuleOfLeftOverTextsIsItselfRight(t *testing.T) {
	said := map[string]bool{"webui.nav.main": true, "mail.": true, "welcome": true, ".subject": true, "invalid.": true, "dns_": true, "ttl": true}
	for id, want := range map[string]bool{
		"webui.nav.main": true, "mail.welcome": true, "mail.welcome.subject": true, "invalid.dns_ttl": true,
		"webui.nav.other": false, "mail.farewell.subject": false, "mail.welcome.text": false, "invalid.dns_class": false, "welcome.mail": false,
	} {
		if got := named(id, said); got != want {
			t.Errorf("%s: named is %v, want %v", id, got, want)
		}
	}
}

// templateWord finds what may be an id in a template, or a family in a format.
var templateWord = regexp.MustCompile(`[a-z][a-z0-9_.:]*`)

// words are the strings of the code and the words of the templates.
func words(t *testing.T) map[string]bool {
	t.Helper()
	said := map[string]bool{}
	for _, f := range files(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if basic, ok := n.(*ast.BasicLit); ok && basic.Kind == token.STRING {
				if value, err := strconv.Unquote(basic.Value); err == nil {
					said[value], said[strings.ToLower(value)] = true, true // members may be words of a protocol: "DS"
				}
			}
			return true
		})
	}
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".html" {
			return err
		}
		content, err := os.ReadFile(name)
		for _, word := range templateWord.FindAllString(string(content), -1) {
			said[word] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func TestAnErrorKeyIsDefinedOnce(t *testing.T) {
	places := map[string]string{}
	for _, f := range files(t) {
		if f.test {
			continue
		}
		f.defines(func(call *ast.CallExpr, key string) {
			place, _ := f.at(call)
			if other, taken := places[key]; taken {
				t.Errorf("%s: the error key %q is already defined at %s", place, key, other)
			}
			places[key] = place
		})
	}
}

// defines visits the definitions of errors: fault.Define(kind, "key"), and within fault itself Define.
func (f *file) defines(visit func(call *ast.CallExpr, key string)) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := ""
		switch function := call.Fun.(type) {
		case *ast.Ident:
			if f.syntax.Name.Name == "fault" {
				name = function.Name
			}
		case *ast.SelectorExpr:
			if pkg, ok := function.X.(*ast.Ident); ok && pkg.Name == "fault" {
				name = function.Sel.Name
			}
		}
		if key, ok := literal(call, 1); ok && name == "Define" {
			visit(call, key)
		}
		return true
	})
}

// TestModulesThatMustAgreeDo: River's modules are one release cut in pieces, and SQLite's Go translation works with
// exactly one version of its C library.
func TestModulesThatMustAgreeDo(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^\s*(?:require )?(\S+\.\S+/\S+) (v\S+)`).FindAllStringSubmatch(string(content), -1) {
		versions[match[1]] = match[2]
	}
	for name, version := range versions {
		if strings.HasPrefix(name, "github.com/riverqueue/river") && version != versions["github.com/riverqueue/river"] {
			t.Errorf("%s is at %s, river itself at %s", name, version, versions["github.com/riverqueue/river"])
		}
	}
	libc := map[string]string{"v1.60.1": "v1.77.1"} // modernc.org/sqlite → the libc of its own go.mod
	if sqlite := versions["modernc.org/sqlite"]; libc[sqlite] == "" || libc[sqlite] != versions["modernc.org/libc"] {
		t.Errorf("modernc.org/sqlite %s with modernc.org/libc %s: take the libc of sqlite's own go.mod and note the pair here",
			sqlite, versions["modernc.org/libc"])
	}
}
