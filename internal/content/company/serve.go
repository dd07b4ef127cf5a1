package company

import (
	"net/http"
	"strings"

	"stead.dev/stead/internal/platform/contentcoding"
)

// Path is where the pictures and the style sheet of the brand are served; browsers ask for the icon at IconPath by
// themselves.
const (
	Path     = "/brand/"
	IconPath = "/favicon.ico"
)

// Handler serves the brand's files. Their names contain a hash of the content. Another hash gets the present file, which is not
// kept for long: pages and mails that were made before a change still find it.
func (s *Service) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := s.present.Get()
		kind, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, Path), "-")
		if r.URL.Path == IconPath {
			kind = Icon
		}
		f, known := p.images[kind]
		own := known && r.URL.Path == f.address(kind)
		if kind == "style" {
			f, known, own = p.style, p.brand.Style != "", r.URL.Path == p.brand.Style
		}
		if !known {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		// An SVG that is opened by itself is a document of this site.
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Type", f.Type)
		h.Set("Cross-Origin-Resource-Policy", "cross-origin") // mail programs in browsers show the logo
		h.Set("Cache-Control", "public, max-age=300")
		if own {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		contentcoding.NewContent(f.Content).Serve(w, r)
	})
}
