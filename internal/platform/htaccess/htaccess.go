// Package htaccess reads the .htaccess files that customers bring from Apache. The web servers here know one thing of them: that a
// directory is closed to visitors. Everything else has no effect, and its owner is told so.
package htaccess

import (
	"slices"
	"strings"
)

// Name is the name of the files.
const Name = ".htaccess"

// MaxBytes is how much of a file is read. What protects a directory stands in a few lines.
const MaxBytes = 64 << 10

// Verdict is what one of Apache's two modules for access says of a directory.
type Verdict int

// The verdicts.
const (
	Unset   Verdict = iota // nothing, so that the directory above counts
	Granted                // everybody may visit it
	Denied                 // nobody may visit it
	Some                   // some may, such as who knows a password
)

// Access is what a directory says about visitors: by Require (mod_authz_core), and by Order, Allow and Deny
// (mod_access_compat).
type Access struct{ Require, Order Verdict }

// Below is the access to a directory that says a, below one with the access above.
func (a Access) Below(above Access) Access {
	return Access{Require: over(a.Require, above.Require), Order: over(a.Order, above.Order)}
}

// over is the verdict of a directory below another. A directory that is open to some, which cannot be told apart here, stays
// closed where the one above is.
func over(own, above Verdict) Verdict {
	if own == Unset || own == Some && above == Denied {
		return above
	}
	return own
}

// Closed reports whether nobody may visit the directory: one of the modules is enough.
func (a Access) Closed() bool { return a.Require == Denied || a.Order == Denied }

// Rule is a directive that has no effect here.
type Rule struct {
	Line      int    // of the file, from 1
	Directive string // as Apache spells it, or Unknown
	// Protects says that the directive keeps visitors from something, which is public while it has no effect.
	Protects bool
}

// File is a file that was read.
type File struct {
	Access

	Ignored []Rule // in the file's order
}

// Parse reads a file. It understands every text; what is no directive of Apache's is ignored as one that has no effect.
func Parse(text string) File {
	p := parser{lines: split(text)}
	var f File
	top := p.section("", 0)
	f.Access = top.access()
	p.rewrites()
	if f.Closed() { // else all files may be visited anyway
		p.ignored = append(p.ignored, p.grants...)
	}
	slices.SortStableFunc(p.ignored, func(a, b Rule) int { return a.Line - b.Line })
	f.Ignored = p.ignored
	return f
}

// line is a directive with its arguments.
type line struct {
	number int
	words  []string
}

