package admin

import (
	"context"
	"time"

	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/platform/i18n"
)

// Incident is an incident as operators see it.
type Incident struct {
	ID         int64         `json:"id"`
	Title      i18n.Text     `json:"title"`
	Impact     status.Impact `json:"impact"`
	Status     status.Stage  `json:"status"`
	Components []string      `json:"components"`
	StartedAt  time.Time     `json:"started_at"`
	ResolvedAt *time.Time    `json:"resolved_at"`
}

func incidentOf(n status.Incident) Incident {
	return Incident{
		ID: n.ID, Title: n.Title, Impact: n.Impact, Status: n.Stage, Components: n.Components, StartedAt: n.StartedAt, ResolvedAt: n.ResolvedAt,
	}
}

// OpenIncident opens an incident with its first message.
func (a *Admin) OpenIncident(ctx context.Context, n status.Incident, message i18n.Text) (Incident, error) {
	opened, err := a.Status.Open(a.change(ctx, "incident.open", "", newRowOf("incident", "status_incidents", incidentColumns)), n, message)
	return incidentOf(opened), err
}

// UpdateIncident adds a message to an incident; an empty impact stays what it is.
func (a *Admin) UpdateIncident(ctx context.Context, id int64, stage status.Stage, impact status.Impact, message i18n.Text) (Incident, error) {
	n, err := a.Status.Progress(a.change(ctx, "incident.update", "", incidentSubject(id)), id, stage, impact, message)
	return incidentOf(n), err
}

// ResolveIncident ends an incident.
func (a *Admin) ResolveIncident(ctx context.Context, id int64, message i18n.Text) (Incident, error) {
	n, err := a.Status.Resolve(a.change(ctx, "incident.resolve", "", incidentSubject(id)), id, message)
	return incidentOf(n), err
}

// ListIncidents lists the incidents that go on, then those of the last 90 days.
func (a *Admin) ListIncidents(ctx context.Context) ([]Incident, error) {
	found, err := a.Status.Incidents(ctx)
	all := make([]Incident, len(found))
	for i, n := range found {
		all[i] = incidentOf(n)
	}
	return all, err
}

// Maintenance is announced maintenance as operators see it.
type Maintenance struct {
	ID          int64      `json:"id"`
	Title       i18n.Text  `json:"title"`
	Components  []string   `json:"components"`
	StartsAt    time.Time  `json:"starts_at"`
	EndsAt      time.Time  `json:"ends_at"`
	CancelledAt *time.Time `json:"cancelled_at"`
}

func maintenanceOf(p status.Planned) Maintenance {
	return Maintenance{ID: p.ID, Title: p.Title, Components: p.Components, StartsAt: p.StartsAt, EndsAt: p.EndsAt, CancelledAt: p.CancelledAt}
}

// ScheduleMaintenance announces maintenance.
func (a *Admin) ScheduleMaintenance(ctx context.Context, p status.Planned) (Maintenance, error) {
	planned, err := a.Status.Schedule(a.change(ctx, "maintenance.schedule", "", newRowOf("maintenance", "status_maintenance", maintenanceColumns)), p)
	return maintenanceOf(planned), err
}

// CancelMaintenance calls maintenance off.
func (a *Admin) CancelMaintenance(ctx context.Context, id int64) (Maintenance, error) {
	p, err := a.Status.Cancel(a.change(ctx, "maintenance.cancel", "", rowOf("maintenance", "status_maintenance", maintenanceColumns, "id", id)), id)
	return maintenanceOf(p), err
}

// ListMaintenance lists the maintenance that is ahead or goes on.
func (a *Admin) ListMaintenance(ctx context.Context) ([]Maintenance, error) {
	found, err := a.Status.Planned(ctx)
	all := make([]Maintenance, len(found))
	for i, p := range found {
		all[i] = maintenanceOf(p)
	}
	return all, err
}

const (
	incidentColumns    = "title, impact, status, components, started_at, resolved_at"
	maintenanceColumns = "title, components, starts_at, ends_at, cancelled_at"
)

func incidentSubject(id int64) subject {
	return rowOf("incident", "status_incidents", incidentColumns, "id", id)
}
