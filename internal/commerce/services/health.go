package services

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

// Problem says why a service is in the view of the health of renewals.
type Problem string

// The problems: nothing was tried though it was due; the renewal was tried and did not go; the end has been under way for
// a while, because a final backup takes long or fails.
const (
	NoAttempt Problem = "no_attempt"
	Failing   Problem = "failing"
	Ending    Problem = "ending"
)

var problems = map[int]Problem{1: NoAttempt, 2: Failing, 3: Ending}

// Unwell is a service that needs an operator's eye.
type Unwell struct {
	ServiceID     int64      `json:"service_id"`
	AccountID     int64      `json:"account_id"`
	Domain        *string    `json:"domain"`
	Status        Status     `json:"status"`
	Problem       Problem    `json:"problem"`
	Since         time.Time  `json:"since"`       // something has been due, the last attempt failed, or the end began
	FailureKey    *string    `json:"failure_key"` // of the last attempt
	NextAttemptAt *time.Time `json:"next_attempt_at"`
	ExpiresAt     *time.Time `json:"expires_at"`
}

// Health counts what Unwell lists.
type Health struct {
	NoAttempt int `json:"no_attempt"`
	Failing   int `json:"failing"`
	Ending    int `json:"ending"`
}

// unattempted is the condition for services of the live world of which something has been due for a while without
// having been tried ($1): by their next step, or by their dates where that was lost. Each part has its index.
var unattempted = []string{
	`step_at IS NOT NULL AND step_at < $1`,
	`step_at IS NULL AND status IN ('active', 'past_due', 'suspended') AND (status <> 'suspended' OR terminates_at IS NOT NULL)
		AND COALESCE(CASE status WHEN 'active' THEN expires_at WHEN 'past_due' THEN grace_until ELSE terminates_at END, 0) < $1`,
	`status = 'active' AND expires_at < $1 AND step_at >= $1`,
}

const failing = `renewal_failure IS NOT NULL AND status IN ('active', 'past_due', 'suspended')`

// endingSince is when a service that is terminating began to.
const endingSince = `COALESCE((SELECT MAX(h.created_at) FROM services_history h WHERE h.service_id = services.id AND h.status = 'terminating'), created_at)`

const longEnding = `status = 'terminating' AND ` + endingSince + ` < $1`

// Health counts the services that are due without an attempt for longer than by, those whose renewal fails, and those whose
// end takes longer than by.
func (s *Service) Health(ctx context.Context, by time.Duration) (h Health, err error) {
	before := s.Clock.Now().Add(-by)
	for _, condition := range unattempted {
		var n int
		if err := s.DB.QueryRow(ctx, `SELECT count(*) FROM services WHERE NOT sandbox AND `+condition, before).Scan(&n); err != nil {
			return h, fmt.Errorf("services: health: %w", err)
		}
		h.NoAttempt += n
	}
	err = s.DB.QueryRow(ctx, `SELECT count(*) FROM services WHERE NOT sandbox AND `+failing).Scan(&h.Failing)
	if err == nil {
		err = s.DB.QueryRow(ctx, `SELECT count(*) FROM services WHERE NOT sandbox AND `+longEnding, before).Scan(&h.Ending)
	}
	return h, err
}

// Unwell lists them, first those without an attempt, each kind the oldest first. Steps are looked at every minute, so what
// has been due for ten was forgotten by a broken queue, by a job that goes on failing, or by us.
func (s *Service) Unwell(ctx context.Context, by time.Duration, p page.Params) ([]Unwell, error) {
	const columns = `SELECT id, account_id, domain, status, renewal_failure, next_renewal_attempt_at, expires_at, `
	query := ``
	for _, condition := range unattempted {
		query += columns + `1 AS kind, COALESCE(step_at, expires_at) AS since FROM services WHERE NOT sandbox AND ` + condition + ` UNION ALL `
	}
	query += columns + `2 AS kind, renewal_failed_at AS since FROM services WHERE NOT sandbox AND ` + failing + ` UNION ALL `
	query += columns + `3 AS kind, ` + endingSince + ` AS since FROM services WHERE NOT sandbox AND ` + longEnding + `
		ORDER BY kind, since, id LIMIT $2 OFFSET $3`
	all, err := db.Collect(ctx, s.DB, func(row db.Row) (u Unwell, err error) {
		var kind int
		err = row.Scan(&u.ServiceID, &u.AccountID, &u.Domain, &u.Status, &u.FailureKey, &u.NextAttemptAt, &u.ExpiresAt, &kind, &u.Since)
		u.Problem = problems[kind]
		return u, err
	}, query, s.Clock.Now().Add(-by), p.Limit(), p.Offset())
	if all == nil {
		all = []Unwell{} // a list for programs, also when it is empty
	}
	return all, err
}
