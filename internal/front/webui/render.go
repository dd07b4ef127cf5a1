package webui

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

//go:embed pages/*.html
var pageFiles embed.FS

// pages are the parsed templates by name; each has the layout around it.
type pages struct{ byName map[string]*template.Template }

// parsePages parses the embedded templates; tests catch one that does not parse.
func parsePages() *pages {
	layout := template.Must(template.New("layout").ParseFS(pageFiles, "pages/layout.html"))
	names, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		panic(fmt.Sprintf("webui: embedded pages: %v", err))
	}
	p := &pages{byName: map[string]*template.Template{}}
	for _, name := range names {
		if name == "pages/layout.html" {
			continue
		}
		t := template.Must(template.Must(layout.Clone()).ParseFS(pageFiles, name))
		p.byName[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return p
}

// view is the data of a template: the page's own Data and what every page shows.
type view struct {
	Page    string
	Lang    string
	Session *account.Session
	// Company is the name of Brand, which may be empty for a reseller's client.
	Company string
	Brand   brand.Brand
	Icon    template.URL
	// Flash is the id of a text about the last form's result.
	Flash string
	// Path is this page's address, for the language switch.
	Path  string
	Asset assets
	// Passkeys says that passkeys work on this page.
	Passkeys bool
	// Client says that the reader is a reseller's client: the page has the reseller's brand, names nothing of our shop and
	// links to nothing there.
	Client bool
	// Currencies are the choices of the currency switch, and Currency the present one. There is no switch for an account, whose
	// profile has its currency.
	Currencies []money.Currency
	Currency   money.Currency
	// Header and Footer are the links to public pages.
	Header, Footer []siteLink
	// Meta is nil on pages that are for their visitor alone.
	Meta *Meta
	Data any
}

// With is the view with other data, for a template that draws a part of a page.
func (v view) With(data any) view {
	v.Data = data
	return v
}

// T is a text of the catalogue. Arguments are pairs of a name and its value.
func (v view) T(id string, pairs ...any) (string, error) {
	if len(pairs)%2 != 0 {
		return "", fmt.Errorf("text %s: arguments are pairs", id)
	}
	data := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return "", fmt.Errorf("text %s: a name is no string", id)
		}
		data[name] = pairs[i+1]
	}
	return i18n.T(v.Lang, id, data), nil
}

// language is a choice of the language switch. Its name is in that language, for readers of no other, so it is not a
// text of the catalogue.
type language struct{ Code, Name string }

var languages = []language{{i18n.Uzbek, "O\u02bbzbekcha"}, {i18n.Russian, "Русский"}, {i18n.English, "English"}}

// Languages are the choices of the language switch.
func (view) Languages() []language { return languages }

// InLanguage is this page's address in another language.
func (v view) InLanguage(lang string) string { return v.with("lang", lang) }

// InCurrency is this page's address with prices in another currency.
func (v view) InCurrency(c money.Currency) string { return v.with("currency", string(c)) }

// with is this page's address with another value of a parameter.
func (v view) with(name, value string) string {
	u, err := url.Parse(v.Path)
	if err != nil {
		u = &url.URL{Path: "/"}
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// Date formats a time; all pages show UTC.
func (v view) Date(t time.Time) string { return i18n.Minute(t) }

// render writes the page pages/<name>.html. It renders the page completely before it sends the first byte, so a mistake
// in a template is a 500 and not half a page.
func (ui *UI) render(w http.ResponseWriter, r *http.Request, status int, name string, data any) {
	ui.renderWith(w, r, status, name, nil, data)
}

func (ui *UI) renderWith(w http.ResponseWriter, r *http.Request, status int, name string, m *Meta, data any) {
	t := ui.pages.byName[name]
	if t == nil {
		ui.internal(w, r, fmt.Errorf("no page %q", name))
		return
	}
	b, client := ui.Brand(), strings.HasPrefix(r.URL.Path+"/", "/client/")
	if client {
		b, _ = r.Context().Value(brandKey{}).(brand.Brand)
	}
	v := view{
		Page: name, Lang: i18n.Lang(r.Context()), Session: ui.session(r), Company: b.Name, Brand: b, Icon: iconOf(b),
		Flash: ui.takeFlash(w, r), Path: backTo(r), Asset: assetNames, Passkeys: ui.passkeys(r),
		Client: client, Meta: m, Data: data,
	}
	v.Header, v.Footer = ui.siteLinks(r)
	if v.Session == nil && !client && m != nil {
		v.Currencies, v.Currency = ui.Rates().Currencies(), money.CurrencyOf(r.Context())
	}
	var buf bytes.Buffer
	if err := t.ExecuteTemplate(&buf, "layout", v); err != nil {
		ui.internal(w, r, fmt.Errorf("page %q: %w", name, err))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", v.Lang)
	w.WriteHeader(status)
	_, _ = w.Write(buf.Bytes()) // an error means only that the visitor has left
}

// errorData is what the page "error" shows.
type errorData struct{ Title, Text, RequestID string }

// fail writes the page that explains a refusal.
func (ui *UI) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := api.Fault(err)
	switch f.Def {
	case fault.Internal:
		ui.internal(w, r, err)
		return
	case fault.Unavailable:
		ui.Log.ErrorContext(r.Context(), "page unavailable", "page", r.Pattern, "request_id", api.RequestID(r.Context()), "error", err)
		w.Header().Set("Retry-After", api.RetryUnavailable)
	}
	lang := i18n.Lang(r.Context())
	ui.render(w, r, f.Def.Kind.Status(), "error", errorData{
		Title: i18n.T(lang, "webui.error.title", nil), Text: i18n.T(lang, f.TextID(), f.Fields),
		RequestID: api.RequestID(r.Context()),
	})
}

// failPage is fail for refusals by the pages themselves.
func (ui *UI) failPage(w http.ResponseWriter, r *http.Request, status int, id string) {
	lang := i18n.Lang(r.Context())
	ui.render(w, r, status, "error", errorData{
		Title: i18n.T(lang, "webui.error.title", nil), Text: i18n.T(lang, "webui.error."+id, nil),
		RequestID: api.RequestID(r.Context()),
	})
}

// internal handles a failure of ours; the cause is only logged. The page is named by its pattern: an address may be a
// secret, such as the link of a mail.
func (ui *UI) internal(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, r.Context().Err()) && r.Context().Err() != nil {
		return // the visitor has left
	}
	ui.Log.ErrorContext(r.Context(), "page failed", "page", r.Pattern, "request_id", api.RequestID(r.Context()), "error", err)
	lang := i18n.Lang(r.Context())
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = fmt.Fprintf(w, "%s\n%s\n", i18n.T(lang, "error.internal_error", nil), api.RequestID(r.Context()))
}
