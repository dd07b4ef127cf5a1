package webui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"

	"stead.dev/stead/internal/platform/contentcoding"
	"stead.dev/stead/internal/platform/fault"
)

//go:embed static/style.css static/passkey.js
var staticFiles embed.FS

// assets are the addresses of the pages' static files. Each contains the hash of its content, so browsers may cache it
// for ever.
type assets struct{ Style, Passkey string }

var assetNames = assets{Style: assetName("style.css"), Passkey: assetName("passkey.js")}

func asset(name string) ([]byte, error) { return staticFiles.ReadFile("static/" + name) }

func assetName(name string) string {
	content, _ := asset(name) // embedded, so it cannot fail
	sum := sha256.Sum256(content)
	return "/static/" + hex.EncodeToString(sum[:6]) + "/" + name
}

// static serves the embedded files under their names with any hash: a page that was loaded before an upgrade still
// finds its style.
func (ui *UI) static() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		content, err := asset(name)
		if err != nil {
			ui.headers(w)
			ui.fail(w, ui.visit(w, r), fault.NotFound.New())
			return
		}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "public, max-age=300")
		if r.URL.Path == assetName(name) {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		contentcoding.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	})
}
