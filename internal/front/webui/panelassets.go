package webui

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"path"
	"sync"

	"stead.dev/stead/internal/platform/contentcoding"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/web"
)

// entry are the addresses of the files that the application begins with.
type entry struct {
	script          string
	styles, preload []string
}

// panelEntry reads the manifest that Vite has written beside the files, at the first page: commands need none.
var panelEntry = sync.OnceValues(readEntry)

// chunk is one file of Vite's manifest.
type chunk struct {
	File    string   `json:"file"`
	IsEntry bool     `json:"isEntry"`
	Imports []string `json:"imports"`
	CSS     []string `json:"css"`
}

func readEntry() (entry, error) {
	content, err := web.Dist.ReadFile("dist/panel/manifest.json")
	if err != nil {
		return entry{}, err
	}
	var chunks map[string]chunk
	if err := json.Unmarshal(content, &chunks); err != nil {
		return entry{}, err
	}
	for _, c := range chunks {
		if !c.IsEntry {
			continue
		}
		e := entry{script: panelPath + "/" + c.File}
		seen := map[string]bool{}
		e.add(chunks, c, seen)
		return e, nil
	}
	return entry{}, fmt.Errorf("no entry among %d chunks", len(chunks))
}

// add adds the styles of a chunk and what it imports.
func (e *entry) add(chunks map[string]chunk, c chunk, seen map[string]bool) {
	for _, name := range c.CSS {
		e.styles = append(e.styles, panelPath+"/"+name)
	}
	for _, name := range c.Imports {
		if seen[name] {
			continue
		}
		seen[name] = true
		e.preload = append(e.preload, panelPath+"/"+chunks[name].File)
		e.add(chunks, chunks[name], seen)
	}
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
