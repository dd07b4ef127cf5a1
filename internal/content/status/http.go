package status

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/i18n"
)

// Operations of the section.
func (s *Service) Operations() []api.Route {
	return []api.Route{
		// Specification, "Content": GET /api/v1/status.
		api.Operation[statusIn, statusWire]{
			ID: "content.status", Method: http.MethodGet, Path: "/api/v1/status", Section: api.Content, Auth: api.Open,
			Summary: "How the platform does: its components, incidents and maintenance", Survives: true, Handle: s.show,
			Description: "The answer is at most 10 seconds old. It is also given while the database does not answer: then it is " +
				"what was known last, at `checked_at`, and `api` and `panel` are `major_outage`.",
		},
	}
}

type statusIn struct {
	Lang string `query:"lang" maxLength:"35" doc:"uz, ru or en: translated texts are then one string in this language, or in another where there is none, instead of an object keyed by language."`
}

type statusWire struct {
	Status      string          `json:"status" enum:"operational,maintenance,degraded,partial_outage,major_outage" doc:"That of the worst component, but major_outage only when all are out."`
	CheckedAt   *time.Time      `json:"checked_at" doc:"When this was true; null when nothing could be read yet."`
	Components  []componentWire `json:"components"`
	Incidents   []incidentWire  `json:"incidents" doc:"Those that go on, then those of the last 90 days, the newest first; at most 50 of each."`
	Maintenance []plannedWire   `json:"maintenance" doc:"What goes on or is ahead, the next first."`
}

type componentWire struct {
	Key     string          `json:"key" doc:"api, panel, dns, mail, domains, payments, and hosting or hosting- and a location." example:"hosting-tashkent"`
	Name    i18n.Translated `json:"name"`
	Status  string          `json:"status" enum:"operational,maintenance,degraded,partial_outage,major_outage"`
	History []dayWire       `json:"history" doc:"The worst of each of the last 90 days that anything is known of, the oldest first."`
}

type dayWire struct {
	Date   string `json:"date" format:"date" doc:"In UTC."`
	Status string `json:"status" enum:"operational,maintenance,degraded,partial_outage,major_outage"`
}

type incidentWire struct {
	ID         int64           `json:"id"`
	Title      i18n.Translated `json:"title"`
	Impact     string          `json:"impact" enum:"none,minor,major,critical"`
	Status     string          `json:"status" enum:"investigating,identified,monitoring,resolved"`
	Components []string        `json:"components" doc:"Keys of those that it disturbs; empty: all."`
	Updates    []updateWire    `json:"updates" doc:"The newest first."`
	StartedAt  time.Time       `json:"started_at"`
	ResolvedAt *time.Time      `json:"resolved_at"`
}

type updateWire struct {
	Status    string          `json:"status" enum:"investigating,identified,monitoring,resolved"`
	Body      i18n.Translated `json:"body"`
	CreatedAt time.Time       `json:"created_at"`
}

type plannedWire struct {
	ID         int64           `json:"id"`
	Title      i18n.Translated `json:"title"`
	Components []string        `json:"components" doc:"Keys of those that it concerns; empty: all."`
	StartsAt   time.Time       `json:"starts_at"`
	EndsAt     time.Time       `json:"ends_at"`
}

func (s *Service) show(ctx context.Context, _ auth.Principal, _ *statusIn) (*statusWire, error) {
	p := s.Now(ctx)
	w := &statusWire{Status: p.Level.String(), Components: []componentWire{}, Incidents: []incidentWire{}, Maintenance: []plannedWire{}}
	if !p.CheckedAt.IsZero() {
		w.CheckedAt = &p.CheckedAt
	}
	history := map[string][]dayWire{}
	for _, d := range p.days {
		history[d.Component] = append(history[d.Component], dayWire{d.Day.UTC().Format(time.DateOnly), d.Level.String()})
	}
	for _, c := range p.Components {
		known := history[c.Key]
		if known == nil {
			known = []dayWire{}
		}
		w.Components = append(w.Components, componentWire{c.Key, c.Name().Wire(ctx), c.Level.String(), known})
	}
	for _, n := range p.Incidents {
		i := incidentWire{
			ID: n.ID, Title: n.Title.Wire(ctx), Impact: string(n.Impact), Status: string(n.Stage), Components: n.Components,
			Updates: []updateWire{}, StartedAt: n.StartedAt, ResolvedAt: n.ResolvedAt,
		}
		for _, u := range n.Updates {
			i.Updates = append(i.Updates, updateWire{string(u.Stage), u.Body.Wire(ctx), u.CreatedAt})
		}
		w.Incidents = append(w.Incidents, i)
	}
	for _, m := range p.Planned {
		w.Maintenance = append(w.Maintenance, plannedWire{m.ID, m.Title.Wire(ctx), m.Components, m.StartsAt, m.EndsAt})
	}
	return w, nil
}
