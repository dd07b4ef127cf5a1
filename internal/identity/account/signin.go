package account

import (
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"strconv"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
)

// Registration is a visitor's input for an account.
type Registration struct {
	Name, Email, Password string
	// Locale and Currency may be empty.
	Locale, Currency string
	// Referral is the code of the customer who referred the new one; it may be empty.
	Referral string
}

// SignUp makes an account and signs its owner in.
func (s *Service) SignUp(ctx context.Context, r Registration, c Client) (out Outcome, err error) {
	if err := s.limit(ctx, c.key(), s.Limits.RegisterAddress); err != nil {
		return out, err
	}
	u, err := s.newUser(ctx, NewAccount{Name: r.Name, Email: r.Email, Password: r.Password, Locale: r.Locale, Currency: r.Currency})
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
		if r.Referral != "" {
			if err := s.Referrals.Referred(ctx, tx, id, r.Referral); err != nil {
				return err
			}
		}
		out, err = s.open(ctx, tx, id, "password", false, c)
		return err
	})
	return out, taken(err)
}

// taken translates the database's refusal of a duplicate address.
func taken(err error) error {
	if db.IsUnique(err) {
		return fault.Invalid("email", "account_email_taken")
	}
	return err
}

// newUser checks the input and hashes the password. It reports all mistakes at once.
func (s *Service) newUser(ctx context.Context, n NewAccount) (u newUser, err error) {
	if u, err = s.checkNew(n); err != nil {
		return u, err
	}
	u.passwordHash, err = s.passwords.hash(ctx, n.Password)
	u.handle = []byte(secret.Token("", 32))
	return u, err
}

// checkNew checks the input.
func (s *Service) checkNew(n NewAccount) (u newUser, err error) {
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
	errs = append(errs, err)
	if !n.Published {
		errs = append(errs, s.checkPassword("password", n.Password, email, name))
	}
	if err := gather(errs...); err != nil {
		return u, err
	}
	return newUser{email: email, name: name, locale: n.Locale, currency: currency, role: n.Role, verified: n.Verified}, nil
}

// gather merges the refusals of several fields into one.
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

// emailKey names an address in limits, whatever was typed, without storing it.
func emailKey(email string) string { return hex.EncodeToString(secret.Hash(email)[:12]) }

// SignIn checks a password. The answer and its duration are the same for an unknown address and a wrong password.
func (s *Service) SignIn(ctx context.Context, email, password string, c Client) (out Outcome, err error) {
	normal, ok := NormalizeEmail(email)
	if !ok {
		normal = emailKey(email) // it belongs to nobody, and may be text that no database accepts
	}
	if err := s.paceGuess(ctx, normal, c); err != nil {
		if errors.Is(err, fault.RateLimited) {
			s.failed(ctx, 0, EventSignInFailed, "too_many", c)
		}
		return out, err
	}
	id, hash, err := passwordOf(ctx, s.DB, normal)
	if err != nil {
		return out, err
	}
	upgrade, err := s.verify(ctx, password, hash)
	if err != nil {
		if errors.Is(err, ErrCredentials) {
			s.failed(ctx, id, EventSignInFailed, "credentials", c)
		}
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

// paceGuess counts a password that somebody tries for an email address. What strangers try never keeps the owner out: a
// browser that has signed in before is counted by itself, and any other by its address. While many try one account, each
// address gets fewer attempts.
func (s *Service) paceGuess(ctx context.Context, email string, c Client) error {
	known, err := deviceOf(ctx, s.DB, email, c)
	if err != nil {
		return err
	}
	if known {
		return s.pace(ctx, emailKey(email)+"|"+emailKey(c.Device), s.Limits.SignInDevice)
	}
	if err := s.pace(ctx, c.key(), s.Limits.SignInAddress); err != nil {
		return err
	}
	pair := s.Limits.SignInPair
	if err := s.limit(ctx, emailKey(email), s.Limits.SignInAccount); errors.Is(err, fault.RateLimited) {
		pair = s.Limits.SignInAttacked
	} else if err != nil {
		return err
	}
	return s.pace(ctx, emailKey(email)+"|"+c.key(), pair)
}

// paceCode counts a code of the second factor that somebody tries with the password of an account. A browser and an address
// from which both factors were proved are counted by themselves, and strangers by their address, so that somebody who knows
// only the password does not keep the owner out. All strangers together are bounded, because codes are short. Recovery codes
// are not: nobody guesses 80 bits, and the owner always gets in with one.
func (s *Service) paceCode(ctx context.Context, account int64, code string, c Client) error {
	if !isShort(plainCode(code)) {
		return nil
	}
	known, err := provedDevice(ctx, s.DB, account, c)
	if err != nil {
		return err
	}
	pair := accountKey(account) + "|" + c.key()
	if known {
		return s.limit(ctx, pair, s.Limits.SecondFactor)
	}
	if err := s.paceBy(ctx, pair, s.Limits.SecondFactorPair, s.Limits.SecondFactorSlow); err != nil {
		return err
	}
	return s.limit(ctx, accountKey(account), s.Limits.SecondFactorAccount)
}

// insider names a session, for limits of attempts that need one: whoever has stolen a session blocks no other.
func insider(session Session) string {
	return accountKey(session.Account.ID) + "|s" + strconv.FormatInt(session.ID, 10)
}

// verify checks a password against its hash; upgrade is a new hash of it, when the parameters changed.
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

// lockProved locks an open account whose password is still the checked one: checking took a while.
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

// open creates the session of a complete sign-in. It makes a new token here, so that no token known before becomes
// signed in.
func (s *Service) open(ctx context.Context, tx *db.Tx, account int64, method string, secondFactor bool, c Client) (Outcome, error) {
	known, err := knownDevice(ctx, tx, account, c)
	if err != nil {
		return Outcome{}, err
	}
	token, device := secret.Token("st_se_", 32), c.device()
	if _, err := insertSession(ctx, tx, account, secret.Hash(token), secret.Hash(device), method, secondFactor, c); err != nil {
		return Outcome{}, err
	}
	if err := s.note(ctx, tx, account, EventSignedIn, c); err != nil {
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
	return Outcome{Token: token, Session: session, Device: device}, err
}

// Factors are the ways to complete a pending sign-in.
type Factors struct{ Passkey bool }

// PendingFactors returns the ways to complete a pending sign-in; a code always works.
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
	if err := s.paceCode(ctx, begun.account, code, c); err != nil {
		if errors.Is(err, fault.RateLimited) {
			s.failed(ctx, begun.account, EventCodeFailed, "too_many", c)
		}
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
			return nil // commit, so that the attempt stays counted
		}
		if err := deleteCeremony(ctx, tx, begun.id); err != nil {
			return err
		}
		out, err = s.open(ctx, tx, p.ID, "password", true, c)
		return err
	})
	if err == nil && wrong {
		s.failed(ctx, begun.account, EventCodeFailed, "code", c)
		return Outcome{}, ErrCode.New()
	}
	return out, err
}

