package account

import (
	"context"
	"encoding/hex"
	"errors"
	"maps"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
)

// Registration is what a visitor gives to get an account.
type Registration struct {
	Name, Email, Password string
	// Locale may be empty.
	Locale string
	// Referral is the code of who brought the new customer; it may be empty.
	Referral string
}

// SignUp makes an account and signs its owner in.
func (s *Service) SignUp(ctx context.Context, r Registration, c Client) (out Outcome, err error) {
	if err := s.limit(ctx, c.key(), s.Limits.RegisterAddress); err != nil {
		return out, err
	}
	u, err := s.newUser(ctx, NewAccount{Name: r.Name, Email: r.Email, Password: r.Password, Locale: r.Locale})
	if err != nil {
		return out, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		id, err := insertUser(ctx, tx, u)
		if err != nil {
			return err
		}
		if err := s.sendLink(ctx, tx, mailWelcome, purposeEmail, id, u.email); err != nil {
			return err
		}
		if r.Referral != "" && s.Referrals != nil {
			if err := s.Referrals.Referred(ctx, tx, id, r.Referral); err != nil {
				return err
			}
		}
		out, err = s.open(ctx, tx, id, "password", false, c)
		return err
	})
	return out, taken(err)
}

// taken gives the refused duplicate of an address its public name.
func taken(err error) error {
	if db.IsUnique(err) {
		return fault.Invalid("email", "account_email_taken")
	}
	return err
}

// newUser checks what an account is made of and hashes its password. All that
// is wrong is said at once.
func (s *Service) newUser(ctx context.Context, n NewAccount) (u newUser, err error) {
	email, ok := NormalizeEmail(n.Email)
	var errs []error
	if !ok {
		errs = append(errs, fault.Invalid("email", "expected_email"))
	}
	name, err := checkName(n.Name)
	errs = append(errs, err)
	if n.Locale == "" {
		n.Locale = s.Language
	}
	if n.Currency == "" {
		n.Currency = s.Currency
	}
	errs = append(errs, checkLocale(n.Locale))
	currency, err := checkCurrency(n.Currency)
	errs = append(errs, err, checkPassword("password", n.Password, email, name))
	if err := gather(errs...); err != nil {
		return u, err
	}
	hash, err := s.passwords.hash(ctx, n.Password)
	return newUser{
		email: email, passwordHash: hash, name: name, locale: n.Locale, currency: currency, admin: n.Admin, verified: n.Verified,
		handle: []byte(secret.Token("", 32)),
	}, err
}

// gather makes one refusal of several fields'.
func gather(errs ...error) error {
	all := &fault.Error{Def: fault.Validation, Invalid: map[string][]fault.Text{}}
	for _, err := range errs {
		if err == nil {
			continue
		}
		f := fault.From(err)
		if f.Def != fault.Validation {
			return err
		}
		maps.Copy(all.Invalid, f.Invalid)
	}
	if len(all.Invalid) == 0 {
		return nil
	}
	return all
}

// emailKey names an address in limits, whatever was typed, without keeping it.
func emailKey(email string) string { return hex.EncodeToString(secret.Hash(email)[:12]) }

// SignIn checks a password. What it answers, and how long it takes, is the same
// for an unknown address as for a wrong password.
func (s *Service) SignIn(ctx context.Context, email, password string, c Client) (out Outcome, err error) {
	normal, ok := NormalizeEmail(email)
	if !ok {
		normal = emailKey(email) // nobody's; what was typed may be text that no database takes
	}
	if err := s.limit(ctx, c.key(), s.Limits.SignInAddress); err != nil {
		return out, err
	}
	guesser, err := s.guesser(ctx, normal, c)
	if err != nil {
		return out, err
	}
	if err := s.limit(ctx, guesser, s.Limits.SignInAccount); err != nil {
		return out, err
	}
	id, hash, err := passwordOf(ctx, s.DB, normal)
	if err != nil {
		return out, err
	}
	upgrade, err := s.verify(ctx, password, hash)
	if err != nil {
		return out, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		p, err := s.lockProved(ctx, tx, id, hash)
		if err != nil {
			return err
		}
		if upgrade != "" {
			if err := upgradePassword(ctx, tx, id, hash, upgrade); err != nil {
				return err
			}
		}
		if !p.TwoFactor {
			out, err = s.open(ctx, tx, id, "password", false, c)
			return err
		}
		token := secret.Token("st_si_", 32)
		out = Outcome{Pending: token}
		return insertCeremony(ctx, tx, id, kindSecondFactor, secret.Hash(token), "")
	})
	return out, err
}

