package credentials

import (
	"context"
	"errors"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

const columns = `id, account_id, service_id, kind, subject_id, label, made_at, revealed_at`

func scan(row db.Row) (c Credential, err error) {
	err = row.Scan(&c.ID, &c.AccountID, &c.ServiceID, &c.Kind, &c.SubjectID, &c.Label, &c.MadeAt, &c.RevealedAt)
	return c, err
}

func found[T any](v T, err error) (T, error) {
	if errors.Is(err, db.ErrNoRows) {
		return v, fault.NotFound.New()
	}
	return v, err
}

func ofService(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]Credential, error) {
	return db.Collect(ctx, q, scan, `SELECT `+columns+` FROM credentials WHERE service_id = $1 AND account_id = $2 ORDER BY id`,
		serviceID, accountID)
}

func getOwn(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (Credential, error) {
	return found(scan(q.QueryRow(ctx, `SELECT `+columns+` FROM credentials WHERE id = $1 AND service_id = $2 AND account_id = $3`,
		id, serviceID, accountID)))
}

// insert makes the row with a place for the password. What is there already for the subject stays.
func insert(ctx context.Context, tx *db.Tx, c Credential) (id int64, made bool, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO credentials (account_id, service_id, kind, subject_id, label, sealed, version, made_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, '', $7, $7) ON CONFLICT (kind, subject_id) DO NOTHING RETURNING id`,
		c.AccountID, c.ServiceID, c.Kind, c.SubjectID, c.Label, []byte{}, tx.Now).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, false, nil
	}
	return id, err == nil, err
}

// sealed is a password as it is stored: encrypted.
type sealed struct {
	id      int64
	version string
	box     []byte
}

func setPassword(ctx context.Context, tx *db.Tx, s sealed) error {
	_, err := tx.Exec(ctx, `UPDATE credentials SET sealed = $1, version = $2, made_at = $3, revealed_at = NULL WHERE id = $4`,
		s.box, s.version, tx.Now, s.id)
	return err
}

func scanSealed(row db.Row) (s sealed, err error) {
	err = row.Scan(&s.id, &s.version, &s.box)
	return s, err
}

func ofSubject(ctx context.Context, q db.Querier, kind Kind, subjectID int64) (sealed, error) {
	return found(scanSealed(q.QueryRow(ctx, `SELECT id, version, sealed FROM credentials WHERE kind = $1 AND subject_id = $2`, kind, subjectID)))
}

// takeRevealed answers the password that nobody has seen yet, and notes that somebody has: of two who ask at
// once one gets it, the other fault.NotFound.
func takeRevealed(ctx context.Context, tx *db.Tx, accountID, serviceID, id int64) (sealed, error) {
	return found(scanSealed(tx.QueryRow(ctx, `UPDATE credentials SET revealed_at = $1
		WHERE id = $2 AND service_id = $3 AND account_id = $4 AND revealed_at IS NULL RETURNING id, version, sealed`,
		tx.Now, id, serviceID, accountID)))
}

func remove(ctx context.Context, tx *db.Tx, kind Kind, subjectID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM credentials WHERE kind = $1 AND subject_id = $2`, kind, subjectID)
	return err
}
