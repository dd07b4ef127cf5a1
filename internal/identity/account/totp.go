package account

import (
	"context"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
)

const (
	totpPeriod = 30 * time.Second
	// totpSkew is how many periods a phone's clock may differ, either way.
	totpSkew      = 1
	recoveryCodes = 10
)

var totpOptions = totp.ValidateOpts{Period: uint(totpPeriod / time.Second), Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1}

// Enrolment is what an authenticator app needs: as a link for its camera and
// as a key to type.
type Enrolment struct{ Key, URL string }

// totpAAD binds a sealed seed to its account.
func totpAAD(account int64) []byte {
	return []byte("account_totp/" + strconv.FormatInt(account, 10) + "/seed")
}

func accountKey(id int64) string { return "a" + strconv.FormatInt(id, 10) }

// EnrolTOTP makes a seed that becomes effective when ConfirmTOTP gets a code of it. Until then it returns the same
// seed, so that reloading the page does not invalidate a scanned one.
func (s *Service) EnrolTOTP(ctx context.Context, session Session) (e Enrolment, err error) {
	if err := s.requireRecent(session); err != nil {
		return e, err
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: s.Brand().Name, AccountName: session.Account.Email})
	if err != nil {
		return e, fmt.Errorf("make a seed: %w", err)
	}
	account := session.Account.ID
	sealed, err := s.Box.Seal([]byte(key.Secret()), totpAAD(account))
	if err != nil {
		return e, err
	}
	var row totpRow
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := lockUser(ctx, tx, account); err != nil {
			return err
		}
		var err error
		row, err = pendingTOTP(ctx, tx, account, sealed)
		if err == nil && row.confirmed {
			return ErrTwoFactorOn.New()
		}
		return err
	})
	if err != nil {
		return e, err
	}
	seed, err := s.Box.Open(row.sealed, totpAAD(account))
	if err != nil {
		return e, err
	}
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(string(seed))
	if err != nil {
		return e, fmt.Errorf("read a seed: %w", err)
	}
	key, err = totp.Generate(totp.GenerateOpts{Issuer: s.Brand().Name, AccountName: session.Account.Email, Secret: raw})
	if err != nil {
		return e, fmt.Errorf("describe a seed: %w", err)
	}
	return Enrolment{Key: key.Secret(), URL: key.URL()}, nil
}

// ConfirmTOTP switches the second factor on and returns the recovery codes, which are not shown again.
func (s *Service) ConfirmTOTP(ctx context.Context, session Session, code string, c Client) (codes []string, err error) {
	if err := s.requireRecent(session); err != nil {
		return nil, err
	}
	account := session.Account.ID
	if err := s.limit(ctx, insider(session), s.Limits.SecondFactor); err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := s.lockOpen(ctx, tx, account); err != nil {
			return err
		}
		row, err := readTOTP(ctx, tx, account)
		switch {
		case err != nil:
			return err
		case !row.found():
			return ErrCeremony.New()
		case row.confirmed:
			return ErrTwoFactorOn.New()
		}
		ok, err := s.useTOTP(ctx, tx, account, row, code)
		if err != nil {
			return err
		}
		if !ok {
			return ErrCode.New()
		}
		if err := confirmTOTP(ctx, tx, account); err != nil {
			return err
		}
		if err := markSecondFactor(ctx, tx, account, session.ID); err != nil {
			return err
		}
		// Other sessions, which proved only the password, must sign in again.
		if err := s.endSessions(ctx, tx, account, session.ID); err != nil {
			return err
		}
		if codes, err = replaceRecoveryCodes(ctx, tx, account); err != nil {
			return err
		}
		if err := s.note(ctx, tx, account, EventTwoFactorOn, c); err != nil {
			return err
		}
		if err := s.signal(ctx, tx, account); err != nil {
			return err
		}
		return s.notify(ctx, tx, mailTwoFactorOn, account, c)
	})
	return codes, err
}

// DisableTOTP switches the second factor off.
func (s *Service) DisableTOTP(ctx context.Context, session Session, c Client) error {
	if err := s.requireRecent(session); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.disableTOTP(ctx, tx, session.Account.ID, c)
	})
}

