package cron

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// row is a row of the table cron_jobs.
type row struct {
	site.Item
	wish
	createdAt time.Time
}

// wish is a job as a customer wants it.
type wish struct {
	expression, timezone string
	command              string
	enabled              bool
	overlap              panel.CronOverlap
	timeoutSeconds       int
}

// PanelName implements site.Row.
func (r row) PanelName() string { return strconv.FormatInt(r.ID, 10) }

// wanted is the job as the panel should have it.
func (r row) wanted() panel.CronJob {
	return panel.CronJob{
		ID: r.PanelName(), Expression: r.expression, Timezone: r.timezone, Command: r.command, Enabled: r.enabled, Overlap: r.overlap,
		TimeoutSeconds: r.timeoutSeconds,
	}
}

// checked is the wish in its canonical form, or says what is wrong with it.
func (w wish) checked() (wish, error) {
	w.expression = strings.Join(strings.Fields(w.expression), " ")
	if w.timezone == "" {
		w.timezone = "UTC"
	}
	if _, err := panel.ParseSchedule("* * * * *", w.timezone); err != nil {
		return w, invalid("timezone", "cron_timezone", err)
	}
	if _, err := panel.ParseSchedule(w.expression, w.timezone); err != nil {
		return w, errExpression.Wrap(err)
	}
	if err := panel.CronCommand(w.command); err != nil {
		return w, invalid("command", "cron_command", err)
	}
	if w.overlap == "" {
		w.overlap = panel.OverlapSkip
	}
	j, err := panel.CronJob{
		ID: "0", Expression: w.expression, Timezone: w.timezone, Command: w.command, Overlap: w.overlap, TimeoutSeconds: w.timeoutSeconds,
	}.Canonical()
	if err != nil {
		return w, fault.Internal.Wrap(err) // the edge has checked the rest
	}
	w.timeoutSeconds = j.TimeoutSeconds
	return w, nil
}

func invalid(field, id string, cause error) error {
	refusal := fault.Invalid(field, id)
	refusal.Cause = cause
	return refusal
}

// preset is the short form of an expression, when it was given by one.
func (w wish) preset() *string {
	if strings.HasPrefix(w.expression, "@") {
		return &w.expression
	}
	return nil
}

// next is when the job runs next, by the clock here; zero when it does not.
func (r row) next(on site.Site, now time.Time) (time.Time, error) {
	if !r.enabled || !on.Online() || r.Status == site.Removing || r.Status == site.Failed {
		return time.Time{}, nil
	}
	s, err := panel.ParseSchedule(r.expression, r.timezone)
	if errors.Is(err, panel.ErrInvalid) { // a zone that was abolished
		return time.Time{}, nil
	}
	return s.Next(now), err
}
