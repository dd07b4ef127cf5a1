package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// applicationColumns use the table's full name: SQLite has no alias in RETURNING.
const applicationColumns = `oauth_applications.id, oauth_applications.client_id, coalesce(oauth_applications.owner_id, 0),
	oauth_applications.name, oauth_applications.type, oauth_applications.secret_hash, oauth_applications.redirect_uris,
	oauth_applications.scopes, oauth_applications.sandbox, oauth_applications.first_party, oauth_applications.disabled_at,
	oauth_applications.created_at, oauth_applications.updated_at`

func scanApplication(r db.Row) (a Application, err error) {
	return scanApplicationAnd(r)
}

// scanApplicationAnd reads applicationColumns and what follows them.
func scanApplicationAnd(r db.Row, more ...any) (a Application, err error) {
	var (
		uris, scopes string
		disabled     *time.Time
	)
	dest := append([]any{
		&a.ID, &a.ClientID, &a.OwnerID, &a.Name, &a.Type, &a.secretHash, &uris, &scopes,
		&a.Sandbox, &a.FirstParty, &disabled, &a.CreatedAt, &a.UpdatedAt,
	}, more...)
	if err := r.Scan(dest...); err != nil {
		return a, err
	}
	a.Disabled = disabled != nil
	a.Scopes, _ = parseScopes(scopes)
	if err := json.Unmarshal([]byte(uris), &a.RedirectURIs); err != nil {
		return a, fmt.Errorf("redirect URIs of application %d: %w", a.ID, err)
	}
	return a, nil
}

func applicationByClientID(ctx context.Context, q db.Querier, clientID string) (Application, error) {
	return scanApplication(q.QueryRow(ctx,
		`SELECT `+applicationColumns+` FROM oauth_applications WHERE client_id = $1 AND deleted_at IS NULL`, clientID))
}

// lockApplication finds an application and locks it until tx ends.
func lockApplication(ctx context.Context, tx *db.Tx, clientID string) (Application, error) {
	return scanApplication(tx.QueryRow(ctx,
		`SELECT `+applicationColumns+` FROM oauth_applications WHERE client_id = $1 AND deleted_at IS NULL`+tx.ForUpdate(), clientID))
}

// applicationOf finds an application among those that the account owns.
func applicationOf(ctx context.Context, q db.Querier, owner, id int64) (Application, error) {
	return scanApplication(q.QueryRow(ctx,
		`SELECT `+applicationColumns+` FROM oauth_applications WHERE id = $1 AND owner_id = $2 AND deleted_at IS NULL`, id, owner))
}

// lockApplicationOf is applicationOf that locks the row until tx ends.
func lockApplicationOf(ctx context.Context, tx *db.Tx, owner, id int64) (Application, error) {
	return scanApplication(tx.QueryRow(ctx,
		`SELECT `+applicationColumns+` FROM oauth_applications WHERE id = $1 AND owner_id = $2 AND deleted_at IS NULL`+tx.ForUpdate(), id, owner))
}

func countApplications(ctx context.Context, q db.Querier, owner int64) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM oauth_applications WHERE owner_id = $1 AND deleted_at IS NULL`, owner).Scan(&n)
	return n, err
}

func listApplications(ctx context.Context, q db.Querier, owner int64, limit, offset int) ([]Application, error) {
	return db.Collect(ctx, q, scanApplication, `SELECT `+applicationColumns+` FROM oauth_applications
		WHERE owner_id = $1 AND deleted_at IS NULL ORDER BY id DESC LIMIT $2 OFFSET $3`, owner, limit, offset)
}

func allApplications(ctx context.Context, q db.Querier, limit, offset int) ([]Application, error) {
	return db.Collect(ctx, q, scanApplication, `SELECT `+applicationColumns+` FROM oauth_applications
		WHERE deleted_at IS NULL ORDER BY id LIMIT $1 OFFSET $2`, limit, offset)
}

// insertApplication adds a. When its client id exists, it updates the members that an operator's seed may set;
// customers' client ids are random.
func insertApplication(ctx context.Context, tx *db.Tx, a Application) (Application, error) {
	uris, err := json.Marshal(a.RedirectURIs)
	if err != nil {
		return a, err
	}
	var owner *int64
	if a.OwnerID != 0 {
		owner = &a.OwnerID
	}
	return scanApplication(tx.QueryRow(ctx, `
		INSERT INTO oauth_applications (client_id, owner_id, name, type, secret_hash, redirect_uris, scopes, sandbox, first_party, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
		ON CONFLICT (client_id) DO UPDATE SET owner_id = excluded.owner_id, name = excluded.name, type = excluded.type,
			secret_hash = excluded.secret_hash, redirect_uris = excluded.redirect_uris, scopes = excluded.scopes,
			sandbox = excluded.sandbox, first_party = excluded.first_party, deleted_at = NULL, updated_at = excluded.updated_at
		RETURNING `+applicationColumns,
		a.ClientID, owner, a.Name, string(a.Type), a.secretHash, string(uris), a.Scopes.String(), a.Sandbox, a.FirstParty, tx.Now))
}

// updateApplication writes the members that an owner may change.
func updateApplication(ctx context.Context, tx *db.Tx, a Application) error {
	uris, err := json.Marshal(a.RedirectURIs)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE oauth_applications SET name = $3, redirect_uris = $4, scopes = $5, sandbox = $6, updated_at = $7
		WHERE id = $1 AND owner_id = $2 AND deleted_at IS NULL`,
		a.ID, a.OwnerID, a.Name, string(uris), a.Scopes.String(), a.Sandbox, tx.Now)
	return err
}

