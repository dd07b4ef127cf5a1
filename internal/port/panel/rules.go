package panel

import (
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/htaccess"
	"stead.dev/stead/internal/platform/plaintext"
)

// IgnoredRules are the rules in the .htaccess files of an account that have no effect on the server that hosts it.
type IgnoredRules struct {
	Files []IgnoredFile // the first ones, at most MostIgnoredFiles
	More  int           // so many files with such rules are not among Files
	// Directives are the names of all, sorted, each once: those of htaccess.Rule, never arguments, which may be secrets.
	Directives []string
	// Protects says that one of the rules keeps visitors from something, which is public while it has no effect.
	Protects bool
}

// IgnoredFile is a file with such rules.
type IgnoredFile struct {
	Path       string   // from the home: "/public_html/.htaccess", fit to show
	Directives []string // the first ones, sorted, each once; at most MostIgnoredNames
	Protects   bool
}

// Bounds of what IgnoredRules names.
const (
	MostIgnoredFiles = 20
	MostIgnoredNames = 10 // of one file
	mostIgnoredPath  = 200
	mostIgnoredMore  = 500_000
)

// Add adds the rules of a file.
func (r *IgnoredRules) Add(path string, rules []htaccess.Rule) {
	if len(rules) == 0 {
		return
	}
	f := IgnoredFile{Path: path}
	for _, rule := range rules {
		f.Protects = f.Protects || rule.Protects
		f.Directives = insert(f.Directives, rule.Directive)
		r.Directives = insert(r.Directives, rule.Directive)
	}
	r.Protects = r.Protects || f.Protects
	r.file(f)
}

// file takes a file as one of the first, or counts it.
func (r *IgnoredRules) file(f IgnoredFile) {
	if len(r.Files) >= MostIgnoredFiles {
		r.More++
		return
	}
	f.Path = plaintext.Line(f.Path, mostIgnoredPath)
	f.Directives = slices.Clone(f.Directives[:min(len(f.Directives), MostIgnoredNames)])
	r.Files = append(r.Files, f)
}

// insert adds a name to sorted ones.
func insert(names []string, name string) []string {
	if at, found := slices.BinarySearch(names, name); !found {
		names = slices.Insert(names, at, name)
	}
	return names
}

// Checked is what a report may say, whatever the machine that made it says: names of directives, within the bounds.
func (r IgnoredRules) Checked() IgnoredRules {
	out := IgnoredRules{More: min(max(r.More, 0), mostIgnoredMore), Directives: named(r.Directives), Protects: r.Protects}
	for _, f := range r.Files {
		if f.Directives = named(f.Directives); len(f.Directives) > 0 && isRuleFile(f.Path) {
			out.file(f)
		}
	}
	if len(out.Directives) == 0 {
		return IgnoredRules{}
	}
	return out
}

// isRuleFile reports whether a path is that of a .htaccess file, cut or whole.
func isRuleFile(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "//") &&
		(strings.HasSuffix(path, "/"+htaccess.Name) || strings.HasSuffix(path, "…"))
}

// named are the names that directives have.
func named(names []string) (known []string) {
	for _, name := range names {
		if htaccess.IsName(name) {
			known = insert(known, name)
		}
	}
	return known
}
