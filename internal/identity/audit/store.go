package audit

import (
	"context"
	"math"
	"strconv"
	"time"

	"stead.dev/stead/internal/platform/db"
)

func insert(ctx context.Context, tx *db.Tx, e Entry) error {
	_, err := tx.Exec(ctx, `INSERT INTO audit_entries (at, actor_id, actor_role, actor_name, via, address, request_id, action, subject_kind,
			subject, account_id, reason, before_state, after_state)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		e.At, db.OrNull(e.Actor.AccountID), e.Actor.Role, e.Actor.Name, e.Actor.Via, e.Actor.Address, e.Actor.RequestID, e.Action, e.Kind,
		e.Subject, db.OrNull(e.AccountID), e.Reason, string(e.Before), string(e.After))
	return err
}

var entryRows = db.Map(func(e *Entry) db.Fields {
	return db.Fields{
		"id": &e.ID, "at": &e.At, "COALESCE(actor_id, 0)": &e.Actor.AccountID, "actor_role": &e.Actor.Role, "actor_name": &e.Actor.Name,
		"via": &e.Actor.Via, "address": &e.Actor.Address, "request_id": &e.Actor.RequestID, "action": &e.Action, "subject_kind": &e.Kind,
		"subject": &e.Subject, "COALESCE(account_id, 0)": &e.AccountID, "reason": &e.Reason, "before_state": db.JSON(&e.Before),
		"after_state": db.JSON(&e.After),
	}
})

func list(ctx context.Context, q db.Querier, f Filter, before int64, limit int) ([]Entry, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	query := `SELECT ` + entryRows.Columns() + ` FROM audit_entries WHERE id < $1`
	args := []any{before}
	where := func(condition string, given bool, value any) {
		if given {
			args = append(args, value)
			query += " AND " + condition + " $" + strconv.Itoa(len(args))
		}
	}
	where("actor_id =", f.ActorID != 0, f.ActorID)
	where("account_id =", f.AccountID != 0, f.AccountID)
	where("action =", f.Action != "", f.Action)
	where("subject_kind =", f.Kind != "", f.Kind)
	where("subject =", f.Subject != "", f.Subject)
	where("via =", f.Via != "", f.Via)
	where("request_id =", f.RequestID != "", f.RequestID)
	where("at >=", !f.From.IsZero(), f.From.UTC().Truncate(time.Microsecond))
	where("at <", !f.To.IsZero(), f.To.UTC().Truncate(time.Microsecond))
	args = append(args, limit)
	return db.Collect(ctx, q, entryRows.Scan, query+` ORDER BY id DESC LIMIT $`+strconv.Itoa(len(args)), args...)
}
