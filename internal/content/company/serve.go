package company

import (
	"net/http"
	"strings"

	"stead.dev/stead/internal/platform/brand"
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
			kind = brand.IconKind
		}
		f, known := p.images[kind]
		own := known && r.URL.Path == Path+f.File(kind)
		if kind == "style" {
			f, known, own = p.style, p.brand.Style != "", r.URL.Path == p.brand.Style
		}
		if !known {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Cross-Origin-Resource-Policy", "cross-origin") // mail programs in browsers show the logo
		h.Set("Cache-Control", "public, max-age=300")
		if own {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		brand.Serve(w, r, f)
	})
}
