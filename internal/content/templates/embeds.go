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
	"stead.dev/stead/internal/platform/contentcoding"
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
			t, err := s.offered(ctx, in.ID)
			if err != nil {
				return err
			}
			if host := s.PreviewHost(); host != "" && r.Host != host {
				w.Header().Set("Cache-Control", "public, max-age=300")
				w.Header().Set("Vary", "Accept-Language")
				allowFrames(w)
				http.Redirect(w, r, s.previewURL(t)+"?lang="+i18n.Lang(ctx), http.StatusFound)
				return nil
			}
			allowFrames(w)
			policy := t.policy() + "; frame-ancestors *"
			if s.PreviewOrigin == "" {
				policy = sandboxed + policy
			}
			return t.servePreview(ctx, w, r, policy, "public, max-age=300")
		},
	}
}

// ServePreview writes a template's page for staff, also of one that is not offered, in a sandbox.
func (s *Service) ServePreview(ctx context.Context, w http.ResponseWriter, r *http.Request, id int64) error {
	t := byID(id)
	if t == nil {
		return fault.NotFound.New()
	}
	return t.servePreview(ctx, w, r, sandboxed+t.policy()+"; frame-ancestors 'none'", private)
}

// servePreview writes the page in the language of the context.
func (t *Template) servePreview(ctx context.Context, w http.ResponseWriter, r *http.Request, policy, cache string) error {
	lang := i18n.Lang(ctx)
	content, err := t.Preview(lang)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", lang)
	h.Set("Vary", "Accept-Language")
	h.Set("X-Robots-Tag", "noindex") // a demonstration is no page of the company's
	serve(w, r, content, cache)
	return nil
}

// allowFrames takes back what keeps other pages of this server out of frames.
func allowFrames(w http.ResponseWriter) {
	h := w.Header()
	h.Del("X-Frame-Options")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors *")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

// sandboxed begins the policy of a preview under our own origin, so that it is not of that origin.
const sandboxed = "sandbox; "

// private lets only the browser of the member of staff keep what they look at.
const private = "private, max-age=300"

// policy is the Content-Security-Policy of a preview without who may frame it: its style and nothing else.
func (t *Template) policy() string {
	sum := sha256.Sum256(t.style)
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; form-action 'none'; base-uri 'none'"
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
		Stream: func(ctx context.Context, _ auth.Principal, in *thumbnailIn, w http.ResponseWriter, r *http.Request) error {
			t, err := s.offered(ctx, in.ID)
			if err != nil {
				return err
			}
			w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
			t.serveThumbnail(w, r, cmp.Or(in.Size, Large), "public, max-age=86400")
			return nil
		},
	}
}

// ServeThumbnail writes a picture of a template's page for staff, also of one that is not offered.
func (s *Service) ServeThumbnail(w http.ResponseWriter, r *http.Request, id int64, size Size) error {
	t := byID(id)
	if t == nil {
		return fault.NotFound.New()
	}
	t.serveThumbnail(w, r, size, private)
	return nil
}

func (t *Template) serveThumbnail(w http.ResponseWriter, r *http.Request, size Size, cache string) {
	w.Header().Set("Content-Type", "image/webp")
	serve(w, r, t.thumbnails[size], cache)
}

// serve writes a content that caches may keep.
func serve(w http.ResponseWriter, r *http.Request, content []byte, cache string) {
	sum := sha256.Sum256(content)
	h := w.Header()
	h.Set("Cache-Control", cache)
	h.Set("ETag", strconv.Quote(hex.EncodeToString(sum[:12])))
	r.Header.Del("Range") // small enough to be sent whole
	contentcoding.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
