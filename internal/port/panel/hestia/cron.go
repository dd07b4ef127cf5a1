package hestia

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stead.dev/stead/internal/port/panel"
)

// cronJob is an entry of v-list-cron-jobs.
type cronJob struct {
	Command   string `json:"CMD"`
	Suspended string `json:"SUSPENDED"`
}

// Properties that the server cannot store are appended to a job's command, as a shell comment. The customer's command
// is encoded in base64 and run by a shell of its own: crontab reads % as an end of line, and the server's lists use
// quotes.
const cronTag = " # " + tag + " "

// maxCronLine is the longest command of Debian's cron (MAX_COMMAND of its cron.h).
const maxCronLine = 998

// line formats the job as a line of the server's crontab.
func line(j panel.CronJob) (string, error) {
	run := "timeout -k 10 " + strconv.Itoa(j.TimeoutSeconds) + " sh"
	if j.Overlap == panel.OverlapSkip {
		run = "flock -n -E 0 .stead-cron-" + j.ID + " " + run
	}
	rest := j
	rest.Command = ""
	data, err := json.Marshal(rest)
	if err != nil {
		return "", err
	}
	text := "echo " + base64.StdEncoding.EncodeToString([]byte(j.Command)) + " | base64 -d | " + run +
		cronTag + base64.StdEncoding.EncodeToString(data)
	if len(text) > maxCronLine {
		return "", fmt.Errorf("%w: the server's cron takes no command of that length", panel.ErrUnsupported)
	}
	return text, nil
}

