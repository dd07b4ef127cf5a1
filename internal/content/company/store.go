package company

import (
	"context"
	"errors"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/mailer"
)

func readSettings(ctx context.Context, q db.Querier) (s brand.Settings, err error) {
	err = q.QueryRow(ctx, `SELECT name, color, support_email, terms_url, privacy_url, imprint_url FROM company_settings`).
		Scan(&s.Name, &s.Color, &s.Support, &s.Terms, &s.Privacy, &s.Imprint)
	if errors.Is(err, db.ErrNoRows) {
		err = nil
	}
	return s, err
}

func saveSettings(ctx context.Context, tx *db.Tx, s brand.Settings) error {
	_, err := tx.Exec(ctx, `INSERT INTO company_settings (id, name, color, support_email, terms_url, privacy_url, imprint_url, updated_at)
		VALUES (1, $1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, color = excluded.color, support_email = excluded.support_email,
			terms_url = excluded.terms_url, privacy_url = excluded.privacy_url, imprint_url = excluded.imprint_url, updated_at = excluded.updated_at`,
		s.Name, s.Color, s.Support, s.Terms, s.Privacy, s.Imprint, tx.Now)
	return err
}

type namedImage struct {
	kind string
	brand.Picture
}

func readImages(ctx context.Context, q db.Querier) ([]namedImage, error) {
	return db.Collect(ctx, q, func(r db.Row) (i namedImage, err error) {
		err = r.Scan(&i.kind, &i.Type, &i.Hash, &i.Content)
		return i, err
	}, `SELECT kind, content_type, hash, content FROM company_images ORDER BY kind`)
}

// saveImage replaces a picture; one without content is taken away.
func saveImage(ctx context.Context, tx *db.Tx, kind string, i brand.Picture) error {
	if len(i.Content) == 0 {
		_, err := tx.Exec(ctx, `DELETE FROM company_images WHERE kind = $1`, kind)
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO company_images (kind, content_type, hash, size, content, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (kind) DO UPDATE SET content_type = excluded.content_type, hash = excluded.hash, size = excluded.size, content = excluded.content,
			updated_at = excluded.updated_at`, kind, i.Type, i.Hash, len(i.Content), i.Content, tx.Now)
	return err
}

// lockSettings has changes of the same version wait for each other, also of the first one.
func lockSettings(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `INSERT INTO company_settings (id, name, color, support_email, terms_url, privacy_url, imprint_url, updated_at)
		VALUES (1, '', '', '', '', '', '', $1) ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at`, tx.Now)
	return err
}

// pictured is a picture as the audit log has it.
type pictured struct {
	Type string `json:"type"`
	Hash string `json:"hash"`
	Size int64  `json:"size"`
}

func imageStates(ctx context.Context, q db.Querier) (map[string]pictured, error) {
	all := map[string]pictured{}
	_, err := db.Collect(ctx, q, func(r db.Row) (kind string, err error) {
		var p pictured
		err = r.Scan(&kind, &p.Type, &p.Hash, &p.Size)
		all[kind] = p
		return kind, err
	}, `SELECT kind, content_type, hash, size FROM company_images ORDER BY kind`)
	return all, err
}

func readLetters(ctx context.Context, q db.Querier) (map[letterKey]mailer.Text, error) {
	all := map[letterKey]mailer.Text{}
	_, err := db.Collect(ctx, q, func(r db.Row) (k letterKey, err error) {
		var t mailer.Text
		err = r.Scan(&k.kind, &k.language, &t.Subject, &t.Text)
		all[k] = t
		return k, err
	}, `SELECT kind, language, subject, body FROM company_letters`)
	return all, err
}

func readLetter(ctx context.Context, q db.Querier, k letterKey) (t mailer.Text, err error) {
	err = q.QueryRow(ctx, `SELECT subject, body FROM company_letters WHERE kind = $1 AND language = $2`, k.kind, k.language).Scan(&t.Subject, &t.Text)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return t, err
}

func saveLetter(ctx context.Context, tx *db.Tx, k letterKey, t mailer.Text) error {
	_, err := tx.Exec(ctx, `INSERT INTO company_letters (kind, language, subject, body, updated_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (kind, language) DO UPDATE SET subject = excluded.subject, body = excluded.body, updated_at = excluded.updated_at`,
		k.kind, k.language, t.Subject, t.Text, tx.Now)
	return err
}

func deleteLetter(ctx context.Context, tx *db.Tx, k letterKey) error {
	_, err := tx.Exec(ctx, `DELETE FROM company_letters WHERE kind = $1 AND language = $2`, k.kind, k.language)
	return err
}
