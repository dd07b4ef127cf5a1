package reseller

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/fault"
)

// brandIn is the brand in a body.
type brandIn struct {
	Name    string `json:"name,omitempty" maxLength:"80" doc:"Name of your company: one line. Empty shows the service's name" example:"Samarkand Web"`
	Color   string `json:"color,omitempty" maxLength:"7" doc:"Accent of buttons and links, #rrggbb; empty is a neutral one. Pages make it as much darker or lighter as text needs" example:"#0f5fa8"`
	Support string `json:"support_email,omitempty" maxLength:"254" doc:"Where your clients ask for help" example:"help@reseller.example"`
	Terms   string `json:"terms_url,omitempty" maxLength:"500" doc:"Your terms of service: a whole address" example:"https://reseller.example/terms"`
	Privacy string `json:"privacy_url,omitempty" maxLength:"500" doc:"How you use personal data" example:"https://reseller.example/privacy"`
	Imprint string `json:"imprint_url,omitempty" maxLength:"500" doc:"Who you are" example:"https://reseller.example/imprint"`
	brand.PicturesIn

	ETag string `json:"etag,omitempty" maxLength:"200" doc:"The version that is to be changed; another one there is 409 etag_mismatch"`
}

func (in brandIn) settings() brand.Settings {
	return brand.Settings{Name: in.Name, Color: in.Color, Support: in.Support, Terms: in.Terms, Privacy: in.Privacy, Imprint: in.Imprint}
}

type changeBrandIn struct{ Body brandIn }

type brandWire struct {
	Name     string        `json:"name" doc:"Empty shows the service's name"`
	Color    string        `json:"color" doc:"#rrggbb; empty is a neutral one"`
	Support  string        `json:"support_email" doc:"Empty shows none; so do the links below"`
	Terms    string        `json:"terms_url"`
	Privacy  string        `json:"privacy_url"`
	Imprint  string        `json:"imprint_url"`
	Logo     *string       `json:"logo" doc:"Address of the picture on this site; null without one: the name stands there"`
	Icon     *string       `json:"icon" doc:"Address of the picture in a browser's tab; null without one: the name's first letter stands there"`
	Pictures []pictureWire `json:"pictures"`
	ETag     string        `json:"etag" doc:"The version, for a change"`
}

type pictureWire struct {
	ID   string `json:"id" enum:"logo,icon"`
	Name string `json:"name" doc:"Name as a file"`
	Type string `json:"content_type"`
}

func wireBrand(b Brand) *brandWire {
	w := &brandWire{
		Name: b.Name, Color: b.Color, Support: b.Support, Terms: b.Terms, Privacy: b.Privacy, Imprint: b.Imprint,
		Logo: b.address(brand.LogoKind), Icon: b.address(brand.IconKind), Pictures: []pictureWire{}, ETag: b.etag(),
	}
	for _, kind := range []string{brand.LogoKind, brand.IconKind} {
		if p, ok := b.Pictures[kind]; ok {
			w.Pictures = append(w.Pictures, pictureWire{kind, p.File(kind), p.Type})
		}
	}
	return w
}

type pictureIn struct {
	Picture string `path:"picture" enum:"logo,icon" doc:"Which of the two"`
}

func (s *Service) brandOperations() []api.Route {
	const base = "/api/v1/reseller/brand"
	return []api.Route{
		api.Operation[struct{}, brandWire]{
			ID: "reseller.brand.get", Method: http.MethodGet, Path: base, Section: api.Reseller, Auth: api.Key,
			Summary:     "See what your clients see in place of our name",
			Description: "The sandbox has a brand of its own.",
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*brandWire, error) {
				b, err := s.brandOf(ctx, s.DB, p.AccountID)
				return wireBrand(b), err
			},
		},
		api.Operation[changeBrandIn, brandWire]{
			ID: "reseller.brand.change", Method: http.MethodPut, Path: base, Section: api.Reseller, Auth: api.Key, MaxBody: brand.MaxBody,
			Summary: "Change what your clients see in place of our name",
			Description: "Texts and pictures in one; your clients see it from the next page on. A text that is left out is empty then, a picture that is left out " +
				"stays. The type of a picture is found out from its content; an SVG with anything but shapes is refused with the name of what it has. The name of the " +
				"company whose interface this is is refused, too, however it is written.",
			Example: `{"name": "Samarkand Web", "color": "#0f5fa8", "support_email": "help@reseller.example", "terms_url": "https://reseller.example/terms", ` +
				`"logo": "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4="}`,
			Errors: []*fault.Def{fault.ETagMismatch},
			Handle: func(ctx context.Context, p auth.Principal, in *changeBrandIn) (*brandWire, error) {
				b, err := s.changeBrand(ctx, p.AccountID, in.Body)
				if err != nil {
					return nil, err
				}
				return wireBrand(b), nil
			},
		},
		api.Operation[pictureIn, api.Empty]{
			ID: "reseller.brand.picture", Method: http.MethodGet, Path: base + "/pictures/{picture}", Section: api.Reseller, Auth: api.Key,
			Summary: "Download the logo or the icon of your brand", Description: "The file as it was uploaded.",
			ContentTypes: []string{"application/octet-stream"}, Errors: []*fault.Def{fault.NotFound},
			Stream: func(ctx context.Context, p auth.Principal, in *pictureIn, w http.ResponseWriter, _ *http.Request) error {
				found, err := pictureOf(ctx, s.DB, p.AccountID, in.Picture)
				if err != nil {
					return err
				}
				h := w.Header()
				h.Set("Content-Type", "application/octet-stream") // an SVG is not to be shown by itself
				h.Set("X-Content-Type-Options", "nosniff")
				h.Set("Content-Disposition", `attachment; filename="`+found.File(in.Picture)+`"`)
				_, err = w.Write(found.Content)
				return err
			},
		},
	}
}

// BrandHandler serves pictures by the hash of their content, so that nobody gets another one than that which the page names, and
// the style sheet of a colour.
func (s *Service) BrandHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, BrandPath)
		kind, rest, _ := strings.Cut(name, "-")
		hash, end, _ := strings.Cut(rest, ".")
		var p brand.Picture
		var err error
		if kind == "style" && end == "css" && brand.IsColor("#"+hash) {
			p = brand.Picture{Type: "text/css; charset=utf-8", Content: []byte((brand.Brand{Color: "#" + hash}).StyleSheet())}
		} else if _, malformed := hex.DecodeString(hash); malformed != nil || kind != brand.LogoKind && kind != brand.IconKind {
			err = fault.NotFound.New() // the database need not take such a text
		} else if p, err = picture(r.Context(), s.DB, kind, hash); err == nil && p.File(kind) != name {
			err = fault.NotFound.New()
		}
		h := w.Header()
		if err != nil {
			h.Set("Cache-Control", "no-store")
			if errors.Is(err, fault.NotFound) {
				http.NotFound(w, r)
				return
			}
			http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
			return
		}
		h.Set("Cross-Origin-Resource-Policy", "same-origin") // no other site shows what is kept here
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		brand.Serve(w, r, p)
	})
}
