package staffapi

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/content/templates"
	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
)

type templateIn struct {
	Template int64 `path:"template" minimum:"1" doc:"Id of the template."`
}

type setTemplateIn struct {
	templateIn
	Body struct {
		Offered bool `json:"offered" doc:"Customers see it and can install it."`
	}
}

type templateThumbnailIn struct {
	templateIn
	Size templates.Size `query:"size" enum:"400x300,800x600" default:"400x300" doc:"Width and height in pixels."`
}

// templates are the operations about the site templates.
func (s *Service) templates() []api.Route {
	a := s.Admin
	const one = "/templates/{template}"
	preview := api.ForStaff[templateIn, api.Empty]("templates.preview", one+"/preview", "Show a site template as a live page", everyone)
	preview.Description = descriptions["templates.preview"]
	preview.ContentTypes = []string{"text/html; charset=utf-8"}
	preview.Stream = func(ctx context.Context, _ auth.Principal, in *templateIn, w http.ResponseWriter, r *http.Request) error {
		return a.Templates.ServePreview(ctx, w, r, in.Template)
	}
	thumbnail := api.ForStaff[templateThumbnailIn, api.Empty]("templates.thumbnail", one+"/thumbnail", "Show a picture of a site template", everyone)
	thumbnail.Description = descriptions["templates.thumbnail"]
	thumbnail.ContentTypes = []string{"image/webp"}
	thumbnail.Stream = func(_ context.Context, _ auth.Principal, in *templateThumbnailIn, w http.ResponseWriter, r *http.Request) error {
		return a.Templates.ServeThumbnail(w, r, in.Template, in.Size)
	}
	return []api.Route{
		read("templates.list", "/templates", "The site templates, with how many services have each", everyone,
			func(ctx context.Context, _ *struct{}) (*list[admin.Template], error) {
				return listed(a.ListTemplates(ctx))
			}),
		change("templates.set", http.MethodPut, one, "Offer a site template to customers, or hide it", care,
			func(ctx context.Context, in *setTemplateIn) (*admin.Template, error) {
				return pointer(a.OfferTemplate(ctx, in.Template, in.Body.Offered))
			}),
		preview,
		thumbnail,
	}
}
