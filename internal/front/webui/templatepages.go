package webui

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"stead.dev/stead/internal/content/templates"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// templateRoutes adds the gallery of site templates.
func (ui *UI) templateRoutes(mux *http.ServeMux) {
	if ui.Templates == nil {
		return
	}
	addresses := func(ctx context.Context) ([]address, error) {
		offered, err := ui.Templates.Offered(ctx)
		all := []address{{path: "/templates"}}
		for _, t := range offered {
			all = append(all, address{path: templatePath(t), updated: t.Updated})
		}
		return all, err
	}
	ui.publish(mux, publicKind{api.Content, "/templates", "pages.templates.title", inHeader, addresses}, map[string]http.HandlerFunc{
		"GET /templates": ui.templateHome, "GET /templates/{slug}": ui.showTemplate,
	})
}

func templatePath(t *templates.Template) string { return "/templates/" + t.Slug }

// templateRow is a template in the gallery. Picture, LargePicture and Preview are empty while their section is switched off.
type templateRow struct {
	Path, Slug, Name, Description  string
	Picture, LargePicture, Preview string
}

// templateData is what the page of a template shows.
type templateData struct {
	templateRow
	Home   crumb
	Others []templateRow
}

func (ui *UI) templateRow(t *templates.Template, lang string) templateRow {
	row := templateRow{Path: templatePath(t), Slug: t.Slug, Name: t.Name.In(lang), Description: t.Description.In(lang)}
	if ui.enabled(api.Embeds) {
		base := "/templates/" + strconv.FormatInt(t.ID, 10)
		row.Picture, row.LargePicture = base+"/thumbnail?size="+string(templates.Small), base+"/thumbnail?size="+string(templates.Large)
		row.Preview = base + "/preview?lang=" + lang
	}
	return row
}

func (ui *UI) templateHome(w http.ResponseWriter, r *http.Request) {
	offered, err := ui.Templates.Offered(r.Context())
	if err != nil {
		ui.internal(w, r, err)
		return
	}
	lang := i18n.Lang(r.Context())
	title := i18n.T(lang, "pages.templates.title", nil)
	var (
		rows  []templateRow
		items []any
		image string
	)
	for i, t := range offered {
		rows = append(rows, ui.templateRow(t, lang))
		items = append(items, map[string]any{
			"@type": "ListItem", "position": i + 1, "name": t.Name.In(lang), "url": ui.base() + withLang(templatePath(t), lang),
		})
	}
	if len(rows) > 0 {
		image = rows[0].LargePicture
	}
	ui.renderPublic(w, r, "templates", Meta{
		Title: title, Description: i18n.T(lang, "pages.templates.lead", nil), Path: "/templates", Image: image,
		Data: []any{map[string]any{"@context": "https://schema.org", "@type": "ItemList", "name": title, "itemListElement": items}},
	}, rows)
}

func (ui *UI) showTemplate(w http.ResponseWriter, r *http.Request) {
	offered, err := ui.Templates.Offered(r.Context())
	if err != nil {
		ui.internal(w, r, err)
		return
	}
	lang := i18n.Lang(r.Context())
	i := slices.IndexFunc(offered, func(t *templates.Template) bool { return t.Slug == r.PathValue("slug") })
	if i < 0 {
		ui.fail(w, r, fault.NotFound.New())
		return
	}
	t := offered[i]
	home := crumb{i18n.T(lang, "pages.templates.title", nil), "/templates"}
	d := templateData{templateRow: ui.templateRow(t, lang), Home: home}
	for _, o := range offered {
		if o != t {
			d.Others = append(d.Others, ui.templateRow(o, lang))
		}
	}
	work := map[string]any{
		"@context": "https://schema.org", "@type": "CreativeWork", "name": d.Name, "description": d.Description, "inLanguage": i18n.Supported(),
		"creator": ui.organization(), "dateModified": t.Updated.Format("2006-01-02"), "isAccessibleForFree": true,
	}
	if d.LargePicture != "" {
		work["image"] = ui.base() + d.LargePicture
	}
	ui.renderPublic(w, r, "template", Meta{
		Title: d.Name, Description: d.Description, Path: d.Path, Image: d.LargePicture,
		Data: []any{work, ui.breadcrumbs(lang, home, crumb{d.Name, d.Path})},
	}, d)
}
