package articles

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// markdown is the dialect of the texts: CommonMark with tables, strikethrough and bare links. It never passes HTML on.
var markdown = goldmark.New(
	goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
		extension.Strikethrough, extension.Linkify,
	),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

// sanitary is what may stand in the HTML of a text. It is a second wall: goldmark writes nothing else.
var sanitary = func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "ul", "ol", "li", "strong", "em", "del", "code", "pre", "blockquote",
		"table", "thead", "tbody", "tr", "th", "td", "h2", "h3", "h4", "h5", "h6", "a", "img")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("src").OnElements("img")
	p.AllowAttrs("alt", "title").Matching(regexp.MustCompile(`^[^<>]*$`)).OnElements("img", "a")
	p.AllowAttrs("loading").Matching(regexp.MustCompile(`^lazy$`)).OnElements("img")
	p.AllowAttrs("width", "height").Matching(bluemonday.Integer).OnElements("img")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|right|center)$`)).OnElements("th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[a-z0-9]+$`)).OnElements("code")
	p.AllowAttrs("id").Matching(regexp.MustCompile(`^[\p{L}\p{M}\p{N}-]+$`)).OnElements("h2", "h3", "h4", "h5", "h6")
	return p
}()

// headings makes the ids of headings of letters in any script.
type headings map[string]int

// Generate implements parser.IDs.
func (h headings) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, c := range strings.ToLower(string(value)) {
		switch {
		case unicode.IsLetter(c) && !unicode.Is(unicode.Lm, c), unicode.IsMark(c), unicode.IsDigit(c):
			b.WriteRune(c)
		case unicode.IsSpace(c) || c == '-':
			if s := b.String(); s != "" && !strings.HasSuffix(s, "-") {
				b.WriteByte('-')
			}
		}
	}
	id := strings.Trim(b.String(), "-")
	if id == "" {
		id = "section"
	}
	if n := h[id]; n > 0 {
		h[id]++
		id += "-" + strconv.Itoa(n+1)
	}
	h[id]++
	return []byte(id)
}

// Put implements parser.IDs.
func (h headings) Put(value []byte) { h[string(value)]++ }

func parseMarkdown(body string) (ast.Node, []byte) {
	source := []byte(body)
	return markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(headings{})))), source
}

// reference is a link to an article or a picture of ours.
type reference struct {
	line  int // of the body, from 0
	kind  Kind
	slug  string
	media string // name of a picture; the others are empty then
}

func (r reference) String() string {
	if r.media != "" {
		return "media/" + r.media
	}
	return string(r.kind) + "/" + r.slug
}

// address is the path of what the reference names, in a language.
func (r reference) address(lang string) string {
	if r.media != "" {
		return MediaPath(r.media)
	}
	return Path(r.kind, r.slug, lang)
}

// Path is the path of an article's page in a language.
func Path(k Kind, slug, lang string) string {
	if k == Term {
		return "/glossary?lang=" + lang + "#" + slug
	}
	return "/" + string(k) + "/" + slug + "?lang=" + lang
}

// MediaPath is the path of a picture.
func MediaPath(name string) string { return "/media/" + name }

