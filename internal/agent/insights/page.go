package insights

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// document is what the checks need of a page.
type document struct {
	lang, title, description string
	viewport, noindex        bool
	images, withoutAlt       int
	fields, withoutLabel     int
	mixed                    []string   // addresses without encryption that the page loads
	links                    []*url.URL // pages that it links to
	pictures                 []*url.URL // pictures that it shows
	assets                   []*url.URL // scripts and styles that it loads
}

const (
	mostDepth = 512  // of elements
	mostRefs  = 1000 // addresses of a page
)

// parse reads a page that came from base.
func parse(body string, base *url.URL) document {
	p := parser{base: base, labelled: map[string]bool{}}
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		return p.document
	}
	p.walk(root, false, 0)
	for _, id := range p.fieldIDs {
		if id == "" || !p.labelled[id] {
			p.withoutLabel++
		}
	}
	return p.document
}

type parser struct {
	document

	base     *url.URL
	labelled map[string]bool // ids that a label names
	fieldIDs []string        // of fields without another name
}

func (p *parser) walk(n *html.Node, inLabel bool, depth int) {
	if depth > mostDepth {
		return
	}
	if n.Type == html.ElementNode {
		p.element(n, inLabel)
		inLabel = inLabel || n.DataAtom == atom.Label
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		p.walk(c, inLabel, depth+1)
	}
}

func (p *parser) element(n *html.Node, inLabel bool) {
	switch n.DataAtom {
	case atom.Html:
		p.lang = strings.TrimSpace(attr(n, "lang"))
	case atom.Base:
		if to, ok := p.resolve(attr(n, "href")); ok {
			p.base = to
		}
	case atom.Title:
		if p.title == "" && (n.Parent == nil || n.Parent.DataAtom == atom.Head) {
			p.title = text(n)
		}
	case atom.Meta:
		p.meta(n)
	case atom.Label:
		if id := attr(n, "for"); id != "" {
			p.labelled[id] = true
		}
	case atom.A:
		p.add(&p.links, attr(n, "href"))
	case atom.Img:
		p.images++
		if _, ok := lookup(n, "alt"); !ok && attr(n, "role") != "presentation" && attr(n, "aria-hidden") != "true" && attr(n, "aria-label") == "" {
			p.withoutAlt++
		}
		p.loads(&p.pictures, attr(n, "src"))
	case atom.Script:
		p.loads(&p.assets, attr(n, "src"))
	case atom.Link:
		switch strings.ToLower(attr(n, "rel")) {
		case "stylesheet":
			p.loads(&p.assets, attr(n, "href"))
		case "icon", "shortcut icon", "apple-touch-icon":
			p.loads(&p.pictures, attr(n, "href"))
		}
	case atom.Iframe, atom.Video, atom.Audio, atom.Source, atom.Embed:
		p.mix(attr(n, "src"))
	case atom.Form:
		p.mix(attr(n, "action"))
	case atom.Input, atom.Select, atom.Textarea:
		p.field(n, inLabel)
	}
}

func (p *parser) meta(n *html.Node) {
	content := strings.TrimSpace(attr(n, "content"))
	switch strings.ToLower(attr(n, "name")) {
	case "description":
		p.description = content
	case "viewport":
		p.viewport = p.viewport || content != ""
	case "robots":
		p.noindex = p.noindex || strings.Contains(strings.ToLower(content), "noindex")
	}
}

// field counts a field, and whether something says what it is for.
func (p *parser) field(n *html.Node, inLabel bool) {
	switch strings.ToLower(attr(n, "type")) {
	case "hidden", "submit", "button", "reset", "image":
		if n.DataAtom == atom.Input {
			return
		}
	}
	p.fields++
	if !inLabel && attr(n, "aria-label") == "" && attr(n, "aria-labelledby") == "" && attr(n, "title") == "" {
		p.fieldIDs = append(p.fieldIDs, attr(n, "id"))
	}
}

// loads notes an address that the page loads by itself.
func (p *parser) loads(to *[]*url.URL, address string) {
	p.add(to, address)
	p.mix(address)
}

// mix notes an address without encryption on a page with it.
func (p *parser) mix(address string) {
	if u, ok := p.resolve(address); ok && p.base.Scheme == "https" && u.Scheme == "http" && len(p.mixed) < mostRefs {
		p.mixed = append(p.mixed, u.String())
	}
}

func (p *parser) add(to *[]*url.URL, address string) {
	if u, ok := p.resolve(address); ok && len(*to) < mostRefs {
		*to = append(*to, u)
	}
}

// resolve makes an address of a page absolute; false when it is not one of the web.
func (p *parser) resolve(address string) (*url.URL, bool) {
	address = strings.TrimSpace(address)
	if address == "" || strings.HasPrefix(address, "#") || len(address) > 2048 {
		return nil, false
	}
	u, err := p.base.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Host == "" {
		return nil, false
	}
	u.Fragment, u.RawFragment = "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	return u, true
}

func lookup(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val, true
		}
	}
	return "", false
}

func attr(n *html.Node, name string) string {
	v, _ := lookup(n, name)
	return v
}

func text(n *html.Node) string {
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// blocksAll tells whether a robots.txt keeps every search engine from the whole site (RFC 9309).
func blocksAll(robots string) bool {
	forAll, rules, blocked, allowed := false, false, false, false
	for line := range strings.Lines(robots) {
		line, _, _ = strings.Cut(line, "#")
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		switch name {
		case "user-agent":
			if rules { // a new group
				forAll, rules = false, false
			}
			forAll = forAll || value == "*"
		case "allow", "disallow":
			if forAll && value == "/" {
				blocked, allowed = blocked || name == "disallow", allowed || name == "allow"
			}
			rules = true
		case "sitemap": // of no group
		default:
			rules = true
		}
	}
	return blocked && !allowed
}