func setSecret(ctx context.Context, tx *db.Tx, owner, id int64, hash []byte) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_applications SET secret_hash = $3, updated_at = $4
		WHERE id = $1 AND owner_id = $2 AND deleted_at IS NULL AND type = 'confidential'`, id, owner, hash, tx.Now)
	return err
}

func setDisabled(ctx context.Context, tx *db.Tx, clientID string, at *time.Time) (Application, error) {
	return scanApplication(tx.QueryRow(ctx, `UPDATE oauth_applications SET disabled_at = $2, updated_at = $3
		WHERE client_id = $1 AND deleted_at IS NULL RETURNING `+applicationColumns, clientID, at, tx.Now))
}

func markDeleted(ctx context.Context, tx *db.Tx, owner, id int64) (deleted bool, err error) {
	n, err := tx.Exec(ctx, `UPDATE oauth_applications SET deleted_at = $3, updated_at = $3
		WHERE id = $1 AND owner_id = $2 AND deleted_at IS NULL`, id, owner, tx.Now)
	return n == 1, err
}

func deleteConsents(ctx context.Context, tx *db.Tx, application int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM oauth_consents WHERE application_id = $1`, application)
	return err
}

// consented returns the scopes that the account has granted the application, if any.
func consented(ctx context.Context, q db.Querier, account, application int64) (Scopes, error) {
	return readConsent(ctx, q, account, application, "")
}

// lockConsent is consented that locks the row until tx ends: a withdrawal waits, and then ends what tx grants.
func lockConsent(ctx context.Context, tx *db.Tx, account, application int64) (Scopes, error) {
	return readConsent(ctx, tx, account, application, tx.ForUpdate())
}

func readConsent(ctx context.Context, q db.Querier, account, application int64, lock string) (Scopes, error) {
	found, err := db.Collect(ctx, q, func(r db.Row) (text string, err error) {
		err = r.Scan(&text)
		return text, err
	}, `SELECT scopes FROM oauth_consents WHERE account_id = $1 AND application_id = $2`+lock, account, application)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	scopes, _ := parseScopes(found[0])
	return scopes, nil
}

func putConsent(ctx context.Context, tx *db.Tx, account, application int64, scopes Scopes) error {
	_, err := tx.Exec(ctx, `INSERT INTO oauth_consents (account_id, application_id, scopes, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $4)
		ON CONFLICT (account_id, application_id) DO UPDATE SET scopes = excluded.scopes, updated_at = excluded.updated_at`,
		account, application, scopes.String(), tx.Now)
	return err
}

func deleteConsent(ctx context.Context, tx *db.Tx, account, application int64) (deleted bool, err error) {
	n, err := tx.Exec(ctx, `DELETE FROM oauth_consents WHERE account_id = $1 AND application_id = $2`, account, application)
	return n == 1, err
}

func countConnections(ctx context.Context, q db.Querier, account int64) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM oauth_consents WHERE account_id = $1`, account).Scan(&n)
	return n, err
}

func listConnections(ctx context.Context, q db.Querier, account int64, limit, offset int) ([]Connection, error) {
	return db.Collect(ctx, q, func(r db.Row) (c Connection, err error) {
		var scopes string
		c.Application, err = scanApplicationAnd(r, &scopes, &c.ConnectedAt, &c.LastUsedAt)
		c.Scopes, _ = parseScopes(scopes)
		return c, err
	}, `SELECT `+applicationColumns+`, c.scopes, c.created_at,
			(SELECT max(g.last_used_at) FROM oauth_grants g WHERE g.account_id = c.account_id AND g.application_id = c.application_id)
		FROM oauth_consents c JOIN oauth_applications ON oauth_applications.id = c.application_id
		WHERE c.account_id = $1 ORDER BY c.created_at DESC, c.application_id DESC LIMIT $2 OFFSET $3`, account, limit, offset)
}
