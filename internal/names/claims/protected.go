package claims

import (
	_ "embed"
	"strings"

	"golang.org/x/net/publicsuffix"
)

//go:embed protected.txt
var shipped string

// protected are domains that nobody holds without a proof. Their forms, one a line:
//
//	example.com  the domain
//	example.*    the label under every public suffix
//	.gov         every domain below the suffix
type protected struct {
	domains, labels, suffixes map[string]bool
}

// parseProtected reads lists. A # begins a comment.
func parseProtected(lists ...string) protected {
	p := protected{domains: map[string]bool{}, labels: map[string]bool{}, suffixes: map[string]bool{}}
	for _, list := range lists {
		for line := range strings.Lines(list) {
			line, _, _ = strings.Cut(line, "#")
			for word := range strings.FieldsSeq(strings.ToLower(line)) {
				if label, ok := strings.CutSuffix(word, ".*"); ok {
					p.labels[label] = true
				} else if suffix, ok := strings.CutPrefix(word, "."); ok {
					p.suffixes[suffix] = true
				} else {
					p.domains[word] = true
				}
			}
		}
	}
	return p
}

// has tells whether the list names a domain that can be registered.
func (p protected) has(domain string) bool {
	label, rest, _ := strings.Cut(domain, ".")
	if p.domains[domain] {
		return true
	}
	if suffix, icann := publicsuffix.PublicSuffix(domain); icann && rest == suffix && p.labels[label] {
		return true
	}
	for rest != "" {
		if p.suffixes[rest] {
			return true
		}
		_, rest, _ = strings.Cut(rest, ".")
	}
	return false
}