// split finds the directives: a backslash at the end of a line continues it, and # begins a comment.
func split(text string) (lines []line) {
	number, began, whole := 0, 0, ""
	for physical := range strings.Lines(text) {
		number++
		if whole == "" {
			began = number
		}
		physical = strings.TrimRight(physical, "\r\n")
		if rest, more := strings.CutSuffix(physical, `\`); more {
			whole += rest + " "
			continue
		}
		whole = strings.TrimSpace(whole + physical)
		if whole != "" && whole[0] != '#' {
			lines = append(lines, line{began, words(whole)})
		}
		whole = ""
	}
	if whole = strings.TrimSpace(whole); whole != "" && whole[0] != '#' {
		lines = append(lines, line{began, words(whole)})
	}
	return lines
}

// words splits at blanks; quotes hold words together.
func words(text string) (all []string) {
	var word strings.Builder
	quote, in := rune(0), false
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, in = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if in {
				all = append(all, word.String())
				word.Reset()
			}
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		all = append(all, word.String())
	}
	return all
}

// mostNested bounds sections within sections.
const mostNested = 20

type parser struct {
	lines   []line
	ignored []Rule
	grants  []Rule // sections that do nothing but open a part of a directory
	rules   []rewrite
}

// rewrite is a RewriteRule or a RewriteCond.
type rewrite struct {
	line
	inert bool // in a section that does not apply to a directory as a whole
}

// scope gathers what a section says about access.
type scope struct {
	require            []Verdict
	order              string
	allow, deny        bool // from all
	allowOne, denyOne  bool // from some
	satisfyAny, orders bool
}

// section reads directives until the one that ends the section.
func (p *parser) section(name string, depth int) scope {
	var s scope
	for len(p.lines) > 0 {
		at := p.lines[0]
		p.lines = p.lines[1:]
		directive := strings.ToLower(at.words[0])
		if strings.HasPrefix(directive, "</") {
			if depth > 0 && strings.Trim(directive, "</>") == name {
				return s
			}
			continue
		}
		if opened, ok := strings.CutPrefix(directive, "<"); ok {
			p.open(&s, strings.TrimSuffix(opened, ">"), at, depth)
			continue
		}
		p.directive(&s, directive, at)
	}
	return s
}

// open reads a section within another.
func (p *parser) open(s *scope, name string, at line, depth int) {
	if depth == mostNested {
		return // what follows is read as if it stood outside
	}
	argument := strings.TrimSuffix(strings.TrimSpace(strings.Join(at.words[1:], " ")), ">")
	argument = strings.TrimSpace(argument)
	before, grants, rules := len(p.ignored), len(p.grants), len(p.rules)
	inner := p.section(name, depth+1)
	switch name {
	case "ifmodule", "ifversion", "ifdefine":
		// Both branches of the usual pair say the same, so only one counts: that of the modules being there.
		if strings.HasPrefix(argument, "!") {
			p.ignored, p.grants, p.rules = p.ignored[:before], p.grants[:grants], p.rules[:rules]
			return
		}
		s.add(inner)
	case "requireall", "requireany", "requirenone":
		s.require = append(s.require, inner.container(name))
	case "limit", "limitexcept":
		listed := slices.ContainsFunc(strings.Fields(argument), func(m string) bool { return strings.EqualFold(m, "GET") })
		if listed == (name == "limit") {
			s.add(inner)
			return
		}
		p.part(at, inner, rules)
	case "files", "filesmatch":
		if isEverything(name, argument) {
			s.add(inner)
			return
		}
		if inner.access().Closed() && isHidden(name, argument) {
			return
		}
		p.part(at, inner, rules)
	default: // If, ElseIf, Else, and what is none of Apache's
		p.part(at, inner, rules)
	}
}

// isEverything reports whether Files or FilesMatch means all files. In Files ".*" are the names that begin with a dot.
func isEverything(section, argument string) bool {
	pattern, isPattern := strings.CutPrefix(argument, "~")
	if section == "files" && !isPattern {
		return argument == "*"
	}
	return everything[strings.TrimSpace(pattern)]
}

// everything are patterns of all names.
var everything = map[string]bool{".*": true, ".": true, "^.*$": true, "^": true, ".*$": true, "^.*": true, "^.+$": true, ".+": true}

// isHidden reports whether Files or FilesMatch is for names that begin with a dot only, which are never served.
func isHidden(section, argument string) bool {
	pattern, isPattern := strings.CutPrefix(argument, "~")
	if section == "files" && !isPattern {
		return strings.HasPrefix(argument, ".")
	}
	rest, dot := strings.CutPrefix(strings.TrimSpace(pattern), `^\.`)
	return dot && (rest == "" || !strings.Contains("*?{", rest[:1])) && !hasChoice(rest)
}

// hasChoice reports whether a pattern may have a | outside of groups, so that what stands before it does not hold for all names. Of
// patterns with a | and what this does not understand it is assumed.
func hasChoice(pattern string) bool {
	if !strings.Contains(pattern, "|") {
		return false
	}
	for _, strange := range []string{"[", "(?", `\Q`} {
		if strings.Contains(pattern, strange) {
			return true
		}
	}
	depth, escaped := 0, false
	for _, r := range pattern {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
		case r == '(':
			depth++
		case r == ')':
			depth--
		}
		if depth < 0 || depth == 0 && r == '|' {
			return true
		}
	}
	return depth != 0
}

// part notes a section for a part of a directory, which has no effect as a whole.
func (p *parser) part(at line, inner scope, rules int) {
	for i := rules; i < len(p.rules); i++ {
		p.rules[i].inert = true
	}
	restricts := func(v Verdict) bool { return v == Denied || v == Some }
	switch verdict := inner.access(); {
	case restricts(verdict.Require) || restricts(verdict.Order):
		p.ignored = append(p.ignored, Rule{at.number, spell(at.words[0]), true})
	case verdict != (Access{}):
		p.grants = append(p.grants, Rule{at.number, spell(at.words[0]), false})
	}
}

// add takes over what a section says whose directives count as those around it.
func (s *scope) add(o scope) {
	s.require = append(s.require, o.require...)
	if o.order != "" {
		s.order = o.order
	}
	s.allow, s.deny = s.allow || o.allow, s.deny || o.deny
	s.allowOne, s.denyOne = s.allowOne || o.allowOne, s.denyOne || o.denyOne
	s.satisfyAny, s.orders = s.satisfyAny || o.satisfyAny, s.orders || o.orders
}

// directive reads one directive that is no section.
func (p *parser) directive(s *scope, name string, at line) {
	arguments := at.words[1:]
	switch name {
	case "require":
		verdict := requirement(arguments)
		s.require = append(s.require, verdict)
		if verdict == Some {
			p.ignore(at, true)
		}
	case "order":
		s.orders, s.order = true, strings.ToLower(strings.ReplaceAll(strings.Join(arguments, ""), " ", ""))
	case "allow", "deny":
		p.host(s, name, at)
	case "satisfy":
		s.satisfyAny = len(arguments) > 0 && strings.EqualFold(arguments[0], "any")
	case "rewriterule", "rewritecond":
		p.rules = append(p.rules, rewrite{line: at})
	case "rewriteengine", "rewritebase", "rewriteoptions": // say nothing by themselves
	case "options":
		for _, option := range arguments {
			if !satisfied[strings.ToLower(option)] {
				p.ignore(at, false)
				return
			}
		}
	case "directoryindex":
		for _, index := range arguments {
			if !indexes[index] {
				p.ignore(at, false)
				return
			}
		}
	case "redirect":
		p.ignore(at, len(arguments) > 0 && refusals[strings.ToLower(arguments[0])])
	case "serversignature", "adddefaultcharset", "fileetag": // are as one would have them, or change nothing that is seen
	default:
		p.ignore(at, protecting[name])
	}
}

// host reads Allow and Deny.
func (p *parser) host(s *scope, name string, at line) {
	s.orders = true
	for _, from := range at.words[1:] {
		switch {
		case strings.EqualFold(from, "from"):
		case strings.EqualFold(from, "all"):
			s.allow, s.deny = s.allow || name == "allow", s.deny || name == "deny"
		default:
			s.allowOne, s.denyOne = s.allowOne || name == "allow", s.denyOne || name == "deny"
		}
	}
	if (name == "allow" && s.allowOne) || (name == "deny" && s.denyOne) {
		p.ignore(at, true)
	}
}

func (p *parser) ignore(at line, protects bool) {
	if at.words[0] == "" {
		return
	}
	p.ignored = append(p.ignored, Rule{at.number, spell(at.words[0]), protects})
}

var (
	// satisfied are options that are as the machine has them: directories are not listed, and links are followed to what is
	// the account's own.
	satisfied = map[string]bool{
		"-indexes": true, "+followsymlinks": true, "followsymlinks": true, "+symlinksifownermatch": true, "symlinksifownermatch": true,
		"-multiviews": true, "-execcgi": true, "-includes": true, "none": true,
	}
	// refusals are the states of Redirect that keep visitors from an address.
	refusals = map[string]bool{"401": true, "403": true, "404": true, "410": true, "gone": true}
	// indexes are the names that the machine looks for.
	indexes = map[string]bool{"index.html": true, "index.htm": true, "index.php": true}
	// protecting are directives by which sites keep visitors from what they should not reach.
	protecting = map[string]bool{
		"authtype": true, "authuserfile": true, "authgroupfile": true, "authname": true, "authbasicprovider": true, "sethandler": true,
		"removehandler": true, "removetype": true, "forcetype": true, "php_flag": true, "php_admin_flag": true, "redirectmatch": true,
		"sslrequiressl": true, "sslrequire": true, "sslverifyclient": true, "allowmethods": true, "authldapurl": true, "authformprovider": true,
	}
)

// requirement is what one Require says.
func requirement(arguments []string) Verdict {
	if len(arguments) == 2 && strings.EqualFold(arguments[0], "all") {
		switch strings.ToLower(arguments[1]) {
		case "denied":
			return Denied
		case "granted":
			return Granted
		}
	}
	return Some
}

// container is what a group of requirements says.
func (s scope) container(name string) Verdict {
	has := func(v Verdict) bool { return slices.Contains(s.require, v) }
	only := func(v Verdict) bool {
		return len(s.require) > 0 && !slices.ContainsFunc(s.require, func(o Verdict) bool { return o != v })
	}
	switch name {
	case "requireall":
		switch {
		case has(Denied):
			return Denied
		case only(Granted):
			return Granted
		}
	case "requirenone":
		if has(Granted) {
			return Denied
		}
	default:
		switch {
		case has(Granted):
			return Granted
		case only(Denied):
			return Denied
		}
	}
	return Some
}

// access is what a section says in all.
func (s scope) access() (a Access) {
	if len(s.require) > 0 {
		a.Require = s.container("requireany")
	}
	if s.orders {
		a.Order = s.byHost()
	}
	if s.satisfyAny && a.Require != Unset && a.Order != Unset && a.Require != a.Order {
		a.Require, a.Order = Some, Some // either is enough
	}
	return a
}

// byHost is what Order, Allow and Deny say together. Order allow,deny denies who is not allowed; the other way round, which is
// the default, allows who is not denied.
func (s scope) byHost() Verdict {
	strict := s.order == "allow,deny" || s.order == "mutual-failure"
	switch {
	case strict && (s.deny || !s.allow && !s.allowOne), !strict && s.deny && !s.allow && !s.allowOne:
		return Denied
	case s.denyOne && (strict || !s.allow), strict && !s.allow, !strict && s.deny && !s.allow:
		return Some
	}
	return Granted
}

// rewrites notes the rules of mod_rewrite, unless all that they do is what the machine does: to give what is not there to
// index.php.
func (p *parser) rewrites() {
	for _, r := range p.rules {
		if !r.inert && !isFront(r.line) {
			for _, r := range p.rules {
				p.ignore(r.line, forbids(r.line))
			}
			return
		}
	}
}

// isFront reports whether a rule is one of those that give what is not there to index.php.
func isFront(l line) bool {
	if strings.EqualFold(l.words[0], "rewritecond") {
		return len(l.words) >= 3 && (strings.EqualFold(l.words[1], "%{REQUEST_FILENAME}") || strings.EqualFold(l.words[1], "%{HTTP:Authorization}"))
	}
	if len(l.words) < 3 {
		return false
	}
	to := strings.TrimPrefix(l.words[2], "/")
	return to == "index.php" || strings.HasPrefix(to, "index.php/") || strings.HasPrefix(to, "index.php?") ||
		to == "-" && !forbids(l)
}

// forbids reports whether a rule keeps visitors out.
func forbids(l line) bool {
	if !strings.EqualFold(l.words[0], "rewriterule") || len(l.words) < 4 {
		return false
	}
	return slices.ContainsFunc(strings.Split(strings.Trim(strings.ToUpper(l.words[3]), "[]"), ","), func(flag string) bool {
		flag = strings.TrimSpace(flag)
		return flag == "F" || flag == "FORBIDDEN" || flag == "G" || flag == "GONE" || strings.HasPrefix(flag, "R=40") || strings.HasPrefix(flag, "R=41")
	})
}
