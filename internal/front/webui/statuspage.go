package webui

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// statusRoutes adds the page that says how the platform does. It is served while the database is down.
func (ui *UI) statusRoutes(mux *http.ServeMux) {
	if ui.Status == nil {
		return
	}
	addresses := func(context.Context) ([]address, error) { return []address{{path: "/status"}}, nil }
	ui.publish(mux, publicKind{api.Content, "/status", "pages.status.title", inFooter, addresses}, map[string]http.HandlerFunc{
		"GET /status": ui.showStatus, "GET /status/feed.atom": ui.statusFeed, "POST /status/subscribe": ui.subscribe,
	})
	// Also while the section is off: whoever gets mails must be able to end that.
	ui.handle(mux, "GET /status/subscription/{token}", ui.showSubscription)
	ui.handle(mux, "POST /status/subscription/{token}", ui.confirmSubscription)
	ui.handle(mux, "GET /status/unsubscribe/{token}", ui.showSubscription)
	ui.handle(mux, "POST /status/unsubscribe/{token}", ui.unsubscribe)
}

// statusData is what the page "status" shows.
type statusData struct {
	Level       string // of the whole
	CheckedAt   time.Time
	Components  []componentRow
	Standing    []incidentRow // incidents that go on
	Past        []incidentRow
	Maintenance []plannedRow
	Form        *form // of the subscription
}

type componentRow struct {
	Name, Level string
	Days        []dayCell // of the history, the oldest first
	Known       int       // days that anything is known of
	Troubled    []dayCell // days that were not operational, the newest first
}

// dayCell is a day of a component; Level is empty when nothing is known of it.
type dayCell struct {
	Date  time.Time
	Level string
}

type incidentRow struct {
	ID                    int64
	Title, Impact         string
	Components            string // names, joined; empty: all
	StartedAt, ResolvedAt time.Time
	Updates               []updateRow
}

type updateRow struct {
	Stage, Text string
	At          time.Time
}

type plannedRow struct {
	ID               int64
	Title            string
	Components       string
	StartsAt, EndsAt time.Time
	Running          bool
}

func (ui *UI) showStatus(w http.ResponseWriter, r *http.Request) {
	ui.statusPage(w, r, http.StatusOK, emptyForm())
}

func (ui *UI) statusPage(w http.ResponseWriter, r *http.Request, code int, f *form) {
	lang := i18n.Lang(r.Context())
	title := i18n.T(lang, "pages.status.title", nil)
	d := statusOf(ui.Status.Now(r.Context()), lang, ui.Clock.Now())
	d.Form = f
	m := Meta{
		Title: title, Description: i18n.T(lang, "pages.status.lead", nil), Path: "/status", Feed: withLang("/status/feed.atom", lang),
		Data: []any{ui.breadcrumbs(lang, crumb{title, "/status"})}, Lang: lang, base: ui.base(),
	}
	ui.renderWith(w, r, code, "status", &m, d)
}

// subscribe has the link that confirms a subscription mailed. The answer does not tell whether the address is known.
func (ui *UI) subscribe(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	var err error = fault.Invalid("email", "expected_email")
	if email, ok := account.NormalizeEmail(f.Get("email")); ok {
		err = ui.Status.Subscribe(r.Context(), email, i18n.Lang(r.Context()), ui.ClientAddr(r))
	}
	if err == nil {
		ui.flash(w, "webui.flash.status_asked")
		ui.redirect(w, r, "/status")
		return
	}
	code, ok := f.refused(r, err)
	if !ok {
		ui.fail(w, r, err)
		return
	}
	ui.statusPage(w, r, code, f)
}

// subscriptionData is what the page "subscription" shows.
type subscriptionData struct {
	status.Subscription
	Token string
	Ended bool
}

// showSubscription changes nothing: programs that check mails for harm open their links.
func (ui *UI) showSubscription(w http.ResponseWriter, r *http.Request) {
	token := r.PathValue("token")
	x, err := ui.Status.Subscription(r.Context(), token)
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.render(w, r, http.StatusOK, "subscription", subscriptionData{Subscription: x, Token: token})
}

