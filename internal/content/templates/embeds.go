package templates

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

type previewIn struct {
	ID int64 `path:"id" minimum:"1" doc:"Id of a template"`
}

// preview is the operation that shows a template's page.
func (s *Service) preview() api.Route {
	return api.Operation[previewIn, api.Empty]{
		ID: "templates.preview", Method: http.MethodGet, Path: "/templates/{id}/preview", Section: api.Embeds, Auth: api.Open,
		Summary: "Show a template as a live page",
		Description: "One document that loads nothing and runs no script. Any site may frame it. Where the company has an origin for " +
			"previews, the answer leads there; otherwise the page is in a sandbox.",
		ContentTypes: []string{"text/html; charset=utf-8"}, Errors: []*fault.Def{fault.NotFound},
		Stream: func(ctx context.Context, _ auth.Principal, in *previewIn, w http.ResponseWriter, r *http.Request) error {
			t := byID(in.ID)
			if t == nil {
				return fault.NotFound.New()
			}
			lang := i18n.Lang(ctx)
			if host := s.PreviewHost(); host != "" && r.Host != host {
				w.Header().Set("Cache-Control", "public, max-age=300")
				w.Header().Set("Vary", "Accept-Language")
				allowFrames(w)
				http.Redirect(w, r, s.previewURL(t)+"?lang="+lang, http.StatusFound)
				return nil
			}
			content, err := t.Preview(lang)
			if err != nil {
				return err
			}
			h := w.Header()
			allowFrames(w)
			h.Set("Content-Security-Policy", s.policy(t))
			h.Set("Content-Type", "text/html; charset=utf-8")
			h.Set("Content-Language", lang)
			h.Set("Vary", "Accept-Language")
			h.Set("X-Robots-Tag", "noindex") // a demonstration is no page of the company's
			serve(w, r, content, "public, max-age=300")
			return nil
		},
	}
}

// allowFrames takes back what keeps other pages of this server out of frames.
func allowFrames(w http.ResponseWriter) {
	h := w.Header()
	h.Del("X-Frame-Options")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors *")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

// policy is the Content-Security-Policy of a preview: its style and nothing else. Under our own origin it is in a sandbox
// too, so that it is not of that origin.
func (s *Service) policy(t *Template) string {
	sum := sha256.Sum256(t.style)
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; form-action 'none'; " +
		"base-uri 'none'; frame-ancestors *"
	if s.PreviewOrigin == "" {
		policy = "sandbox; " + policy
	}
	return policy
}

type thumbnailIn struct {
	ID   int64 `path:"id" minimum:"1" doc:"Id of a template"`
	Size Size  `query:"size" enum:"400x300,800x600" default:"800x600" doc:"Width and height in pixels"`
}

// thumbnail is the operation that shows a picture of a template's page.
func (s *Service) thumbnail() api.Route {
	return api.Operation[thumbnailIn, api.Empty]{
		ID: "templates.thumbnail", Method: http.MethodGet, Path: "/templates/{id}/thumbnail", Section: api.Embeds, Auth: api.Open,
		Description: "A picture of the template's page that may be embedded anywhere and cached. No token is needed.",
		Summary:     "Show a picture of a template, for galleries", ContentTypes: []string{"image/webp"},
		Errors: []*fault.Def{fault.NotFound, fault.Validation},
		Stream: func(_ context.Context, _ auth.Principal, in *thumbnailIn, w http.ResponseWriter, r *http.Request) error {
			t := byID(in.ID)
			if t == nil {
				return fault.NotFound.New()
			}
			h := w.Header()
			h.Set("Content-Type", "image/webp")
			h.Set("Cross-Origin-Resource-Policy", "cross-origin")
			serve(w, r, t.thumbnails[cmp.Or(in.Size, Large)], "public, max-age=86400")
			return nil
		},
	}
}

// serve writes a content that caches may keep.
func serve(w http.ResponseWriter, r *http.Request, content []byte, cache string) {
	sum := sha256.Sum256(content)
	h := w.Header()
	h.Set("Cache-Control", cache)
	h.Set("ETag", strconv.Quote(hex.EncodeToString(sum[:12])))
	r.Header.Del("Range") // small enough to be sent whole
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
