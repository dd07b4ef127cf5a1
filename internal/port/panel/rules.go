package panel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/htaccess"
)

// IgnoredRules are the rules in the .htaccess files of an account that have no effect on the server that hosts it.
type IgnoredRules struct {
	Files []IgnoredFile // the first ones, at most MostIgnoredFiles: those with protecting rules come first
	More  int           // so many files with such rules are not among Files
	// IgnoredNames are those of all files. A name is in both lists when its rules protect in some files only.
	IgnoredNames
}

// IgnoredNames are the names of directives, sorted, each once: those of htaccess.Rule, never arguments, which may be secrets.
type IgnoredNames struct {
	Protecting []string // keep visitors from something, which is public while they have no effect
	Others     []string
}

// IgnoredFile is a file with such rules.
type IgnoredFile struct {
	Path string // from the home: "/public_html/.htaccess", its strange characters escaped as in addresses
	// IgnoredNames are the first ones, at most MostIgnoredNames, and a name is in one list only.
	IgnoredNames
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
	f := IgnoredFile{Path: escape(path)}
	for _, rule := range rules {
		if rule.Protects {
			f.Protecting = insert(f.Protecting, rule.Directive)
		} else {
			f.Others = insert(f.Others, rule.Directive)
		}
	}
	f.Others = slices.DeleteFunc(f.Others, f.protects)
	for _, name := range f.Protecting {
		r.Protecting = insert(r.Protecting, name)
	}
	for _, name := range f.Others {
		r.Others = insert(r.Others, name)
	}
	r.file(f)
}

// protects reports whether a name is that of a protecting directive.
func (n IgnoredNames) protects(name string) bool {
	_, found := slices.BinarySearch(n.Protecting, name)
	return found
}

// IsEmpty reports whether there is no name.
func (n IgnoredNames) IsEmpty() bool { return len(n.Protecting) == 0 && len(n.Others) == 0 }

// file takes a file as one of the first, or counts it. Files with protecting rules displace those without.
func (r *IgnoredRules) file(f IgnoredFile) {
	at := len(r.Files)
	if len(f.Protecting) > 0 {
		at = firstHarmless(r.Files)
	}
	if at >= MostIgnoredFiles {
		r.More++
		return
	}
	f.Protecting = slices.Clone(f.Protecting[:min(len(f.Protecting), MostIgnoredNames)])
	f.Others = slices.Clone(f.Others[:min(len(f.Others), MostIgnoredNames-len(f.Protecting))])
	r.Files = slices.Insert(r.Files, at, f)
	if len(r.Files) > MostIgnoredFiles {
		r.Files = r.Files[:MostIgnoredFiles]
		r.More++
	}
}

// firstHarmless is where the files without protecting rules begin.
func firstHarmless(files []IgnoredFile) int {
	at := slices.IndexFunc(files, func(f IgnoredFile) bool { return len(f.Protecting) == 0 })
	if at < 0 {
		return len(files)
	}
	return at
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
	out := IgnoredRules{More: min(max(r.More, 0), mostIgnoredMore), IgnoredNames: r.checked()}
	for _, f := range r.Files {
		f.IgnoredNames = f.checked()
		f.Others = slices.DeleteFunc(f.Others, f.protects)
		if !isShown(f.Path) {
			f.Path = escape(f.Path)
		}
		if !f.IsEmpty() && isRuleFile(f.Path) {
			out.file(f)
		}
	}
	if out.IsEmpty() {
		return IgnoredRules{}
	}
	return out
}

// checked are the names that directives have.
func (n IgnoredNames) checked() IgnoredNames {
	return IgnoredNames{named(n.Protecting), named(n.Others)}
}

// isRuleFile reports whether a path is that of a .htaccess file, cut or whole.
func isRuleFile(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "//") &&
		(strings.HasSuffix(path, "/"+htaccess.Name) || strings.HasSuffix(path, cut))
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

// cut follows a path that is cut.
const cut = "…"

// escape is a path as mails show it: customers, and whoever writes to their sites, name directories, and may not write our mails.
func escape(path string) string {
	var b strings.Builder
	for i := range len(path) {
		next := string(path[i])
		if !isPlain(path[i]) {
			next = fmt.Sprintf("%%%02X", path[i])
		}
		if b.Len()+len(next) > mostIgnoredPath {
			return b.String() + cut
		}
		b.WriteString(next)
	}
	return b.String()
}

// isShown reports whether a path is one that escape returns.
func isShown(path string) bool {
	path = strings.TrimSuffix(path, cut)
	return len(path) <= mostIgnoredPath && shown.MatchString(path)
}

var shown = regexp.MustCompile(`^(?:[A-Za-z0-9._/-]|%[0-9A-F]{2})*$`)

// isPlain reports whether a byte is shown as it is.
func isPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-/", c) >= 0
}
