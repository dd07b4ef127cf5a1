package account

import (
	"context"
	"encoding/hex"
	"errors"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
)

// The purposes of links in mails.
const (
	purposeRecovery = "recovery"
	purposeEmail    = "email"
)

// linkAAD binds a sealed token to its row.
func linkAAD(hash []byte) []byte {
	return []byte("account_tokens/" + hex.EncodeToString(hash) + "/token")
}

// sendLink makes a link and the job that mails it. The job has the row's id; the token itself is sealed in the row
// until the mail is sent. So no job, log or backup has it in clear, and a repeated job sends the same link.
func (s *Service) sendLink(ctx context.Context, tx *db.Tx, kind mailKind, purpose string, account int64, email string) error {
	token := secret.Token("st_ln_", 32)
	hash := secret.Hash(token)
	sealed, err := s.Box.Seal([]byte(token), linkAAD(hash))
	if err != nil {
		return err
	}
	id, err := insertToken(ctx, tx, account, purpose, email, hash, sealed)
	if err != nil {
		return err
	}
	return s.Queue.Enqueue(ctx, tx, mailArgs{Mail: kind, AccountID: account, TokenID: id, At: tx.Now}, nil)
}

// RequestRecovery mails a link for replacing a forgotten password. It only inserts a job, so it takes the same time for
// an address with and without an account.
func (s *Service) RequestRecovery(ctx context.Context, email string, c Client) error {
	normal, ok := NormalizeEmail(email)
	if !ok {
		return fault.Invalid("email", "expected_email")
	}
	if err := s.limit(ctx, c.key(), s.Limits.RecoverAddress); err != nil {
		return err
	}
	if err := s.limit(ctx, emailKey(normal), s.Limits.MailAccount); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.Queue.Enqueue(ctx, tx, recoverArgs{Email: normal}, nil)
	})
}

// startRecovery is the job's part: it makes the link if there is an account. A link made moments ago is that of an
// earlier run of this job.
func (s *Service) startRecovery(ctx context.Context, email string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		p, err := profileByEmail(ctx, tx, email)
		if errors.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := lockUser(ctx, tx, p.ID); err != nil {
			return err
		}
		// The address may have changed meanwhile; readers of the former address's mail must not get in.
		if p, err = profile(ctx, tx, p.ID); err != nil || p.Email != email || !p.Open() {
			return err
		}
		fresh, err := hasFreshToken(ctx, tx, p.ID, purposeRecovery)
		if err != nil || fresh {
			return err
		}
		if err := voidTokens(ctx, tx, p.ID, purposeRecovery); err != nil {
			return err
		}
		return s.sendLink(ctx, tx, mailRecovery, purposeRecovery, p.ID, p.Email)
	})
}

// PasswordLink makes a link, good once, by which the password of an account is set. Nobody is mailed: whoever calls this hands
// it over.
func (s *Service) PasswordLink(ctx context.Context, account int64) (link string, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		p, err := s.lockOpen(ctx, tx, account)
		if err != nil {
			return err
		}
		if err := voidTokens(ctx, tx, p.ID, purposeRecovery); err != nil {
			return err
		}
		token := secret.Token("st_ln_", 32)
		hash := secret.Hash(token)
		sealed, err := s.Box.Seal([]byte(token), linkAAD(hash))
		if err != nil {
			return err
		}
		link = s.BaseURL + "/recover/" + token
		_, err = insertToken(ctx, tx, p.ID, purposeRecovery, p.Email, hash, sealed)
		return err
	})
	return link, err
}

// CheckRecovery reports whether a recovery link still works. It does not use the link up, as mail scanners open links
// too.
func (s *Service) CheckRecovery(ctx context.Context, token string) error {
	_, err := readToken(ctx, s.DB, purposeRecovery, secret.Hash(token), s.Clock.Now())
	return err
}

// CompleteRecovery replaces the password of the account that got the link. It ends all sessions and the tokens of
// applications, so whoever knew the old password is signed out.
func (s *Service) CompleteRecovery(ctx context.Context, token, password string, c Client) error {
	if err := s.limit(ctx, c.key(), s.Limits.RecoverAddress); err != nil {
		return err
	}
	link, err := readToken(ctx, s.DB, purposeRecovery, secret.Hash(token), s.Clock.Now())
	if err != nil {
		return err
	}
	p, err := profile(ctx, s.DB, link.account)
	if err != nil {
		return err
	}
	if err := s.checkPassword("password", password, p.Email, p.Name); err != nil {
		return err
	}
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		p, err := s.lockOpen(ctx, tx, link.account)
		if err != nil {
			return err
		}
		if _, err := useToken(ctx, tx, purposeRecovery, secret.Hash(token)); err != nil {
			return err
		}
		if link.email == p.Email {
			if !p.EmailVerified {
				// Anybody could have registered with this address, and switched on factors that keep its owner out.
				if err := s.removeFactors(ctx, tx, p, c); err != nil {
					return err
				}
				if err := s.note(ctx, tx, p.ID, EventAddressConfirmed, c); err != nil {
					return err
				}
			}
			// A reader of the address's mail has proved to own it.
			if err := setEmail(ctx, tx, p.ID, p.Email); err != nil {
				return err
			}
		}
		if err := s.Grants.EndAll(ctx, tx, p.ID); err != nil {
			return err
		}
		return s.replacePassword(ctx, tx, p.ID, hash, 0, c)
	})
}

