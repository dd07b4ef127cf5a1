package oauth

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// grant is one authorization with its code and tokens.
type grant struct {
	id, accountID, applicationID int64
	scopes                       Scopes
	// session is the browser session that the grant ends with, if any.
	session *int64
}

func insertGrant(ctx context.Context, tx *db.Tx, g grant, expires time.Time) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO oauth_grants (account_id, application_id, scopes, created_at, expires_at, session_id)
		VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`,
		g.accountID, g.applicationID, g.scopes.String(), tx.Now, expires, g.session).Scan(&id)
	return id, err
}

// grantSteps are those in which the end of a grant moves: a rotation that leaves it as it is changes no index of the row.
const grantSteps = time.Hour

// extendGrant locks the grant for this transaction and prolongs it until the time, or a little later; ErrNoRows when it has ended.
func extendGrant(ctx context.Context, tx *db.Tx, id int64, expires time.Time) (g grant, err error) {
	var scopes string
	err = tx.QueryRow(ctx, `UPDATE oauth_grants SET expires_at = $2, last_used_at = $3 WHERE id = $1 AND ended_at IS NULL
		RETURNING id, account_id, application_id, scopes, session_id`, id, expires.Truncate(grantSteps).Add(grantSteps), tx.Now).
		Scan(&g.id, &g.accountID, &g.applicationID, &scopes, &g.session)
	g.scopes, _ = parseScopes(scopes)
	return g, err
}

func endGrant(ctx context.Context, tx *db.Tx, id int64, reason string) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_grants SET ended_at = $2, end_reason = $3 WHERE id = $1 AND ended_at IS NULL`, id, tx.Now, reason)
	return err
}

func endGrantsOfConnection(ctx context.Context, tx *db.Tx, account, application int64, reason string) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_grants SET ended_at = $3, end_reason = $4
		WHERE account_id = $1 AND application_id = $2 AND ended_at IS NULL`, account, application, tx.Now, reason)
	return err
}

func endGrantsOfApplication(ctx context.Context, tx *db.Tx, application int64, reason string) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_grants SET ended_at = $2, end_reason = $3
		WHERE application_id = $1 AND ended_at IS NULL`, application, tx.Now, reason)
	return err
}

func endGrantsOfAccount(ctx context.Context, tx *db.Tx, account int64, reason string) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_grants SET ended_at = $2, end_reason = $3
		WHERE account_id = $1 AND ended_at IS NULL`, account, tx.Now, reason)
	return err
}

func endGrantsOfSession(ctx context.Context, tx *db.Tx, account, session int64, reason string) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_grants SET ended_at = $3, end_reason = $4
		WHERE account_id = $1 AND session_id = $2 AND ended_at IS NULL`, account, session, tx.Now, reason)
	return err
}

