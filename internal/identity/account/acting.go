package account

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
)

const (
	// actingLife is how long a member of staff is signed in as a customer.
	actingLife = time.Hour
	// ticketLife is how long the way in is open.
	ticketLife = time.Minute

	ticketPrefix = "st_as_"
)

// ActAs opens a session of a member of staff in the account of a customer. Enter exchanges the ticket for the session's token
// within a minute, once. The owner sees it in the security log. It ends when the member of staff gets another role or password, or
// ends other sessions; fault.Forbidden when the role is another already.
func (s *Service) ActAs(ctx context.Context, staff auth.Actor, accountID int64) (ticket string, until time.Time, err error) {
	ticket = secret.Token(ticketPrefix, 32)
	err = s.change(ctx, accountID, func(ctx context.Context, tx *db.Tx) error {
		p, err := profile(ctx, tx, accountID)
		if err != nil {
			return err
		}
		if p.Sandbox || p.SuspendedAt != nil {
			return fault.AccountSuspended.New()
		}
		// The member's row is held: a role that is taken at this moment ends this session too, or is seen here.
		if err := lockUser(ctx, tx, staff.AccountID); err != nil {
			return err
		}
		member, err := profile(ctx, tx, staff.AccountID)
		if err != nil {
			return err
		}
		if member.Role == "" || member.Role != staff.Role {
			return fault.Forbidden.New()
		}
		until = tx.Now.Add(actingLife)
		return insertActing(ctx, tx, accountID, staff.AccountID, secret.Hash(ticket), until)
	})
	return ticket, until, err
}

// Enter exchanges a ticket that ActAs gave the member of staff for the token of the session.
func (s *Service) Enter(ctx context.Context, staffID int64, ticket string, c Client) (out Outcome, err error) {
	out.Token = secret.Token("st_se_", 32)
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		account, err := enterActing(ctx, tx, staffID, secret.Hash(ticket), secret.Hash(out.Token), c)
		if errors.Is(err, db.ErrNoRows) {
			return ErrLink.New()
		}
		if err != nil {
			return err
		}
		// The owner is told that it was staff, not from where.
		if err := s.note(ctx, tx, account, EventStaffSignedIn, Client{}); err != nil {
			return err
		}
		out.Session, err = sessionByToken(ctx, tx, secret.Hash(out.Token), tx.Now)
		return err
	})
	return out, err
}

func insertActing(ctx context.Context, tx *db.Tx, account, staff int64, hash []byte, until time.Time) error {
	// It was never authenticated: nothing that asks for a recent sign-in opens. No device has such a hash.
	_, err := tx.Exec(ctx, `INSERT INTO account_sessions (account_id, token_hash, method, acting_id, second_factor, address, user_agent, created_at,
			authenticated_at, last_seen_at, expires_at, device_hash)
		VALUES ($1, $2, 'staff', $3, FALSE, '', '', $4, 0, $4, $5, $2)`, account, hash, staff, tx.Now, until)
	return err
}

// endActing ends all sessions in which a member of staff acts as a customer, and the tickets of those that were not entered.
func endActing(ctx context.Context, tx *db.Tx, staff int64) error {
	_, err := tx.Exec(ctx, `UPDATE account_sessions SET ended_at = $1 WHERE acting_id = $2 AND ended_at IS NULL`, tx.Now, staff)
	return err
}

// enterActing gives the session of an unused ticket its token.
func enterActing(ctx context.Context, tx *db.Tx, staff int64, ticket, token []byte, c Client) (account int64, err error) {
	err = tx.QueryRow(ctx, `UPDATE account_sessions SET token_hash = $1, address = $2, user_agent = $3, last_seen_at = $4
		WHERE token_hash = $5 AND method = 'staff' AND device_hash = token_hash AND ended_at IS NULL AND created_at > $6 AND acting_id = $7 RETURNING account_id`,
		token, c.address(), c.userAgent(), tx.Now, ticket, tx.Now.Add(-ticketLife), staff).Scan(&account)
	return account, err
}
