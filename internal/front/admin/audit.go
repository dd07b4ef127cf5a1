package admin

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/identity/audit"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// becauseKey is the key of the reason in contexts.
type becauseKey struct{}

// Because returns a context whose changes bear a reason in the audit log, for use cases that need none themselves.
func Because(ctx context.Context, reason string) context.Context {
	return context.WithValue(ctx, becauseKey{}, strings.TrimSpace(reason))
}

// change returns a context whose transactions are recorded in the audit log.
func (a *Admin) change(ctx context.Context, action, reason string, s subject) context.Context {
	if because, _ := ctx.Value(becauseKey{}).(string); reason == "" {
		reason = because
	} else if because != "" {
		reason += ": " + because
	}
	return a.Audit.Change(ctx, s.change(action, reason))
}

// record makes a change in an open transaction and records it in the audit log.
func (a *Admin) record(ctx context.Context, tx *db.Tx, action, reason string, s subject, f func() error) error {
	return a.Audit.Record(ctx, tx, s.change(action, reason), f)
}

// subject is what a use case changes.
type subject struct {
	kind, key string
	account   int64
	state     audit.State
	created   audit.State
}

func (s subject) change(action, reason string) audit.Change {
	return audit.Change{
		Action: action, Kind: s.kind, Subject: s.key, AccountID: s.account, Reason: reason, State: s.state, Created: s.created,
	}
}

// of names the customer to whom the subject belongs.
func (s subject) of(account int64) subject {
	s.account = account
	return s
}

// rowOf is a row of a table as a subject. Its state is the named columns, of which those that end in _at are times.
func rowOf(kind, table, columns, keyColumn string, key any) subject {
	s := subject{kind: kind, state: columnsOf(table, columns, keyColumn+" = $1", key)}
	switch k := key.(type) {
	case int64:
		s.key = strconv.FormatInt(k, 10)
	case string:
		s.key = k
	}
	return s
}

// newRowOf is the row of a table that a use case adds, as a subject.
func newRowOf(kind, table, columns string) subject {
	s := subject{kind: kind, state: columnsOf(table, columns, "id = (SELECT MAX(id) FROM "+table+")")}
	s.created = func(ctx context.Context, q db.Querier) (any, error) {
		var id int64
		err := q.QueryRow(ctx, "SELECT COALESCE(MAX(id), 0) FROM "+table).Scan(&id)
		return id, err
	}
	return s
}

// columnsOf reads columns of one row by their names.
func columnsOf(table, columns, where string, args ...any) audit.State {
	names := strings.Split(columns, ", ")
	query := "SELECT " + columns + " FROM " + table + " WHERE " + where
	return func(ctx context.Context, q db.Querier) (any, error) {
		dest := make([]any, len(names))
		for i, n := range names {
			if strings.HasSuffix(n, "_at") {
				dest[i] = new(*time.Time)
			} else {
				dest[i] = new(any)
			}
		}
		err := q.QueryRow(ctx, query, args...).Scan(dest...)
		if errors.Is(err, db.ErrNoRows) {
			return nil, fault.NotFound.New()
		}
		row := map[string]any{}
		for i, n := range names {
			row[n] = dest[i]
		}
		return row, err
	}
}

// accountSubject is an account. Its state names nobody: the audit log keeps no address and no name.
func accountSubject(id int64) subject {
	return rowOf("account", "account_users",
		"role, locale, currency, email_verified_at, suspended_at, suspend_reason, password_changed_at, closed_at", "id", id).of(id)
}

// twoFactorOf is an account with its second factor.
func twoFactorOf(id int64) subject {
	return rowOf("account", "account_users", "(SELECT MAX(t.confirmed_at) FROM account_totp t WHERE t.account_id = account_users.id) AS second_factor_at", "id", id).of(id)
}

// walletOf is the wallet of an account.
func (a *Admin) walletOf(id int64) subject {
	return subject{kind: "wallet", key: strconv.FormatInt(id, 10), account: id, state: func(ctx context.Context, q db.Querier) (any, error) {
		b, err := a.Wallet.Balance(ctx, q, id)
		return Balance{Account: id, Balance: b.Spendable, Held: b.Held, Debt: b.Debt}, err
	}}
}

// serviceSubject is a service.
func serviceSubject(id int64) subject {
	return rowOf("service", "services",
		"account_id, status, suspend_reason, suspend_note, plan_slug, panel, expires_at, terminates_at, failure_key", "id", id)
}

// mayChangeStaff refuses a change of an account of staff by somebody who is no owner, and any change of one's own account: an
// owner can neither be locked out by others nor by a mistake. Commands may: whoever runs them owns the machine.
func mayChangeStaff(ctx context.Context, u User) error {
	actor := auth.ActorOf(ctx)
	switch {
	case actor.AccountID == 0:
		return nil
	case actor.AccountID == u.ID:
		return errOwnAccount.New()
	case u.Role != "" && actor.Role != auth.Owner:
		return fault.RoleRequired.With(fault.Fields{"roles": []auth.Role{auth.Owner}})
	}
	return nil
}

// textOf is a state that is a file.
func textOf(export func(ctx context.Context, q db.Querier) ([]byte, error)) audit.State {
	return func(ctx context.Context, q db.Querier) (any, error) {
		text, err := export(ctx, q)
		return string(text), err
	}
}

// AuditLog lists at most limit entries of the audit log that match, the newest first, which are older than the entry before.
func (a *Admin) AuditLog(ctx context.Context, f audit.Filter, before int64, limit int) ([]audit.Shown, error) {
	found, err := a.Audit.List(ctx, f, before, limit)
	all := make([]audit.Shown, len(found))
	for i, e := range found {
		all[i] = audit.Show(e)
	}
	return all, err
}
