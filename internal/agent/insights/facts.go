package insights

import "time"

// facts are what an audit saw of a service.
type facts struct {
	// reached tells that the site's first page answered. Without it nothing is known of its pages.
	reached bool
	status  int    // of the first page
	failure string // why there was no answer, as a key
	// skipped tells that the site was not visited at all.
	skipped bool
	// complete tells that everything the site links to was looked at.
	complete bool
	pages    []visited
	// looked are what links and pictures led to, by path.
	looked map[string]resource
	robots string // empty: there is none
	// robotsKnown tells that the site answered when it was asked for robots.txt.
	robotsKnown bool

	logs map[string]logFacts // by log; a log that could not be read is not there

	rules *ruleFacts // nil: not known

	phpVersion string     // empty: not known
	phpEnds    *time.Time // when its support ends; nil: not known
	now        time.Time
}

// visited is a page of the site.
type visited struct {
	path       string
	status     int
	took       time.Duration
	bytes      int64
	compressed bool
	html       bool
	headerSays bool // an X-Robots-Tag header keeps it out of search engines
	document
}

// resource is what an address of the site answered.
type resource struct {
	path    string
	status  int
	bytes   int64
	picture bool
	from    string // the page that names it
}

// logFacts are the errors in a log.
type logFacts struct {
	count   int
	fatal   int
	samples []string // masked
}
