package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// approvalStatus is what became of a question.
type approvalStatus string

const (
	approvalPending   approvalStatus = "pending"
	approvalApproved  approvalStatus = "approved"
	approvalRejected  approvalStatus = "rejected"
	approvalWithdrawn approvalStatus = "withdrawn" // the run is over, or the files are not as they were
	approvalExpired   approvalStatus = "expired"
)

// approval is a row of ai_approvals: a question to a person, which only exactly what it shows answers.
type approval struct {
	id, accountID, serviceID, runID, callID int64
	hash, tool                              string
	changes                                 []proposal
	status                                  approvalStatus
	reason                                  *string
	expiresAt, createdAt                    time.Time
	decidedAt                               *time.Time
}

// proposal is a change that was not made yet, as people see it.
type proposal struct {
	Path   string `json:"path"`
	ToPath string `json:"to_path,omitempty"`
	Action string `json:"action"`
	Diff   string `json:"diff"`
}

// approvalTime is how long a run waits for a person.
const approvalTime = 24 * time.Hour

// hashOfPlan names a call with exactly what it changes, from what to what.
func hashOfPlan(c call, p plan) string {
	h := sha256.New()
	e := json.NewEncoder(h)
	_ = e.Encode([]string{c.tool, c.arguments}) // into a hash, of strings
	for _, ch := range p.changes {
		_ = e.Encode([]string{string(ch.kind), ch.path, ch.toPath, ch.before, ch.after})
	}
	return hex.EncodeToString(h.Sum(nil))
}

func proposals(p plan) []proposal {
	all := make([]proposal, len(p.changes))
	for i, c := range p.changes {
		all[i] = proposal{Path: c.path, ToPath: c.toPath, Action: string(c.kind), Diff: c.diff}
	}
	return all
}

// decision is what a person answers.
type decision struct {
	approve bool
	// rest approves what else the run changes too, but for what asks in every mode (policy.go).
	rest   bool
	reason *string
}

// decide answers a question for the customer. The run goes on with it.
func (s *Service) decide(ctx context.Context, accountID, serviceID, id int64, d decision) (a approval, err error) {
	if d.rest && !d.approve {
		return a, fault.Invalid("rest", "ai_rest")
	}
	reason := d.reason
	if reason != nil {
		text, err := s.withoutSecrets(ctx, accountID, serviceID, *reason)
		if err != nil {
			return a, err
		}
		reason = &text
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		a, err = approvalOf(ctx, tx, accountID, serviceID, id)
		if err != nil {
			return orNotFound(err)
		}
		r, err := lockRunOf(ctx, tx, accountID, serviceID, a.runID)
		if err != nil {
			return err
		}
		// Who decided at the same moment was faster: the run's lock shows it.
		if a, err = approvalOf(ctx, tx, accountID, serviceID, id); err != nil {
			return err
		}
		if a.status != approvalPending || r.status != Waiting || !tx.Now.Before(a.expiresAt) {
			return errDecided.New()
		}
		a.status, a.decidedAt, a.reason = approvalRejected, &tx.Now, reason
		if d.approve {
			a.status = approvalApproved
		}
		if d.rest {
			r.terms.Mode = Autopilot
			if err := putTerms(ctx, tx, r); err != nil {
				return err
			}
		}
		if err := putApproval(ctx, tx, a); err != nil {
			return err
		}
		if err := s.tell(ctx, tx, &r, "approval.decided", map[string]any{"approval": a.id, "approved": d.approve, "rest": d.rest}); err != nil {
			return err
		}
		c, err := callOf(ctx, tx, a.callID)
		if err != nil {
			return err
		}
		if d.approve {
			c.status = callPending
			err = putCall(ctx, tx, c)
		} else {
			err = s.answerCall(ctx, tx, &r, c, rejection(reason))
		}
		if err != nil {
			return err
		}
		r.status, r.leaseUntil = Queued, tx.Now
		if err := setTalk(ctx, tx, *r.conversationID, TalkRuns); err != nil {
			return err
		}
		return s.wake(ctx, tx, &r)
	})
	return a, err
}

// rejection is what the model is told of a person's no.
func rejection(reason *string) outcome {
	detail := "the customer does not want it; do not try it again in another way"
	if reason != nil {
		detail += ". They say: " + *reason
	}
	o := outcomeOf(&refusal{key: "rejected", detail: detail})
	o.status = callRejected
	return o
}

