package reference

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"

	"stead.dev/stead/docs"
	"stead.dev/stead/internal/platform/brand"
)

// GuidesPath is where the guides are.
const GuidesPath = Path + "guides"

// guidesPolicy is the policy of the guides: they have pictures and a form, and no script.
const guidesPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

//go:embed guides.html
var guidesText string

var guidePages = template.Must(template.New("guides").Parse(guidesText))

// markdown is the dialect of the guides. HTML in them is not passed on.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Strikethrough),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithRendererOptions(html.WithXHTML()),
)

// guide is a page.
type guide struct {
	Name, Title string
	Body        template.HTML
	passages    []passage
}

// URL is the address of the guide.
func (g *guide) URL() string { return GuidesPath + "/" + g.Name }

// passage is a heading of a guide with the text below it.
type passage struct {
	heading, anchor, text string
}

// shelf is all guides.
type shelf struct {
	Groups []shelfGroup
	byName map[string]*guide
}

type shelfGroup struct {
	Title  string
	Guides []*guide
}

// readGuides reads all guides. Those that stand in no group come last, so that none is lost.
func readGuides(files fs.FS, groups []docs.Group) (shelf, error) {
	s := shelf{byName: map[string]*guide{}}
	names, err := fs.Glob(files, "*.md")
	if err != nil {
		return s, err
	}
	runbooks, err := fs.Glob(files, "runbooks/*.md")
	if err != nil {
		return s, err
	}
	names = append(names, runbooks...)
	for _, file := range names {
		content, err := fs.ReadFile(files, file)
		if err != nil {
			return s, err
		}
		name := strings.TrimSuffix(file, ".md")
		g, err := readGuide(name, content)
		if err != nil {
			return s, fmt.Errorf("reference: guide %s: %w", name, err)
		}
		s.byName[name] = g
	}
	grouped := map[string]bool{}
	for _, group := range groups {
		part := shelfGroup{Title: group.Title}
		for _, name := range group.Guides {
			if g := s.byName[name]; g != nil && !grouped[name] {
				grouped[name] = true
				part.Guides = append(part.Guides, g)
			}
		}
		s.Groups = append(s.Groups, part)
	}
	alerts, rest := shelfGroup{Title: "Runbooks"}, shelfGroup{Title: "More"}
	for _, file := range names {
		g := s.byName[strings.TrimSuffix(file, ".md")]
		switch {
		case grouped[g.Name]:
		case strings.Contains(file, "/"):
			alerts.Guides = append(alerts.Guides, g)
		default:
			rest.Guides = append(rest.Guides, g)
		}
	}
	for _, group := range []shelfGroup{alerts, rest} {
		if len(group.Guides) > 0 {
			s.Groups = append(s.Groups, group)
		}
	}
	return s, nil
}

// readGuide renders a guide, and cuts it into the passages that are searched.
func readGuide(name string, content []byte) (*guide, error) {
	g := &guide{Name: name}
	doc := markdown.Parser().Parse(text.NewReader(content))
	var links []*ast.Link
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Image:
			if !strings.Contains(string(n.Destination), ":") {
				n.Destination = []byte(GuidesPath + "/" + string(n.Destination))
			}
		case *ast.Link:
			links = append(links, n)
		}
		return ast.WalkContinue, nil
	})
	for _, l := range links {
		to, ok := served(path.Dir(name), string(l.Destination))
		if ok {
			l.Destination = []byte(to)
			continue
		}
		parent := l.Parent() // it leads into the source, which is not here: its words stay
		for c := l.FirstChild(); c != nil; c = l.FirstChild() {
			parent.InsertBefore(parent, l, c)
		}
		parent.RemoveChild(parent, l)
	}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			p := passage{heading: plainOf(h, content)}
			if id, ok := h.AttributeString("id"); ok {
				p.anchor = string(id.([]byte))
			}
			if g.Title == "" {
				g.Title, p.anchor = p.heading, ""
			}
			g.passages = append(g.passages, p)
			continue
		}
		if len(g.passages) > 0 {
			last := &g.passages[len(g.passages)-1]
			last.text += plainOf(n, content) + " "
		}
	}
	g.Title = cmp.Or(g.Title, name)
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, content, doc); err != nil {
		return nil, err
	}
	g.Body = template.HTML(scrollable.Replace(b.String())) //nolint:gosec // of our own files; the renderer passes no HTML on
	return g, nil
}

// scrollable lets readers scroll what is wider than the page with the keyboard.
var scrollable = strings.NewReplacer(
	"<pre>", `<pre tabindex="0" role="group" aria-label="Code">`,
	"<table>", `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>`, "</table>", "</table></div>",
)

// served is where the target of a link from a folder of the guides is; false for files of the source.
func served(folder, target string) (string, bool) {
	file, fragment, _ := strings.Cut(target, "#")
	if fragment != "" {
		fragment = "#" + fragment
	}
	switch {
	case strings.Contains(target, "://"), strings.HasPrefix(target, "/"), file == "":
		return target, true
	}
	switch file = path.Join(folder, file); {
	case file == "../api/openapi.json":
		return "/api/v1/openapi.json", true
	case !strings.HasPrefix(file, "../") && strings.HasSuffix(file, ".md"):
		return GuidesPath + "/" + strings.TrimSuffix(file, ".md") + fragment, true
	}
	return "", false
}

