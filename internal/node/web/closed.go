package web

import "strings"

// Closed is a directory of a site that is closed to visitors with all below it, or one within that is open.
type Closed struct {
	Path   string // as in addresses, decoded, with a slash at both ends
	Denied bool
}

// IsClosed reports whether the address with that path is in a closed directory. The nearest directory decides.
func IsClosed(all []Closed, path string) bool {
	longest, denied := 0, false
	for _, c := range all {
		if len(c.Path) > longest && (strings.HasPrefix(path, c.Path) || path == strings.TrimSuffix(c.Path, "/")) {
			longest, denied = len(c.Path), c.Denied
		}
	}
	return denied
}
