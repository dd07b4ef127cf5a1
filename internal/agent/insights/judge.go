package insights

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// check is a rule of audits.
type check struct {
	key      string
	kind     Kind
	severity Severity
	fixable  bool
	// judged tells whether the facts say something of a subject.
	judged func(f facts, subject string) bool
	// find lists the faults.
	find func(f facts) []flaw
}

// flaw is a subject that a check objects to.
type flaw struct {
	subject  string
	evidence map[string]any
	severity Severity // empty: the check's
}

// Thresholds of the checks.
const (
	slowAfter     = 1500 * time.Millisecond
	verySlowAfter = 4 * time.Second
	heavyPage     = 500 << 10
	worthPacking  = 16 << 10
	largeImage    = 300 << 10
	hugeImage     = 1 << 20
	mostSubjects  = 10 // of one check
	mostExamples  = 3  // in the evidence
)

// judge applies all checks.
func judge(f facts) Report {
	r := Report{Judged: func(key, subject string) bool {
		i := slices.IndexFunc(checks, func(c check) bool { return c.key == key })
		return i >= 0 && checks[i].judged(f, subject)
	}}
	for _, c := range checks {
		found := c.find(f)
		slices.SortStableFunc(found, func(a, b flaw) int { return cmp.Compare(rank(c.worse(a)), rank(c.worse(b))) })
		for _, x := range found[:min(len(found), mostSubjects)] {
			r.Findings = append(r.Findings, Finding{
				Check: c.key, Subject: asSubject(x.subject), Kind: c.kind, Severity: c.worse(x), Evidence: x.evidence, Fixable: c.fixable,
				Texts: Texts{Title: "insight.title." + c.key, Detail: "insight.detail." + c.key, Fix: "insight.fix." + c.key},
			})
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(rank(a.Severity), rank(b.Severity)) })
	return r
}

func (c check) worse(x flaw) Severity {
	if x.severity != "" {
		return x.severity
	}
	return c.severity
}

// whenVisited: of pages it is known what was visited, and when the whole site was seen, that there are no others.
func whenVisited(f facts, subject string) bool {
	return f.reached && (f.complete || slices.ContainsFunc(f.pages, func(p visited) bool { return p.path == subject }))
}

func whenLooked(f facts, subject string) bool {
	_, looked := f.looked[subject]
	return f.reached && (f.complete || looked)
}

func whenReached(f facts, _ string) bool { return f.reached }

// onPages finds faults of pages.
func onPages(find func(p visited) (map[string]any, bool)) func(f facts) []flaw {
	return func(f facts) (all []flaw) {
		for _, p := range f.pages {
			if !p.html || p.status != 200 {
				continue
			}
			if evidence, ok := find(p); ok {
				all = append(all, flaw{subject: p.path, evidence: evidence})
			}
		}
		return all
	}
}

func whenLogged(log string) func(f facts, _ string) bool {
	return func(f facts, _ string) bool {
		_, read := f.logs[log]
		return read
	}
}

func inLog(log string) func(f facts) []flaw {
	return func(f facts) []flaw {
		l := f.logs[log]
		if l.count == 0 {
			return nil
		}
		x := flaw{evidence: map[string]any{"count": l.count, "hours": int(logWindow / time.Hour), "examples": l.samples}}
		if l.fatal > 0 {
			x.severity, x.evidence["fatal"] = High, l.fatal
		}
		return []flaw{x}
	}
}

