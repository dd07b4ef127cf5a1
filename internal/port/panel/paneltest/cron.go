package paneltest

import (
	"testing"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// Cron states the contract of panel.Cron; it is part of RunSuite.
func Cron(t *testing.T, p panel.Panel) {
	t.Helper()
	c := capability[panel.Cron](t, p)
	create(t, p, spec)
	wish := panel.CronJob{ID: "7", Expression: "0 3 * * *", Timezone: "Asia/Tashkent", Command: "true", Enabled: true}
	for range 2 {
		got, err := c.SetCronJob(t.Context(), ref, wish)
		must(t, err)
		if got.Overlap != panel.OverlapSkip || got.TimeoutSeconds == 0 || got.Command != "true" {
			t.Errorf("set: %+v", got)
		}
	}
	off := panel.CronJob{ID: "8", Expression: "@hourly", Command: "true"}
	_, err := c.SetCronJob(t.Context(), ref, off)
	must(t, err)
	jobs, err := c.CronJobs(t.Context(), ref)
	if err != nil || len(jobs) != 2 || jobs[0].ID != "7" || jobs[0].Timezone != "Asia/Tashkent" || jobs[1].Timezone != "UTC" || jobs[1].Enabled {
		t.Errorf("list: %+v, %v", jobs, err)
	}
	states, err := c.CronStates(t.Context(), ref)
	if err != nil || len(states) != 2 || states[0].NextRunAt.Hour() != 22 || !states[1].NextRunAt.IsZero() || states[0].Runs == nil {
		t.Errorf("states: %+v, %v", states, err)
	}
	for _, bad := range []panel.CronJob{
		{ID: "", Expression: "@daily", Command: "x"},
		{ID: "../x", Expression: "@daily", Command: "x"},
		{ID: "9", Expression: "61 * * * *", Command: "x"},
		{ID: "9", Expression: "@daily", Command: "two\nlines"},
		{ID: "9", Expression: "@daily", Command: ""},
		{ID: "9", Expression: "@daily", Command: "x", Timezone: "Nowhere"},
		{ID: "9", Expression: "@daily", Command: "x", TimeoutSeconds: 1 << 20},
	} {
		_, err := c.SetCronJob(t.Context(), ref, bad)
		refused(t, err, panel.ErrInvalid)
	}
	accounts := capability[panel.Accounts](t, p)
	must(t, accounts.SuspendAccount(t.Context(), ref))
	_, err = c.SetCronJob(t.Context(), ref, wish)
	refused(t, err, panel.ErrSuspended)
	if states, err := c.CronStates(t.Context(), ref); err != nil || len(states) != 2 || !states[0].NextRunAt.IsZero() {
		t.Errorf("while suspended: %+v, %v", states, err)
	}
	must(t, accounts.UnsuspendAccount(t.Context(), ref))
	if states, err := c.CronStates(t.Context(), ref); err != nil || states[0].NextRunAt.Before(time.Unix(0, 0)) || states[0].NextRunAt.IsZero() {
		t.Errorf("after the suspension: %+v, %v", states, err)
	}
	must(t, c.RemoveCronJob(t.Context(), ref, "7"))
	refused(t, c.RemoveCronJob(t.Context(), ref, "7"), panel.ErrNotFound)
	_, err = c.CronJobs(t.Context(), "none")
	refused(t, err, panel.ErrNotFound)
	_, err = c.CronStates(t.Context(), "none")
	refused(t, err, panel.ErrNotFound)
	_, err = c.SetCronJob(t.Context(), "none", wish)
	refused(t, err, panel.ErrNotFound)
	refused(t, c.RemoveCronJob(t.Context(), "none", "7"), panel.ErrNotFound)
	must(t, accounts.DeleteAccount(t.Context(), ref))
	again := spec
	again.Ref = "3"
	create(t, p, again)
	if jobs, err := c.CronJobs(t.Context(), "3"); err != nil || len(jobs) != 0 {
		t.Errorf("left: %+v, %v", jobs, err)
	}
}
