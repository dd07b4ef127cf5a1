package panel

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// CapCron is the capability Cron.
const CapCron Capability = "cron"

// CronOutputBytes bounds the stored output of a run.
const CronOutputBytes = 64 << 10

// CronOverlap decides about a run that is due while the previous one still runs.
type CronOverlap string

// The ways to treat a run that would overlap.
const (
	OverlapSkip  CronOverlap = "skip"  // the run is skipped
	OverlapAllow CronOverlap = "allow" // it runs at the same time as the previous one
)

// CronJob is a command of an account and its schedule. It runs by /bin/sh as the account's user, in its home and under
// its limits.
type CronJob struct {
	// ID is the caller's and unique within the account: at most 64 of [A-Za-z0-9._-].
	ID         string      `json:"id"`
	Expression string      `json:"expression"` // see ParseSchedule
	Timezone   string      `json:"timezone"`   // IANA; empty is UTC
	Command    string      `json:"command"`    // one line of at most 4096 bytes
	Enabled    bool        `json:"enabled"`
	Overlap    CronOverlap `json:"overlap"` // empty: OverlapSkip
	// TimeoutSeconds ends a run that takes longer; zero means an hour; at most a day.
	TimeoutSeconds int `json:"timeout_seconds"`
}

// Bounds of a job.
const (
	cronCommandBytes   = 4096
	cronTimeoutDefault = 3600
	cronTimeoutMost    = 24 * 3600
)

var cronID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Canonical returns the job with its defaults filled in, or ErrInvalid.
func (j CronJob) Canonical() (CronJob, error) {
	if j.Overlap == "" {
		j.Overlap = OverlapSkip
	}
	if j.TimeoutSeconds == 0 {
		j.TimeoutSeconds = cronTimeoutDefault
	}
	if j.Timezone == "" {
		j.Timezone = "UTC"
	}
	switch _, err := ParseSchedule(j.Expression, j.Timezone); {
	case err != nil:
		return j, err
	case !cronID.MatchString(j.ID):
		return j, fmt.Errorf("%w: cron job %q", ErrInvalid, j.ID)
	case j.Overlap != OverlapSkip && j.Overlap != OverlapAllow:
		return j, fmt.Errorf("%w: overlap %q", ErrInvalid, j.Overlap)
	case j.TimeoutSeconds < 1 || j.TimeoutSeconds > cronTimeoutMost:
		return j, fmt.Errorf("%w: a timeout of %d s", ErrInvalid, j.TimeoutSeconds)
	}
	return j, CronCommand(j.Command)
}

// CronCommand returns ErrInvalid for an invalid command, else nil.
func CronCommand(command string) error {
	if strings.TrimSpace(command) == "" || len(command) > cronCommandBytes || !utf8.ValidString(command) ||
		strings.ContainsAny(command, "\x00\r\n") {
		return fmt.Errorf("%w: a command is one line of at most %d bytes", ErrInvalid, cronCommandBytes)
	}
	return nil
}

// CronEnd is how a run ended.
type CronEnd string

// The ends of a run.
const (
	CronExited  CronEnd = "exited"  // by itself; ExitCode has the code
	CronTimeout CronEnd = "timeout" // it exceeded its timeout
	CronKilled  CronEnd = "killed"  // the account was suspended, the job removed, or the machine stopped
	CronFailed  CronEnd = "failed"  // it could not be started
)

// CronRun is a finished run.
type CronRun struct {
	StartedAt  time.Time `json:"started_at"`
	DurationMS int64     `json:"duration_ms"`
	End        CronEnd   `json:"end"`
	// ExitCode is the shell's: 128 and the signal's number when a signal ended the run; -1 when the run did not start.
	ExitCode int    `json:"exit_code"`
	Output   string `json:"output"` // both streams, the first CronOutputBytes, as UTF-8
	Cut      bool   `json:"cut"`    // the output was truncated
}

// CronState is the state of a job.
type CronState struct {
	ID        string    `json:"id"`
	Running   int       `json:"running"`
	NextRunAt time.Time `json:"next_run_at"` // zero: it is disabled, or its account suspended
	Runs      []CronRun `json:"runs"`        // the newest first, at most ten; only the newest has its output
	Skipped   int64     `json:"skipped"`     // runs that were skipped because the previous one still ran
}

// Cron runs commands of accounts on schedule. Runs that were missed while the machine was down are not made up for. A
// suspended account has no runs, and its running ones are ended.
type Cron interface {
	// CronJobs lists the account's by ID.
	CronJobs(ctx context.Context, ref string) ([]CronJob, error)
	// SetCronJob creates or changes a job. It does not touch a running one. ErrInvalid: see CronJob.Canonical.
	// ErrSuspended: the account is suspended.
	SetCronJob(ctx context.Context, ref string, j CronJob) (CronJob, error)
	// RemoveCronJob ends a job and its runs. ErrNotFound: there is none.
	RemoveCronJob(ctx context.Context, ref, id string) error
	// CronStates returns the states of the account's jobs, by ID.
	CronStates(ctx context.Context, ref string) ([]CronState, error)
}
