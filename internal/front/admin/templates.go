package admin

import (
	"context"
	"strconv"
	"time"

	"stead.dev/stead/internal/content/templates"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
)

// Template is a site template as staff see it.
type Template struct {
	ID          int64     `json:"id"`
	Slug        string    `json:"slug" doc:"What an installation names it by."`
	Name        i18n.Text `json:"name" doc:"By language."`
	Description i18n.Text `json:"description" doc:"By language."`
	Category    string    `json:"category"`
	Tags        []string  `json:"tags"`
	Services    int       `json:"services" doc:"How many services have it."`
	Offered     bool      `json:"offered" doc:"Customers see it and can install it."`
	UpdatedAt   time.Time `json:"updated_at"`
}

func templateOf(o templates.Offer) Template {
	return Template{
		ID: o.ID, Slug: o.Slug, Name: o.Name, Description: o.Description, Category: o.Category, Tags: o.Tags, Services: o.Services, Offered: o.Offered,
		UpdatedAt: o.Updated,
	}
}

// ListTemplates lists the site templates, also those that are not offered.
func (a *Admin) ListTemplates(ctx context.Context) ([]Template, error) {
	found, err := a.Templates.Offers(ctx)
	all := make([]Template, len(found))
	for i, o := range found {
		all[i] = templateOf(o)
	}
	return all, err
}

// OfferTemplate says whether customers see a site template and can install it. Sites that were made of it stay.
func (a *Admin) OfferTemplate(ctx context.Context, id int64, offered bool) (Template, error) {
	action := "template.hide"
	if offered {
		action = "template.offer"
	}
	o, err := a.Templates.SetOffered(a.change(ctx, action, "", a.templateSubject(id)), id, offered)
	if err != nil {
		return Template{}, err
	}
	return templateOf(o), nil
}

func (a *Admin) templateSubject(id int64) subject {
	return subject{kind: "template", key: strconv.FormatInt(id, 10), state: func(ctx context.Context, q db.Querier) (any, error) {
		offered, err := a.Templates.IsOffered(ctx, q, id)
		return map[string]bool{"offered": offered}, err
	}}
}