// plainOf is the text below a node.
func plainOf(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				for i := range n.Lines().Len() {
					line := n.Lines().At(i)
					b.Write(line.Value(source))
				}
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// hit is a passage that a search has found.
type hit struct {
	Guide, Heading, URL, Excerpt string
	rank                         int
}

const (
	mostHits  = 30
	mostQuery = 200 // bytes
	around    = 140 // bytes of an excerpt on each side of what was found
)

// search finds the passages that have all words of a question, the best first: words in headings count most.
func (s shelf) search(question string) []hit {
	if len(question) > mostQuery {
		question = strings.ToValidUTF8(question[:mostQuery], "")
	}
	words := strings.Fields(strings.ToLower(question))
	if len(words) == 0 {
		return nil
	}
	var hits []hit
	for _, group := range s.Groups {
		for _, g := range group.Guides {
			title := strings.ToLower(g.Title)
			for _, p := range g.passages {
				if h, ok := p.match(words, title); ok {
					h.Guide, h.Heading, h.URL = g.Title, p.heading, g.URL()
					if p.anchor != "" {
						h.URL += "#" + p.anchor
					}
					hits = append(hits, h)
				}
			}
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.rank, a.rank) })
	return hits[:min(len(hits), mostHits)]
}

// match tells whether a passage of a guide has all words; the words of the guide's title count where the passage has one of them.
func (p passage) match(words []string, title string) (h hit, ok bool) {
	heading, body := strings.ToLower(p.heading), strings.ToLower(p.text)
	own := false
	for _, w := range words {
		inHeading, n := strings.Contains(heading, w), strings.Count(body, w)
		if !inHeading && n == 0 && !strings.Contains(title, w) {
			return h, false
		}
		own = own || inHeading || n > 0
		if inHeading {
			h.rank += 20
		}
		if strings.Contains(title, w) {
			h.rank += 5
		}
		h.rank += min(n, 5)
	}
	at := max(0, strings.Index(body, words[0]))
	if len(body) != len(p.text) { // lower case may be of another length
		at = 0
	}
	begin, end := max(0, at-around), min(len(p.text), at+around)
	h.Excerpt = strings.ToValidUTF8(p.text[begin:end], "")
	if begin > 0 {
		h.Excerpt = "…" + h.Excerpt
	}
	if end < len(p.text) {
		h.Excerpt += "…"
	}
	return h, own
}

// GuidesConfig is what the guides are served with.
type GuidesConfig struct {
	Brand   brand.Source
	Version string
	// Missing answers for addresses that are no guides.
	Missing http.Handler
}

type guidesView struct {
	shelf

	Brand                 brand.Brand
	Version, Style, Query string
	Guide                 *guide
	Hits                  []hit
}

// Guides serves the guides of this version at GuidesPath: a list with a search, a page for each, and their pictures. All but what a
// search finds is made once, at the first request.
func Guides(cfg GuidesConfig) http.Handler {
	made := branded(cfg.Brand, func(b brand.Brand) (*guidesSite, error) { return makeGuides(cfg, b) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site, err := made()
		w.Header().Set("Content-Security-Policy", guidesPolicy)
		if err != nil {
			http.Error(w, "The guides cannot be shown.", http.StatusInternalServerError)
			return
		}
		name := strings.Trim(strings.TrimPrefix(r.URL.Path, GuidesPath), "/")
		f, ok := site.files[name]
		question := strings.TrimSpace(r.URL.Query().Get("q"))
		switch {
		case !ok:
			cfg.Missing.ServeHTTP(w, r)
		case name == "" && question != "":
			site.answer(w, question)
		default:
			f.serve(w, r)
		}
	})
}

// guidesSite is the guides as they are served.
type guidesSite struct {
	view  guidesView      // of the list
	files map[string]file // by their paths below GuidesPath; the list has none
}

func makeGuides(cfg GuidesConfig, b brand.Brand) (*guidesSite, error) {
	s, err := readGuides(docs.Files, docs.Groups)
	if err != nil {
		return nil, err
	}
	style, _, err := asset("reference.css")
	if err != nil {
		return nil, err
	}
	site := &guidesSite{view: guidesView{shelf: s, Brand: b, Version: cfg.Version, Style: style}, files: map[string]file{}}
	page := func(name string, v guidesView) error {
		var text bytes.Buffer
		if err := guidePages.Execute(&text, v); err != nil {
			return fmt.Errorf("reference: guide %q: %w", name, err)
		}
		site.files[name] = newFile(htmlType, text.Bytes(), false)
		return nil
	}
	if err := page("", site.view); err != nil {
		return nil, err
	}
	for name, g := range s.byName {
		v := site.view
		v.Guide = g
		if err := page(name, v); err != nil {
			return nil, err
		}
	}
	pictures, err := fs.Glob(docs.Files, "images/*")
	if err != nil {
		return nil, err
	}
	for _, name := range pictures {
		content, err := fs.ReadFile(docs.Files, name)
		if err != nil {
			return nil, err
		}
		site.files[name] = newFile(mime.TypeByExtension(path.Ext(name)), content, false)
	}
	return site, nil
}

// answer writes what a search finds.
func (s *guidesSite) answer(w http.ResponseWriter, question string) {
	v := s.view
	v.Query, v.Hits = question, s.view.search(question)
	var b bytes.Buffer
	if err := guidePages.Execute(&b, v); err != nil {
		http.Error(w, "The guides cannot be shown.", http.StatusInternalServerError)
		return
	}
	setHeaders(w.Header(), htmlType, false)
	_, _ = b.WriteTo(w) // the reader may have left
}