func (s *Service) disableTOTP(ctx context.Context, tx *db.Tx, account int64, c Client) error {
	if err := lockUser(ctx, tx, account); err != nil {
		return err
	}
	was, err := deleteTOTP(ctx, tx, account)
	if err != nil {
		return err
	}
	if !was {
		return ErrTwoFactorOff.New()
	}
	if err := s.note(ctx, tx, account, EventTwoFactorOff, c); err != nil {
		return err
	}
	if err := s.signal(ctx, tx, account); err != nil {
		return err
	}
	return s.notify(ctx, tx, mailTwoFactorOff, account, c)
}

// RenewRecoveryCodes makes new recovery codes in place of all old ones.
func (s *Service) RenewRecoveryCodes(ctx context.Context, session Session, c Client) (codes []string, err error) {
	if err := s.requireRecent(session); err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		p, err := s.lockOpen(ctx, tx, session.Account.ID)
		if err != nil {
			return err
		}
		if !p.TwoFactor {
			return ErrTwoFactorOff.New()
		}
		if codes, err = replaceRecoveryCodes(ctx, tx, p.ID); err != nil {
			return err
		}
		return s.note(ctx, tx, p.ID, EventCodesRenewed, c)
	})
	return codes, err
}

// RecoveryCodesLeft counts the unused recovery codes of the account.
func (s *Service) RecoveryCodesLeft(ctx context.Context, account int64) (int, error) {
	return countRecoveryCodes(ctx, s.DB, account)
}

// requireRecent refuses changes of credentials to a session without a recent sign-in.
func (s *Service) requireRecent(session Session) error {
	if !session.Recent(s.Clock.Now()) {
		return fault.ReauthenticationRequired.New()
	}
	return nil
}

// plainCode is a code without what people write between its groups.
func plainCode(code string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return -1
		}
		return r
	}, code))
}

// isShort reports whether a plain code can be one of the app; all others are recovery codes.
func isShort(code string) bool { return len(code) == int(totpOptions.Digits) }

// useCode accepts a code of the app or a recovery code; each works once.
func (s *Service) useCode(ctx context.Context, tx *db.Tx, account int64, code string, c Client) (bool, error) {
	code = plainCode(code)
	if isShort(code) {
		row, err := readTOTP(ctx, tx, account)
		if err != nil || !row.confirmed {
			return false, err
		}
		return s.useTOTP(ctx, tx, account, row, code)
	}
	used, err := useRecoveryCode(ctx, tx, account, secret.Hash(code))
	if err != nil || !used {
		return false, err
	}
	if err := s.note(ctx, tx, account, EventRecoveryCodeUsed, c); err != nil {
		return false, err
	}
	return true, s.notify(ctx, tx, mailRecoveryCodeUsed, account, c)
}

// useTOTP checks a code of the time steps around now. A step's code works once, and no earlier one works after it, so a
// code read over a shoulder is worthless.
func (s *Service) useTOTP(ctx context.Context, tx *db.Tx, account int64, row totpRow, code string) (bool, error) {
	seed, err := s.Box.Open(row.sealed, totpAAD(account))
	if err != nil {
		return false, err
	}
	for skew := -totpSkew; skew <= totpSkew; skew++ {
		at := tx.Now.Add(time.Duration(skew) * totpPeriod)
		want, err := totp.GenerateCodeCustom(string(seed), at, totpOptions)
		if err != nil {
			return false, fmt.Errorf("compute a code: %w", err)
		}
		if secret.Equal([]byte(want), []byte(code)) {
			return useStep(ctx, tx, account, at.Unix()/int64(totpPeriod/time.Second))
		}
	}
	return false, nil
}

// replaceRecoveryCodes makes codes of 80 random bits, which need no slow hash.
func replaceRecoveryCodes(ctx context.Context, tx *db.Tx, account int64) ([]string, error) {
	if err := deleteRecoveryCodes(ctx, tx, account); err != nil {
		return nil, err
	}
	codes := make([]string, recoveryCodes)
	for i := range codes {
		raw := secret.Hash(secret.Token("", 32))[:10]
		code := strings.ToLower(base32.StdEncoding.EncodeToString(raw))
		if err := insertRecoveryCode(ctx, tx, account, secret.Hash(code)); err != nil {
			return nil, err
		}
		codes[i] = code[:4] + "-" + code[4:8] + "-" + code[8:12] + "-" + code[12:]
	}
	return codes, nil
}
