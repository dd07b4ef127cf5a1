package reference

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"stead.dev/stead/docs"
	"stead.dev/stead/internal/platform/brand"
)

func guides(t *testing.T) func(path string) (int, string, http.Header) {
	t.Helper()
	h := Guides(GuidesConfig{Brand: brand.Fixed(brand.Brand{Name: "Stead & Sons"}), Version: "1.2.3", Missing: http.NotFoundHandler()})
	return func(path string) (int, string, http.Header) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String(), w.Header()
	}
}

var (
	hrefs = regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	ids   = regexp.MustCompile(` id="([^"]+)"`)
)

// Each guide is served, and each link between them leads to a page and a heading that are there.
func TestEachGuideIsServedAndItsLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	get := guides(t)
	s, err := readGuides(docs.Files, docs.Groups)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for name := range s.byName {
		path := GuidesPath + "/" + name
		status, body, head := get(path)
		if status != http.StatusOK || !strings.Contains(body, "<h1") || !strings.Contains(body, "of version 1.2.3") || strings.Contains(body, "<script") {
			t.Errorf("%s: %d", path, status)
		}
		if policy := head.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "script") {
			t.Errorf("%s: policy %q", path, policy)
		}
		pages[path] = body
	}
	for path, body := range pages {
		for _, m := range hrefs.FindAllStringSubmatch(body, -1) {
			to, err := url.Parse(html.UnescapeString(m[1]))
			switch {
			case err != nil:
				t.Errorf("%s links to %q: %v", path, m[1], err)
			case strings.HasPrefix(to.Path, GuidesPath+"/images/"):
				if status, _, head := get(to.Path); status != http.StatusOK || head.Get("Content-Type") != "image/png" {
					t.Errorf("%s shows %q: %d", path, m[1], status)
				}
			case strings.HasPrefix(to.Path, GuidesPath+"/"), to.Path == "" && to.Fragment != "":
				target := to.Path
				if target == "" {
					target = path
				}
				found := slices.ContainsFunc(ids.FindAllStringSubmatch(pages[target], -1), func(id []string) bool { return id[1] == to.Fragment })
				if pages[target] == "" || to.Fragment != "" && to.Fragment != "content" && !found {
					t.Errorf("%s links to %q, which is not there", path, m[1])
				}
			case strings.HasSuffix(to.Path, ".md"):
				t.Errorf("%s links to the source %q", path, m[1])
			}
		}
	}
	for _, path := range []string{GuidesPath + "/nothing", GuidesPath + "/images/../docs.go", GuidesPath + "/images/none.png"} {
		if status, _, _ := get(path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// README.md has the same guides for the same readers.
func TestTheReadmeListsTheSameGuides(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range docs.Groups {
		reader := strings.Fields(group.Title)[1]
		_, row, ok := strings.Cut(string(readme), "\n| "+reader+" |")
		row, _, _ = strings.Cut(row, "\n")
		for _, name := range group.Guides {
			if !ok || !strings.Contains(row, "](docs/"+name+".md)") {
				t.Errorf("the row of %s in README.md lacks %s", reader, name)
			}
		}
	}
}

func TestTheGuidesAreSearched(t *testing.T) {
	t.Parallel()
	get := guides(t)
	_, body, _ := get(GuidesPath + "?q=restic+password")
	if first := strings.Index(body, "/docs/guides/backups#restoring-by-hand"); first < 0 {
		t.Errorf("a search for the password of restic does not lead to it:\n%s", body)
	}
	_, body, _ = get(GuidesPath + "?q=" + url.QueryEscape(`<b>"nobody wrote this"`))
	if !strings.Contains(body, "Nothing was found for “&lt;b&gt;") {
		t.Error("a search that finds nothing does not say so")
	}
	_, body, _ = get(GuidesPath)
	for _, group := range docs.Groups {
		if !strings.Contains(body, "<h2>"+group.Title+"</h2>") {
			t.Errorf("the list lacks the group %s", group.Title)
		}
	}
}

func TestAGuideInNoGroupIsNotLost(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"a.md": {Data: []byte("# A <i>guide</i>\n\nSee [B](b.md#x), [code](../sdk/go) and [here](#a).\n\n<script>alert(1)</script>\n")},
		"b.md": {Data: []byte("# B\n\n## X\n\nText.\n")},
	}
	s, err := readGuides(files, []docs.Group{{Title: "G", Guides: []string{"b", "b", "none"}}})
	if err != nil || len(s.Groups) != 2 || len(s.Groups[0].Guides) != 1 || s.Groups[1].Guides[0].Name != "a" {
		t.Fatalf("%+v, %v", s.Groups, err)
	}
	body := string(s.byName["a"].Body)
	for _, want := range []string{`<a href="/docs/guides/b#x">B</a>, code and <a href="#a">here</a>`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
	if strings.Contains(body, "<script") || strings.Contains(body, "<i>") {
		t.Errorf("HTML of a guide is passed on: %s", body)
	}
}
