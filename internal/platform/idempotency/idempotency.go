// Package idempotency makes money-moving requests repeatable (specification, "General rules" and "Limits"; resources,
// section 24).
//
// A request with an Idempotency-Key runs under a lock named by (principal, operation, key), and its effect and its
// encoded answer are one commit. So after any crash either both exist or neither: a retry gets the same bytes, or
// executes the request for the first time. The lock belongs to the transaction and ends with its process, so a client
// never waits for a lease to expire.
package idempotency

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// Retention is how long an answer is kept; afterwards the key counts as new.
const Retention = 24 * time.Hour

// Claim names one request.
type Claim struct {
	Principal string
	Operation string
	Key       string
	// Fingerprint is a hash of everything that the request asks for.
	Fingerprint []byte
}

// Answer is what the client got, byte for byte.
type Answer struct {
	Status int
	Body   []byte
}

// Store keeps answers.
type Store struct{ db *db.DB }

// NewStore keeps answers in d.
func NewStore(d *db.DB) *Store { return &Store{db: d} }

// ParseKey reads an Idempotency-Key header: a structured string, with or
// without its quotes, of 1 to 255 printable characters.
func ParseKey(header string) (string, error) {
	key := strings.TrimSpace(header)
	if len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"' {
		key = key[1 : len(key)-1]
	}
	if key == "" || len(key) > 255 {
		return "", fault.IdempotencyKeyBad.New()
	}
	for _, c := range []byte(key) {
		if c < 0x20 || c > 0x7e {
			return "", fault.IdempotencyKeyBad.New()
		}
	}
	return key, nil
}

// Do answers the claim: with the stored answer, or by running effect in a transaction that also stores its answer. An error
// of effect undoes the transaction, so a refusal is not stored: it changed nothing, and the key can be tried again, also
// with a corrected request.
//
// Do returns fault.IdempotencyInProgress while another request holds the key, and fault.IdempotencyKeyReused when the
// key came with another fingerprint.
func (s *Store) Do(ctx context.Context, c Claim,
	effect func(ctx context.Context, tx *db.Tx) (Answer, error),
) (a Answer, replayed bool, err error) {
	lock := "idempotency|" + c.Principal + "|" + c.Operation + "|" + c.Key
	err = s.db.InTxLocked(ctx, lock, func(ctx context.Context, tx *db.Tx) error {
		stored, fingerprint, err := find(ctx, tx, c)
		switch {
		case err == nil && !bytes.Equal(fingerprint, c.Fingerprint):
			return fault.IdempotencyKeyReused.New()
		case err == nil:
			a, replayed = stored, true
			return nil
		case !errors.Is(err, db.ErrNoRows):
			return err
		}
		replayed = false
		if a, err = effect(ctx, tx); err != nil {
			return err
		}
		return put(ctx, tx, c, a)
	})
	if errors.Is(err, db.ErrLocked) {
		err = fault.IdempotencyInProgress.New()
	}
	return a, replayed, err
}

func find(ctx context.Context, tx *db.Tx, c Claim) (a Answer, fingerprint []byte, err error) {
	err = tx.QueryRow(ctx, `SELECT status, body, fingerprint FROM idempotency_answers
		WHERE principal = $1 AND operation = $2 AND key = $3 AND expires_at > $4`,
		c.Principal, c.Operation, c.Key, tx.Now).Scan(&a.Status, &a.Body, &fingerprint)
	return a, fingerprint, err
}

// put replaces an expired answer that has not been cleaned yet.
func put(ctx context.Context, tx *db.Tx, c Claim, a Answer) error {
	body := append([]byte{}, a.Body...) // no body is empty, not NULL
	return tx.Queue(ctx, nil, `INSERT INTO idempotency_answers
			(principal, operation, key, fingerprint, status, body, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (principal, operation, key) DO UPDATE SET
			fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body,
			created_at = excluded.created_at, expires_at = excluded.expires_at`,
		c.Principal, c.Operation, c.Key, c.Fingerprint, a.Status, body, tx.Now, tx.Now.Add(Retention))
}

// Clean removes expired answers; a periodic job calls it.
func (s *Store) Clean(ctx context.Context) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM idempotency_answers WHERE expires_at <= $1`, tx.Now)
		return err
	})
}