func endGrantsOfOtherSessions(ctx context.Context, tx *db.Tx, account, session int64, reason string) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_grants SET ended_at = $3, end_reason = $4
		WHERE account_id = $1 AND session_id <> $2 AND ended_at IS NULL`, account, session, tx.Now, reason)
	return err
}

func noteUse(ctx context.Context, tx *db.Tx, id int64, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_grants SET last_used_at = $2
		WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, id, at)
	return err
}

// code is an authorization code as it was issued.
type code struct {
	grantID     int64
	redirectURI string
	challenge   *string
	expiresAt   time.Time
}

func insertCode(ctx context.Context, tx *db.Tx, hash []byte, c code) error {
	_, err := tx.Exec(ctx, `INSERT INTO oauth_codes (hash, grant_id, redirect_uri, challenge, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6)`, hash, c.grantID, c.redirectURI, c.challenge, tx.Now, c.expiresAt)
	return err
}

// useCode marks an unused code of the application as used. This one statement decides between two concurrent uses.
func useCode(ctx context.Context, tx *db.Tx, hash []byte, application int64) (c code, found bool, err error) {
	err = tx.QueryRow(ctx, `UPDATE oauth_codes SET used_at = $3
		WHERE hash = $1 AND used_at IS NULL AND grant_id IN (SELECT id FROM oauth_grants WHERE application_id = $2)
		RETURNING grant_id, redirect_uri, challenge, expires_at`, hash, application, tx.Now).
		Scan(&c.grantID, &c.redirectURI, &c.challenge, &c.expiresAt)
	return c, err == nil, orNone(err)
}

// grantOfUsedCode finds the grant of a code that is presented again.
func grantOfUsedCode(ctx context.Context, tx *db.Tx, hash []byte, application int64) (id int64, found bool, err error) {
	err = tx.QueryRow(ctx, `SELECT g.id FROM oauth_codes c JOIN oauth_grants g ON g.id = c.grant_id
		WHERE c.hash = $1 AND g.application_id = $2 AND c.used_at IS NOT NULL`, hash, application).Scan(&id)
	return id, err == nil, orNone(err)
}

func insertAccess(ctx context.Context, tx *db.Tx, hash []byte, grantID int64, scopes Scopes, expires time.Time) error {
	return tx.Queue(ctx, nil, `INSERT INTO oauth_access_tokens (hash, grant_id, scopes, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5)`, hash, grantID, scopes.String(), tx.Now, expires)
}

func insertRefresh(ctx context.Context, tx *db.Tx, hash []byte, grantID int64, parent *int64, expires time.Time) error {
	return tx.Queue(ctx, nil, `INSERT INTO oauth_refresh_tokens (hash, grant_id, parent_id, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5)`, hash, grantID, parent, tx.Now, expires)
}

// refresh is a refresh token as it was presented.
type refresh struct {
	id, grantID int64
	parent      *int64 // the token that was rotated into it
	expiresAt   time.Time
}

// useRefresh marks an unused refresh token of the application as used; of many concurrent uses, one succeeds.
func useRefresh(ctx context.Context, tx *db.Tx, hash []byte, application int64) (r refresh, found bool, err error) {
	err = tx.QueryRow(ctx, `UPDATE oauth_refresh_tokens SET used_at = $3
		WHERE hash = $1 AND used_at IS NULL AND grant_id IN (SELECT id FROM oauth_grants WHERE application_id = $2)
		RETURNING id, grant_id, parent_id, expires_at`, hash, application, tx.Now).Scan(&r.id, &r.grantID, &r.parent, &r.expiresAt)
	return r, err == nil, orNone(err)
}

func usedRefresh(ctx context.Context, tx *db.Tx, hash []byte, application int64) (r refresh, found bool, err error) {
	err = tx.QueryRow(ctx, `SELECT t.id, t.grant_id, t.expires_at FROM oauth_refresh_tokens t JOIN oauth_grants g ON g.id = t.grant_id
		WHERE t.hash = $1 AND g.application_id = $2 AND t.used_at IS NOT NULL`, hash, application).Scan(&r.id, &r.grantID, &r.expiresAt)
	return r, err == nil, orNone(err)
}

func keepAnswer(ctx context.Context, tx *db.Tx, refreshID int64, sealed []byte) error {
	return tx.Queue(ctx, nil, `UPDATE oauth_refresh_tokens SET answer = $2 WHERE id = $1`, refreshID, sealed)
}

// keptAnswer returns the kept answer of a used refresh token, within the grace and while the grant lives. The first use of a
// token from that answer deletes it (forgetAnswers).
func keptAnswer(ctx context.Context, tx *db.Tx, refreshID int64, usedAfter time.Time) (sealed []byte, found bool, err error) {
	err = tx.QueryRow(ctx, `SELECT answer FROM oauth_refresh_tokens WHERE id = $1 AND answer IS NOT NULL AND used_at > $2
		AND grant_id IN (SELECT id FROM oauth_grants WHERE ended_at IS NULL)`, refreshID, usedAfter).Scan(&sealed)
	return sealed, err == nil, orNone(err)
}

// hasAnswer reports whether a grant has a kept answer of until then.
func hasAnswer(ctx context.Context, q db.Querier, grantID int64, until time.Time) (has bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM oauth_refresh_tokens WHERE grant_id = $1 AND answer IS NOT NULL AND used_at <= $2)`,
		grantID, until).Scan(&has)
	return has, err
}

// forgetAnswer deletes the kept answer of a token: whoever uses what it was rotated into has got it.
func forgetAnswer(ctx context.Context, tx *db.Tx, refreshID int64) error {
	return tx.Queue(ctx, nil, `UPDATE oauth_refresh_tokens SET answer = NULL WHERE id = $1 AND answer IS NOT NULL`, refreshID)
}

// forgetAnswers deletes the kept answers of a grant of until then: once a new token is used, its answer was not lost.
func forgetAnswers(ctx context.Context, tx *db.Tx, grantID int64, until time.Time) error {
	return tx.Queue(ctx, nil, `UPDATE oauth_refresh_tokens SET answer = NULL WHERE grant_id = $1 AND answer IS NOT NULL AND used_at <= $2`, grantID, until)
}

