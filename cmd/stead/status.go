package main

import (
	"io"
	"strings"

	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/front/admin"
)

// statusCmd has the commands for the platform's status.
type statusCmd struct {
	Incident struct {
		Open    incidentOpen    `cmd:"" help:"Say that something is disturbed."`
		Update  incidentUpdate  `cmd:"" help:"Say how far you have come."`
		Resolve incidentResolve `cmd:"" help:"Say that it is over."`
		List    incidentList    `cmd:"" help:"List the incidents that go on, and those of the last 90 days."`
	} `cmd:"" help:"Incidents."`
	Maintenance struct {
		Schedule maintenanceSchedule `cmd:"" help:"Announce maintenance."`
		Cancel   maintenanceCancel   `cmd:"" help:"Call it off."`
		List     maintenanceList     `cmd:"" help:"List the maintenance that is ahead or goes on."`
	} `cmd:"" help:"Maintenance."`
}

type incidentOpen struct {
	Title      map[string]string `help:"Title in a language, such as en=Slow; again for each language." required:"" mapsep:"none"`
	Message    map[string]string `help:"What is known, in a language; again for each language." required:"" mapsep:"none"`
	Impact     string            `help:"How far it is disturbed: ${enum}." enum:"none,minor,major,critical" default:"minor"`
	Status     string            `help:"How far you have come: ${enum}." enum:"investigating,identified,monitoring" default:"investigating"`
	Components []string          `help:"Keys of the components; all when left out."`
}

// Run opens an incident.
func (c *incidentOpen) Run(e *environment) error {
	return e.showIncident(func(a *admin.Admin) (admin.Incident, error) {
		return a.OpenIncident(e.ctx, status.Incident{
			Title: c.Title, Impact: status.Impact(c.Impact), Stage: status.Stage(c.Status), Components: c.Components,
		}, c.Message)
	})
}

type incidentUpdate struct {
	ID      int64             `arg:"" help:"Its number."`
	Message map[string]string `help:"What is known, in a language, such as en=Found; again for each language." required:"" mapsep:"none"`
	Status  string            `help:"How far you have come: ${enum}." enum:"investigating,identified,monitoring" required:""`
	Impact  string            `help:"How far it is disturbed now; left out, as before." enum:",none,minor,major,critical" default:""`
}

// Run adds an update.
func (c *incidentUpdate) Run(e *environment) error {
	return e.showIncident(func(a *admin.Admin) (admin.Incident, error) {
		return a.UpdateIncident(e.ctx, c.ID, status.Stage(c.Status), status.Impact(c.Impact), c.Message)
	})
}

type incidentResolve struct {
	ID      int64             `arg:"" help:"Its number."`
	Message map[string]string `help:"What it was, in a language; again for each language." required:"" mapsep:"none"`
}

// Run ends an incident.
func (c *incidentResolve) Run(e *environment) error {
	return e.showIncident(func(a *admin.Admin) (admin.Incident, error) { return a.ResolveIncident(e.ctx, c.ID, c.Message) })
}

type incidentList struct{}

// Run lists incidents.
func (incidentList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		all, err := a.ListIncidents(e.ctx)
		if err != nil {
			return err
		}
		return e.show(map[string]any{"data": all}, func(w io.Writer) { printIncidents(w, all...) })
	})
}

func (e *environment) showIncident(f func(a *admin.Admin) (admin.Incident, error)) error {
	return e.administer(func(a *admin.Admin) error {
		n, err := f(a)
		if err != nil {
			return err
		}
		return e.show(n, func(w io.Writer) { printIncidents(w, n) })
	})
}

func printIncidents(w io.Writer, all ...admin.Incident) {
	row(w, "ID", "STATUS", "IMPACT", "COMPONENTS", "SINCE", "TITLE")
	for _, n := range all {
		row(w, n.ID, n.Status, n.Impact, componentsOf(n.Components), n.StartedAt.Format("2006-01-02 15:04"), n.Title.In("en"))
	}
}

func componentsOf(keys []string) string {
	if len(keys) == 0 {
		return "all"
	}
	return strings.Join(keys, " ")
}

type maintenanceSchedule struct {
	Title      map[string]string `help:"Title in a language, such as en=Upgrade; again for each language." required:"" mapsep:"none"`
	Starts     string            `help:"When it begins: a date, or a moment of RFC 3339." required:""`
	Ends       string            `help:"When it is over." required:""`
	Components []string          `help:"Keys of the components; all when left out."`
}

// Run announces maintenance.
func (c *maintenanceSchedule) Run(e *environment) error {
	p := status.Planned{Title: c.Title, Components: c.Components}
	var err error
	if p.StartsAt, err = readAs(admin.ParseMoment, c.Starts); err != nil {
		return err
	}
	if p.EndsAt, err = readAs(admin.ParseMoment, c.Ends); err != nil {
		return err
	}
	return e.showMaintenance(func(a *admin.Admin) (admin.Maintenance, error) { return a.ScheduleMaintenance(e.ctx, p) })
}

type maintenanceCancel struct {
	ID int64 `arg:"" help:"Its number."`
}

// Run calls maintenance off.
func (c *maintenanceCancel) Run(e *environment) error {
	return e.showMaintenance(func(a *admin.Admin) (admin.Maintenance, error) { return a.CancelMaintenance(e.ctx, c.ID) })
}

type maintenanceList struct{}

// Run lists maintenance.
func (maintenanceList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		all, err := a.ListMaintenance(e.ctx)
		if err != nil {
			return err
		}
		return e.show(map[string]any{"data": all}, func(w io.Writer) { printMaintenance(w, all...) })
	})
}

func (e *environment) showMaintenance(f func(a *admin.Admin) (admin.Maintenance, error)) error {
	return e.administer(func(a *admin.Admin) error {
		m, err := f(a)
		if err != nil {
			return err
		}
		return e.show(m, func(w io.Writer) { printMaintenance(w, m) })
	})
}

func printMaintenance(w io.Writer, all ...admin.Maintenance) {
	row(w, "ID", "FROM", "TO", "COMPONENTS", "TITLE")
	for _, m := range all {
		title := m.Title.In("en")
		if m.CancelledAt != nil {
			title += " (called off)"
		}
		row(w, m.ID, m.StartsAt.Format("2006-01-02 15:04"), m.EndsAt.Format("2006-01-02 15:04"), componentsOf(m.Components), title)
	}
}
