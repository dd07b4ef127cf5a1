package claims

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

const from = ` FROM claims_domains c LEFT JOIN claims_holders h ON h.domain = c.domain AND h.account_id = c.account_id`

var claimRows = db.Map(func(c *claim) db.Fields {
	return db.Fields{
		"c.id": &c.id, "c.account_id": &c.accountID, "c.domain": &c.domain, "c.token": &c.token, "c.proof": &c.proof,
		"c.proven_at": &c.provenAt, "c.leads_here_at": &c.leadsHereAt, "c.delegated_at": &c.delegatedAt,
		"c.takes_at": &c.takesAt, "c.attempts": &c.attempts, "c.checked_at": &c.checkedAt, "c.check_at": &c.checkAt,
		"c.created_at": &c.createdAt, "h.domain IS NOT NULL": &c.holds, "h.held_until": &c.heldUntil,
		`(SELECT min(o.takes_at) FROM claims_domains o WHERE o.domain = h.domain AND o.account_id <> c.account_id AND o.takes_at IS NOT NULL)`: &c.losesAt,
	}
})

func found(c claim, err error) (claim, error) {
	if errors.Is(err, db.ErrNoRows) {
		return c, fault.NotFound.New()
	}
	return c, err
}

// get reads a claim of any account, for jobs.
func get(ctx context.Context, q db.Querier, id int64) (claim, error) {
	return found(claimRows.Scan(q.QueryRow(ctx, `SELECT `+claimRows.Columns()+from+` WHERE c.id = $1`, id)))
}

func getOwn(ctx context.Context, q db.Querier, accountID, id int64) (claim, error) {
	return found(claimRows.Scan(q.QueryRow(ctx, `SELECT `+claimRows.Columns()+from+` WHERE c.id = $1 AND c.account_id = $2`, id, accountID)))
}

func getDomain(ctx context.Context, q db.Querier, accountID int64, domain string) (claim, error) {
	return found(claimRows.Scan(q.QueryRow(ctx, `SELECT `+claimRows.Columns()+from+` WHERE c.domain = $1 AND c.account_id = $2`, domain, accountID)))
}

// ofDomains reads an account's claims of some domains.
func ofDomains(ctx context.Context, q db.Querier, accountID int64, domains []string) ([]claim, error) {
	if len(domains) == 0 {
		return nil, nil
	}
	in, args := db.In(q, 2, domains)
	return db.Collect(ctx, q, claimRows.Scan, `SELECT `+claimRows.Columns()+from+` WHERE c.account_id = $1 AND c.domain `+in, append([]any{accountID}, args...)...)
}

func list(ctx context.Context, q db.Querier, accountID int64, p page.Params) (rows []claim, total int, err error) {
	if err := q.QueryRow(ctx, `SELECT count(*) FROM claims_domains WHERE account_id = $1`, accountID).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, claimRows.Scan, `SELECT `+claimRows.Columns()+from+` WHERE c.account_id = $1 ORDER BY c.id DESC LIMIT $2 OFFSET $3`,
		accountID, p.Limit(), p.Offset())
	return rows, total, err
}

// situation reads who holds a domain, and what an account has shown of it.
func situation(ctx context.Context, q db.Querier, accountID int64, domain string) (h *holding, own Proof, err error) {
	var holder *int64
	var proof, shown *Proof
	var leadsHereAt *time.Time
	err = q.QueryRow(ctx, `SELECT h.account_id, held.proof, held.leads_here_at, own.proof
		FROM (SELECT CAST($1 AS TEXT) AS domain) d
		LEFT JOIN claims_holders h ON h.domain = d.domain
		LEFT JOIN claims_domains held ON held.domain = d.domain AND held.account_id = h.account_id
		LEFT JOIN claims_domains own ON own.domain = d.domain AND own.account_id = $2`, domain, accountID).
		Scan(&holder, &proof, &leadsHereAt, &shown)
	if err != nil {
		return nil, NoProof, err
	}
	if holder != nil {
		h = &holding{accountID: *holder, proof: NoProof, leadsHere: leadsHereAt != nil}
		if proof != nil {
			h.proof = *proof
		}
	}
	if own = NoProof; shown != nil {
		own = *shown
	}
	return h, own, nil
}

// putClaim makes the claim of an account to a domain, unless it is there, and keeps it until tx ends.
func putClaim(ctx context.Context, tx *db.Tx, accountID int64, domain, token string) error {
	return tx.Queue(ctx, failed, `INSERT INTO claims_domains (account_id, domain, token, proof, check_at, created_at)
		VALUES ($1, $2, $3, 'none', $4, $4) ON CONFLICT (account_id, domain) DO UPDATE SET domain = excluded.domain`, accountID, domain, token, tx.Now)
}

func failed(_ int64, err error) error { return err }

// hold gives a domain to an account when nobody else holds it; refused is the error when somebody does.
func hold(ctx context.Context, tx *db.Tx, accountID int64, domain string, until *time.Time, refused error) error {
	check := func(n int64, err error) error {
		if err == nil && n == 0 {
			err = refused
		}
		return err
	}
	return tx.Queue(ctx, check, `INSERT INTO claims_holders (domain, account_id, held_until, since) VALUES ($1, $2, $3, $4)
		ON CONFLICT (domain) DO UPDATE SET account_id = excluded.account_id
		WHERE claims_holders.account_id = excluded.account_id`, domain, accountID, until, tx.Now)
}