// resolve reads the target of a link in a text of a kind. A target elsewhere is no reference of ours; fragment is what
// comes after #.
func resolve(k Kind, target string) (r reference, ours bool, fragment string, err error) {
	plain, fragment, _ := strings.Cut(target, "#")
	lower := strings.ToLower(target)
	switch {
	case strings.HasPrefix(lower, "https://"), strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "mailto:"):
		return r, false, "", nil
	case target == "":
		return r, false, "", fmt.Errorf("a link has no target")
	case plain == "": // a heading of the same text
		return r, false, fragment, nil
	case strings.HasPrefix(plain, "//"), strings.Contains(plain, `\`):
		return r, false, "", fmt.Errorf("%q is no target: write https://… for other sites", target)
	case plain == "/glossary":
		if fragment == "" {
			return r, false, "", nil
		}
		return reference{kind: Term, slug: fragment}, true, "", nil
	case strings.HasPrefix(plain, "/"):
		for _, k := range kinds {
			if slug, ok := strings.CutPrefix(plain, "/"+string(k)+"/"); ok {
				return reference{kind: k, slug: slug}, true, fragment, nil
			}
		}
		if name, ok := strings.CutPrefix(plain, "/media/"); ok {
			return reference{media: name}, true, "", nil
		}
		return r, false, fragment, nil // another page of the site
	}
	file := path.Join(string(k), plain)
	if name, ok := strings.CutPrefix(file, "media/"); ok {
		return reference{media: name}, true, "", nil
	}
	if kind, slug, _, err := parsePath(file); err == nil {
		return reference{kind: kind, slug: slug}, true, fragment, nil
	}
	return r, false, "", fmt.Errorf("%q is no target: write /kb/<slug>, /glossary#<slug>, ../media/<file>, a page of the site such as /account, or https://… for other sites", target)
}

// eachLink visits the targets of links and pictures; what visit returns replaces them.
func eachLink(doc ast.Node, visit func(n ast.Node, target string) string) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch n := n.(type) {
			case *ast.Link:
				n.Destination = []byte(visit(n, string(n.Destination)))
			case *ast.Image:
				n.Destination = []byte(visit(n, string(n.Destination)))
			}
		}
		return ast.WalkContinue, nil // no walk of this ends with an error
	})
}

// checkMarkdown finds what a reader would not get as it was meant.
func checkMarkdown(f *file, problems *Problems) {
	doc, source := parseMarkdown(f.text.Body)
	wrong := func(n ast.Node, code string, data map[string]any, format string, args ...any) {
		problems.addAs(code, data, f.path, f.bodyLine+lineOf(n, source), format, args...)
	}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.RawHTML, *ast.HTMLBlock:
			wrong(n, "article_html", nil, "HTML is not shown: write Markdown")
		case *ast.Heading:
			if n.Level == 1 {
				wrong(n, "article_heading", nil, "the title is in the front matter: headings begin with ##")
			}
		case *ast.Image:
			if n.FirstChild() == nil {
				wrong(n, "article_alt", nil, "a picture needs a text for those who do not see it: ![what it shows](…)")
			}
		}
		return ast.WalkContinue, nil
	})
	eachLink(doc, func(n ast.Node, target string) string {
		r, ours, _, err := resolve(f.article.Kind, target)
		_, picture := n.(*ast.Image)
		switch {
		case err != nil:
			wrong(n, "article_target", map[string]any{"Target": target}, "%v", err)
		case picture && r.media == "":
			wrong(n, "article_picture", nil, "a picture lies in media: ../media/<file>")
		case ours:
			r.line = f.bodyLine + lineOf(n, source)
			f.references = append(f.references, r)
		}
		return target
	})
}

// lineOf is the line of the body on which a node begins, from 0.
func lineOf(n ast.Node, source []byte) int {
	for at := n; at != nil; at = at.Parent() {
		if pos := at.Pos(); pos >= 0 && pos <= len(source) && at.Kind() != ast.KindDocument {
			return bytes.Count(source[:pos], []byte("\n"))
		}
	}
	return 0
}

// HTML is a text of a kind as HTML that is safe to show. Links to articles lead to pages in the same language; base, when
// it is not empty, is the address that links into this site begin with. Pictures have their sizes, so that a page does not
// jump when they come.
func (s *Service) HTML(ctx context.Context, k Kind, lang, body, base string) (string, error) {
	var sizes map[string]size
	if names := pictures(k, body); len(names) > 0 {
		var err error
		if sizes, err = mediaSizes(ctx, s.DB, names); err != nil {
			return "", fmt.Errorf("articles: read sizes of pictures: %w", err)
		}
	}
	return render(k, lang, body, base, sizes)
}

func render(k Kind, lang, body, base string, sizes map[string]size) (string, error) {
	doc, source := parseMarkdown(body)
	eachLink(doc, func(n ast.Node, target string) string {
		r, ours, fragment, err := resolve(k, target)
		if n.Kind() == ast.KindImage {
			n.SetAttributeString("loading", []byte("lazy"))
			if known := sizes[r.media]; known.width > 0 && known.height > 0 {
				n.SetAttributeString("width", []byte(strconv.Itoa(known.width)))
				n.SetAttributeString("height", []byte(strconv.Itoa(known.height)))
			}
		}
		switch {
		case err != nil:
			return "#" // the import refuses such a text
		case !ours && strings.HasPrefix(target, "/"):
			return base + target
		case !ours:
			return target
		case fragment != "" && r.kind != Term:
			return base + r.address(lang) + "#" + fragment
		default:
			return base + r.address(lang)
		}
	})
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, source, doc); err != nil {
		return "", fmt.Errorf("articles: render: %w", err)
	}
	return sanitary.Sanitize(out.String()), nil
}

// Picture is the name of the first picture of a text of a kind; empty when there is none.
func (t Text) Picture(k Kind) (name string) {
	if all := pictures(k, t.Body); len(all) > 0 {
		name = all[0]
	}
	return name
}

// pictures are the names of our pictures in a text, in its order.
func pictures(k Kind, body string) (names []string) {
	doc, _ := parseMarkdown(body)
	eachLink(doc, func(_ ast.Node, target string) string {
		if r, ours, _, err := resolve(k, target); err == nil && ours && r.media != "" {
			names = append(names, r.media)
		}
		return target
	})
	return names
}

// plain is what a reader sees of a text, without marks: for the search and its excerpts.
func plain(body string) string {
	doc, source := parseMarkdown(body)
	var b strings.Builder
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.Label(source))
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				for i := range n.Lines().Len() {
					line := n.Lines().At(i)
					b.Write(line.Value(source))
				}
			}
		default:
			if !entering && (n.Type() == ast.TypeBlock || n.Kind() == east.KindTableCell) {
				b.WriteByte('\n')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
