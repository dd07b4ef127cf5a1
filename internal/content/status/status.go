package status

import (
	"slices"
	"time"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// Level is how a component does, the better ones first.
type Level int

// The levels; the schema has their numbers.
const (
	Operational Level = iota
	Maintenance
	Degraded
	PartialOutage
	MajorOutage
)

var levelNames = []string{"operational", "maintenance", "degraded", "partial_outage", "major_outage"}

// String is the level in answers.
func (l Level) String() string { return levelNames[l] }

// Impact is how far an incident disturbs its components.
type Impact string

// The impacts.
const (
	None     Impact = "none"
	Minor    Impact = "minor"
	Major    Impact = "major"
	Critical Impact = "critical"
)

var impactLevels = map[Impact]Level{None: Operational, Minor: Degraded, Major: PartialOutage, Critical: MajorOutage}

// Stage is how far staff have come with an incident.
type Stage string

// The stages.
const (
	Investigating Stage = "investigating"
	Identified    Stage = "identified"
	Monitoring    Stage = "monitoring"
	Resolved      Stage = "resolved"
)

var stages = []Stage{Investigating, Identified, Monitoring, Resolved}

// Incident is what staff say is disturbed.
type Incident struct {
	ID         int64
	Title      i18n.Text
	Impact     Impact
	Stage      Stage
	Components []string // keys; none: all
	StartedAt  time.Time
	ResolvedAt *time.Time
	Updates    []Update // the newest first
}

// Update is what staff say about an incident.
type Update struct {
	IncidentID int64
	Stage      Stage
	Body       i18n.Text
	CreatedAt  time.Time
}

// Planned is maintenance that was announced.
type Planned struct {
	ID               int64
	Title            i18n.Text
	Components       []string // keys; none: all
	StartsAt, EndsAt time.Time
	CancelledAt      *time.Time
	AnnouncedAt      time.Time
}

// on tells that the maintenance goes on at a time.
func (p Planned) on(now time.Time) bool {
	return p.CancelledAt == nil && !now.Before(p.StartsAt) && now.Before(p.EndsAt)
}

// Component is a part that customers notice.
type Component struct {
	Key      string
	Location string // of hosting; empty where there is one place
	Level    Level
}

// The keys of components; those of hosting at a location are Hosting, a hyphen and the location.
const (
	API      = "api"
	Panel    = "panel"
	Hosting  = "hosting"
	DNS      = "dns"
	Mail     = "mail"
	Domains  = "domains"
	Payments = "payments"
)

// Name is the component's name in every language.
func (c Component) Name() i18n.Text {
	key, data := "status."+c.Key, map[string]any(nil)
	if c.Location != "" {
		key, data = "status.hosting_at", map[string]any{"Location": c.Location}
	}
	name := i18n.Text{}
	for _, lang := range i18n.Supported() {
		name[lang] = i18n.T(lang, key, data)
	}
	return name
}

// Machine is a hosting machine as this section sees it.
type Machine struct {
	Location    string
	Up          bool
	Maintenance bool // operators work at it, so it may be down
}

// places makes the components of hosting, in the order of their locations.
func places(machines []Machine) (all []Component) {
	count, down, worked := map[string]int{}, map[string]int{}, map[string]int{}
	var locations []string
	for _, m := range machines {
		if count[m.Location]++; count[m.Location] == 1 {
			locations = append(locations, m.Location)
		}
		switch {
		case m.Maintenance:
			worked[m.Location]++
		case !m.Up:
			down[m.Location]++
		}
	}
	slices.Sort(locations)
	for _, l := range locations {
		c := Component{Key: Hosting, Location: l}
		if l != "" {
			c.Key += "-" + l
		}
		switch down[l] {
		case 0:
			if worked[l] > 0 {
				c.Level = Maintenance
			}
		case count[l]:
			c.Level = MajorOutage
		default:
			c.Level = PartialOutage
		}
		all = append(all, c)
	}
	return all
}

// judge sets the components' levels by what is observed, announced and said at a time.
func judge(components []Component, incidents []Incident, planned []Planned, now time.Time) {
	for i, c := range components {
		for _, p := range planned {
			if p.on(now) && concerns(p.Components, c.Key) {
				components[i].Level = Maintenance
			}
		}
		for _, n := range incidents {
			if n.ResolvedAt == nil && concerns(n.Components, c.Key) {
				components[i].Level = max(components[i].Level, impactLevels[n.Impact])
			}
		}
	}
}

func concerns(keys []string, key string) bool { return len(keys) == 0 || slices.Contains(keys, key) }

// whole is the level of the platform: that of its worst component, but an outage is a major one only when all are out.
func whole(components []Component) (worst Level) {
	out := 0
	for _, c := range components {
		worst = max(worst, c.Level)
		if c.Level == MajorOutage {
			out++
		}
	}
	if out > 0 && out < len(components) {
		return PartialOutage
	}
	return worst
}

// maxTitle and maxBody bound what staff write, in bytes.
const (
	maxTitle = 300
	maxBody  = 5000
)

// checkText refuses a text that is in no language, in an unknown one, or too long.
func checkText(what string, t i18n.Text, longest int) error {
	if t.In(i18n.Fallback) == "" {
		return fault.Validation.Wrapf("a %s is needed", what)
	}
	for lang, text := range t {
		if !slices.Contains(i18n.Supported(), lang) {
			return fault.Validation.Wrapf("%q is no language of Stead's: uz, ru and en are", lang)
		}
		if len(text) > longest {
			return fault.Validation.Wrapf("a %s has at most %d bytes", what, longest)
		}
	}
	return nil
}

// checkKeys refuses keys of components that there are not.
func checkKeys(keys []string, components []Component) error {
	var known []string
	for _, c := range components {
		known = append(known, c.Key)
	}
	for _, k := range keys {
		if !slices.Contains(known, k) {
			return fault.Validation.Wrapf("there is no component %q, but %v", k, known)
		}
	}
	return nil
}

// startOfDay is the beginning of a time's day in UTC.
func startOfDay(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