// passOn gives a domain of one account to another; false when the first does not hold it any more.
func passOn(ctx context.Context, tx *db.Tx, domain string, fromAccount, toAccount int64, until *time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE claims_holders SET account_id = $1, held_until = $2, since = $3 WHERE domain = $4 AND account_id = $5`,
		toAccount, until, tx.Now, domain, fromAccount)
	return n == 1, err
}

// release ends that an account holds a domain.
func release(ctx context.Context, tx *db.Tx, accountID int64, domain string) error {
	_, err := tx.Exec(ctx, `DELETE FROM claims_holders WHERE domain = $1 AND account_id = $2`, domain, accountID)
	return err
}

// holdUntil has a domain held for its holder at least until a time.
func holdUntil(ctx context.Context, tx *db.Tx, accountID int64, domain string, until time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE claims_holders SET held_until = $1 WHERE domain = $2 AND account_id = $3 AND (held_until IS NULL OR held_until < $1)`,
		until, domain, accountID)
	return err
}

// setProof writes what an account has shown.
func setProof(ctx context.Context, tx *db.Tx, accountID int64, domain string, p Proof) error {
	var at *time.Time
	if p != NoProof {
		at = &tx.Now
	}
	_, err := tx.Exec(ctx, `UPDATE claims_domains SET proof = $1, proven_at = $2, takes_at = NULL, attempts = 0, check_at = $3
		WHERE account_id = $4 AND domain = $5`, p, at, tx.Now, accountID, domain)
	return err
}

// setLost writes that an account has shown nothing of a domain that it has lost.
func setLost(ctx context.Context, tx *db.Tx, accountID int64, domain string) error {
	_, err := tx.Exec(ctx, `UPDATE claims_domains SET proof = 'none', proven_at = NULL, leads_here_at = NULL, delegated_at = NULL, takes_at = NULL
		WHERE account_id = $1 AND domain = $2`, accountID, domain)
	return err
}

// setChecked writes what a look into the DNS came to, and when the next is due.
func setChecked(ctx context.Context, tx *db.Tx, c claim) error {
	_, err := tx.Exec(ctx, `UPDATE claims_domains SET leads_here_at = $1, delegated_at = $2, takes_at = $3, attempts = $4, checked_at = $5, check_at = $6
		WHERE id = $7`, c.leadsHereAt, c.delegatedAt, c.takesAt, c.attempts, c.checkedAt, c.checkAt, c.id)
	return err
}

// lockClaim keeps a claim, and who holds its domain, until tx ends. All lock the holder first.
func lockClaim(ctx context.Context, tx *db.Tx, c claim) error {
	if err := queueLock(ctx, tx, c.domain); err != nil {
		return err
	}
	return tx.Queue(ctx, failed, `SELECT 1 FROM claims_domains WHERE id = $1`+tx.ForUpdate(), c.id)
}

// queueLock keeps who holds a domain until tx ends, for what is read next.
func queueLock(ctx context.Context, tx *db.Tx, domain string) error {
	return tx.Queue(ctx, failed, `SELECT 1 FROM claims_holders WHERE domain = $1`+tx.ForUpdate(), domain)
}

func deleteClaim(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM claims_domains WHERE id = $1`, id)
	return err
}

// hasten has the claim of an account looked at soon.
func hasten(ctx context.Context, tx *db.Tx, accountID int64, domain string) error {
	_, err := tx.Exec(ctx, `UPDATE claims_domains SET check_at = $1 WHERE account_id = $2 AND domain = $3`, tx.Now, accountID, domain)
	return err
}

// hastenOthers has the claims of all other accounts to a domain looked at soon.
func hastenOthers(ctx context.Context, tx *db.Tx, accountID int64, domain string) error {
	_, err := tx.Exec(ctx, `UPDATE claims_domains SET check_at = $1 WHERE domain = $2 AND account_id <> $3`, tx.Now, domain, accountID)
	return err
}

// takeDue lists claims that are due, and puts them off for a while, so that a killed process loses none.
func takeDue(ctx context.Context, tx *db.Tx, again time.Time, limit int) ([]int64, error) {
	return db.Collect(ctx, tx, func(row db.Row) (id int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, `UPDATE claims_domains SET check_at = $1 WHERE id IN (
		SELECT id FROM claims_domains WHERE check_at <= $2 ORDER BY check_at LIMIT $3) RETURNING id`, again, tx.Now, limit)
}

// wanted counts the domains that an account tries to prove and does not hold.
func wanted(ctx context.Context, q db.Querier, accountID int64) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*)`+from+` WHERE c.account_id = $1 AND h.domain IS NULL`, accountID).Scan(&n)
	return n, err
}

// lockHolder reads who holds a domain, so that it stays so until tx ends; 0 when nobody does.
func lockHolder(ctx context.Context, tx *db.Tx, domain string) (accountID int64, err error) {
	err = tx.QueryRow(ctx, `SELECT account_id FROM claims_holders WHERE domain = $1`+tx.ForUpdate(), domain).Scan(&accountID)
	if errors.Is(err, db.ErrNoRows) {
		err = nil
	}
	return accountID, err
}