func (ui *UI) confirmSubscription(w http.ResponseWriter, r *http.Request) {
	if err := ui.Status.Confirm(r.Context(), r.PathValue("token")); err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.showSubscription(w, r)
}

// unsubscribe is also what a mail program calls for its reader (RFC 8058).
func (ui *UI) unsubscribe(w http.ResponseWriter, r *http.Request) {
	if err := ui.Status.Unsubscribe(r.Context(), r.PathValue("token")); err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.render(w, r, http.StatusOK, "subscription", subscriptionData{Ended: true})
}

// statusOf puts a picture into the words of a language.
func statusOf(p status.Picture, lang string, now time.Time) statusData {
	d := statusData{Level: p.Level.String(), CheckedAt: p.CheckedAt}
	names := map[string]string{}
	for _, c := range p.Components {
		names[c.Key] = c.Name().In(lang)
		row := componentRow{Name: names[c.Key], Level: c.Level.String()}
		for _, day := range p.History(c.Key) {
			cell := dayCell{Date: day.Date}
			if day.Known {
				cell.Level = day.Level.String()
				row.Known++
			}
			if day.Known && day.Level != status.Operational {
				row.Troubled = append([]dayCell{cell}, row.Troubled...)
			}
			row.Days = append(row.Days, cell)
		}
		d.Components = append(d.Components, row)
	}
	for _, n := range p.Incidents {
		row := incidentOf(n, names, lang)
		if n.ResolvedAt == nil {
			d.Standing = append(d.Standing, row)
		} else {
			d.Past = append(d.Past, row)
		}
	}
	for _, m := range p.Planned {
		d.Maintenance = append(d.Maintenance, plannedRow{
			m.ID, m.Title.In(lang), componentNames(m.Components, names), m.StartsAt, m.EndsAt, !now.Before(m.StartsAt),
		})
	}
	return d
}

func incidentOf(n status.Incident, names map[string]string, lang string) incidentRow {
	row := incidentRow{
		ID: n.ID, Title: n.Title.In(lang), Impact: string(n.Impact), Components: componentNames(n.Components, names), StartedAt: n.StartedAt,
	}
	if n.ResolvedAt != nil {
		row.ResolvedAt = *n.ResolvedAt
	}
	for _, u := range n.Updates {
		row.Updates = append(row.Updates, updateRow{string(u.Stage), u.Body.In(lang), u.CreatedAt})
	}
	return row
}

// componentNames joins the names of components; one that is gone is named by its key.
func componentNames(keys []string, names map[string]string) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		if all[i] = names[key]; all[i] == "" {
			all[i] = key
		}
	}
	return strings.Join(all, ", ")
}

// statusFeed is the Atom feed of incidents and maintenance.
func (ui *UI) statusFeed(w http.ResponseWriter, r *http.Request) {
	lang := i18n.Lang(r.Context())
	p := ui.Status.Now(r.Context())
	f := feed{title: ui.Brand().Name + " · " + i18n.T(lang, "pages.status.title", nil), path: "/status/feed.atom", page: "/status"}
	for _, n := range p.Incidents {
		e := feedEntry{title: n.Title.In(lang), path: "/status#incident-" + strconv.FormatInt(n.ID, 10), published: n.StartedAt, updated: n.StartedAt}
		if len(n.Updates) > 0 { // the newest is the first
			u := n.Updates[0]
			e.summary, e.updated = stageText(u.Stage, lang)+": "+u.Body.In(lang), u.CreatedAt
		}
		f.entries = append(f.entries, e)
	}
	for _, m := range p.Planned {
		f.entries = append(f.entries, feedEntry{
			title: m.Title.In(lang), path: "/status#maintenance-" + strconv.FormatInt(m.ID, 10), published: m.AnnouncedAt, updated: m.AnnouncedAt,
			summary: i18n.T(lang, "pages.status.planned", map[string]any{"From": i18n.Minute(m.StartsAt), "Until": i18n.Minute(m.EndsAt)}),
		})
	}
	ui.writeFeed(w, r, f)
}

func stageText(s status.Stage, lang string) string {
	return i18n.T(lang, "status.stage."+string(s), nil)
}