// guesser names who tries the passwords of an email address, for limits. All
// strangers are one, wherever they come from. Each address that the account has
// signed in from is one of its own, so strangers cannot keep the owner out.
func (s *Service) guesser(ctx context.Context, email string, c Client) (string, error) {
	known, err := knownAddress(ctx, s.DB, email, c)
	if err != nil || !known {
		return emailKey(email), err
	}
	return emailKey(email) + "|" + c.key(), nil
}

// codeGuesser is guesser for the codes of an account: who knows the password only cannot keep the owner out. Known is an
// address from which both factors were proved.
func (s *Service) codeGuesser(ctx context.Context, account int64, c Client) (string, error) {
	known, err := provedAddress(ctx, s.DB, account, c)
	if err != nil || !known {
		return accountKey(account), err
	}
	return accountKey(account) + "|" + c.key(), nil
}

// insider names who is signed in to an account, for limits of what only they can try.
func insider(account int64) string { return accountKey(account) + "|in" }

// verify checks a password against its hash; upgrade is a better hash of it,
// where there is one.
func (s *Service) verify(ctx context.Context, password, hash string) (upgrade string, err error) {
	ok, outdated, err := s.passwords.check(ctx, password, hash)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", ErrCredentials.New()
	}
	if outdated {
		return s.passwords.hash(ctx, password)
	}
	return "", nil
}

// lockProved locks an open account whose password is still the one that was
// checked, which took a while.
func (s *Service) lockProved(ctx context.Context, tx *db.Tx, id int64, hash string) (p Profile, err error) {
	if p, err = s.lockOpen(ctx, tx, id); err != nil {
		return p, err
	}
	now, err := passwordOfID(ctx, tx, id)
	if err != nil {
		return p, err
	}
	if now != hash {
		return p, ErrCredentials.New()
	}
	return p, nil
}

// lockOpen locks an account that may sign in.
func (s *Service) lockOpen(ctx context.Context, tx *db.Tx, id int64) (p Profile, err error) {
	if err := lockUser(ctx, tx, id); err != nil {
		return p, err
	}
	if p, err = profile(ctx, tx, id); err != nil {
		return p, err
	}
	switch {
	case p.ClosedAt != nil:
		return p, ErrCredentials.New()
	case p.SuspendedAt != nil:
		return p, fault.AccountSuspended.New()
	}
	return p, nil
}

// open makes the session of a complete sign-in. Its token is made here, so no
// token that anybody knew before becomes signed in.
func (s *Service) open(ctx context.Context, tx *db.Tx, account int64, method string, secondFactor bool, c Client) (Outcome, error) {
	known, err := knownDevice(ctx, tx, account, c)
	if err != nil {
		return Outcome{}, err
	}
	token := secret.Token("st_se_", 32)
	if _, err := insertSession(ctx, tx, account, secret.Hash(token), method, secondFactor, c); err != nil {
		return Outcome{}, err
	}
	if !known {
		if err := s.notify(ctx, tx, mailSignedIn, account, c); err != nil {
			return Outcome{}, err
		}
	}
	session, err := sessionByToken(ctx, tx, secret.Hash(token), tx.Now)
	if err != nil {
		return Outcome{}, err
	}
	session.Account, err = profile(ctx, tx, account)
	return Outcome{Token: token, Session: session}, err
}

// Factors are the ways in which a pending sign-in can be completed.
type Factors struct{ Passkey bool }

// PendingFactors tells how a pending sign-in can be completed; a code always
// can.
func (s *Service) PendingFactors(ctx context.Context, pending string) (f Factors, err error) {
	c, err := ceremonyByToken(ctx, s.DB, kindSecondFactor, secret.Hash(pending), s.Clock.Now())
	if err != nil {
		return f, err
	}
	keys, err := listPasskeys(ctx, s.DB, c.account)
	return Factors{Passkey: len(keys) > 0}, err
}