// expire ends runs that waited for too long; a periodic job calls it.
func (s *Service) expire(ctx context.Context) error {
	ids, err := expiredRuns(ctx, s.DB, s.Clock.Now(), mostClean)
	for _, id := range ids {
		err = errors.Join(err, s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			r, err := lockRun(ctx, tx, id)
			if err != nil || r.status != Waiting {
				return err
			}
			return s.finish(ctx, tx, &r, ApprovalExpired)
		}))
	}
	return err
}

// approvals answers a page of the questions about a service, the newest first, and the number of all.
func (s *Service) approvals(ctx context.Context, accountID, serviceID int64, pending bool, p page.Params) ([]approval, int, error) {
	if _, err := s.Services.Site(ctx, s.DB, accountID, serviceID); err != nil {
		return nil, 0, err
	}
	rows, err := approvalsOf(ctx, s.DB, accountID, serviceID, pending, p)
	if err != nil {
		return nil, 0, err
	}
	total, err := countApprovals(ctx, s.DB, accountID, serviceID, pending)
	return rows, total, err
}

var approvalRows = db.Map(func(a *approval) db.Fields {
	return db.Fields{
		"id": &a.id, "account_id": &a.accountID, "service_id": &a.serviceID, "run_id": &a.runID, "call_id": &a.callID, "hash": &a.hash,
		"tool": &a.tool, "changes": db.JSON(&a.changes), "status": &a.status, "reason": &a.reason, "expires_at": &a.expiresAt,
		"created_at": &a.createdAt, "decided_at": &a.decidedAt,
	}
})

func insertApproval(ctx context.Context, tx *db.Tx, a approval) (id int64, err error) {
	changes, err := json.Marshal(a.changes)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO ai_approvals (account_id, service_id, run_id, call_id, hash, tool, changes, status, expires_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9) RETURNING id`,
		a.accountID, a.serviceID, a.runID, a.callID, a.hash, a.tool, string(changes), a.expiresAt, tx.Now).Scan(&id)
	return id, err
}

func putApproval(ctx context.Context, tx *db.Tx, a approval) error {
	_, err := tx.Exec(ctx, `UPDATE ai_approvals SET status = $1, reason = $2, decided_at = $3 WHERE id = $4`, a.status, a.reason, a.decidedAt, a.id)
	return err
}

// withdraw takes back the open question of a run.
func withdraw(ctx context.Context, tx *db.Tx, runID int64, reason Reason) error {
	status := approvalWithdrawn
	if reason == ApprovalExpired {
		status = approvalExpired
	}
	_, err := tx.Exec(ctx, `UPDATE ai_approvals SET status = $1, decided_at = $2 WHERE run_id = $3 AND status = 'pending'`, status, tx.Now, runID)
	return err
}

func approvalOf(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (approval, error) {
	return approvalRows.Scan(q.QueryRow(ctx, `SELECT `+approvalRows.Columns()+` FROM ai_approvals WHERE id = $1 AND service_id = $2 AND account_id = $3`, id, serviceID, accountID))
}

// lastApproval is the last question about a call; db.ErrNoRows without one.
func lastApproval(ctx context.Context, q db.Querier, callID int64) (approval, error) {
	return approvalRows.Scan(q.QueryRow(ctx, `SELECT `+approvalRows.Columns()+` FROM ai_approvals WHERE call_id = $1 ORDER BY id DESC LIMIT 1`, callID))
}

func approvalsOf(ctx context.Context, q db.Querier, accountID, serviceID int64, pending bool, p page.Params) ([]approval, error) {
	return db.Collect(ctx, q, approvalRows.Scan, `SELECT `+approvalRows.Columns()+` FROM ai_approvals
		WHERE service_id = $1 AND account_id = $2 AND (NOT $3 OR status = 'pending') ORDER BY id DESC LIMIT $4 OFFSET $5`,
		serviceID, accountID, pending, p.Limit(), p.Offset())
}

func countApprovals(ctx context.Context, q db.Querier, accountID, serviceID int64, pending bool) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM ai_approvals WHERE service_id = $1 AND account_id = $2 AND (NOT $3 OR status = 'pending')`,
		serviceID, accountID, pending).Scan(&n)
	return n, err
}