// checks are the rules, in no order that matters.
var checks = []check{
	{
		key: "site_down", kind: Availability, severity: Critical, fixable: true,
		judged: func(f facts, _ string) bool { return !f.skipped },
		find: func(f facts) []flaw {
			if f.skipped || f.reached && f.status < 500 {
				return nil
			}
			evidence := map[string]any{}
			if f.failure != "" {
				evidence["reason"] = f.failure
			}
			if f.status != 0 {
				evidence["status"] = f.status
			}
			return []flaw{{subject: "/", evidence: evidence}}
		},
	},
	{
		key: "slow_page", kind: Performance, severity: Medium, fixable: true, judged: whenVisited,
		find: func(f facts) (all []flaw) {
			for _, p := range f.pages {
				if p.took < slowAfter {
					continue
				}
				x := flaw{subject: p.path, evidence: map[string]any{"milliseconds": p.took.Milliseconds(), "limit_milliseconds": slowAfter.Milliseconds()}}
				if p.took >= verySlowAfter {
					x.severity = High
				}
				all = append(all, x)
			}
			return all
		},
	},
	{
		key: "heavy_page", kind: Performance, severity: Low, fixable: true, judged: whenVisited,
		find: onPages(func(p visited) (map[string]any, bool) {
			return map[string]any{"bytes": p.bytes, "limit_bytes": heavyPage}, p.bytes > heavyPage
		}),
	},
	{
		key: "no_compression", kind: Performance, severity: Low, fixable: true, judged: whenVisited,
		find: onPages(func(p visited) (map[string]any, bool) {
			return map[string]any{"bytes": p.bytes}, !p.compressed && p.bytes > worthPacking
		}),
	},
	{
		key: "large_image", kind: Performance, severity: Low, fixable: true, judged: whenLooked,
		find: func(f facts) (all []flaw) {
			for _, r := range sorted(f.looked) {
				if !r.picture || r.status != 200 || r.bytes <= largeImage {
					continue
				}
				x := flaw{subject: r.path, evidence: map[string]any{"bytes": r.bytes, "limit_bytes": largeImage, "page": r.from}}
				if r.bytes > hugeImage {
					x.severity = Medium
				}
				all = append(all, x)
			}
			return all
		},
	},
	{
		key: "broken_link", kind: Error, severity: Medium, fixable: true, judged: whenLooked,
		find: func(f facts) (all []flaw) {
			for _, r := range sorted(f.looked) {
				if r.status == 404 || r.status == 410 || r.status >= 500 {
					all = append(all, flaw{subject: r.path, evidence: map[string]any{"status": r.status, "page": r.from}})
				}
			}
			return all
		},
	},
	{
		key: "mixed_content", kind: Security, severity: Medium, fixable: true, judged: whenVisited,
		find: onPages(func(p visited) (map[string]any, bool) {
			return map[string]any{"count": len(p.mixed), "examples": examples(p.mixed)}, len(p.mixed) > 0
		}),
	},
	missing("missing_title", Medium, func(p visited) bool { return p.title == "" }),
	missing("missing_description", Low, func(p visited) bool { return p.description == "" }),
	missing("missing_viewport", Medium, func(p visited) bool { return !p.viewport }),
	missing("missing_lang", Low, func(p visited) bool { return p.lang == "" }),
	{
		key: "image_alt", kind: SEO, severity: Low, fixable: true, judged: whenVisited,
		find: onPages(func(p visited) (map[string]any, bool) {
			return map[string]any{"count": p.withoutAlt, "images": p.images}, p.withoutAlt > 0
		}),
	},
	{
		key: "field_label", kind: SEO, severity: Low, fixable: true, judged: whenVisited,
		find: onPages(func(p visited) (map[string]any, bool) {
			return map[string]any{"count": p.withoutLabel, "fields": p.fields}, p.withoutLabel > 0
		}),
	},
	{
		key: "robots_blocks", kind: SEO, severity: High, fixable: true,
		judged: func(f facts, _ string) bool { return f.reached && f.robotsKnown },
		find: func(f facts) []flaw {
			if !f.robotsKnown || !blocksAll(f.robots) {
				return nil
			}
			return []flaw{{subject: "/robots.txt", evidence: map[string]any{"rule": "Disallow: /"}}}
		},
	},
	{
		key: "noindex", kind: SEO, severity: High, fixable: true, judged: whenReached,
		find: func(f facts) []flaw {
			if len(f.pages) == 0 || !f.pages[0].noindex && !f.pages[0].headerSays {
				return nil // pages other than the first are often kept out on purpose
			}
			where := "meta"
			if f.pages[0].headerSays {
				where = "header"
			}
			return []flaw{{subject: f.pages[0].path, evidence: map[string]any{"where": where}}}
		},
	},
	{key: "php_errors", kind: Error, severity: Medium, fixable: true, judged: whenLogged("php"), find: inLog("php")},
	{key: "server_errors", kind: Error, severity: Medium, fixable: true, judged: whenLogged("error"), find: inLog("error")},
	{
		key: "htaccess", kind: Security, severity: Low,
		judged: func(f facts, subject string) bool {
			return f.rules != nil && (f.rules.complete || f.rules.read[subject])
		},
		find: func(f facts) (all []flaw) {
			if f.rules == nil {
				return nil
			}
			for _, file := range f.rules.files {
				x := flaw{subject: file.path, evidence: map[string]any{"count": file.count, "rules": file.rules}}
				if file.protects {
					x.severity = High
				}
				all = append(all, x)
			}
			return all
		},
	},
	{
		key: "php_version", kind: Update, severity: High,
		judged: func(f facts, _ string) bool { return f.phpEnds != nil },
		find: func(f facts) []flaw {
			if f.phpEnds == nil || f.now.Before(f.phpEnds.Add(24*time.Hour)) { // that day included
				return nil
			}
			return []flaw{{evidence: map[string]any{"version": f.phpVersion, "supported_until": f.phpEnds.Format(time.DateOnly)}}}
		},
	},
}

func missing(key string, severity Severity, is func(p visited) bool) check {
	return check{
		key: key, kind: SEO, severity: severity, fixable: true, judged: whenVisited,
		find: onPages(func(p visited) (map[string]any, bool) { return map[string]any{}, is(p) }),
	}
}

func sorted(looked map[string]resource) []resource {
	return slices.SortedFunc(maps.Values(looked), func(a, b resource) int { return cmp.Compare(a.path, b.path) })
}

// examples are a few addresses, shortened.
func examples(all []string) []string {
	some := make([]string, 0, mostExamples)
	for _, a := range all[:min(len(all), mostExamples)] {
		some = append(some, shorten(a, mostSubject))
	}
	return some
}

// subjectOf is how an address of the site is named: its path and query, in the ASCII form in which browsers send them. Pages name
// addresses in any encoding.
func subjectOf(u *url.URL) string {
	var name strings.Builder
	name.WriteString(u.EscapedPath())
	if u.RawQuery != "" {
		name.WriteByte('?')
	}
	for _, b := range []byte(u.RawQuery) {
		if b < utf8.RuneSelf {
			name.WriteByte(b)
		} else {
			fmt.Fprintf(&name, "%%%02X", b)
		}
	}
	return asSubject(name.String())
}