// parseLine parses a line that line formatted; false for a job that somebody made in the server's own panel.
func parseLine(text string) (j panel.CronJob, ok bool) {
	text, encoded, ok := strings.Cut(text, cronTag)
	if !ok {
		return j, false
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || json.Unmarshal(data, &j) != nil {
		return j, false
	}
	encoded, _, ok = strings.Cut(strings.TrimPrefix(text, "echo "), " ")
	command, err := base64.StdEncoding.DecodeString(encoded)
	j.Command = string(command)
	return j, ok && err == nil
}

// cronJobs returns the account's jobs and their numbers on the server, by id.
func (p *Panel) cronJobs(ctx context.Context, u user) (jobs map[string]panel.CronJob, numbers map[string][]string, err error) {
	all, err := list[map[string]cronJob](ctx, p.api, "v-list-cron-jobs", u.login)
	if err != nil {
		return nil, nil, err
	}
	jobs, numbers = map[string]panel.CronJob{}, map[string][]string{}
	for n, c := range all {
		j, ok := parseLine(c.Command)
		if !ok {
			continue
		}
		if u.Suspended != "yes" { // a suspended user's jobs are all suspended
			j.Enabled = c.Suspended != "yes"
		}
		jobs[j.ID] = j
		numbers[j.ID] = append(numbers[j.ID], n)
	}
	return jobs, numbers, nil
}

// CronJobs implements panel.Cron. Jobs that were made in the server's own panel are not listed.
func (p *Panel) CronJobs(ctx context.Context, ref string) ([]panel.CronJob, error) {
	u, err := p.find(ctx, ref)
	if err != nil {
		return nil, panel.Wrap("cron.list", ref, err)
	}
	jobs, _, err := p.cronJobs(ctx, u)
	return sorted(jobs), panel.Wrap("cron.list", ref, err)
}

func sorted(jobs map[string]panel.CronJob) []panel.CronJob {
	all := make([]panel.CronJob, 0, len(jobs))
	for _, j := range jobs {
		all = append(all, j)
	}
	slices.SortFunc(all, func(a, b panel.CronJob) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// macros are cron's named times.
var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *",
	"@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// SetCronJob implements panel.Cron. ErrUnsupported: the job's time zone is not the server's, or its
// command is too long for the server's cron.
func (p *Panel) SetCronJob(ctx context.Context, ref string, j panel.CronJob) (panel.CronJob, error) {
	j, err := p.setCronJob(ctx, ref, j)
	return j, panel.Wrap("cron.set", ref, err)
}

func (p *Panel) setCronJob(ctx context.Context, ref string, j panel.CronJob) (panel.CronJob, error) {
	j, err := j.Canonical()
	if err != nil {
		return panel.CronJob{}, err
	}
	u, err := p.find(ctx, ref)
	if err != nil {
		return panel.CronJob{}, err
	}
	if u.Suspended == "yes" {
		return panel.CronJob{}, panel.ErrSuspended
	}
	if j.Timezone != p.cfg.Timezone {
		return panel.CronJob{}, fmt.Errorf("%w: the server's time zone is %s", panel.ErrUnsupported, p.cfg.Timezone)
	}
	expression := j.Expression
	if fields, ok := macros[strings.ToLower(expression)]; ok {
		expression = fields
	}
	fields := strings.Fields(expression)
	if len(fields) != 5 {
		return panel.CronJob{}, fmt.Errorf("%w: %q on this server", panel.ErrUnsupported, j.Expression)
	}
	command, err := line(j)
	if err != nil {
		return panel.CronJob{}, err
	}
	have, numbers, err := p.cronJobs(ctx, u)
	if err != nil {
		return panel.CronJob{}, err
	}
	if have[j.ID] != j || len(numbers[j.ID]) > 1 {
		// Two concurrent calls may have created a job twice; a suspended one cannot be changed.
		for _, n := range numbers[j.ID] {
			if err := p.api.run(ctx, "v-delete-cron-job", u.login, n); err != nil && codeOf(err) != codeMissing {
				return panel.CronJob{}, err
			}
		}
		if err := p.api.run(ctx, "v-add-cron-job", slices.Concat([]string{u.login}, fields, []string{command})...); err != nil {
			return panel.CronJob{}, err
		}
		if !j.Enabled {
			if _, numbers, err = p.cronJobs(ctx, u); err != nil {
				return panel.CronJob{}, err
			}
			for _, n := range numbers[j.ID] {
				if err := p.api.run(ctx, "v-suspend-cron-job", u.login, n); err != nil && codeOf(err) != codeSuspended {
					return panel.CronJob{}, err
				}
			}
		}
	}
	return j, nil
}

// RemoveCronJob implements panel.Cron.
func (p *Panel) RemoveCronJob(ctx context.Context, ref, id string) error {
	return panel.Wrap("cron.remove", ref, p.removeCronJob(ctx, ref, id))
}

func (p *Panel) removeCronJob(ctx context.Context, ref, id string) error {
	u, err := p.find(ctx, ref)
	if err != nil {
		return err
	}
	_, numbers, err := p.cronJobs(ctx, u)
	if err != nil {
		return err
	}
	if len(numbers[id]) == 0 {
		return fmt.Errorf("%w: cron job %s", panel.ErrNotFound, id)
	}
	for _, n := range numbers[id] {
		if err := p.api.run(ctx, "v-delete-cron-job", u.login, n); err != nil && codeOf(err) != codeMissing {
			return err
		}
	}
	return nil
}

// CronStates implements panel.Cron. The server does not tell of runs; only the next is known.
func (p *Panel) CronStates(ctx context.Context, ref string) ([]panel.CronState, error) {
	u, err := p.find(ctx, ref)
	if err != nil {
		return nil, panel.Wrap("cron.states", ref, err)
	}
	jobs, _, err := p.cronJobs(ctx, u)
	if err != nil {
		return nil, panel.Wrap("cron.states", ref, err)
	}
	states := make([]panel.CronState, 0, len(jobs))
	for _, j := range sorted(jobs) {
		s := panel.CronState{ID: j.ID, Runs: []panel.CronRun{}}
		if schedule, err := panel.ParseSchedule(j.Expression, j.Timezone); err == nil && j.Enabled && u.Suspended != "yes" {
			s.NextRunAt = schedule.Next(p.cfg.Now())
		}
		states = append(states, s)
	}
	return states, nil
}
