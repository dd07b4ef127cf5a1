package runs

import (
	"path"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/redact"
)

// permission is what is decided about a change before it is made.
type permission int

const (
	allowed permission = iota
	asks               // a person decides
	refused
)

// permit decides whether a change may be made; key names why it is refused.
func (t terms) permit(c change) (p permission, key string) {
	if c.kind == php { // it reaches all programs of the service
		if t.Mode == Suggest {
			return refused, "mode_suggest"
		}
		return asks, ""
	}
	paths := []string{c.path}
	if c.kind == move {
		paths = append(paths, c.toPath)
	}
	if c.kind == unpack && t.reaches(c.path) && t.Mode != Suggest { // where it goes was judged with the plan
		return asks, ""
	}
	for _, p := range paths {
		switch {
		case !t.reaches(p):
			return refused, "path_not_allowed"
		case redact.Sensitive(p) && c.kind != edit:
			return refused, "sensitive_file"
		}
	}
	switch {
	case t.Mode == Suggest:
		return refused, "mode_suggest"
	case t.Mode != Autopilot, c.kind == remove, slices.ContainsFunc(paths, risky(c.kind)):
		return asks, ""
	}
	return allowed, ""
}

// risky tells of a path whether a change of this kind can run code, or change how the server treats the site. Editing a
// program that is there does neither more nor less than its own editor does.
func risky(k changeKind) func(p string) bool {
	return func(p string) bool {
		name := strings.ToLower(path.Base(p))
		executable := slices.Contains(executables, path.Ext(name)) || strings.Contains(p, "/cgi-bin/")
		return k != edit && executable || strings.HasPrefix(name, ".")
	}
}

// executables are the endings of files that a web server may execute.
var executables = []string{
	".php", ".php3", ".php4", ".php5", ".php7", ".php8", ".phtml", ".pht", ".phar", ".phps", ".inc", ".cgi", ".pl", ".py", ".rb", ".sh", ".fcgi",
	".shtml", ".htaccess",
}

// mayUse tells whether the settings allow a tool.
func (t terms) mayUse(name string) bool { return len(t.Tools) == 0 || slices.Contains(t.Tools, name) }
