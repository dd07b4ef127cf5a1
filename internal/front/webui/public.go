package webui

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// publicKind is a kind of pages for everybody, such as those of the knowledge base. ui.publish adds it: its pages are then
// served, linked to and listed in the site map while its section is switched on.
type publicKind struct {
	section api.Section
	path    string // of its first page, such as "/kb"
	label   string // id of the text of the link to it
	place   menu
	// addresses lists its pages for the site map.
	addresses func(ctx context.Context) ([]address, error)
}

// menu says where a kind of pages is linked to.
type menu int

const (
	inHeader menu = iota + 1 // and in the footer
	inFooter
)

// address is a page in the site map.
type address struct {
	path      string    // with a query, but without a language
	languages []string  // those that the page exists in; nil: all
	updated   time.Time // zero: not known
}

// publish adds the pages of a kind to mux, by their patterns.
func (ui *UI) publish(mux *http.ServeMux, k publicKind, pages map[string]http.HandlerFunc) {
	ui.public = append(ui.public, k)
	for pattern, page := range pages {
		ui.handle(mux, pattern, func(w http.ResponseWriter, r *http.Request) {
			if !ui.enabled(k.section) {
				ui.fail(w, r, fault.NotFound.New())
				return
			}
			page(w, r)
		})
	}
}

// enabled reports whether a section is switched on.
func (ui *UI) enabled(s api.Section) bool { return ui.Sections == nil || ui.Sections.Enabled(s) }

// published lists the kinds of pages whose sections are switched on.
func (ui *UI) published() []publicKind {
	return slices.DeleteFunc(slices.Clone(ui.public), func(k publicKind) bool { return !ui.enabled(k.section) })
}

// siteLink is a link of the header or the footer.
type siteLink struct {
	Path, Label string // Label is the id of a text
	Current     bool
}

func (ui *UI) siteLinks(r *http.Request) (header, footer []siteLink) {
	for _, k := range ui.published() {
		l := siteLink{k.path, k.label, r.URL.Path == k.path || strings.HasPrefix(r.URL.Path, k.path+"/")}
		if k.place == inHeader {
			header = append(header, l)
		}
		footer = append(footer, l)
	}
	return header, footer
}

// Meta is what a public page tells search engines and those who share it.
type Meta struct {
	Title, Description string
	// Path is the page's address, with a query but without a language.
	Path string
	// Languages are those that the page exists in; nil: all. Lang is the one that it is shown in; empty: the visitor's.
	Languages []string
	Lang      string
	// Article says that the page is one text, with the times when it was published and updated, as far as they are known.
	Article                bool
	PublishedAt, UpdatedAt time.Time
	Image                  string // path of a picture; may be empty
	Feed                   string // path of an Atom feed of the page; may be empty
	// Data are values of schema.org, for JSON-LD. They are blocks of data: the policy of the pages against foreign scripts
	// has nothing to say about them.
	Data []any
	// Hidden pages are of no use to search engines, such as results of a search.
	Hidden bool

	base string
	// anyLang says that the address names no language: it is the one that chooses.
	anyLang bool
}

// inLang is the page's whole address in a language.
func (m *Meta) inLang(lang string) string { return m.base + withLang(m.Path, lang) }

// withLang adds a language to a path.
func withLang(path, lang string) string {
	u, err := url.Parse(path)
	if err != nil {
		return path
	}
	q := u.Query()
	q.Set("lang", lang)
	u.RawQuery = q.Encode()
	return u.String()
}

// Canonical is the page's address among those of its languages and the one that chooses, which are told of each other.
func (m *Meta) Canonical() string {
	if m.anyLang {
		return m.Default()
	}
	return m.inLang(m.Lang)
}

// Default is the address that chooses a language for its visitor.
func (m *Meta) Default() string { return m.base + m.Path }

// Alternates are the page's addresses in its languages.
func (m *Meta) Alternates() []alternate {
	var all []alternate
	for _, lang := range i18n.Supported() {
		if m.Languages == nil || slices.Contains(m.Languages, lang) {
			all = append(all, alternate{lang, m.inLang(lang)})
		}
	}
	return all
}

type alternate struct{ Lang, URL string }

// Type is the page's kind in Open Graph.
func (m *Meta) Type() string {
	if m.Article {
		return "article"
	}
	return "website"
}

// Picture is the whole address of the picture; empty without one.
func (m *Meta) Picture() string {
	if m.Image == "" {
		return ""
	}
	return m.base + m.Image
}

// renderPublic is render for a public page.
func (ui *UI) renderPublic(w http.ResponseWriter, r *http.Request, name string, m Meta, data any) {
	m.base, m.anyLang = ui.base(), !r.URL.Query().Has("lang")
	if m.Lang == "" {
		m.Lang = i18n.Lang(r.Context())
	}
	ui.renderWith(w, r, http.StatusOK, name, &m, data)
}

// base is the site's public address without a slash at its end.
func (ui *UI) base() string { return strings.TrimSuffix(ui.BaseURL, "/") }

// crumb is a page above the present one.
type crumb struct{ Name, Path string }

// breadcrumbs describes the way to a page for JSON-LD; the last crumb is the page itself.
func (ui *UI) breadcrumbs(lang string, crumbs ...crumb) map[string]any {
	items := make([]any, len(crumbs))
	for i, c := range crumbs {
		items[i] = map[string]any{"@type": "ListItem", "position": i + 1, "name": c.Name, "item": ui.base() + withLang(c.Path, lang)}
	}
	return map[string]any{"@context": "https://schema.org", "@type": "BreadcrumbList", "itemListElement": items}
}

// organization describes the company for JSON-LD.
func (ui *UI) organization() map[string]any {
	return map[string]any{"@type": "Organization", "name": ui.Brand().Name, "url": ui.base() + "/"}
}

// Day formats a day as people of the language write it.
func (v view) Day(t time.Time) string {
	if v.Lang == i18n.English {
		return t.UTC().Format("2 January 2006")
	}
	return t.UTC().Format("02.01.2006")
}

// ISODay is a day for programs.
func (view) ISODay(t time.Time) string { return t.UTC().Format(time.DateOnly) }