// issued is an access or refresh token with the data that decides whether it is valid.
type issued struct {
	id, grantID, accountID, applicationID int64
	session                               *int64 // that the grant ends with, if any
	clientID                              string
	scopes                                Scopes // limited to what the application may have today
	sandbox, firstParty                   bool
	createdAt, expiresAt                  time.Time
	// revoked says that the token, its grant, or its application has ended.
	revoked bool
}

// issuedFields are the fields of an access token and of a refresh token; spent is the column with the time of its end.
func issuedFields(t *issuedRow, scopes, spent string) db.Fields {
	return db.Fields{
		"t.id": &t.id, "g.id": &t.grantID, "g.account_id": &t.accountID, "g.session_id": &t.session, "a.id": &t.applicationID, "a.client_id": &t.clientID,
		scopes: &t.asked, "a.scopes": &t.allowed, "a.sandbox": &t.sandbox, "a.first_party": &t.firstParty,
		"t.created_at": &t.createdAt, "t.expires_at": &t.expiresAt,
		spent + " IS NOT NULL OR g.ended_at IS NOT NULL OR a.disabled_at IS NOT NULL OR a.deleted_at IS NOT NULL": &t.revoked,
	}
}

// issuedRow is issued as it is stored.
type issuedRow struct {
	issued
	asked, allowed string // scopes: of the token or its grant, and of the application today
}

var (
	accessTokens  = db.Map(func(t *issuedRow) db.Fields { return issuedFields(t, "t.scopes", "t.revoked_at") })
	refreshTokens = db.Map(func(t *issuedRow) db.Fields { return issuedFields(t, "g.scopes", "t.used_at") })
)

// findIssued reads the token with the given hash from one of the tables of tokens.
func findIssued(ctx context.Context, q db.Querier, rows *db.Mapping[issuedRow], table string, hash []byte) (t issued, found bool, err error) {
	row, err := rows.Scan(q.QueryRow(ctx, `SELECT `+rows.Columns()+` FROM `+table+` t
		JOIN oauth_grants g ON g.id = t.grant_id JOIN oauth_applications a ON a.id = g.application_id WHERE t.hash = $1`, hash))
	asked, _ := parseScopes(row.asked)
	may, _ := parseScopes(row.allowed)
	row.scopes = asked.And(may)
	return row.issued, err == nil, orNone(err)
}

func accessByHash(ctx context.Context, q db.Querier, hash []byte) (t issued, found bool, err error) {
	return findIssued(ctx, q, accessTokens, "oauth_access_tokens", hash)
}

func refreshByHash(ctx context.Context, q db.Querier, hash []byte) (t issued, found bool, err error) {
	return findIssued(ctx, q, refreshTokens, "oauth_refresh_tokens", hash)
}

func revokeAccess(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_access_tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL`, id, tx.Now)
	return err
}

// orNone returns nil for "no such row".
func orNone(err error) error {
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	return err
}

func dropAnswers(ctx context.Context, tx *db.Tx, usedBefore time.Time) (int64, error) {
	return tx.Exec(ctx, `UPDATE oauth_refresh_tokens SET answer = NULL WHERE id IN
		(SELECT id FROM oauth_refresh_tokens WHERE answer IS NOT NULL AND used_at < $1 LIMIT $2)`, usedBefore, cleanBatch)
}

// deleteExpired deletes a batch of a table's rows that expired long ago.
func deleteExpired(table string) func(ctx context.Context, tx *db.Tx) (int64, error) {
	query := `DELETE FROM ` + table + ` WHERE id IN (SELECT id FROM ` + table + ` WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`
	return func(ctx context.Context, tx *db.Tx) (int64, error) {
		return tx.Exec(ctx, query, tx.Now.Add(-keepExpired), cleanBatch)
	}
}

// deleteDeleted deletes applications that were deleted and have no grant left.
func deleteDeleted(ctx context.Context, tx *db.Tx) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM oauth_applications WHERE id IN (
		SELECT a.id FROM oauth_applications a WHERE a.deleted_at < $1
			AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.application_id = a.id)
			AND NOT EXISTS (SELECT 1 FROM oauth_consents c WHERE c.application_id = a.id)
		LIMIT $2)`, tx.Now.Add(-keepExpired), cleanBatch)
}
