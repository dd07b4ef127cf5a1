package reseller

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// callsKept is how long calls are kept.
const callsKept = 400 * 24 * time.Hour

// Began implements api.Trail.
func (s *Service) Began(ctx context.Context, c api.Call) (id int64, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return tx.QueryRow(ctx, `INSERT INTO reseller_calls (account_id, key_id, operation, method, path, request_id, address, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`, c.Principal.AccountID, sql.NullInt64{Int64: c.Principal.KeyID, Valid: c.Principal.KeyID != 0}, c.Operation, c.Method, c.Path,
			c.RequestID, c.From.String(), tx.Now).Scan(&id)
	})
	return id, err
}

// Ended implements api.Trail.
func (s *Service) Ended(ctx context.Context, id int64, status int, errorKey string) error {
	var key *string
	if errorKey != "" {
		key = &errorKey
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE reseller_calls SET status = $1, error_key = $2 WHERE id = $3`, status, key, id)
		return err
	})
}

type auditIn struct {
	page.Params
	KeyID int64  `query:"key_id" minimum:"1" doc:"Only what was done with this key"`
	From  string `query:"from" format:"date-time" doc:"Only what was done at this time or later"`
	To    string `query:"to" format:"date-time" doc:"Only what was done before this time"`
}

// callWire is a recorded call.
type callWire struct {
	ID        int64     `json:"id"`
	KeyID     *int64    `json:"key_id" doc:"Null when it was done in the panel, by the reseller"`
	KeyName   string    `json:"key_name" doc:"Empty when it was done in the panel"`
	Operation string    `json:"operation" doc:"The operationId of the OpenAPI document"`
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	Status    *int      `json:"status" doc:"Of the answer; null while the request runs, and of one that was cut off"`
	ErrorKey  *string   `json:"error_key" doc:"Why it was refused"`
	Address   string    `json:"address" doc:"Where it came from"`
	RequestID string    `json:"request_id" doc:"The answer's X-Request-Id"`
	CreatedAt time.Time `json:"created_at"`
}

// trailOperations list the recorded calls (specification, section "Reseller").
func (s *Service) trailOperations() []api.Route {
	return []api.Route{
		api.Operation[auditIn, page.List[callWire]]{
			ID: "reseller.audit_log", Method: http.MethodGet, Path: "/api/v1/reseller/audit-log", Section: api.Reseller, Auth: api.Key,
			Summary: "List what each of your keys did, and you in the panel, the newest first",
			Description: "Requests that change something, also those that were refused for what they asked; kept for 400 days. `key_id` is null " +
				"where you did it in the panel.",
			Handle: s.auditOperation,
		},
	}
}

func (s *Service) auditOperation(ctx context.Context, p auth.Principal, in *auditIn) (*page.List[callWire], error) {
	f := callFilter{accountID: p.AccountID, keyID: in.KeyID}
	for _, t := range []struct {
		name, text string
		to         **time.Time
	}{{"from", in.From, &f.from}, {"to", in.To, &f.to}} {
		if t.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, t.text)
		if err != nil {
			return nil, fault.Invalid(t.name, "expected_date_time")
		}
		*t.to = &at
	}
	rows, total, err := listCalls(ctx, s.DB, f, in.Params)
	return page.Of(in.Params, total, rows), err
}

// callFilter selects the calls of a list; an empty member selects all.
type callFilter struct {
	accountID, keyID int64
	from, to         *time.Time
}

func (f callFilter) where() (string, []any) {
	where, args := `c.account_id = $1`, []any{f.accountID}
	and := func(condition string, arg any) {
		args = append(args, arg)
		where += fmt.Sprintf(" AND "+condition, len(args))
	}
	if f.keyID != 0 {
		and(`c.key_id = $%d`, f.keyID)
	}
	if f.from != nil {
		and(`c.created_at >= $%d`, *f.from)
	}
	if f.to != nil {
		and(`c.created_at < $%d`, *f.to)
	}
	return where, args
}

var callRows = db.Map(func(c *callWire) db.Fields {
	return db.Fields{
		"c.id": &c.ID, "c.key_id": &c.KeyID, "COALESCE(k.name, '')": &c.KeyName, "c.operation": &c.Operation, "c.method": &c.Method, "c.path": &c.Path,
		"c.status": &c.Status, "c.error_key": &c.ErrorKey, "c.address": &c.Address, "c.request_id": &c.RequestID, "c.created_at": &c.CreatedAt,
	}
})

func listCalls(ctx context.Context, q db.Querier, f callFilter, p page.Params) (rows []callWire, total int, err error) {
	where, args := f.where()
	if err := q.QueryRow(ctx, `SELECT COUNT(*) FROM reseller_calls c WHERE `+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	n := len(args)
	query := fmt.Sprintf(`SELECT %s FROM reseller_calls c LEFT JOIN reseller_keys k ON k.id = c.key_id WHERE %s ORDER BY c.id DESC LIMIT $%d OFFSET $%d`,
		callRows.Columns(), where, n+1, n+2)
	rows, err = db.Collect(ctx, q, callRows.Scan, query, append(args, p.Limit(), p.Offset())...)
	return rows, total, err
}

// Clean deletes old calls, and links that are no longer valid. A periodic job calls it.
func (s *Service) Clean(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM reseller_calls WHERE created_at < $1`, tx.Now.Add(-callsKept)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM reseller_links WHERE created_at < $1`, tx.Now.Add(-linkLife-visitLife))
		return err
	})
}
