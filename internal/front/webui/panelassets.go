package webui

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/contentcoding"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/web"
)

// entry are the addresses of the files that the application begins with.
type entry struct {
	script          string
	styles, preload []string
}

// panelEntry is read from the manifest that Vite has written beside the files.
var panelEntry = mustEntry()

func mustEntry() entry {
	e, err := readEntry()
	if err != nil {
		panic(fmt.Sprintf("webui: the panel's manifest: %v", err))
	}
	return e
}

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

// packed are the assets as gzip, made when they are first asked for.
var packed sync.Map

func gzipped(name string, content []byte) []byte {
	if done, ok := packed.Load(name); ok {
		return done.([]byte)
	}
	var buf bytes.Buffer
	zw, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression) // the level is valid
	_, _ = zw.Write(content)
	_ = zw.Close() // a buffer takes all
	done, _ := packed.LoadOrStore(name, buf.Bytes())
	return done.([]byte)
}

// panelAssets serves what Vite has built. The names contain a hash of the content, so a file that exists is cached for ever;
// one that does not is not cached, because during an upgrade another replica may have it.
func (ui *UI) panelAssets() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		content, err := web.Dist.ReadFile("dist/panel/assets/" + name)
		if err != nil {
			ui.headers(w)
			ui.fail(w, ui.visit(w, r), fault.NotFound.New())
			return
		}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("Vary", "Accept-Encoding")
		text := strings.HasSuffix(name, ".js") || strings.HasSuffix(name, ".css") || strings.HasSuffix(name, ".svg")
		if text && contentcoding.AcceptsGzip(r.Header.Values("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			content = gzipped(name, content)
		}
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	})
}
