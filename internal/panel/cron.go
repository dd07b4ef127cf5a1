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

// CronOutputBytes is how much of what a run writes is kept.
const CronOutputBytes = 64 << 10

// CronOverlap says what becomes of a run that is due while the job's former one goes on.
type CronOverlap string

// The ways to treat a run that would overlap.
const (
	OverlapSkip  CronOverlap = "skip"  // it does not take place
	OverlapAllow CronOverlap = "allow" // it runs at the side of the former
)

// CronJob is a command of an account and when it runs. It runs by /bin/sh as the account's user, in
// its home and under its limits.
type CronJob struct {
	// ID is the caller's and unique within the account: at most 64 of [A-Za-z0-9._-].
	ID         string      `json:"id"`
	Expression string      `json:"expression"` // see ParseSchedule
	Timezone   string      `json:"timezone"`   // IANA; empty is UTC
	Command    string      `json:"command"`    // one line of at most 4096 bytes
	Enabled    bool        `json:"enabled"`
	Overlap    CronOverlap `json:"overlap"` // empty: OverlapSkip
	// TimeoutSeconds ends a run that takes longer; zero is an hour, at most a day.
	TimeoutSeconds int `json:"timeout_seconds"`
}

// Bounds of a job.
const (
	cronCommandBytes   = 4096
	cronTimeoutDefault = 3600
	cronTimeoutMost    = 24 * 3600
)

var cronID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Canonical is the job with its defaults filled in, or ErrInvalid.
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

// CronCommand says what is wrong with a command: ErrInvalid, or nil.
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
	CronExited  CronEnd = "exited"  // by itself; see the exit code
	CronTimeout CronEnd = "timeout" // it took longer than it may
	CronKilled  CronEnd = "killed"  // the account was suspended, the job removed, or the machine stopped
	CronFailed  CronEnd = "failed"  // it could not be started
)

// CronRun is a run that ended.
type CronRun struct {
	StartedAt  time.Time `json:"started_at"`
	DurationMS int64     `json:"duration_ms"`
	End        CronEnd   `json:"end"`
	// ExitCode is the shell's: 128 and the signal's number when one ended it; -1 when the run did
	// not start.
	ExitCode int    `json:"exit_code"`
	Output   string `json:"output"` // both streams, the first CronOutputBytes, as UTF-8
	Cut      bool   `json:"cut"`    // there was more output
}

// CronState is how a job does.
type CronState struct {
	ID        string    `json:"id"`
	Running   int       `json:"running"`
	NextRunAt time.Time `json:"next_run_at"` // zero: it is disabled, or its account suspended
	Runs      []CronRun `json:"runs"`        // the newest first, at most ten; only the newest has its output
	Skipped   int64     `json:"skipped"`     // runs that did not take place because the former went on
}

// Cron runs commands of accounts at their times. Runs that were missed while the machine was down do
// not take place later. A suspended account has no runs, and those that go on are ended.
type Cron interface {
	// CronJobs lists the account's by ID.
	CronJobs(ctx context.Context, ref string) ([]CronJob, error)
	// SetCronJob makes or changes a job. A run that goes on is left alone. ErrInvalid: see
	// CronJob.Canonical. ErrSuspended: the account is.
	SetCronJob(ctx context.Context, ref string, j CronJob) (CronJob, error)
	// RemoveCronJob ends a job and its runs. ErrNotFound: there is none.
	RemoveCronJob(ctx context.Context, ref, id string) error
	// CronStates tells how the account's jobs do, by ID.
	CronStates(ctx context.Context, ref string) ([]CronState, error)
}
