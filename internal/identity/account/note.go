package account

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// Note is what staff have written about a customer.
type Note struct {
	ID        int64
	AuthorID  int64
	Text      string
	CreatedAt time.Time
}

// maxNote bounds a note, in bytes.
const maxNote = 10_000

// Notes lists what staff have written about the account, the newest first.
func (s *Service) Notes(ctx context.Context, accountID int64) ([]Note, error) {
	return notes(ctx, s.DB, accountID)
}

// AddNote writes a note about the account.
func (s *Service) AddNote(ctx context.Context, accountID, author int64, text string) (n Note, err error) {
	if text == "" {
		return n, fault.Invalid("text", "required")
	}
	if len(text) > maxNote {
		return n, fault.InvalidData("text", "max_length", map[string]any{"Value": maxNote})
	}
	n = Note{AuthorID: author, Text: text}
	err = s.change(ctx, accountID, func(ctx context.Context, tx *db.Tx) error {
		n.CreatedAt = tx.Now
		n.ID, err = insertNote(ctx, tx, accountID, n)
		return err
	})
	return n, err
}

// RemoveNote removes a note about the account.
func (s *Service) RemoveNote(ctx context.Context, accountID, id int64) error {
	return s.change(ctx, accountID, func(ctx context.Context, tx *db.Tx) error { return deleteNote(ctx, tx, accountID, id) })
}

func notes(ctx context.Context, q db.Querier, account int64) ([]Note, error) {
	return db.Collect(ctx, q, func(r db.Row) (n Note, err error) {
		err = r.Scan(&n.ID, &n.AuthorID, &n.Text, &n.CreatedAt)
		return n, err
	}, `SELECT id, author_id, text, created_at FROM account_notes WHERE account_id = $1 ORDER BY id DESC`, account)
}

func insertNote(ctx context.Context, tx *db.Tx, account int64, n Note) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO account_notes (account_id, author_id, text, created_at) VALUES ($1, $2, $3, $4) RETURNING id`,
		account, n.AuthorID, n.Text, n.CreatedAt).Scan(&id)
	return id, err
}

func deleteNote(ctx context.Context, tx *db.Tx, account, id int64) error {
	n, err := tx.Exec(ctx, `DELETE FROM account_notes WHERE account_id = $1 AND id = $2`, account, id)
	if err == nil && n == 0 {
		err = fault.NotFound.New()
	}
	return err
}
