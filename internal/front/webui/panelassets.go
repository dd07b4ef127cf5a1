package webui

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"stead.dev/stead/internal/platform/contentcoding"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/web"
)

// files are the addresses of files that a page of the application needs.
type files struct{ styles, scripts []string }

// bundle is what Vite has built: its files, and which of them what needs.
type bundle struct {
	chunks map[string]chunk  // by the source file, as the manifest has them
	script string            // starts the application
	routes map[string]string // sources by the name of the route's file, such as "services.$service.dns"
}

// panelBundle reads the manifest that Vite has written beside the files, at the first page: commands need none.
var panelBundle = sync.OnceValues(readBundle)

// chunk is one file of Vite's manifest.
type chunk struct {
	File    string   `json:"file"`
	Imports []string `json:"imports"`
	CSS     []string `json:"css"`
}

func readBundle() (*bundle, error) {
	content, err := web.Dist.ReadFile("dist/panel/manifest.json")
	if err != nil {
		return nil, err
	}
	b := &bundle{routes: map[string]string{}}
	if err := json.Unmarshal(content, &b.chunks); err != nil {
		return nil, err
	}
	for source := range b.chunks {
		if name, isRoute := strings.CutPrefix(source, "src/routes/"); isRoute {
			name, _, _ = strings.Cut(name, ".tsx")
			b.routes[name] = source
		}
	}
	start, ok := b.chunks["src/app/start.ts"]
	if !ok {
		return nil, fmt.Errorf("no start among %d chunks", len(b.chunks))
	}
	b.script = panelPath + "/" + start.File
	return b, nil
}

// firstLoad returns what the page at a path of the application needs beside the script, so that the browser asks for all of it
// at once: else it learns of the language's texts and of the page's own code only when the application runs.
func (b *bundle) firstLoad(path, lang string) files {
	needed := []string{"src/app/main.tsx", "src/i18n/" + lang + ".ts"}
	if strings.Trim(path, "/") != "" { // as src/routes/__root.tsx
		needed = append(needed, "src/i18n/pages."+lang+".ts")
	}
	if page := b.route(path); page != "" {
		for at, char := range page {
			if char == '.' { // a layout around it, if there is one
				needed = append(needed, b.routes[page[:at]])
			}
		}
		needed = append(needed, b.routes[page])
	}
	f := files{}
	seen := map[string]bool{strings.TrimPrefix(b.script, panelPath+"/"): true}
	for _, source := range needed {
		f.add(b.chunks, source, seen)
	}
	return f
}

// add adds the file of a source, its styles and what it imports.
func (f *files) add(chunks map[string]chunk, source string, seen map[string]bool) {
	c, ok := chunks[source]
	if !ok {
		return
	}
	if !seen[c.File] {
		seen[c.File] = true
		f.scripts = append(f.scripts, panelPath+"/"+c.File)
	}
	for _, name := range c.CSS {
		if !seen[name] {
			seen[name] = true
			f.styles = append(f.styles, panelPath+"/"+name)
		}
	}
	for _, name := range c.Imports {
		if !seen[chunks[name].File] {
			f.add(chunks, name, seen)
		}
	}
}

// route finds the file of the route at a path, as TanStack Router names it: segments are separated by dots, one that begins
// with $ stands for any, $ alone for any rest, and index for none. The route with the most fixed segments wins.
func (b *bundle) route(path string) string {
	var segments []string
	if path = strings.Trim(path, "/"); path != "" {
		segments = strings.Split(path, "/")
	}
	best, bestFixed := "", -1
	for name := range b.routes {
		fixed, ok := matchRoute(name, segments)
		if ok && (fixed > bestFixed || fixed == bestFixed && len(name) > len(best)) {
			best, bestFixed = name, fixed
		}
	}
	return best
}

// matchRoute tells whether a route is that of a path, and by how many fixed segments.
func matchRoute(name string, segments []string) (fixed int, ok bool) {
	var pattern []string
	if name = strings.TrimSuffix("."+name, ".index"); name != "" {
		pattern = strings.Split(name[1:], ".")
	}
	for i, p := range pattern {
		switch {
		case p == "$":
			return fixed, true
		case i >= len(segments):
			return 0, false
		case p == segments[i]:
			fixed++
		case !strings.HasPrefix(p, "$"):
			return 0, false
		}
	}
	return fixed, len(pattern) == len(segments)
}

// panelFiles are the assets that were asked for, by their names.
var panelFiles sync.Map

// panelFile is an asset, packed when it is first asked for.
func panelFile(name string) (contentcoding.Content, error) {
	if done, ok := panelFiles.Load(name); ok {
		return done.(contentcoding.Content), nil
	}
	content, err := web.Dist.ReadFile("dist/panel/assets/" + name)
	if err != nil {
		return contentcoding.Content{}, err
	}
	done, _ := panelFiles.LoadOrStore(name, contentcoding.NewContent(content))
	return done.(contentcoding.Content), nil
}

// panelAssets serves what Vite has built. The names contain a hash of the content, so a file that exists is cached for ever;
// one that does not is not cached, because during an upgrade another replica may have it.
func (ui *UI) panelAssets() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		content, err := panelFile(name)
		if err != nil {
			ui.headers(w)
			ui.fail(w, ui.visit(w, r), fault.NotFound.New())
			return
		}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		content.Serve(w, r)
	})
}
