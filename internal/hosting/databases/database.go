package databases

import (
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Status is the state of a database as customers see it.
type Status string

// The states of a database.
const (
	Creating  Status = "creating"  // the panel does not have it yet
	Active    Status = "active"    // it does
	Suspended Status = "suspended" // it does, and lets nobody in, as the service is suspended
	Failed    Status = "failed"    // it refuses it for good
	Removing  Status = "removing"  // it is to go
)

// row is a row of the table databases.
type row struct {
	site.Item
	name        string
	engine      panel.DatabaseEngine
	charset     string
	createdAt   time.Time
	activatedAt *time.Time // when the panel first had it
}

// PanelName implements site.Row.
func (r row) PanelName() string { return r.name }

// visibleStatus is the state of a database as customers see it.
func (r row) visibleStatus(on site.Site) Status {
	switch {
	case r.Status == site.Removing:
		return Removing
	case r.Status == site.Failed:
		return Failed
	case r.activatedAt == nil:
		return Creating
	case on.Status == "suspended":
		return Suspended
	default:
		return Active
	}
}

// wish is a database that a customer wants.
type wish struct {
	name    string
	engine  panel.DatabaseEngine
	charset string
}

// row makes the row of a wish for a service, or says what is wrong with it.
func (w wish) row(on site.Site) (row, error) {
	charsets := panel.DatabaseCharsets(w.engine)
	if charsets == nil {
		return row{}, fault.Invalid("engine", "databases_engine")
	}
	charset := charsets[0]
	if w.charset != "" {
		i := slices.IndexFunc(charsets, func(c string) bool { return strings.EqualFold(c, w.charset) })
		if i < 0 {
			return row{}, fault.InvalidData("charset", "databases_charset", map[string]any{"Charsets": strings.Join(charsets, ", ")})
		}
		charset = charsets[i]
	}
	name, err := panel.DatabaseName(on.Username, w.name)
	if err != nil {
		invalid := fault.Invalid("name", "databases_name")
		invalid.Cause = err
		return row{}, invalid
	}
	return row{name: name, engine: w.engine, charset: charset}, nil
}

// mostMB is how large a database of the service may become; zero is no bound.
func mostMB(on site.Site) (int64, error) {
	if most := on.Limits.Of("disk_mb"); most != site.Unlimited {
		return max(most, 1), nil
	}
	return 0, nil
}
