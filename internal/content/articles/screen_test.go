package articles

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"

	"stead.dev/stead/internal/platform/i18n"
)

// The articles of the library name what is on the screen, and these tests hold them to it. In an article of the knowledge base
//
//   - bold text is a label: of the panel (web/panel/src/**/texts.*.json), or of the pages on which people sign in and see
//     passwords (the catalogues webui and credentials), in the article's language. Where the label has a value in it, the
//     article has …: "Pay {amount}" is **Pay …**. Emphasis, and the labels of other programs, are in *italics*;
//   - a link to /panel/ leads to a page of the panel. /panel/service/dns is that page of whichever service the reader has;
//   - `GET /api/v1/…` in code is an operation of api/openapi.json.

const panelDir = "../../../web/panel"

// labels are the texts on the screen in a language, with the keys of each.
type labels map[string][]string

func (l labels) add(key, text string) {
	text = placeholder.ReplaceAllString(text, "…")
	l[text] = append(l[text], key)
}

var (
	placeholder = regexp.MustCompile(`\{[^}]*\}+`)
	inRoutes    = regexp.MustCompile(`"(/[^"]*)"`)
	operation   = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) (/api/\S+)$`)
)

func readLabels(t *testing.T, lang string) labels {
	t.Helper()
	all := labels{}
	files, err := filepath.Glob(panelDir + "/src/*/*/texts." + lang + ".json")
	if err != nil || len(files) < 30 {
		t.Fatalf("the panel has %d files of texts, %v", len(files), err)
	}
	for _, name := range append(files, panelDir+"/src/app/texts."+lang+".json", panelDir+"/src/ui/texts."+lang+".json") {
		folder := filepath.Base(filepath.Dir(name))
		if strings.HasPrefix(folder, "staff") {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var texts map[string]json.RawMessage
		if err := json.Unmarshal(content, &texts); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for key, raw := range texts {
			var one string
			if json.Unmarshal(raw, &one) == nil {
				all.add(folder+"."+key, one)
				continue
			}
			var forms map[string]string
			if err := json.Unmarshal(raw, &forms); err != nil {
				t.Fatalf("%s: %s: %v", name, key, err)
			}
			for _, form := range forms {
				all.add(folder+"."+key, form)
			}
		}
	}
	for _, id := range i18n.IDs() {
		if strings.HasPrefix(id, "webui.") || strings.HasPrefix(id, "credentials.") {
			all.add(id, i18n.Raw(lang, id))
		}
	}
	return all
}

// panelPages are the paths of the panel's pages that an article can lead to.
func panelPages(t *testing.T) map[string]bool {
	t.Helper()
	content, err := os.ReadFile(panelDir + "/e2e/routes.ts")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]bool{}
	for _, route := range inRoutes.FindAllStringSubmatch(string(content), -1) {
		if page, of := strings.CutPrefix(route[1], "/services/$service/"); of {
			pages["/panel/service/"+page] = true
		} else if !strings.Contains(route[1], "$") && !strings.HasPrefix(route[1], "/staff") {
			pages["/panel"+route[1]] = true
		}
	}
	return pages
}

// operations are those of the interface, such as "GET /api/v1/me".
func operations(t *testing.T) map[string]bool {
	t.Helper()
	content, err := os.ReadFile("../../../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for path, methods := range document.Paths {
		for method := range methods {
			all[strings.ToUpper(method)+" "+path] = true
		}
	}
	return all
}

// named is what a text of the library names: labels, paths of the panel, operations.
type named struct{ labels, pages, operations []string }

func namedIn(body string) (n named) {
	doc, source := parseMarkdown(body)
	_ = ast.Walk(doc, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Emphasis:
			if node.Level == 2 {
				n.labels = append(n.labels, textOf(node, source))
			}
		case *ast.Link:
			if target := string(node.Destination); strings.HasPrefix(target, "/panel") {
				n.pages = append(n.pages, target)
			}
		case *ast.CodeSpan:
			if m := operation.FindString(textOf(node, source)); m != "" {
				n.operations = append(n.operations, m)
			}
		}
		return ast.WalkContinue, nil
	})
	return n
}

func textOf(node ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Value(source))
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func TestArticlesNameWhatIsOnTheScreen(t *testing.T) {
	t.Parallel()
	b, problems, err := readBundle(Library())
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	screen := map[string]labels{}
	for _, lang := range i18n.Supported() {
		screen[lang] = readLabels(t, lang)
	}
	pages, served := panelPages(t), operations(t)
	for _, a := range b.articles {
		if a.Kind != Help {
			continue
		}
		if n := namedIn(a.Texts[i18n.Fallback].Body); len(n.labels) == 0 && len(n.pages) == 0 {
			t.Errorf("%s leads to no page of the panel", name(a))
		}
		of := map[string]named{}
		for lang, text := range a.Texts {
			n := namedIn(text.Body)
			of[lang] = n
			file := filePath(a.Kind, a.Slug, lang)
			for _, label := range n.labels {
				if len(screen[lang][label]) == 0 {
					t.Errorf("library/%s: **%s** is on no page in this language: write the label that is, or *italics*", file, label)
				}
			}
			for _, page := range n.pages {
				if !pages[page] {
					t.Errorf("library/%s: the panel has no page %s (see web/panel/e2e/routes.ts)", file, page)
				}
			}
			for _, one := range n.operations {
				if !served[one] {
					t.Errorf("library/%s: there is no operation %s", file, one)
				}
			}
		}
		// The languages say the same: what one names, each of the others names too.
		for lang, n := range of {
			for other, m := range of {
				for _, label := range n.labels {
					if !slices.ContainsFunc(m.labels, func(l string) bool { return shareKey(screen[lang][label], screen[other][l]) }) {
						t.Errorf("library/%s: **%s** of the text in %q is not named in %q", filePath(a.Kind, a.Slug, other), label, lang, other)
					}
				}
				if p, q := distinct(n.pages), distinct(m.pages); !slices.Equal(p, q) {
					t.Errorf("library: %s leads to %v in %q and to %v in %q", name(a), p, lang, q, other)
				}
				if p, q := distinct(n.operations), distinct(m.operations); !slices.Equal(p, q) {
					t.Errorf("library: %s has the operations %v in %q and %v in %q", name(a), p, lang, q, other)
				}
			}
		}
	}
}

func shareKey(a, b []string) bool {
	return slices.ContainsFunc(a, func(key string) bool { return slices.Contains(b, key) })
}

func distinct(all []string) []string {
	set := map[string]bool{}
	for _, one := range all {
		set[one] = true
	}
	return slices.Sorted(maps.Keys(set))
}
