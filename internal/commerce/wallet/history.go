package wallet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// filterTypes are the types by which customers filter: of all movements but the company's side of charges, and expiry (resources,
// section 4), which no movement has because no balance expires.
var filterTypes = []Type{
	TypeTopup, TypeCharge, TypeRefund, TypeAdjustment, TypeBonus, TypeSLACredit, TypeReferralReward, TypeChargeback, TypeReversal,
	TypeRepayment, "expiry",
}

// Filter chooses movements of a customer's history; the zero one chooses all.
type Filter struct {
	Types []Type // none: all
	// ClientRef is a reseller's tag; empty: any, and none.
	ClientRef string
	// From is the first moment, To the first one after; zero: without end.
	From, To time.Time
}

// newFilter reads a filter as clients write it.
func newFilter(types []string, clientRef, from, to string) (Filter, error) {
	f := Filter{ClientRef: clientRef}
	for _, t := range types {
		if !slices.Contains(filterTypes, Type(t)) {
			return f, fault.Invalid("type", "transaction_type")
		}
		f.Types = append(f.Types, Type(t))
	}
	var err error
	if f.From, err = moment("from", from); err != nil {
		return f, err
	}
	f.To, err = moment("to", to)
	return f, err
}

// moment reads a date-time, or the beginning of a day in UTC.
func moment(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil && t.Year() >= 1970 && t.Year() < 10_000 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fault.Invalid(field, "moment")
}

// where is the condition of the filter on an account's transactions.
func (f Filter) where(accountID int64) (condition string, args []any) {
	args = []any{accountID}
	var b strings.Builder
	b.WriteString(`account_id = $1 AND type <> 'capture'`)
	and := func(format string, values ...any) {
		numbers := make([]any, len(values))
		for i, v := range values {
			args = append(args, v)
			numbers[i] = len(args)
		}
		fmt.Fprintf(&b, " AND "+format, numbers...)
	}
	if len(f.Types) > 0 {
		values := make([]any, len(f.Types))
		for i, t := range f.Types {
			values[i] = string(t)
		}
		and("type IN ("+strings.TrimSuffix(strings.Repeat("$%d, ", len(values)), ", ")+")", values...)
	}
	if f.ClientRef != "" {
		and("client_ref = $%d", f.ClientRef)
	}
	if !f.From.IsZero() {
		and("created_at >= $%d", f.From)
	}
	if !f.To.IsZero() {
		and("created_at < $%d", f.To)
	}
	return b.String(), args
}

const transactionColumns = `id, type, amount, balance_after, description, reference_type, reference_id, created_at, client_ref`

func scanTransaction(r db.Row) (t transaction, err error) {
	var typ string
	err = r.Scan(&t.ID, &typ, &t.Amount, &t.BalanceAfter, &t.Description, &t.Reference.Type, &t.Reference.ID, &t.CreatedAt, &t.ClientRef)
	t.Type = Type(typ)
	return t, err
}

// chosen reads a page of the movements that the filter chooses, newest first.
func chosen(ctx context.Context, q db.Querier, accountID int64, f Filter, limit, offset int) ([]transaction, error) {
	where, args := f.where(accountID)
	return db.Collect(ctx, q, scanTransaction, fmt.Sprintf(`SELECT %s FROM wallet_transactions WHERE %s ORDER BY id DESC LIMIT $%d OFFSET $%d`,
		transactionColumns, where, len(args)+1, len(args)+2), append(args, limit, offset)...)
}

func countChosen(ctx context.Context, q db.Querier, accountID int64, f Filter) (n int, err error) {
	where, args := f.where(accountID)
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM wallet_transactions WHERE `+where, args...).Scan(&n)
	return n, err
}

// following reads the movements that the filter chooses after one of them, oldest first.
func following(ctx context.Context, q db.Querier, accountID int64, f Filter, after int64, limit int) ([]transaction, error) {
	where, args := f.where(accountID)
	return db.Collect(ctx, q, scanTransaction, fmt.Sprintf(`SELECT %s FROM wallet_transactions WHERE %s AND id > $%d ORDER BY id LIMIT $%d`,
		transactionColumns, where, len(args)+1, len(args)+2), append(args, after, limit)...)
}

// statement is what happened to a customer's balance in a month of UTC.
type statement struct {
	Month string // as in 2026-11
	// From is the first moment of the month, To that of the next one.
	From, To         time.Time
	Opening, Closing money.USDCents
	// Incoming and Outgoing are the sums of what came and of what went (negative).
	Incoming, Outgoing money.USDCents
}

func monthOf(text string) (from, to time.Time, err error) {
	from, err = time.Parse("2006-01", text)
	to = from.AddDate(0, 1, 0)
	if err != nil || from.Year() < 1970 || to.Year() >= 10_000 { // which no date-time can name
		return from, to, fault.Invalid("month", "month")
	}
	return from, to, nil
}

// statementOf sums a month. The opening balance is the sum of all that was before, so
// that statements of months that follow one another join.
func statementOf(ctx context.Context, q db.Querier, accountID int64, month string) (s statement, err error) {
	s.Month = month
	if s.From, s.To, err = monthOf(month); err != nil {
		return s, err
	}
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(CASE WHEN created_at < $2 THEN amount ELSE 0 END), 0) AS BIGINT),
			CAST(COALESCE(SUM(CASE WHEN created_at >= $2 AND amount > 0 THEN amount ELSE 0 END), 0) AS BIGINT),
			CAST(COALESCE(SUM(CASE WHEN created_at >= $2 AND amount < 0 THEN amount ELSE 0 END), 0) AS BIGINT)
		FROM wallet_transactions WHERE account_id = $1 AND type <> 'capture' AND created_at < $3`, accountID, s.From, s.To).
		Scan(&s.Opening, &s.Incoming, &s.Outgoing)
	if err != nil {
		return s, fmt.Errorf("wallet: sum %s of %d: %w", month, accountID, err)
	}
	s.Closing, err = money.Sum(s.Opening, s.Incoming, s.Outgoing)
	return s, err
}