// removeFactors removes every factor beside the password, and records it.
func (s *Service) removeFactors(ctx context.Context, tx *db.Tx, p Profile, c Client) error {
	keys, err := listPasskeys(ctx, tx, p.ID)
	if err != nil {
		return err
	}
	if err := deleteFactors(ctx, tx, p.ID); err != nil {
		return err
	}
	if p.TwoFactor {
		if err := s.note(ctx, tx, p.ID, EventTwoFactorOff, c); err != nil {
			return err
		}
	}
	if len(keys) > 0 {
		return s.note(ctx, tx, p.ID, EventPasskeyRemoved, c)
	}
	return nil
}

// RequestEmail mails a link to an address; the account gets the address when the link is followed. The account's own
// address is verified in this way too.
func (s *Service) RequestEmail(ctx context.Context, session Session, email string) error {
	if err := s.requireRecent(session); err != nil {
		return err
	}
	normal, ok := NormalizeEmail(email)
	if !ok {
		return fault.Invalid("email", "expected_email")
	}
	if err := s.limit(ctx, accountKey(session.Account.ID), s.Limits.MailAccount); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		p, err := s.lockOpen(ctx, tx, session.Account.ID)
		if err != nil {
			return err
		}
		other, err := profileByEmail(ctx, tx, normal)
		switch {
		case err == nil && other.ID != p.ID:
			return fault.Invalid("email", "account_email_taken")
		case err != nil && !errors.Is(err, fault.NotFound):
			return err
		}
		if err := voidTokens(ctx, tx, p.ID, purposeEmail); err != nil {
			return err
		}
		return s.sendLink(ctx, tx, mailVerifyEmail, purposeEmail, p.ID, normal)
	})
}

// CheckEmail returns the address that a link verifies and the account that it is for, without using it up.
func (s *Service) CheckEmail(ctx context.Context, token string) (email string, account int64, err error) {
	link, err := readToken(ctx, s.DB, purposeEmail, secret.Hash(token), s.Clock.Now())
	return link.email, link.account, err
}

// Holder proves that the reader of a mail holds the account, too: by a session of the account, or by its password.
type Holder struct {
	Session  *Session
	Password string
}

// ConfirmEmail gives the account the address that got the link, and notifies the former address.
//
// Who reads the address's mail and cannot prove to hold the account is somebody whose address a stranger has entered. The
// address stays unverified then, so that recovery takes the stranger's factors off.
func (s *Service) ConfirmEmail(ctx context.Context, token string, holder Holder, c Client) error {
	hash, err := s.proveHolder(ctx, token, holder, c)
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		link, err := readToken(ctx, tx, purposeEmail, secret.Hash(token), tx.Now)
		if err != nil {
			return err
		}
		var p Profile
		if hash != "" {
			p, err = s.lockProved(ctx, tx, link.account, hash)
		} else {
			p, err = s.lockOpen(ctx, tx, link.account)
		}
		if err != nil {
			return err
		}
		if _, err := useToken(ctx, tx, purposeEmail, secret.Hash(token)); err != nil {
			return err
		}
		if link.email != p.Email {
			if err := s.notifyAt(ctx, tx, mailEmailChanged, p.ID, p.Email, c); err != nil {
				return err
			}
			// Unused links to the former address end.
			if err := voidTokens(ctx, tx, p.ID, purposeRecovery); err != nil {
				return err
			}
		}
		if err := setEmail(ctx, tx, p.ID, link.email); err != nil {
			return err
		}
		if err := s.note(ctx, tx, p.ID, EventAddressConfirmed, c); err != nil {
			return err
		}
		return s.signal(ctx, tx, p.ID)
	})
	return taken(err)
}

// proveHolder checks who follows a link that verifies an address. It returns the hash of the password that proved it, and
// an empty one when a session did.
func (s *Service) proveHolder(ctx context.Context, token string, holder Holder, c Client) (hash string, err error) {
	link, err := readToken(ctx, s.DB, purposeEmail, secret.Hash(token), s.Clock.Now())
	if err != nil {
		return "", err
	}
	if holder.Session != nil && holder.Session.Account.ID == link.account {
		return "", nil
	}
	if holder.Password == "" {
		return "", fault.Invalid("password", "required")
	}
	// Only readers of the mail count here, so they cannot keep anybody else out.
	if err := s.limit(ctx, "link|"+hex.EncodeToString(secret.Hash(token)[:12]), s.Limits.SecondFactor); err != nil {
		return "", err
	}
	return s.provePassword(ctx, link.account, "password", holder.Password, c)
}
