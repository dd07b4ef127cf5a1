package webui

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/i18n"
)

// discoverRoutes adds what search engines ask for.
func (ui *UI) discoverRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /robots.txt", ui.robots)
	mux.HandleFunc("GET /sitemap.xml", ui.siteMap)
}

// privatePaths are of no use to search engines.
var privatePaths = []string{"/account", "/client/", "/oauth/", "/pay/", "/api/", "/login", "/logout", "/recover", "/status/subscription/", "/status/unsubscribe/", "/notifications/"}

func (ui *UI) robots(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for _, path := range privatePaths {
		b.WriteString("Disallow: " + path + "\n")
	}
	b.WriteString("\nSitemap: " + ui.base() + "/sitemap.xml\n")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write([]byte(b.String())) // an error means only that the visitor has left
}

// The site map (sitemaps.org), with the languages of each page.
type (
	siteMapXML struct {
		XMLName xml.Name     `xml:"urlset"`
		NS      string       `xml:"xmlns,attr"`
		XHTML   string       `xml:"xmlns:xhtml,attr"`
		URLs    []siteMapURL `xml:"url"`
	}
	siteMapURL struct {
		Loc        string        `xml:"loc"`
		Updated    string        `xml:"lastmod,omitempty"`
		Alternates []siteMapLink `xml:"xhtml:link"`
	}
	siteMapLink struct {
		Rel  string `xml:"rel,attr"`
		Lang string `xml:"hreflang,attr"`
		Href string `xml:"href,attr"`
	}
)

// maxSiteMap is how many addresses a site map may have.
const maxSiteMap = 50_000

func (ui *UI) siteMap(w http.ResponseWriter, r *http.Request) {
	addresses := []address{{path: "/"}}
	for _, k := range ui.published() {
		more, err := k.addresses(r.Context())
		if err != nil {
			ui.internal(w, r, fmt.Errorf("site map of %s: %w", k.path, err))
			return
		}
		addresses = append(addresses, more...)
	}
	out := siteMapXML{NS: "http://www.sitemaps.org/schemas/sitemap/0.9", XHTML: "http://www.w3.org/1999/xhtml"}
	for _, a := range addresses {
		m := Meta{Path: a.path, Languages: a.languages, base: ui.base()}
		var links []siteMapLink
		for _, alt := range m.Alternates() {
			links = append(links, siteMapLink{"alternate", alt.Lang, alt.URL})
		}
		links = append(links, siteMapLink{"alternate", "x-default", m.Default()})
		updated := ""
		if !a.updated.IsZero() {
			updated = a.updated.UTC().Format(time.DateOnly)
		}
		for _, alt := range m.Alternates() {
			out.URLs = append(out.URLs, siteMapURL{alt.URL, updated, links})
		}
	}
	out.URLs = out.URLs[:min(len(out.URLs), maxSiteMap)]
	ui.writeXML(w, r, "application/xml; charset=utf-8", out)
}

// The feed (RFC 4287).
type (
	atomFeed struct {
		XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		Lang    string      `xml:"xml:lang,attr"`
		Title   string      `xml:"title"`
		ID      string      `xml:"id"`
		Links   []atomLink  `xml:"link"`
		Updated string      `xml:"updated"`
		Author  string      `xml:"author>name"`
		Entries []atomEntry `xml:"entry"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr,omitempty"`
		Type string `xml:"type,attr,omitempty"`
		Href string `xml:"href,attr"`
	}
	atomEntry struct {
		Title     string    `xml:"title"`
		ID        string    `xml:"id"`
		Link      atomLink  `xml:"link"`
		Published string    `xml:"published"`
		Updated   string    `xml:"updated"`
		Author    string    `xml:"author>name,omitempty"`
		Summary   string    `xml:"summary,omitempty"`
		Content   *atomText `xml:"content"`
	}
	atomText struct {
		Type string `xml:"type,attr"`
		Text string `xml:",chardata"`
	}
)

// feed is an Atom feed: path is its own, page the path of the page that it is of; both without a language.
type feed struct {
	title, path, page string
	entries           []feedEntry
}

// feedEntry is an entry of a feed. Its path with the language is also its id, so it must not change.
type feedEntry struct {
	title, path, author, summary, html string
	published, updated                 time.Time
}

// writeFeed answers with a feed in the visitor's language.
func (ui *UI) writeFeed(w http.ResponseWriter, r *http.Request, f feed) {
	lang := i18n.Lang(r.Context())
	whole := func(path string) string { return ui.base() + withLang(path, lang) }
	newest := time.Unix(0, 0)
	out := atomFeed{
		Lang: lang, Title: f.title, ID: whole(f.path), Author: ui.Brand().Name,
		Links: []atomLink{{Rel: "self", Type: "application/atom+xml", Href: whole(f.path)}, {Rel: "alternate", Type: "text/html", Href: whole(f.page)}},
	}
	for _, e := range f.entries {
		entry := atomEntry{
			Title: e.title, ID: whole(e.path), Link: atomLink{Rel: "alternate", Type: "text/html", Href: whole(e.path)},
			Published: e.published.UTC().Format(time.RFC3339), Updated: e.updated.UTC().Format(time.RFC3339), Author: e.author, Summary: e.summary,
		}
		if e.html != "" {
			entry.Content = &atomText{"html", e.html}
		}
		if e.updated.After(newest) {
			newest = e.updated
		}
		out.Entries = append(out.Entries, entry)
	}
	out.Updated = newest.UTC().Format(time.RFC3339)
	ui.writeXML(w, r, "application/atom+xml; charset=utf-8", out)
}

func (ui *UI) writeXML(w http.ResponseWriter, r *http.Request, contentType string, v any) {
	var out bytes.Buffer
	out.WriteString(xml.Header)
	if err := xml.NewEncoder(&out).Encode(v); err != nil {
		ui.internal(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, max-age=600")
	h.Set("Vary", "Accept-Language, Cookie") // the language of those who name none in the address
	_, _ = w.Write(out.Bytes())              // an error means only that the visitor has left
}