// SecondFactor completes a pending sign-in with a code of the authenticator
// app or a recovery code. A few wrong codes end it.
func (s *Service) SecondFactor(ctx context.Context, pending, code string, c Client) (out Outcome, err error) {
	begun, err := ceremonyByToken(ctx, s.DB, kindSecondFactor, secret.Hash(pending), s.Clock.Now())
	if err != nil {
		return out, err
	}
	guesser, err := s.codeGuesser(ctx, begun.account, c)
	if err != nil {
		return out, err
	}
	if err := s.limit(ctx, guesser, s.Limits.SecondFactor); err != nil {
		return out, err
	}
	wrong := false
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		p, err := s.lockOpen(ctx, tx, begun.account)
		if err != nil {
			return err
		}
		begun, err := tryCeremony(ctx, tx, kindSecondFactor, secret.Hash(pending))
		if err != nil {
			return err
		}
		ok, err := s.useCode(ctx, tx, p.ID, code, c)
		if err != nil {
			return err
		}
		if wrong = !ok; wrong {
			return nil // the attempt must stay counted
		}
		if err := deleteCeremony(ctx, tx, begun.id); err != nil {
			return err
		}
		out, err = s.open(ctx, tx, p.ID, "password", true, c)
		return err
	})
	if err == nil && wrong {
		return Outcome{}, ErrCode.New()
	}
	return out, err
}

// Confirm proves again who uses a session, by its password and, where two-factor
// sign-in is on, a code, and answers the session's new token.
func (s *Service) Confirm(ctx context.Context, session Session, password, code string, c Client) (token string, err error) {
	if err := s.limit(ctx, accountKey(session.Account.ID), s.Limits.SignInAccount); err != nil {
		return "", err
	}
	if session.Account.TwoFactor {
		if err := s.limit(ctx, insider(session.Account.ID), s.Limits.SecondFactor); err != nil {
			return "", err
		}
	}
	hash, err := s.provePassword(ctx, session.Account.ID, "password", password)
	if err != nil {
		return "", err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		p, err := s.lockProved(ctx, tx, session.Account.ID, hash)
		if err != nil {
			return err
		}
		if p.TwoFactor {
			if ok, err := s.useCode(ctx, tx, p.ID, code, c); err != nil {
				return err
			} else if !ok {
				return ErrCode.New()
			}
		}
		token = secret.Token("st_se_", 32)
		return reauthenticateSession(ctx, tx, session.Account.ID, session.ID, secret.Hash(token))
	})
	return token, err
}

// provePassword checks the password of somebody who is signed in; field is the
// one that it stands in.
func (s *Service) provePassword(ctx context.Context, account int64, field, password string) (hash string, err error) {
	hash, err = passwordOfID(ctx, s.DB, account)
	if err != nil {
		return "", err
	}
	if _, err := s.verify(ctx, password, hash); errors.Is(err, ErrCredentials) {
		return "", fault.Invalid(field, "account_password_wrong")
	} else if err != nil {
		return "", err
	}
	return hash, nil
}

// ChangePassword replaces the password of whoever knows the old one, and ends
// all other sessions.
func (s *Service) ChangePassword(ctx context.Context, session Session, current, password string, c Client) error {
	if err := s.limit(ctx, accountKey(session.Account.ID), s.Limits.SignInAccount); err != nil {
		return err
	}
	old, err := s.provePassword(ctx, session.Account.ID, "current", current)
	if err != nil {
		return err
	}
	if err := checkPassword("password", password, session.Account.Email, session.Account.Name); err != nil {
		return err
	}
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := s.lockProved(ctx, tx, session.Account.ID, old); err != nil {
			return err
		}
		return s.replacePassword(ctx, tx, session.Account.ID, hash, session.ID, c)
	})
}

// replacePassword ends what the old password opened, but the session that
// remains (0: none), and tells the owner.
func (s *Service) replacePassword(ctx context.Context, tx *db.Tx, account int64, hash string, remains int64, c Client) error {
	if err := setPassword(ctx, tx, account, hash); err != nil {
		return err
	}
	if err := s.endSessions(ctx, tx, account, remains); err != nil {
		return err
	}
	if err := voidTokens(ctx, tx, account, purposeRecovery); err != nil {
		return err
	}
	if err := s.signal(ctx, tx, account); err != nil {
		return err
	}
	return s.notify(ctx, tx, mailPasswordChanged, account, c)
}