// Confirm authenticates a session again, by its password and, where two-factor sign-in is on, a code, and returns the
// session's new token.
func (s *Service) Confirm(ctx context.Context, session Session, password, code string, c Client) (token string, err error) {
	if err := s.pace(ctx, insider(session), s.Limits.SignInDevice); err != nil {
		return "", err
	}
	if session.Account.TwoFactor {
		if err := s.limit(ctx, insider(session), s.Limits.SecondFactor); err != nil {
			return "", err
		}
	}
	hash, err := s.provePassword(ctx, session.Account.ID, "password", password, c)
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
	if errors.Is(err, ErrCode) {
		s.failed(ctx, session.Account.ID, EventCodeFailed, "code", c)
	}
	return token, err
}

// provePassword checks the password of a person who is known, and records a wrong one; field is the input field that has it.
func (s *Service) provePassword(ctx context.Context, account int64, field, password string, c Client) (hash string, err error) {
	hash, err = passwordOfID(ctx, s.DB, account)
	if err != nil {
		return "", err
	}
	if _, err := s.verify(ctx, password, hash); errors.Is(err, ErrCredentials) {
		s.failed(ctx, account, EventSignInFailed, "credentials", c)
		return "", fault.Invalid(field, "account_password_wrong")
	} else if err != nil {
		return "", err
	}
	return hash, nil
}

// ChangePassword replaces the password after checking the old one, and ends all other sessions.
func (s *Service) ChangePassword(ctx context.Context, session Session, current, password string, c Client) error {
	return s.changePassword(ctx, session, current, password, false, c)
}

// ChangePasswordEverywhere is ChangePassword that also ends the tokens of all applications, for an owner who fears that
// somebody else has connected one.
func (s *Service) ChangePasswordEverywhere(ctx context.Context, session Session, current, password string, c Client) error {
	return s.changePassword(ctx, session, current, password, true, c)
}

func (s *Service) changePassword(ctx context.Context, session Session, current, password string, applications bool, c Client) error {
	if err := s.pace(ctx, insider(session), s.Limits.SignInDevice); err != nil {
		return err
	}
	old, err := s.provePassword(ctx, session.Account.ID, "current", current, c)
	if err != nil {
		return err
	}
	if err := s.checkPassword("password", password, session.Account.Email, session.Account.Name); err != nil {
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
		if applications {
			if err := s.Grants.EndAll(ctx, tx, session.Account.ID); err != nil {
				return err
			}
		}
		return s.replacePassword(ctx, tx, session.Account.ID, hash, session.ID, c)
	})
}

// replacePassword ends all access by the old password, except the session that remains (0: none), and notifies the
// owner.
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
	if err := s.note(ctx, tx, account, EventPasswordChanged, c); err != nil {
		return err
	}
	return s.notify(ctx, tx, mailPasswordChanged, account, c)
}
