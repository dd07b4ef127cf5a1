package web

import (
	"path"
	"regexp"
)

var (
	// source matches names that may be those of program source, and of copies of it.
	source = regexp.MustCompile(`(?i)\.(?:ph(?:p[0-9s]?|tml?|t|ar)|inc)(?:[^a-z0-9/][^/]*)?$`)
	// shown matches what else ends a copy that is a page, a script or a picture.
	shown = regexp.MustCompile(`(?i)\.(?:html?|css|m?js|png|jpe?g|gif|webp|avif|svg|ico)$`)
)

// IsSource reports whether a file of that name may hold the source of a program, such as x.php, x.phtml, X.PHP, x.inc, or a
// copy that an editor or a person left: x.php.bak, x.php~. It is never sent to a visitor. The configuration of nginx has
// the same rule.
func IsSource(name string) bool {
	name = path.Base(name)
	return source.MatchString(name) && !shown.MatchString(name)
}
