package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

var settingsRows = db.Map(func(s *settings) db.Fields {
	return db.Fields{
		"enabled": &s.enabled, "mode": &s.mode, "allowed_tools": db.JSON(&s.tools), "allowed_paths": db.JSON(&s.allowed),
		"denied_paths": db.JSON(&s.denied), "max_steps": &s.steps, "monthly_budget": &s.budget, "model": &s.model, "language": &s.language,
		"notify_on_insight": &s.notifyOnInsight, "undo_when_broken": &s.undoWhenBroken,
	}
})

// settingsOf reads the settings of an account: the defaults where it has none.
func settingsOf(ctx context.Context, q db.Querier, accountID int64) (settings, error) {
	return orDefaults(settingsRows.Scan(q.QueryRow(ctx, `SELECT `+settingsRows.Columns()+` FROM ai_settings WHERE account_id = $1`, accountID)))
}

// lockSettings is settingsOf; of an account that has settings, nobody else locks them until tx ends.
func lockSettings(ctx context.Context, tx *db.Tx, accountID int64) (settings, error) {
	return orDefaults(settingsRows.Scan(tx.QueryRow(ctx, `SELECT `+settingsRows.Columns()+` FROM ai_settings WHERE account_id = $1`+tx.ForUpdate(), accountID)))
}

func orDefaults(s settings, err error) (settings, error) {
	if errors.Is(err, db.ErrNoRows) {
		return defaults(), nil
	}
	if err != nil {
		return s, fmt.Errorf("runs: read settings: %w", err)
	}
	return s, nil
}

func putSettings(ctx context.Context, tx *db.Tx, accountID int64, s settings) error {
	lists := make([]string, 3)
	for i, l := range [][]string{s.tools, s.allowed, s.denied} {
		b, err := json.Marshal(append([]string{}, l...))
		if err != nil {
			return err
		}
		lists[i] = string(b)
	}
	_, err := tx.Exec(ctx, `INSERT INTO ai_settings (account_id, enabled, mode, allowed_tools, allowed_paths, denied_paths, max_steps, monthly_budget,
			model, language, notify_on_insight, undo_when_broken, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
		ON CONFLICT (account_id) DO UPDATE SET enabled = excluded.enabled, mode = excluded.mode, allowed_tools = excluded.allowed_tools,
			allowed_paths = excluded.allowed_paths, denied_paths = excluded.denied_paths, max_steps = excluded.max_steps,
			monthly_budget = excluded.monthly_budget, model = excluded.model, language = excluded.language,
			notify_on_insight = excluded.notify_on_insight, undo_when_broken = excluded.undo_when_broken, updated_at = excluded.updated_at`,
		accountID, s.enabled, s.mode, lists[0], lists[1], lists[2], s.steps, s.budget, s.model, s.language, s.notifyOnInsight, s.undoWhenBroken,
		tx.Now)
	return err
}

// claimInsight notes that an account is notified of insights now; false when it does not want that, or was since a time.
func claimInsight(ctx context.Context, tx *db.Tx, accountID int64, since time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE ai_settings SET insight_told_at = $1 WHERE account_id = $2 AND notify_on_insight
		AND (insight_told_at IS NULL OR insight_told_at <= $3)`, tx.Now, accountID, since)
	return n == 1, err
}

// spentSince is what the runs of an account cost since a time; what is held for open ones counts as spent.
func spentSince(ctx context.Context, q db.Querier, accountID int64, since time.Time) (sum money.USDCents, err error) {
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(COALESCE(charged, held)), 0) AS BIGINT) FROM ai_runs WHERE account_id = $1 AND created_at >= $2`,
		accountID, since).Scan(&sum)
	return sum, err
}
