package templates

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// templateWire is a template (resources, section 12).
type templateWire struct {
	ID           int64           `json:"id"`
	Slug         string          `json:"slug"`
	Name         i18n.Translated `json:"name"`
	Description  i18n.Translated `json:"description"`
	Category     string          `json:"category"`
	Tags         []string        `json:"tags"`
	Engine       string          `json:"engine" doc:"html: static files. More may be added."`
	ThumbnailURL string          `json:"thumbnail_url" doc:"?size=400x300 or 800x600"`
	PreviewURL   string          `json:"preview_url" doc:"The live page; it may be framed. ?lang=uz|ru|en"`
	Responsive   bool            `json:"responsive"`
	Languages    []string        `json:"languages"`
	Price        *money.Money    `json:"price" doc:"Null: it costs nothing"`
	Plans        []string        `json:"plans" doc:"Slugs of the plans that it is for; an empty list is all"`
	Popularity   int             `json:"popularity" doc:"How many services have it"`
	UpdatedAt    time.Time       `json:"updated_at"`
}

func (s *Service) wire(ctx context.Context, t *Template, used int) templateWire {
	return templateWire{
		ID: t.ID, Slug: t.Slug, Name: t.Name.Wire(ctx), Description: t.Description.Wire(ctx), Category: t.Category, Tags: t.Tags,
		Engine: "html", ThumbnailURL: s.thumbnailURL(t), PreviewURL: s.previewURL(t), Responsive: true, Languages: i18n.Supported(),
		Plans: []string{}, Popularity: used, UpdatedAt: t.Updated,
	}
}

type listIn struct {
	page.Params
	Category string `query:"category" maxLength:"64" doc:"Of this category only"`
	Q        string `query:"q" maxLength:"100" doc:"Whose name, description or tags have this text"`
}

// list answers a page of the templates that are offered. They are few and in memory.
func (s *Service) list(ctx context.Context, in *listIn) (*page.List[templateWire], error) {
	counts, err := s.used(ctx)
	if err != nil {
		return nil, err
	}
	offered, err := s.Offered(ctx)
	if err != nil {
		return nil, err
	}
	var found []*Template
	for _, t := range offered {
		if (in.Category == "" || t.Category == in.Category) && t.matches(in.Q) {
			found = append(found, t)
		}
	}
	from := min(in.Offset(), len(found))
	shown := found[from:min(from+in.Limit(), len(found))]
	return page.Map(in.Params, len(found), shown, func(t *Template) templateWire { return s.wire(ctx, t, counts[t.Slug]) }), nil
}

// installationWire is a template that was put on a service.
type installationWire struct {
	ID         int64      `json:"id"`
	ServiceID  int64      `json:"service_id"`
	Template   string     `json:"template" doc:"Its slug"`
	Language   string     `json:"language" enum:"uz,ru,en"`
	Title      *string    `json:"title" doc:"Name of the site; null for the one that the template suggests"`
	Directory  string     `json:"directory" doc:"Where its files are, from the account's home"`
	Status     Status     `json:"status" enum:"pending,completed,failed"`
	FailureKey *string    `json:"failure_key" doc:"Why it failed: an error key. The site is as it was then"`
	KeptIn     *string    `json:"kept_in" doc:"Folder in the account's home with the files that were replaced"`
	CreatedAt  time.Time  `json:"created_at"`
	FinishedAt *time.Time `json:"finished_at"`
}

func wireInstallation(i Installation) installationWire {
	w := installationWire{
		ID: i.ID, ServiceID: i.ServiceID, Template: i.Slug, Language: i.Language, Directory: i.Directory, Status: i.Status,
		FailureKey: i.FailureKey, CreatedAt: i.CreatedAt, FinishedAt: i.FinishedAt,
	}
	if i.Title != "" {
		w.Title = &i.Title
	}
	if i.KeptIn != "" {
		w.KeptIn = &i.KeptIn
	}
	return w
}

type installIn struct {
	site.ServiceIn
	Body struct {
		Template  string `json:"template" minLength:"1" maxLength:"64" doc:"Slug of a template" example:"restaurant"`
		Language  string `json:"language,omitempty" enum:"uz,ru,en" doc:"Of the texts; the caller's when it is left out"`
		Title     string `json:"title,omitempty" maxLength:"100" doc:"Name of the site; one that the template suggests when it is left out" example:"Café Registan"`
		Directory string `json:"directory,omitempty" maxLength:"1024" doc:"Where the files go, from the account's home; /public_html when it is left out"`
		Overwrite bool   `json:"overwrite,omitempty" doc:"Replace what is in the way; it is kept in a folder of the account's home"`
	}
}

// Operations are the section's part of the interface.
func (s *Service) Operations() []api.Route {
	const installed = "/api/v1/services/{service}/template"
	return []api.Route{
		api.Operation[listIn, page.List[templateWire]]{
			ID: "templates.list", Method: http.MethodGet, Path: "/api/v1/templates", Section: api.Content, Auth: api.Open,
			Description: "Sites that are ready to be put on a service, with their languages and the address of a preview and a picture.",
			Summary:     "List the site templates",
			Handle: func(ctx context.Context, _ auth.Principal, in *listIn) (*page.List[templateWire], error) {
				return s.list(ctx, in)
			},
		},
		api.Operation[site.ServiceIn, installationWire]{
			ID: "templates.installed", Method: http.MethodGet, Path: installed, Section: api.Content, Auth: api.Token,
			Description: "The template, its language, its folder and how far it came: `pending`, `completed`, or `failed` with an error " +
				"key, when the site is as it was before. Without one the answer is `not_found`.",
			Scopes:  []string{auth.ScopeServicesRead},
			Summary: "Read which template was last put on a service, and how far that came", Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *site.ServiceIn) (*installationWire, error) {
				i, err := s.Installed(ctx, p.AccountID, in.Service)
				return site.Reply(wireInstallation, i, err)
			},
		},
		api.Operation[installIn, installationWire]{
			ID: "templates.install", Method: http.MethodPost, Path: installed, Section: api.Content, Auth: api.Token,
			Example: `{"template": "restaurant", "language": "uz", "title": "Registon"}`,
			Scopes:  []string{auth.ScopeServicesWrite}, Status: http.StatusCreated,
			Summary: "Put a site template on a service",
			Description: "Writes `index.html`, `style.css` and `favicon.svg`, as files that belong to the service like any others. The answer " +
				"is `pending`; the files are there within seconds. Where files or another home page are in the way, it is refused with " +
				"`template_files_exist` and their `paths`, unless `overwrite` is set: they are then kept in the folder `kept_in`. What fails " +
				"leaves the site as it was.",
			Errors: []*fault.Def{
				errFilesExist, fault.NotFound, fault.JobRunning, fault.ServiceSuspended, fault.ServiceNotActive, fault.UnsupportedOperation,
				fault.PathNotAllowed, fault.PanelUnreachable, fault.PanelBusy,
			},
			Handle: func(ctx context.Context, p auth.Principal, in *installIn) (*installationWire, error) {
				b := in.Body
				i, err := s.Install(ctx, p.AccountID, in.Service, Wish{
					Slug: b.Template, Language: cmp.Or(b.Language, i18n.Lang(ctx)), Title: b.Title, Directory: b.Directory, Overwrite: b.Overwrite,
				})
				return site.Reply(wireInstallation, i, err)
			},
		},
		s.preview(),
		s.thumbnail(),
	}
}
