package reviews

import (
	"context"
	"errors"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

var reviewRows = db.Map(func(r *Review) db.Fields {
	return db.Fields{
		"id": &r.ID, "COALESCE(account_id, 0)": &r.AccountID, "author": &r.Author, "rating": &r.Rating, "title": &r.Title,
		"body": &r.Body, "locale": &r.Locale, "product": &r.Product, "sample": &r.Sample, "status": &r.Status,
		"version": &r.Version, "reason": &r.Reason, "created_at": &r.CreatedAt, "updated_at": &r.UpdatedAt,
		"decided_at": &r.DecidedAt,
	}
})

// ofAccount reads an account's review, or returns fault.NotFound.
func ofAccount(ctx context.Context, q db.Querier, accountID int64) (Review, error) {
	r, err := reviewRows.Scan(q.QueryRow(ctx, `SELECT `+reviewRows.Columns()+` FROM reviews WHERE account_id = $1`, accountID))
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return r, err
}

// find reads a review for operators.
func find(ctx context.Context, q db.Querier, id int64) (Review, error) {
	r, err := reviewRows.Scan(q.QueryRow(ctx, `SELECT `+reviewRows.Columns()+` FROM reviews WHERE id = $1`, id))
	if errors.Is(err, db.ErrNoRows) {
		err = errUnknown
	}
	return r, err
}

// insert reports whether it made the review: an account that has one keeps it.
func insert(ctx context.Context, tx *db.Tx, r Review) (bool, error) {
	var account *int64
	if r.AccountID != 0 {
		account = &r.AccountID
	}
	n, err := tx.Exec(ctx, `INSERT INTO reviews (account_id, author, rating, title, body, locale, product, sample, status, version, reason,
			created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, '', $10, $10) ON CONFLICT (account_id) DO NOTHING`,
		account, r.Author, r.Rating, r.Title, r.Body, r.Locale, r.Product, r.Sample, r.Status, tx.Now)
	return n == 1, err
}

// update gives a review another text, which staff have not read yet.
func update(ctx context.Context, tx *db.Tx, accountID int64, t Text) error {
	_, err := tx.Exec(ctx, `UPDATE reviews SET author = $1, rating = $2, title = $3, body = $4, locale = $5, status = $6, version = version + 1,
			reason = '', updated_at = $7, decided_at = NULL WHERE account_id = $8`,
		t.Author, t.Rating, t.Title, t.Body, t.Locale, Pending, tx.Now, accountID)
	return err
}

func remove(ctx context.Context, tx *db.Tx, accountID int64) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM reviews WHERE account_id = $1`, accountID)
}

// decide reports whether the review has that version.
func decide(ctx context.Context, tx *db.Tx, d Decision, status Status) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE reviews SET status = $1, reason = $2, decided_at = $3 WHERE id = $4 AND version = $5`,
		status, d.Reason, tx.Now, d.ID, d.Version)
	return n == 1, err
}

func list(ctx context.Context, q db.Querier, status Status, p page.Params) ([]Review, error) {
	return db.Collect(ctx, q, reviewRows.Scan, `SELECT `+reviewRows.Columns()+` FROM reviews WHERE status = $1 ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3`,
		status, p.Limit(), p.Offset())
}

func count(ctx context.Context, q db.Querier, status Status) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM reviews WHERE status = $1`, status).Scan(&n)
	return n, err
}

// rate sums up what is approved, with samples or without.
func rate(ctx context.Context, q db.Querier, samples bool) (r Rating, err error) {
	type share struct{ stars, count int }
	shares, err := db.Collect(ctx, q, func(row db.Row) (s share, err error) {
		err = row.Scan(&s.stars, &s.count)
		return s, err
	}, `SELECT rating, count(*) FROM reviews WHERE status = $1 AND sample IN (FALSE, $2) GROUP BY rating`, Approved, samples)
	for _, s := range shares {
		r.Distribution[s.stars-1] = s.count
		r.Count += s.count
		r.Sum += s.stars * s.count
	}
	return r, err
}

func hasSamples(ctx context.Context, q db.Querier) (there bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM reviews WHERE sample)`).Scan(&there)
	return there, err
}
